//! The values of a variable, hashed in tiles.
//!
//! A tile is a box of some thousand elements whose lengths only the shape of the array decides. A walk through the array
//! reads boxes of whole tiles: along the chunks of the file, whatever their shape, so that each is decoded about once. Tiles are
//! hashed on all threads, and their hashes become one in the order of the array ([`fold`]). Had tiles been runs of elements, a file of
//! chunks that are long in time would have been read many times over.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use blake3::Hash;

use super::canonical::Canonical;
use super::fold::{self, Fold, Unwritten};
use crate::boxes::{HEAP_BATCH, Side, Walk, check_chunk, choose_comfortable, each_row};
use crate::progress::{Progress, check_stop};
use crate::written;
use ncforge::model::{Value, Values, VarId};
use ncforge::raw::{ChunkGrid, VarLayout, coordinates};
use ncforge::{Buffer, Dataset, Error, Hyperslab, Result};

/// Elements of a tile, where the array has as many.
const ELEMENTS: u64 = 1 << 13;
/// The length of a tile along the first of several dimensions, unless only that has more: records are often larger than budgets.
const RECORDS: u64 = 8;
/// Bytes of a box of what is not encoded: they are hashed out of the processor's cache.
const CACHED: u64 = 2 << 20;
/// Tiles that a thread hashes at a time.
const TOGETHER: usize = 16;

/// The lengths of tiles.
fn tile(shape: &[u64]) -> Vec<u64> {
    let mut lens = vec![1u64; shape.len()];
    while lens.iter().product::<u64>() < ELEMENTS {
        let free = (0..shape.len()).rev().filter(|&d| lens[d] < shape[d]);
        // Of equal ones the last; of the first dimension as little as may be.
        let Some(d) = free.min_by_key(|&d| (d == 0 && lens[d] >= RECORDS, lens[d])) else { break };
        lens[d] *= 2;
    }
    lens
}

/// The digest of a variable's values.
pub(super) fn values(data: &Dataset, var: VarId, progress: &dyn Progress) -> Result<Hash> {
    let layout = data.layout(var)?;
    let (schema, shape) = (data.schema(), data.schema().shape(var));
    if let Some(why) = layout.place.unsupported() {
        return Err(Error::Unsupported { path: schema.var_path(var), what: why.into() });
    }
    check_chunk(data, var)?;
    if shape.contains(&0) {
        return Ok(fold::of_nothing());
    }
    let canonical = Canonical::of(schema, schema.var(var).dtype);
    let tiles = ChunkGrid::new(&shape, &tile(&shape));
    let hash = Hashing { data, var, canonical, tiles, progress }.all(&layout)?;
    hash.ok_or_else(|| Error::Internal(format!("not all of `{}` was hashed", schema.var_path(var))))
}

/// The hashing of one variable.
struct Hashing<'a> {
    data: &'a Dataset,
    var: VarId,
    canonical: Canonical,
    tiles: ChunkGrid,
    progress: &'a dyn Progress,
}

/// Elements of a box that was read.
enum Elements<'a> {
    /// Elements of this many bytes each.
    Fixed(&'a [u8], usize),
    Heap(Vec<Value>),
}

