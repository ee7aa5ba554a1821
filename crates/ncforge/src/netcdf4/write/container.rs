//! A netCDF-4 file that is being written, with the interface for the engine.

use std::sync::Arc;

use super::coverage::{Coverage, runs};
use super::redefine;
use super::space::Extent;
use super::state::{PlaceState, VarState};
use super::values::Encoder;
use super::writer::{ChunkSpace, Netcdf4Writer, PAGED_CHUNK, data_align};
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::hdf5::file::File;
use crate::layout::{ChunkRecord, VarLayout};
use crate::model::{Changes, DimId, Fill, Schema, Value, VarId};
use crate::netcdf4::read::values::Decoder;
use crate::select::{ChunkGrid, Hyperslab, coordinates};
use crate::store::{ReadStore, WriteStore};

/// The smallest number of bytes for which space is reserved.
const RESERVE_FROM: u64 = 1 << 20;
/// A selection of more byte runs than this is not tracked run by run: its surroundings are filled instead.
const MOST_RUNS: usize = 4096;

impl Container for Netcdf4Writer {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.read_store
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.check(var)?;
        Ok(Arc::new(self.vars[var.0].layout(self.path(var), &self.schema.shape(var))))
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.check(var)?;
        let file = File::detached(Arc::clone(&self.read_store));
        Decoder::new(&file, stored).heap(&self.vars[var.0].stored, stored)
    }
}

impl ContainerMut for Netcdf4Writer {
    fn write_store(&self) -> &Arc<dyn WriteStore> {
        &self.store
    }

    fn redefine(&mut self, schema: Schema) -> Result<()> {
        redefine::redefine(self, schema)
    }

    fn redefine_parts(&mut self, schema: &Schema, changes: &Changes) -> Result<()> {
        redefine::redefine_parts(self, schema, changes)
    }

    fn grow(&mut self, dim: DimId, len: u64) -> Result<()> {
        let d = self.schema.dims.get_mut(dim.0);
        let d = d.ok_or(Error::NoSuchId { kind: "dimension", id: dim.0 })?;
        if len <= d.len {
            return Ok(());
        }
        if !d.unlimited {
            let what = format!("dimension `{}` has a fixed length of {}, not {len}", d.name, d.len);
            return Err(Error::BadDimension { dim: dim.0, what });
        }
        if len > i64::MAX as u64 {
            return Err(Error::TooLarge(format!("dimension `{}` of length {len}", d.name)));
        }
        d.len = len;
        self.grown.insert(dim);
        self.dirty = true;
        Ok(())
    }

    fn place_chunk(&mut self, var: VarId, at: &[u64], encoded: &[u8], mask: u32) -> Result<()> {
        let len = encoded.len() as u64;
        let ChunkSpace { table, offset, freed, is_fresh } = self.space_for_chunk(var, at, len)?;
        if let Err(e) = self.store.write_at(encoded, offset) {
            // The former chunk keeps its space: it is what is there.
            if is_fresh {
                self.space.release(Extent { offset, len });
            }
            return Err(e);
        }
        self.space.release(freed);
        table.insert(at, ChunkRecord { offset, len, mask })?;
        self.touch(var);
        Ok(())
    }

    fn will_place(&mut self, bytes: u64) -> Result<()> {
        let from = self.space.end();
        // With free space inside the file, it is unknown how much will be placed after its end.
        if bytes < RESERVE_FROM || self.space.has_free(PAGED_CHUNK) {
            return Ok(());
        }
        self.reserved = from.saturating_add(bytes);
        self.store.reserve(from, bytes)
    }

    fn reserve_chunk(&mut self, var: VarId, at: &[u64], len: u64, mask: u32) -> Result<ChunkRecord> {
        let ChunkSpace { table, offset, freed, .. } = self.space_for_chunk(var, at, len)?;
        self.space.release(freed);
        self.reach_chunk(var, at);
        let record = ChunkRecord { offset, len, mask };
        table.insert(at, record)?;
        self.touch(var);
        Ok(record)
    }

    fn reserve(&mut self, var: VarId) -> Result<()> {
        self.check(var)?;
        let shape = self.schema.shape(var);
        let (chunk, size) = match &self.vars[var.0] {
            VarState { place: PlaceState::Chunked { chunk, filters, .. }, stored, .. } => {
                if !filters.is_empty() {
                    let what =
                        "reserving space for compressed chunks, whose length is not known before,".into();
                    return Err(Error::Unsupported { path: self.path(var), what });
                }
                (chunk.clone(), u64::from(stored.size))
            }
            _ => return self.will_write(var, &Hyperslab::all(&shape)),
        };
        self.will_write(var, &Hyperslab::all(&shape))?;
        let grid = ChunkGrid::new(&shape, &chunk);
        let ranges: Vec<_> = grid.counts().into_iter().map(|n| 0..n).collect();
        for at in coordinates(&ranges) {
            self.reserve_chunk(var, &at, grid.chunk_len() * size, 0)?;
        }
        Ok(())
    }

