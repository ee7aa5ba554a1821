//! The temporary file of a copy between badly crossing layouts.
//!
//! The file holds every box of the output as one row-major array, box after box. The source is walked once, in
//! bands of whole source chunks; each band is cut at the edges of the boxes. A box is then read in one run. The
//! file has no name (it is unlinked as soon as it is open), so nothing is left behind whatever happens.

use std::ops::Range;

use crate::boxes::{Walk, each_row};
use crate::progress::{Progress, check_stop};
use ncforge::model::VarId;
use ncforge::raw::coordinates;
use ncforge::store::{FileStore, ReadStore, WriteStore, companion_path};
use ncforge::{Buffer, Dataset, Engine, Hyperslab, Result};

/// One write to the temporary file is about this long.
const PIECE: u64 = 4 << 20;

/// The boxes of one variable in a temporary file.
#[derive(Debug)]
pub(crate) struct Spill {
    store: FileStore,
    /// The boxes held: a range of the walk's.
    held: Range<u64>,
    /// Byte offset of each of them.
    offsets: Vec<u64>,
}

impl Spill {
    /// Reads a variable in `bands` and writes those of the `boxes` that are in `wanted`. The file is made in the folder
    /// of `output`.
    #[allow(clippy::too_many_arguments, reason = "one call, each argument another thing")]
    pub(crate) fn fill(
        source: &Dataset,
        var: VarId,
        element: u64,
        bands: &Walk,
        boxes: &Walk,
        wanted: Range<u64>,
        output: &std::path::Path,
        engine: &Engine,
        progress: &dyn Progress,
    ) -> Result<Spill> {
        let path = companion_path(output, "spill");
        let store = FileStore::create(&path)?;
        std::fs::remove_file(&path)
            .map_err(|e| ncforge::Error::io(ncforge::Op::Other("unlink"), path.display().to_string(), e))?;
        let mut offsets = Vec::with_capacity((wanted.end - wanted.start) as usize);
        let mut end = 0u64;
        for i in wanted.clone() {
            offsets.push(end);
            end += boxes.box_at(i).len() * element;
        }
        let spill = Spill { store, held: wanted, offsets };
        let mut buffer = Buffer::try_zeroed((bands.box_at(0).len() * element) as usize)?;
        for i in 0..bands.len() {
            check_stop(progress, "copy")?;
            let band = bands.box_at(i);
            let cut: Vec<u64> = coordinates(&boxes.grid.touched(&band))
                .map(|at| boxes.grid.linear(&at))
                .filter(|b| spill.held.contains(b))
                .collect();
            if cut.is_empty() {
                continue;
            }
            let bytes = &mut buffer[..(band.len() * element) as usize];
            source.read_bytes(var, &band, bytes)?;
            let bytes = &*bytes;
            engine
                .for_each(cut.len(), |k| spill.put(bytes, &band, cut[k], &boxes.box_at(cut[k]), element))?;
        }
        Ok(spill)
    }

    /// Writes the part of a band that belongs to a box.
    fn put(
        &self,
        bytes: &[u8],
        band: &Hyperslab,
        index: u64,
        target: &Hyperslab,
        element: u64,
    ) -> Result<()> {
        let base = self.offsets[(index - self.held.start) as usize];
        let rank = band.rank();
        let start: Vec<u64> = (0..rank).map(|d| band.start[d].max(target.start[d])).collect();
        let count: Vec<u64> = (0..rank).map(|d| band.end(d).min(target.end(d)) - start[d]).collect();
        // The part is contiguous in the box behind axis `k`, and as far as it goes on axis `k`.
        let mut k = rank;
        while k > 0 && (k == rank || count[k] == target.count[k]) {
            k -= 1;
        }
        let behind: u64 = count[(k + 1).min(rank)..].iter().product::<u64>() * element;
        let (rows, step) = match count.get(k) {
            Some(&rows) => (rows, (PIECE / behind.max(1)).clamp(1, rows)),
            None => (1, 1),
        };
        let mut scratch = Vec::new();
        let outer: Vec<Range<u64>> = count[..k.min(rank)].iter().map(|&n| 0..n).collect();
        for at in coordinates(&outer) {
            let mut from = 0;
            while from < rows {
                let n = step.min(rows - from);
                let mut piece_start = start.clone();
                let mut piece_count = count.clone();
                for (d, a) in at.iter().enumerate() {
                    piece_start[d] += a;
                    piece_count[d] = 1;
                }
                if k < rank {
                    piece_start[k] += from;
                    piece_count[k] = n;
                }
                gather(bytes, band, &piece_start, &piece_count, element as usize, &mut scratch);
                self.store.write_at(&scratch, base + offset_in(target, &piece_start) * element)?;
                from += n;
            }
        }
        Ok(())
    }

    /// Reads a box.
    pub(crate) fn get(&self, index: u64, out: &mut [u8]) -> Result<()> {
        self.store.read_at(out, self.offsets[(index - self.held.start) as usize])
    }
}

/// Row-major position of an element inside a box.
fn offset_in(target: &Hyperslab, at: &[u64]) -> u64 {
    (0..at.len()).fold(0, |o, d| o * target.count[d] + (at[d] - target.start[d]))
}

/// Takes a box of elements out of a band's row-major bytes.
pub(super) fn gather(
    bytes: &[u8],
    band: &Hyperslab,
    start: &[u64],
    count: &[u64],
    element: usize,
    out: &mut Vec<u8>,
) {
    out.clear();
    let inside: Vec<u64> = start.iter().zip(&band.start).map(|(s, from)| s - from).collect();
    each_row(&band.count, &inside, count, element, |_, row| out.extend_from_slice(&bytes[row]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::boxes::{Side, price};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn boxes_come_back_as_they_are_in_the_array(
            dims in prop::collection::vec((1u64..9, 1u64..9, 1u64..9), 0..4),
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let walk = |lens: Vec<u64>| price(&shape, 2, &[Side::Free], &lens);
            let (bands, boxes) =
                (walk(dims.iter().map(|d| d.1).collect()), walk(dims.iter().map(|d| d.2).collect()));
            let dir = tempfile::tempdir().unwrap();
            let mut offsets = vec![];
            let mut end = 0;
            for i in 0..boxes.len() {
                offsets.push(end);
                end += boxes.box_at(i).len() * 2;
            }
            let spill = Spill { store: FileStore::create(&dir.path().join("s")).unwrap(), held: 0..boxes.len(), offsets };
            let all = Hyperslab::all(&shape);
            let array: Vec<u8> = (0..all.len() as u16).flat_map(u16::to_ne_bytes).collect();
            let take = |slab: &Hyperslab| {
                let mut out = Vec::new();
                gather(&array, &all, &slab.start, &slab.count, 2, &mut out);
                out
            };
            for i in 0..bands.len() {
                let band = bands.box_at(i);
                for at in coordinates(&boxes.grid.touched(&band)) {
                    let b = boxes.grid.linear(&at);
                    spill.put(&take(&band), &band, b, &boxes.box_at(b), 2).unwrap();
                }
            }
            for i in 0..boxes.len() {
                let slab = boxes.box_at(i);
                let mut got = vec![0; slab.len() as usize * 2];
                spill.get(i, &mut got).unwrap();
                prop_assert_eq!(got, take(&slab));
            }
        }
    }
}