impl Hashing<'_> {
    fn all(&self, layout: &VarLayout) -> Result<Option<Hash>> {
        let side = [Side::of(layout)];
        let (element, budget) = match self.canonical.size() {
            Some(size) => (size as u64, self.data.engine().memory() / 4),
            None => (1, HEAP_BATCH),
        };
        let is_near = !self.data.container().store().io_profile().has_latency();
        let walk = |budget| choose_comfortable(&self.tiles.shape, element, &side, &self.tiles.chunk, budget);
        if self.canonical.size().is_some() && side == [Side::Runs] && is_near {
            let mut fold = Fold::new(&self.tiles, None);
            self.small_boxes(&walk(budget.min(CACHED)), &mut fold)?;
            return Ok(fold.finish());
        }
        let walk = walk(budget);
        let Some(written) = self.written(layout, &walk)? else {
            let mut fold = Fold::new(&self.tiles, None);
            self.large_boxes(&walk, 0..walk.len(), &mut fold)?;
            return Ok(fold.finish());
        };
        let fill = layout.one_absent().unwrap_or_default();
        let unwritten = Unwritten::new(&self.tiles, &walk, &written, &self.canonical, fill);
        let mut fold = Fold::new(&self.tiles, Some(unwritten));
        let size = self.canonical.size().unwrap_or(16) as u64;
        self.progress.advance(written::elements_outside(&walk, &written).saturating_mul(size));
        self.large_boxes(&walk, written, &mut fold)?;
        Ok(fold.finish())
    }

    /// Memory for any box of a walk.
    fn buffer(&self, walk: &Walk) -> Result<Buffer> {
        let largest = usize::try_from(walk.box_at(0).len()).unwrap_or(usize::MAX);
        Buffer::try_zeroed(largest.saturating_mul(self.canonical.size().unwrap_or(0)))
    }

    /// Each box is read and hashed by one thread.
    fn small_boxes(&self, walk: &Walk, fold: &mut Fold<'_>) -> Result<()> {
        let engine = self.data.engine();
        let spare: Mutex<Vec<Buffer>> = Mutex::default();
        let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let hashes = |i: usize| {
            let slab = walk.box_at(i as u64);
            let kept = lock().pop();
            let mut buffer = kept.map_or_else(|| self.buffer(walk), Ok)?;
            let hashes = self.hashes(&slab, &self.read(&slab, &mut buffer)?, &self.tiles_in(&slab));
            lock().push(buffer);
            Ok((slab, hashes))
        };
        let number = usize::try_from(walk.len()).unwrap_or(usize::MAX);
        engine.ordered(number, 4 * engine.threads(), hashes, |_, (slab, hashes)| {
            check_stop(self.progress, "digest")?;
            fold.add_all(hashes);
            self.advance(&slab);
            Ok(())
        })
    }

    /// All threads read a box, and hash its tiles.
    fn large_boxes(
        &self,
        walk: &Walk,
        boxes: impl IntoIterator<Item = u64>,
        fold: &mut Fold<'_>,
    ) -> Result<()> {
        let engine = self.data.engine();
        let mut buffer = self.buffer(walk)?;
        for i in boxes {
            check_stop(self.progress, "digest")?;
            let slab = walk.box_at(i);
            let tiles = self.tiles_in(&slab);
            let elements = self.read(&slab, &mut buffer)?;
            let groups: Vec<&[Vec<u64>]> = tiles.chunks(TOGETHER).collect();
            let hashes = |i: usize| Ok(self.hashes(&slab, &elements, groups[i]));
            engine.ordered(groups.len(), 4 * engine.threads(), hashes, |_, hashes| {
                fold.add_all(hashes);
                Ok(())
            })?;
            self.advance(&slab);
        }
        Ok(())
    }

    fn advance(&self, slab: &Hyperslab) {
        self.progress.advance(slab.len().saturating_mul(self.canonical.size().unwrap_or(16) as u64));
    }

    /// The boxes that have anything but one fill value; `None`: all.
    fn written(&self, layout: &VarLayout, walk: &Walk) -> Result<Option<BTreeSet<u64>>> {
        match self.canonical.size() {
            Some(_) if layout.absent.one().is_some() => written::boxes(self.data, self.var, &walk.grid),
            _ => Ok(None),
        }
    }

    fn tiles_in(&self, slab: &Hyperslab) -> Vec<Vec<u64>> {
        coordinates(&self.tiles.touched(slab)).collect()
    }

    fn read<'b>(&self, slab: &Hyperslab, buffer: &'b mut [u8]) -> Result<Elements<'b>> {
        if let Some(size) = self.canonical.size() {
            let bytes = &mut buffer[..slab.len() as usize * size];
            self.data.read_bytes(self.var, slab, bytes)?;
            return Ok(Elements::Fixed(bytes, size));
        }
        Ok(match self.data.read(self.var, slab)? {
            Values::Heap(list) => Elements::Heap(list),
            // A type without a size has no such values.
            Values::Fixed(_) => Elements::Heap(Vec::new()),
        })
    }

    /// The hashes of tiles of a box, with their numbers.
    fn hashes(&self, slab: &Hyperslab, elements: &Elements<'_>, tiles: &[Vec<u64>]) -> Vec<(u64, Hash)> {
        let mut found = Vec::with_capacity(tiles.len());
        let mut contents: Vec<Vec<u8>> = vec![Vec::new(); TOGETHER];
        // Tiles side by side are filled row after row: what lies together in the box is read together.
        let is_beside =
            |a: &Vec<u64>, b: &Vec<u64>| a.split_last().map(|x| x.1) == b.split_last().map(|x| x.1);
        for beside in tiles.chunk_by(is_beside).flat_map(|run| run.chunks(TOGETHER)) {
            contents.iter_mut().for_each(Vec::clear);
            self.gather(slab, elements, beside, &mut contents);
            found.extend(
                beside.iter().zip(&contents).map(|(at, bytes)| (self.tiles.linear(at), blake3::hash(bytes))),
            );
        }
        found
    }

    /// The canonical bytes of tiles that lie side by side along the last dimension.
    fn gather(
        &self,
        slab: &Hyperslab,
        elements: &Elements<'_>,
        tiles: &[Vec<u64>],
        contents: &mut [Vec<u8>],
    ) {
        let (start, mut count) = self.tiles.region(&tiles[0]);
        // The last tile may be shorter.
        let width = count.last().map_or(1, |&n| n as usize);
        if let Some(all) = count.last_mut() {
            *all = tiles.iter().filter_map(|at| self.tiles.region(at).1.last().copied()).sum();
        }
        let within: Vec<u64> = start.iter().zip(&slab.start).map(|(t, s)| t - s).collect();
        let (shape, within, count) = match tiles.len() {
            1 => joined(&slab.count, &within, &count),
            _ => (slab.count.clone(), within, count),
        };
        let width = if tiles.len() == 1 { usize::MAX } else { width };
        match elements {
            Elements::Fixed(all, size) => each_row(&shape, &within, &count, *size, |_, from| {
                let pieces = all[from].chunks(width.saturating_mul(*size).max(1));
                pieces.zip(&mut *contents).for_each(|(piece, bytes)| self.canonical.fixed(piece, bytes));
            }),
            Elements::Heap(all) => each_row(&shape, &within, &count, 1, |_, from| {
                let pieces = all[from].chunks(width);
                let add = |value: &Value, bytes: &mut Vec<u8>| self.canonical.value(value, bytes);
                pieces
                    .zip(&mut *contents)
                    .for_each(|(piece, bytes)| piece.iter().for_each(|v| add(v, bytes)));
            }),
        }
    }
}

