//! Strings and ragged rows: elements that are references to objects in the heap.
//!
//! Each has objects of its own, those that nobody wrote included: HDF5 frees the objects of an element that it overwrites, and
//! others with the same reference would lose their values. So does the fill value.

use super::space::Extent;
use super::state::{PlaceState, VarState};
use super::writer::{FILL_BUFFER, Netcdf4Writer, data_align};
use crate::container::{Container, ContainerMut};
use crate::error::Result;
use crate::hdf5::emit::ChunkSource;
use crate::model::{VarId, shape};
use crate::select::coordinates;

/// Absent chunks of more elements than this are not stored.
const MOST_COMPLETED: u64 = 1 << 20;

impl VarState {
    /// Whether elements that nobody wrote refer to something.
    fn refers(&self) -> bool {
        self.element.heap && self.pattern().iter().any(|&b| b != 0)
    }
}

impl Netcdf4Writer {
    /// Gives elements that have the reference of the fill value objects of their own.
    pub(super) fn own(&mut self, var: VarId, elements: &mut [u8]) -> Result<()> {
        let state = &self.vars[var.0];
        if !state.refers() {
            return Ok(());
        }
        let pattern = state.pattern().to_vec();
        let is_shared = |e: &&mut [u8]| **e == pattern[..];
        let shared: Vec<&mut [u8]> = elements.chunks_exact_mut(pattern.len()).filter(is_shared).collect();
        if shared.is_empty() {
            return Ok(());
        }
        self.heap.flush(&*self.store)?;
        let values = self.decode_heap(var, &pattern)?;
        for element in shared {
            element.copy_from_slice(&self.encode_heap(var, &values)?);
        }
        Ok(())
    }

    /// Moves strings and ragged rows that will be overwritten to new space, with a copy of the heap references: the committed
    /// state refers to the old space, and does not have the collections of the new references.
    pub(super) fn leave_references(&mut self, var: VarId, bytes: u64) -> Result<()> {
        let state = &self.vars[var.0];
        let PlaceState::Contiguous { offset: Some(old), committed: true, .. } = state.place else {
            return Ok(());
        };
        if !state.element.heap {
            return Ok(());
        }
        let new = self.take_for_data(bytes, data_align(bytes))?;
        let mut at = 0;
        while at < bytes {
            let n = (bytes - at).min(FILL_BUFFER as u64);
            self.store.write_at(&self.store.read_vec(old + at, n)?, new + at)?;
            at += n;
        }
        if let PlaceState::Contiguous { offset, committed, .. } = &mut self.vars[var.0].place {
            (*offset, *committed) = (Some(new), false);
        }
        self.space.release(Extent { offset: old, len: bytes });
        self.touch(var);
        Ok(())
    }

    /// Before a commit: elements in the metadata get objects of their own, and variables of which some chunks are stored get all of them, as
    /// HDF5 up to 2.0 cannot read an absent chunk of strings with a fill value from a file that it may not write to.
    pub(super) fn complete_references(&mut self) -> Result<()> {
        let all = !self.grown.is_empty();
        for id in self.schema.var_ids() {
            if !self.vars[id.0].element.heap || !(all || self.touched.contains(&id)) {
                continue;
            }
            match &self.vars[id.0].place {
                PlaceState::Compact(bytes) => {
                    let mut own = bytes.clone();
                    self.own(id, &mut own)?;
                    self.vars[id.0].place = PlaceState::Compact(own);
                }
                PlaceState::Contiguous { .. } => {}
                PlaceState::Chunked { .. } => self.complete_chunks(id)?,
            }
        }
        Ok(())
    }

    fn complete_chunks(&mut self, var: VarId) -> Result<()> {
        let state = &self.vars[var.0];
        let PlaceState::Chunked { chunk, codecs: Ok(codecs), table, .. } = &state.place else {
            return Ok(());
        };
        let lens = self.schema.shape(var);
        let grid: Vec<_> = state.extents(&lens).iter().zip(chunk).map(|(n, c)| 0..n.div_ceil(*c)).collect();
        let (stored, chunks) = (table.read().count(), shape::product(grid.iter().map(|r| r.end)));
        let each = shape::elements(chunk);
        let absent = chunks.saturating_sub(stored).saturating_mul(each);
        if !state.refers() || stored == 0 || absent == 0 || absent > MOST_COMPLETED {
            return Ok(());
        }
        let (codecs, table) = (codecs.clone(), table.clone());
        let unwritten = state.pattern().repeat(each as usize);
        for at in coordinates(&grid) {
            if table.read().get(&at).is_none() {
                let mut own = unwritten.clone();
                self.own(var, &mut own)?;
                let (bytes, mask) = codecs.encode(&own)?;
                self.place_chunk(var, &at, &bytes, mask)?;
            }
        }
        Ok(())
    }
}
