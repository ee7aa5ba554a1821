//! The chunks of the whole: each is one of a tile, or lies in none, or is cut by edges between tiles.
//!
//! A tile of a large set has a chunk of a kilobyte for every record of every variable. Asked for one by one, finding
//! and reading each costs several times what moving its bytes does: those of a tile are found together.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::{DimKind, From, Mosaic};
use ncforge::model::{VarId, shape};
use ncforge::raw::{Cell, Cells, ChunkGrid, ChunkIndex, ChunkRecord, Holder, Region, coordinates};
use ncforge::{Error, Hyperslab, Result};

/// A variable of the whole, and the index of its chunks.
#[derive(Clone, Debug)]
pub(super) struct OfMosaic {
    pub(super) mosaic: Arc<Mosaic>,
    pub(super) var: VarId,
}

impl ChunkIndex for OfMosaic {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        Err(Error::Internal(format!("chunk {at:?} of a mosaic lies in one of its tiles")))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        Err(Error::Internal("the chunks of a mosaic lie in its tiles".into()))
    }

    fn is_exact(&self) -> bool {
        self.mosaic.is_movable(self.var)
    }

    fn is_listed(&self) -> bool {
        false
    }

    fn has(&self, at: &[u64]) -> Result<bool> {
        let touched: Vec<Range<u64>> = at.iter().map(|&i| i..i + 1).collect();
        Ok(self.found(&touched)?.list != [Cell::Unwritten])
    }

    fn cells(&self, _: &Holder, touched: &[Range<u64>]) -> Result<Cells> {
        self.found(touched)
    }
}

/// A chunk of a tile: its number in the box, its coordinates and its place in the tile.
type OfTile = (usize, Vec<u64>, Option<ChunkRecord>);

/// The chunks of the box that one tile has along one dimension: from `first`, as many as `count`, of which the tile's own
/// begin at `local`.
struct Along {
    first: u64,
    count: u64,
    local: u64,
}

impl OfMosaic {
    /// The chunks of a box of chunk coordinates.
    fn found(&self, touched: &[Range<u64>]) -> Result<Cells> {
        let Self { mosaic, var } = self;
        let Some((chunk, _)) = mosaic.of_tiles[var.0].chunks() else {
            return Err(Error::not_chunked(mosaic.schema.var_path(*var)));
        };
        let grid = ChunkGrid::new(&mosaic.schema.shape(*var), chunk);
        let tiles: Vec<usize> = match mosaic.from[var.0] {
            From::Tile(tile) => vec![tile],
            From::Pattern(p) => {
                let wanted = self.split_region(&grid, touched);
                mosaic.patterns[p].touching(&wanted).map(|(tile, _)| tile).collect()
            }
        };
        let mut list = vec![None; shape::product(touched.iter().map(|r| r.end - r.start)) as usize];
        let all = Mutex::new((&mut list, Vec::new()));
        mosaic.engine.for_each(tiles.len(), |i| {
            let Some((holder, cells)) = self.of_tile(tiles[i], &grid, touched)? else { return Ok(()) };
            let (list, holders) = &mut *all.lock().unwrap_or_else(PoisonError::into_inner);
            for (number, at, record) in cells {
                let stored = |record| Cell::Stored { holder: holders.len(), at, record };
                list[number] = Some(record.map_or(Cell::Unwritten, stored));
            }
            holders.push(holder);
            Ok(())
        })?;
        let holders = all.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        // Chunks that no single tile has: in holes, or cut by edges.
        let list = list.into_iter().zip(coordinates(touched)).map(|(found, at)| {
            found.unwrap_or_else(|| {
                let (start, count) = grid.region(&at);
                match mosaic.pieces(*var, &Hyperslab::new(&start, &count)).is_empty() {
                    true => Cell::Unwritten,
                    false => Cell::Pieces,
                }
            })
        });
        Ok(Cells { list: list.collect(), holders })
    }

    /// The elements of a box of chunks, along the split dimensions.
    fn split_region(&self, grid: &ChunkGrid, touched: &[Range<u64>]) -> Region {
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (axis, (_, kind)) in self.mosaic.kinds(self.var).enumerate() {
            if kind != DimKind::Whole {
                let (from, to) =
                    (touched[axis].start * grid.chunk[axis], touched[axis].end * grid.chunk[axis]);
                start.push(from);
                count.push(to.min(grid.shape[axis]) - from);
            }
        }
        Region { start, count }
    }

    /// The chunks of the box that are one tile's alone.
    fn of_tile(
        &self,
        tile: usize,
        grid: &ChunkGrid,
        touched: &[Range<u64>],
    ) -> Result<Option<(Holder, Vec<OfTile>)>> {
        let facts = &self.mosaic.facts[tile];
        let own = facts.var(self.var).filter(|_| facts.has_same_chunks(self.var));
        let Some((own, along)) = own.zip(self.along(tile, grid, touched)) else { return Ok(None) };
        let open = self.mosaic.tiles.open(tile)?;
        let layout = open.layout(own)?;
        let Some(chunks) = layout.place.chunks() else { return Ok(None) };
        let inner: Vec<Range<u64>> = along.iter().map(|a| 0..a.count).collect();
        let cells = coordinates(&inner).map(|mut at| {
            let mut number = 0;
            for (axis, a) in along.iter().enumerate() {
                let width = touched[axis].end - touched[axis].start;
                number = number * width + (a.first + at[axis] - touched[axis].start);
                at[axis] += a.local;
            }
            let record = chunks.index.get(&at)?;
            Ok((number as usize, at, record))
        });
        let cells = cells.collect::<Result<_>>()?;
        let holder = Holder { store: open.container().store().clone(), index: chunks.index.clone() };
        Ok(Some((holder, cells)))
    }

    /// The chunks of the box that lie wholly in a tile and begin where its own do; `None` if there are none.
    fn along(&self, tile: usize, grid: &ChunkGrid, touched: &[Range<u64>]) -> Option<Vec<Along>> {
        let dims = &self.mosaic.schema.var(self.var).dims;
        dims.iter()
            .enumerate()
            .map(|(axis, d)| {
                let (span, c, n) = (self.mosaic.facts[tile].spans[d.0], grid.chunk[axis], grid.shape[axis]);
                if !span.first.abs_diff(span.skip).is_multiple_of(c) {
                    return None;
                }
                let end = span.first + span.count;
                let first = span.first.div_ceil(c).max(touched[axis].start);
                // Values of a chunk beyond the last record taken would be seen when the dimension grows.
                let is_last = end == n && !(self.mosaic.windowed && self.mosaic.schema.dim(*d).unlimited);
                let past = if is_last { n.div_ceil(c) } else { end / c }.min(touched[axis].end);
                let local = (first * c + span.skip).checked_sub(span.first)? / c;
                (past > first).then(|| Along { first, count: past - first, local })
            })
            .collect()
    }
}
