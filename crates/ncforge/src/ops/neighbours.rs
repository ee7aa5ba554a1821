//! Chunks as they are stored, read together where they lie close: asked for one by one, small ones cost many times what
//! moving their bytes does.

use std::sync::Arc;

use super::source::RawChunk;
use crate::error::Result;
use crate::layout::ChunkRecord;
use crate::store::ReadStore;

/// Chunks with no more bytes between them are read in one request, …
const GAP: u64 = 4 << 10;
/// … which is no longer than this, unless one chunk is.
const MOST: u64 = 1 << 20;

/// Chunks of more bytes than this, on average, are as well read one by one, each into memory that is warm from the
/// last: measured on copies within the page cache, where 4 KiB gain a third, 32 KiB nothing, and 64 KiB lose as much.
pub(super) const SMALL: u64 = 16 << 10;

/// Bytes of some chunks. A damaged index may say of each that it is as large as the file.
pub(super) fn bytes(stored: &[(usize, ChunkRecord)]) -> u64 {
    stored.iter().fold(0, |sum, (_, record)| sum.saturating_add(record.len))
}

/// Reads chunks in the order of their places, and hands them on with their numbers.
pub(super) fn read(
    store: &dyn ReadStore,
    mut stored: Vec<(usize, ChunkRecord)>,
    mut see: impl FnMut(usize, RawChunk),
) -> Result<()> {
    stored.sort_unstable_by_key(|(number, record)| (record.offset, *number));
    let mut rest = &stored[..];
    while let Some((_, first)) = rest.first() {
        let begin = first.offset;
        let mut end = begin.saturating_add(first.len);
        let mut n = 1;
        for (_, next) in &rest[1..] {
            let further = next.offset.saturating_add(next.len).max(end);
            if next.offset > end.saturating_add(GAP) || further - begin > MOST {
                break;
            }
            end = further;
            n += 1;
        }
        // The store knows whether so much is there before anything is allocated.
        let bytes = Arc::new(store.read_vec(begin, end - begin)?);
        for &(number, record) in &rest[..n] {
            let from = (record.offset - begin) as usize;
            let range = from..from + record.len as usize;
            see(number, RawChunk::Shared(Arc::clone(&bytes), range, record.mask));
        }
        rest = &rest[n..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn chunks_come_back_whatever_their_order_and_distance() {
        let all: Vec<u8> = (0..3 * MOST).map(|i| (i % 251) as u8).collect();
        let store = MemoryStore::new("m", all.clone());
        // Backwards, side by side, overlapping, far apart, across the longest request, and none.
        let places = [(40, 8), (32, 8), (36, 8), (GAP * 9, 5), (MOST - 3, 6), (3 * MOST - 2, 2), (77, 0)];
        let stored = places.iter().enumerate().map(|(number, &(offset, len))| {
            let mask = number as u32;
            (number, ChunkRecord { offset, len, mask })
        });
        let stored: Vec<_> = stored.collect();
        assert_eq!(bytes(&stored), 37);
        let mut seen = vec![false; places.len()];
        read(&store, stored, |number, chunk| {
            let RawChunk::Shared(bytes, range, mask) = chunk else { panic!("a part of what was read") };
            let (offset, len) = (places[number].0 as usize, places[number].1 as usize);
            assert_eq!((&bytes[range], mask), (&all[offset..offset + len], number as u32));
            assert!(bytes.len() as u64 <= MOST);
            seen[number] = true;
        })
        .unwrap();
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn what_reaches_past_the_end_is_an_error_before_anything_is_allocated() {
        let store = MemoryStore::new("m", vec![0; 10]);
        let record = |offset, len| vec![(0, ChunkRecord { offset, len, mask: 0 })];
        assert!(read(&store, record(8, u64::MAX), |_, _| panic!("nothing is there")).is_err());
        assert_eq!(bytes(&[record(0, u64::MAX), record(5, 9)].concat()), u64::MAX);
    }
}
