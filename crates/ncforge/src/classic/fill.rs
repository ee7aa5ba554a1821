//! Writes fill values into holes that were never written, in few and large requests.
//!
//! Holes arrive in rising file order. Holes that are close together are filled in one buffer with the bytes of the file
//! between them; long ones are written directly. Memory stays below a few times [`SPAN`].

use std::ops::Range;

use crate::error::Result;
use crate::store::{ReadStore, WriteStore};

/// The most of the file that one request covers.
const SPAN: u64 = 4 << 20;
/// Holes further apart than this are written by requests of their own.
const NEAR: u64 = 64 << 10;

/// Reads from a store, zeros where it has ended.
pub(super) fn read_or_zero(store: &dyn ReadStore, buf: &mut [u8], offset: u64) -> Result<()> {
    let there = store.len().saturating_sub(offset).min(buf.len() as u64) as usize;
    if there > 0 {
        store.read_at(&mut buf[..there], offset)?;
    }
    buf[there..].fill(0);
    Ok(())
}

/// A hole: a byte range of the file, and the element (stored form) that fills it from its first byte on.
struct Hole {
    range: Range<u64>,
    /// The element, in the first `size` bytes. There may be as many holes as records, so this must not allocate.
    element: [u8; 8],
    size: usize,
}

impl Hole {
    fn fill(&self, out: &mut [u8]) {
        for part in out.chunks_mut(self.size) {
            part.copy_from_slice(&self.element[..part.len()]);
        }
    }
}

/// Collects holes and fills them.
pub(super) struct Filler<'s> {
    store: &'s dyn WriteStore,
    /// From this byte on, the file is zero wherever nothing was written.
    zero_from: u64,
    holes: Vec<Hole>,
}

impl<'s> Filler<'s> {
    pub(super) fn new(store: &'s dyn WriteStore, zero_from: u64) -> Self {
        Filler { store, zero_from, holes: Vec::new() }
    }

    /// Fills `range`, which is after all earlier ranges, with an element of at most eight bytes.
    pub(super) fn add(&mut self, range: Range<u64>, element: &[u8]) -> Result<()> {
        let end = if element.iter().all(|&b| b == 0) { range.end.min(self.zero_from) } else { range.end };
        let size = element.len();
        let mut padded = [0; 8];
        padded[..size].copy_from_slice(element);
        let mut start = range.start;
        while start < end {
            // Pieces of whole elements: SPAN is a multiple of every element size.
            let stop = end.min(start + SPAN);
            if let (Some(first), Some(last)) = (self.holes.first(), self.holes.last())
                && (stop - first.range.start > SPAN || start - last.range.end > NEAR)
            {
                self.flush()?;
            }
            self.holes.push(Hole { range: start..stop, element: padded, size });
            start = stop;
        }
        Ok(())
    }

    /// Writes the collected holes.
    pub(super) fn flush(&mut self) -> Result<()> {
        let (Some(first), Some(last)) = (self.holes.first(), self.holes.last()) else { return Ok(()) };
        let from = first.range.start;
        let mut image = vec![0; (last.range.end - from) as usize];
        let covered: u64 = self.holes.iter().map(|h| h.range.end - h.range.start).sum();
        if covered < image.len() as u64 {
            read_or_zero(self.store, &mut image, from)?;
        }
        for hole in self.holes.drain(..) {
            hole.fill(&mut image[(hole.range.start - from) as usize..(hole.range.end - from) as usize]);
        }
        self.store.write_at(&image, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn holes_near_and_far() {
        let store = MemoryStore::new("m", vec![9; 200]);
        let mut filler = Filler::new(&store, 150);
        filler.add(2..4, &[1]).unwrap();
        filler.add(4..10, &[7, 8]).unwrap();
        filler.add(20..23, &[5]).unwrap();
        filler.add(140..160, &[0, 0]).unwrap();
        let far = 200 + 2 * NEAR;
        filler.add(far..far + SPAN + 6, &[1, 2, 3, 4]).unwrap();
        filler.flush().unwrap();
        let got = store.to_vec();
        assert_eq!(&got[..24], [9, 9, 1, 1, 7, 8, 7, 8, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 5, 5, 9]);
        assert_eq!((got[139], got[140], got[149], got[150]), (9, 0, 0, 9));
        assert_eq!(got.len() as u64, far + SPAN + 6);
        assert_eq!(&got[got.len() - 6..], [1, 2, 3, 4, 1, 2]);
        assert!(got[200..far as usize].iter().all(|&b| b == 0));
    }
}