/// Shape, start and count of a box within an array, with dimensions that the box has all of joined with those before: rows are long.
fn joined(shape: &[u64], start: &[u64], count: &[u64]) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let (mut shape, mut start, mut count) = (shape.to_vec(), start.to_vec(), count.to_vec());
    while let [.., before, last] = shape[..] {
        if count.last() != Some(&last) {
            break;
        }
        for list in [&mut shape, &mut start, &mut count] {
            list.pop();
        }
        let d = shape.len() - 1;
        (shape[d], start[d], count[d]) = (before * last, start[d] * last, count[d] * last);
    }
    (shape, start, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_depend_on_the_shape_alone() {
        assert_eq!(tile(&[]), [0u64; 0]);
        assert_eq!(tile(&[0, 5]), [1, 8]);
        assert_eq!(tile(&[1 << 40]), [8192]);
        assert_eq!(tile(&[1000, 500, 500]), [8, 32, 32]);
        assert_eq!(tile(&[1, 1, 721, 1440]), [1, 1, 64, 128]);
        assert_eq!(tile(&[100_000, 4]), [2048, 4]);
        assert_eq!(tile(&[100_000, 83_000_000]), [8, 1024]);
        assert_eq!(tile(&[5, 3]), [8, 4]);
        assert_eq!(tile(&[400, 37, 721, 1440]), [8, 8, 8, 16]);
    }

    #[test]
    fn whole_dimensions_are_joined() {
        assert_eq!(joined(&[4, 5, 6], &[1, 0, 0], &[2, 5, 6]), (vec![120], vec![30], vec![60]));
        assert_eq!(joined(&[4, 5, 6], &[1, 2, 0], &[2, 2, 6]), (vec![4, 30], vec![1, 12], vec![2, 12]));
        assert_eq!(joined(&[4, 5], &[0, 1], &[4, 2]), (vec![4, 5], vec![0, 1], vec![4, 2]));
        assert_eq!(joined(&[], &[], &[]), (vec![], vec![], vec![]));
    }
}
