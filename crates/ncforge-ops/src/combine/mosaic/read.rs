//! Reading the mosaic like a file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::fill::heap_fill_of;
use super::{DimKind, From, Mosaic};
use crate::boxes::each_row;
use crate::source::{RawChunk, Records, Source, VarGroup};
use ncforge::model::{Format, Schema, Values, VarId, shape};
use ncforge::raw::{ChunkGrid, Chunks, Region, VarLayout, coordinates};
use ncforge::store::ReadStore;
use ncforge::{Engine, Error, FileId, Hyperslab, Result};

/// A part of a selection that one tile has.
pub(super) struct Piece {
    pub(super) tile: usize,
    /// The region in the selection.
    pub(super) region: Region,
    /// The part of the tile.
    pub(super) local: Hyperslab,
}

impl Mosaic {
    /// The parts of a dense selection, disjoint. An element in none is a hole.
    pub(super) fn pieces(&self, v: VarId, slab: &Hyperslab) -> Vec<Piece> {
        match self.from[v.0] {
            From::Tile(tile) => self.piece(v, slab, tile).into_iter().collect(),
            From::Pattern(p) => {
                let (mut start, mut count) = (Vec::new(), Vec::new());
                for (axis, (_, kind)) in self.kinds(v).enumerate() {
                    if kind != DimKind::Whole {
                        start.push(slab.start[axis]);
                        count.push(slab.end(axis) - slab.start[axis]);
                    }
                }
                let wanted = Region { start, count };
                let touching = self.patterns[p].touching(&wanted);
                touching.filter_map(|(tile, _)| self.piece(v, slab, tile)).collect()
            }
        }
    }

    /// A tile's part of a selection.
    fn piece(&self, v: VarId, slab: &Hyperslab, tile: usize) -> Option<Piece> {
        self.facts[tile].var(v)?;
        let n = slab.rank();
        let (mut start, mut local, mut count) =
            (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        for (axis, d) in self.schema.var(v).dims.iter().enumerate() {
            let span = self.facts[tile].spans[d.0];
            let (first, step) = (slab.start[axis], slab.stride[axis]);
            // The indices of the selection that lie below a place.
            let below = |place: u64| place.saturating_sub(first).div_ceil(step).min(slab.count[axis]);
            let (from, to) = (below(span.first), below(span.first + span.count));
            if from >= to {
                return None;
            }
            start.push(from);
            local.push(first + from * step - span.first + span.skip);
            count.push(to - from);
        }
        let local = Hyperslab::strided(&local, &count, &slab.stride);
        Some(Piece { tile, local, region: Region { start, count } })
    }

    fn check(&self, v: VarId, slab: &Hyperslab) -> Result<()> {
        let name = self.schema.var_path(v);
        if !slab.is_dense() && self.existing.is_some() {
            return Err(Error::Internal(format!(
                "`{name}`: a file that is added to is read without strides"
            )));
        }
        slab.check(&self.schema.shape(v), &name)
    }

    /// Fills the holes of a selection.
    pub(super) fn fill_holes(&self, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let Some(patch) = self.patches.get(&v) else {
            fill_all(out, self.fills[v.0].as_deref().unwrap_or(&[0]));
            return match &self.existing {
                Some(existing) => {
                    let size = out.len() / slab.len().max(1) as usize;
                    existing.overlay(v, slab, size, out)
                }
                None => Ok(()),
            };
        };
        let size = out.len() / slab.len().max(1) as usize;
        let shape = self.schema.shape(v);
        if slab.is_dense() {
            each_row(&shape, &slab.start, &slab.count, size, |to, from| {
                out[to].copy_from_slice(&patch[from]);
            });
            return Ok(());
        }
        let each: Vec<Range<u64>> = slab.count.iter().map(|&n| 0..n).collect();
        for (to, at) in out.chunks_exact_mut(size.max(1)).zip(coordinates(&each)) {
            let place = |d: usize| slab.start[d] + at[d] * slab.stride[d];
            let from = (0..at.len()).fold(0, |k, d| k * shape[d] + place(d)) as usize * size;
            to.copy_from_slice(&patch[from..from + size]);
        }
        Ok(())
    }

    /// The tile that has all of a chunk of the whole, the chunk's coordinates there; `None` if it is cut between
    /// tiles, or stands otherwise in its tile. The second is true when no tile has any of it.
    fn chunk_in_tile(&self, v: VarId, at: &[u64], chunk: &[u64]) -> (Option<(usize, Vec<u64>)>, bool) {
        let grid = ChunkGrid::new(&self.schema.shape(v), chunk);
        let (start, count) = grid.region(at);
        let pieces = self.pieces(v, &Hyperslab::new(&start, &count));
        match &pieces[..] {
            [] => (None, true),
            [one] if one.region.count == count => {
                // Values of a chunk beyond the last record taken would be seen when the dimension grows.
                let cut = self.windowed
                    && self
                        .kinds(v)
                        .zip(count.iter().zip(chunk))
                        .any(|((d, _), (n, c))| n < c && self.schema.dim(d).unlimited);
                let aligned = !cut
                    && self.facts[one.tile].has_same_chunks(v)
                    && one.local.start.iter().zip(chunk).all(|(&s, &c)| s.is_multiple_of(c));
                let local = one.local.start.iter().zip(chunk).map(|(&s, &c)| s / c).collect();
                (aligned.then_some((one.tile, local)), false)
            }
            _ => (None, false),
        }
    }

    fn chunks(&self, v: VarId) -> Result<Vec<u64>> {
        match self.layouts[v.0].0.place.chunks() {
            Some(Chunks { chunk, .. }) => Ok(chunk.to_vec()),
            None => Err(Error::not_chunked(self.schema.var_path(v))),
        }
    }
}

/// Fills bytes with an element.
pub(crate) fn fill_all(out: &mut [u8], element: &[u8]) {
    let first = element.first().copied().unwrap_or(0);
    if element.iter().all(|&b| b == first) {
        out.fill(first);
        return;
    }
    out.chunks_exact_mut(element.len()).for_each(|e| e.copy_from_slice(element));
}

impl Source for Mosaic {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn name(&self) -> String {
        match self.tiles.len() {
            1 => self.tiles.name(0),
            n => format!("{} and {} other {}s", self.tiles.name(0), n - 1, self.scheme.noun()),
        }
    }