    fn adopt_chunk(&mut self, var: VarId, at: &[u64], record: ChunkRecord) -> Result<()> {
        self.check(var)?;
        let path = self.path(var);
        let PlaceState::Chunked { table, filters, .. } = &self.vars[var.0].place else {
            return Err(Error::not_chunked(path));
        };
        let is_plain = filters.is_empty();
        let table = Arc::clone(table);
        // The allocator must return the same offsets: everything after this chunk depends on it.
        let offset = self.take_for_chunk(record.len, is_plain)?;
        let inside = offset.checked_add(record.len).is_some_and(|end| end <= self.store.len());
        if offset != record.offset || !inside || record.len == 0 || table.read().get(at).is_some() {
            return Err(Error::Invalid(format!(
                "chunk {at:?} of `{path}` cannot lie at byte {}",
                record.offset
            )));
        }
        table.insert(at, record)?;
        self.reach_chunk(var, at);
        self.touch(var);
        Ok(())
    }

    fn is_untouched(&self, var: VarId) -> bool {
        self.vars.get(var.0).is_some_and(VarState::is_untouched)
    }

    fn will_write(&mut self, var: VarId, region: &Hyperslab) -> Result<()> {
        self.check(var)?;
        let state = &mut self.vars[var.0];
        if region.is_empty() {
            return Ok(());
        }
        if let Some(found) = &mut state.found {
            self.touched.insert(var);
            found.reach((0..region.rank()).map(|d| region.end(d)));
        }
        if !matches!(state.place, PlaceState::Contiguous { .. }) {
            return Ok(());
        }
        let shape = self.schema.shape(var);
        region.check(&shape, &self.path(var))?;
        let bytes = self.vars[var.0].bytes(&shape);
        let element = u64::from(self.vars[var.0].stored.size);
        self.leave_references(var, bytes)?;
        let place = match &self.vars[var.0].place {
            PlaceState::Contiguous { offset, .. } => *offset,
            _ => return Ok(()),
        };
        let place = match place {
            Some(at) => at,
            None => self.take_for_data(bytes, data_align(bytes))?,
        };
        let ranges = runs(region, &shape, element, MOST_RUNS);
        let bounds = || {
            // From the first selected element to the last.
            let mut stride = element;
            let (mut from, mut to) = (0, element);
            for d in (0..shape.len()).rev() {
                from += region.start[d] * stride;
                to += (region.end(d) - 1) * stride;
                stride *= shape[d];
            }
            (from, to)
        };
        let unknown = ranges.is_none().then(bounds);
        let gaps = match (&self.vars[var.0].place, unknown) {
            (PlaceState::Contiguous { written, .. }, Some((from, to))) => written.gaps(from, to),
            _ => Vec::new(),
        };
        self.fill(var, place, &gaps)?;
        if let PlaceState::Contiguous { offset, written, .. } = &mut self.vars[var.0].place {
            if offset.is_none() {
                self.touched.insert(var);
                self.dirty = true;
            }
            self.unsettled.insert(var);
            *offset = Some(place);
            for (from, to) in ranges.unwrap_or_default().into_iter().chain(unknown) {
                written.add(from, to);
            }
        }
        Ok(())
    }

    fn settle(&mut self, var: VarId) -> Result<()> {
        self.check(var)?;
        let bytes = self.vars[var.0].bytes(&self.schema.shape(var));
        let (at, gaps) = match &self.vars[var.0].place {
            PlaceState::Contiguous { offset: Some(at), written, .. } => (*at, written.gaps(0, bytes)),
            _ => return self.heap.flush(&*self.store),
        };
        // The gaps may contain old bytes, which readers must not interpret as references. Without a fill value, new space at the
        // end of the file, which a disk need not hold, is left as it is.
        let left = self.schema.var(var).fill == Fill::None && self.space.is_new(at);
        if (self.vars[var.0].is_filled() && !left) || self.vars[var.0].element.heap {
            self.fill(var, at, &gaps)?;
        }
        if let PlaceState::Contiguous { written, .. } = &mut self.vars[var.0].place {
            *written = Coverage::whole(bytes);
        }
        if self.store.len() < at + bytes {
            self.store.set_len(at + bytes)?;
        }
        self.heap.flush(&*self.store)
    }

    fn place_inline(&mut self, var: VarId, bytes: &[u8]) -> Result<()> {
        self.check(var)?;
        let path = self.path(var);
        let PlaceState::Compact(old) = &mut self.vars[var.0].place else {
            return Err(Error::wrong_kind(path, "is not stored inline"));
        };
        if old.len() != bytes.len() {
            return Err(Error::Length(format!(
                "{} bytes for `{path}`, which has {}",
                bytes.len(),
                old.len()
            )));
        }
        old.copy_from_slice(bytes);
        self.touch(var);
        Ok(())
    }

    fn encode_heap(&mut self, var: VarId, values: &[Value]) -> Result<Vec<u8>> {
        self.check(var)?;
        let variable = self.schema.var(var);
        let encoder = Encoder { schema: &self.schema, endian: variable.endian };
        let blob = encoder.list(variable.dtype, &self.vars[var.0].stored, values)?;
        // The end of the file moves, even if the references are written to existing space.
        self.dirty = true;
        self.heap.store(blob, &mut self.space, &*self.store)
    }

    fn own_elements(&mut self, var: VarId, elements: &mut [u8]) -> Result<()> {
        self.check(var)?;
        self.own(var, elements)
    }

    fn sync(&mut self) -> Result<()> {
        self.commit()
    }

    fn complete(&mut self) -> Result<()> {
        self.complete_metadata()
    }

    fn as_container(&self) -> &dyn Container {
        self
    }
}
