//! Many small chunks at a time: those of one tile are found together, and read together where they lie close.
//!
//! A tile of a large set has a chunk of a kilobyte for every record of every variable. Asked for one by one, finding
//! and reading each costs several times what moving its bytes does.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{DimKind, From, Mosaic};
use crate::raw_chunks;
use crate::source::RawChunk;
use ncforge::Result;
use ncforge::model::VarId;
use ncforge::raw::{ChunkGrid, Chunks, Region, coordinates};

/// The chunks of the box that one tile has along one dimension: from `first`, as many as `count`, of which the tile's own
/// begin at `local`.
struct Along {
    first: u64,
    count: u64,
    local: u64,
}

impl Mosaic {
    /// The chunks of a box of chunk coordinates, row-major; `None` for variables of one tile, where only some records
    /// are taken, and where the chunks take more than `most` bytes.
    pub(super) fn chunks_of_box(
        &self,
        v: VarId,
        touched: &[Range<u64>],
        most: u64,
    ) -> Result<Option<Vec<RawChunk>>> {
        let From::Pattern(p) = self.from[v.0] else { return Ok(None) };
        let Some(Chunks { chunk, .. }) = self.layouts[v.0].0.place.chunks() else { return Ok(None) };
        if self.windowed {
            return Ok(None);
        }
        let grid = ChunkGrid::new(&self.schema.shape(v), chunk);
        let counts: Vec<u64> = touched.iter().map(|r| r.end - r.start).collect();
        let n: u64 = counts.iter().product();
        let mut found: Vec<Option<RawChunk>> = (0..n).map(|_| None).collect();
        let wanted = self.split_region(v, &grid, touched);
        let tiles: Vec<usize> = self.patterns[p].touching(&wanted).map(|(tile, _)| tile).collect();
        let slots = Mutex::new(&mut found);
        let spent = AtomicU64::new(0);
        self.engine.for_each(tiles.len(), |i| {
            let of_tile = self.chunks_of_tile(v, tiles[i], &grid, touched, &spent, most)?;
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, chunk) in of_tile {
                slots[at] = Some(chunk);
            }
            Ok(())
        })?;
        if spent.into_inner() > most {
            return Ok(None);
        }
        // Chunks that no single tile has: cut by edges, or in holes.
        let mut out = Vec::with_capacity(found.len());
        for (one, at) in found.into_iter().zip(coordinates(touched)) {
            out.push(match one {
                Some(chunk) => chunk,
                None => crate::source::Source::raw_chunk(self, v, &at)?,
            });
        }
        Ok(Some(out))
    }

    /// The elements of a box of chunks, along the split dimensions.
    fn split_region(&self, v: VarId, grid: &ChunkGrid, touched: &[Range<u64>]) -> Region {
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (axis, (_, kind)) in self.kinds(v).enumerate() {
            if kind != DimKind::Whole {
                let (from, to) =
                    (touched[axis].start * grid.chunk[axis], touched[axis].end * grid.chunk[axis]);
                start.push(from);
                count.push(to.min(grid.shape[axis]) - from);
            }
        }
        Region { start, count }
    }

    /// The chunks of the box that are one tile's alone, by their row-major numbers in the box. `spent` counts the bytes
    /// of all tiles; past `most` nothing is read.
    fn chunks_of_tile(
        &self,
        v: VarId,
        tile: usize,
        grid: &ChunkGrid,
        touched: &[Range<u64>],
        spent: &AtomicU64,
        most: u64,
    ) -> Result<Vec<(usize, RawChunk)>> {
        let Some(own) = self.facts[tile].var(v).filter(|_| self.facts[tile].has_same_chunks(v)) else {
            return Ok(Vec::new());
        };
        let Some(along) = self.along(v, tile, grid, touched) else { return Ok(Vec::new()) };
        let open = self.tiles.open(tile)?;
        let layout = open.container().layout(own)?;
        let Some(Chunks { index, .. }) = layout.place.chunks() else { return Ok(Vec::new()) };
        let inner: Vec<Range<u64>> = along.iter().map(|a| 0..a.count).collect();
        let mut out = Vec::new();
        let mut stored = Vec::new();
        let mut local = vec![0; along.len()];
        for at in coordinates(&inner) {
            let mut number = 0;
            for (axis, a) in along.iter().enumerate() {
                local[axis] = a.local + at[axis];
                let width = touched[axis].end - touched[axis].start;
                number = number * width + (a.first + at[axis] - touched[axis].start);
            }
            match index.get(&local)? {
                Some(record) => stored.push((number as usize, record)),
                None => out.push((number as usize, RawChunk::Unwritten)),
            }
        }
        let bytes = raw_chunks::bytes(&stored);
        if spent.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > most {
            return Ok(Vec::new());
        }
        let store = open.container().store();
        raw_chunks::read(&**store, stored, open.engine().fetch_memory(), |number, chunk| {
            out.push((number, chunk));
        })?;
        let mut read =
            coordinates(&inner).map(|at| along.iter().zip(&at).map(|(a, n)| a.local + n).collect());
        index.check_places(store.name(), &mut read)?;
        Ok(out)
    }

    /// The chunks of the box that lie wholly in a tile and begin where its own do; `None` if there are none.
    fn along(&self, v: VarId, tile: usize, grid: &ChunkGrid, touched: &[Range<u64>]) -> Option<Vec<Along>> {
        let dims = &self.schema.var(v).dims;
        dims.iter()
            .enumerate()
            .map(|(axis, d)| {
                let (span, c, n) = (self.facts[tile].spans[d.0], grid.chunk[axis], grid.shape[axis]);
                if !span.first.abs_diff(span.skip).is_multiple_of(c) {
                    return None;
                }
                let end = span.first + span.count;
                let first = span.first.div_ceil(c).max(touched[axis].start);
                let past = if end == n { n.div_ceil(c) } else { end / c }.min(touched[axis].end);
                let local = (first * c + span.skip).checked_sub(span.first)? / c;
                (past > first).then(|| Along { first, count: past - first, local })
            })
            .collect()
    }
}