    fn format(&self) -> Format {
        self.tile_format
    }

    fn files(&self) -> Vec<PathBuf> {
        let existing = self.existing.iter().map(|e| e.path().to_owned());
        self.tiles.paths().iter().cloned().chain(existing).collect()
    }

    fn ids(&self) -> Result<Vec<FileId>> {
        if let Some(known) = self.ids.get() {
            return Ok(known.clone());
        }
        let found = self.files().iter().map(|path| FileId::at(path)).collect::<Result<Vec<_>>>()?;
        Ok(self.ids.get_or_init(|| found).clone())
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        Ok(Arc::clone(&self.layouts[v.0].0))
    }

    fn has_runs(&self, _: VarId) -> bool {
        false
    }

    fn has_chunks(&self, v: VarId) -> bool {
        self.layouts[v.0].1 && !self.patches.contains_key(&v) && self.existing.is_none()
    }

    fn is_stored(&self, v: VarId, at: &[u64]) -> Result<bool> {
        match self.chunk_in_tile(v, at, &self.chunks(v)?) {
            (_, true) => Ok(false),
            (None, false) => Ok(true),
            (Some((tile, local)), false) => {
                let Some(own) = self.facts[tile].var(v) else { return Ok(false) };
                let layout = self.tiles.open(tile)?.container().layout(own)?;
                match layout.place.chunks() {
                    Some(Chunks { index, .. }) => Ok(index.get(&local)?.is_some()),
                    None => Ok(true),
                }
            }
        }
    }

    fn read(&self, v: VarId, slab: &Hyperslab) -> Result<Values> {
        let var = self.schema.var(v);
        if let Some(size) = self.schema.fixed_size(var.dtype) {
            let mut bytes = ncforge::Buffer::try_zeroed(slab.len() as usize * size)?;
            self.read_bytes(v, slab, &mut bytes)?;
            return Ok(Values::Fixed(bytes));
        }
        self.check(v, slab)?;
        let mut out = vec![heap_fill_of(&self.schema, v); slab.len() as usize];
        if let Some(existing) = &self.existing {
            existing.overlay_values(v, slab, &mut out)?;
        }
        for piece in self.pieces(v, slab) {
            let Some(own) = self.facts[piece.tile].var(v) else { continue };
            let Values::Heap(mut values) = self.tiles.open(piece.tile)?.read(own, &piece.local)? else {
                return Err(Error::Internal(format!("`{}` changes its type", self.schema.var_path(v))));
            };
            each_row(&slab.count, &piece.region.start, &piece.region.count, 1, |from, to| {
                out[to].swap_with_slice(&mut values[from]);
            });
        }
        Ok(Values::Heap(out))
    }

    fn read_bytes(&self, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.check(v, slab)?;
        let Some(size) = self.schema.fixed_size(self.schema.var(v).dtype) else {
            let name = self.schema.var_path(v);
            return Err(Error::wrong_kind(name, "has no plain bytes"));
        };
        if out.is_empty() {
            return Ok(());
        }
        let pieces = self.pieces(v, slab);
        let covered: u64 = pieces.iter().map(|p| p.local.len()).sum();
        if covered < slab.len() {
            self.fill_holes(v, slab, out)?;
        }
        let regions: Vec<Region> = pieces.iter().map(|p| p.region.clone()).collect();
        self.engine.read_parts(&slab.count, size, &regions, out, |i, part| {
            let Some(own) = self.facts[pieces[i].tile].var(v) else { return Ok(()) };
            let tile = self.tiles.open(pieces[i].tile)?;
            tile.note_read();
            part.read(0, tile.container(), own, &pieces[i].local)
        })?;
        pieces.iter().try_for_each(|piece| self.rebase(v, piece, &slab.count, out))
    }

    fn var_group(&self, v: VarId) -> Option<&VarGroup> {
        self.var_groups.get(v.0)?.as_ref()
    }

    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        vars.iter().try_for_each(|&v| self.check(v, slab))?;
        self.read_small(vars, slab, out)
    }

    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        self.records_of_series(vars)
    }

    fn record_file(&self, number: usize) -> Result<Arc<dyn ReadStore>> {
        let tile = self.file_with_records(number);
        let tile = tile.ok_or_else(|| Error::Internal(format!("no file has the records {number}")))?;
        Ok(Arc::clone(self.tiles.open(tile)?.container().store()))
    }

    fn raw_chunk(&self, v: VarId, at: &[u64]) -> Result<RawChunk> {
        match self.chunk_in_tile(v, at, &self.chunks(v)?) {
            (_, true) => Ok(RawChunk::Unwritten),
            (None, false) => Ok(RawChunk::Pieces),
            (Some((tile, local)), false) => {
                let Some(own) = self.facts[tile].var(v) else { return Ok(RawChunk::Pieces) };
                let tile = self.tiles.open(tile)?;
                Ok(match self.engine.raw_chunk(tile.container(), own, &local)? {
                    Some((bytes, mask)) => RawChunk::Encoded(bytes, mask),
                    None => RawChunk::Unwritten,
                })
            }
        }
    }

    fn raw_chunks(&self, v: VarId, touched: &[Range<u64>], most: u64) -> Result<Option<Vec<RawChunk>>> {
        self.chunks_of_box(v, touched, most)
    }

    fn stored_bytes(&self, v: VarId) -> Result<u64> {
        // By its share of the values: counting the chunks of every tile would read every index.
        let size = |v: VarId| {
            let element = self.schema.fixed_size(self.schema.var(v).dtype).unwrap_or(16) as u64;
            shape::bytes(&self.schema.shape(v), element)
        };
        let all: u64 = self.schema.var_ids().map(size).fold(0, u64::saturating_add);
        Ok((self.bytes as f64 * (size(v) as f64 / all.max(1) as f64)) as u64)
    }
}
