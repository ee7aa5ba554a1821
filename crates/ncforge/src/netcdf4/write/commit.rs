//! The commit: data, then metadata, then the superblock.

use std::sync::Arc;

use super::image::{Builder, live_chunks};
use super::space::Extent;
use super::state::PlaceState;
use super::writer::Netcdf4Writer;
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::hdf5::emit::{ChunkSource, Image, SUPERBLOCK_SIZE, superblock};
use crate::hdf5::superblock::Superblock;
use crate::model::Schema;
use crate::netcdf4::read;

/// A state of the file, as recorded in its superblock.
#[derive(Clone, Copy, Debug)]
struct State {
    root: u64,
    end: u64,
}

/// The beginning of the first extent, and the end of the last one.
fn bounds(extents: &[Extent]) -> (u64, u64) {
    let used = extents.iter().filter(|e| e.len > 0);
    used.fold((u64::MAX, 0), |(from, to), e| (from.min(e.offset), to.max(e.end())))
}

/// Metadata is written in pieces of about this many bytes.
const PIECE: usize = 4 << 20;

impl Netcdf4Writer {
    /// Makes the present state durable and visible, in this order: everything that the new metadata refers to
    /// and the metadata itself, in space that the committed state does not use; then the superblock.
    ///
    /// If the metadata are then placed after a gap that could hold them (their former space in front),
    /// they move there in a second commit, so that they stay in front and a sync does not leave a hole.
    pub(super) fn commit(&mut self) -> Result<()> {
        for id in self.schema.var_ids() {
            self.settle(id)?;
        }
        self.heap.seal(&mut self.space, &*self.store)?;
        if !self.dirty {
            return self.store.sync();
        }
        let size = self.metadata_size()?;
        let space = self.metadata_space(size)?;
        let mut state = self.switch_to(space, size)?;
        if let Some(offset) = self.space.take_below(size, 8, space.offset) {
            state = self.switch_to(Extent { offset, len: size }, size)?;
        }
        // Only now: until the superblock was replaced, the state before needed the bytes that are truncated.
        let len = self.store.len();
        // Reserved space that was not needed is released.
        let surplus = std::mem::take(&mut self.reserved) > state.end;
        if len > state.end || (surplus && len == state.end) {
            self.store.set_len(state.end)?;
        }
        self.read_back(state)?;
        self.dirty = false;
        Ok(())
    }

    /// Writes the metadata to `space` and sets the superblock to it; the old metadata are free then.
    fn switch_to(&mut self, space: Extent, size: u64) -> Result<State> {
        let root = match self.write_metadata(space, size) {
            Ok(root) => root,
            Err(e) => {
                self.space.release(space);
                return Err(e);
            }
        };
        let live = self.live(Some(space))?;
        let (start, last) = bounds(&live);
        // If all extents in use are known, the file ends where the last one ends. If some heap collections are not
        // known, only released space is free.
        let end = if self.reclaim { last } else { self.space.end_after(self.current) };
        let state = State { root, end: end.max(SUPERBLOCK_SIZE) };
        if start < SUPERBLOCK_SIZE || last > state.end {
            return Err(self.wrong(start, &format!("bytes {start} to {last} in a file of {}", state.end)));
        }
        if self.store.len() < state.end {
            self.store.set_len(state.end)?;
        }
        self.store.sync()?;
        self.store.write_at(&superblock(state.end, root), 0)?;
        self.store.sync()?;
        if let Some(old) = self.current.replace(space) {
            self.space.release(old);
        }
        if std::mem::take(&mut self.reclaim) {
            self.space.set_live(live, SUPERBLOCK_SIZE);
        } else {
            self.space.commit();
        }
        for state in &mut self.vars {
            state.place.was_committed();
        }
        Ok(state)
    }

    /// Frees all space to which the committed state does not refer.
    pub(super) fn reclaim(&mut self) -> Result<()> {
        let live = self.live(self.current)?;
        self.space.set_live(live, SUPERBLOCK_SIZE);
        self.reclaim = false;
        Ok(())
    }

    /// Checks the committed state as another program reads it: the superblock has the intended contents, and the file ends
    /// where it says. If assertions are on, everything is read again, and extents must not overlap.
    fn read_back(&self, state: State) -> Result<()> {
        let found = Superblock::read(&*self.store)?;
        let len = self.store.len();
        if (found.root, found.end, len) != (state.root, state.end, state.end) {
            let State { root, end } = state;
            let what = format!(
                "the superblock says root {} and end {} in a file of {len} bytes, not {root} and {end}",
                found.root, found.end
            );
            return Err(self.wrong(0, &what));
        }
        if cfg!(debug_assertions) { self.read_back_all() } else { Ok(()) }
    }

    /// Checks that a reader finds the intended schema and data.
    fn read_back_all(&self) -> Result<()> {
        let mut live = self.live(self.current)?;
        live.retain(|e| e.len > 0);
        live.sort_unstable();
        if let Some(pair) = live.windows(2).find(|p| p[0].end() > p[1].offset) {
            let what = format!("{} bytes at {} reach into what is there", pair[0].len, pair[0].offset);
            return Err(self.wrong(pair[1].offset, &what));
        }
        let found = read::open(Arc::clone(&self.read_store))?;
        // Dimensions with invented names exist only as long as variables that use them.
        let seen = |s: &Schema| (s.groups.len(), s.vars.len());
        if seen(found.schema()) != seen(&self.schema) {
            return Err(self.wrong(0, "the description that is read is not the one that was written"));
        }
        for id in self.schema.var_ids() {
            let path = self.schema.var_path(id);
            let Some(other) = found.schema().find_var(&path) else {
                return Err(self.wrong(0, &format!("`{path}` is not found")));
            };
            if found.schema().shape(other) != self.schema.shape(id) {
                return Err(self.wrong(0, &format!("`{path}` has another shape when it is read")));
            }
        }
        Ok(())
    }

    fn wrong(&self, offset: u64, what: &str) -> Error {
        Error::corrupt(self.store.name(), offset, format!("after an update, {what}"))
    }

    /// All known extents of a state whose metadata are in `metadata`.
    fn live(&self, metadata: Option<Extent>) -> Result<Vec<Extent>> {
        let mut live: Vec<Extent> = metadata.into_iter().chain(self.heap.extents().iter().copied()).collect();
        for (id, state) in self.schema.var_ids().zip(&self.vars) {
            match &state.place {
                PlaceState::Compact(_) | PlaceState::Contiguous { offset: None, .. } => {}
                PlaceState::Contiguous { offset: Some(offset), .. } => {
                    live.push(Extent { offset: *offset, len: state.bytes(&self.schema.shape(id)) });
                }
                PlaceState::Chunked { table, .. } => table.read().each(&mut |_, r| {
                    live.push(Extent { offset: r.offset, len: r.len });
                    Ok(())
                })?,
            }
        }
        Ok(live)
    }

    #[allow(
        clippy::redundant_closure_for_method_calls,
        reason = "the method's path is not general enough in its lifetime"
    )]
    fn metadata_size(&self) -> Result<u64> {
        self.with_image(|image| image.size())
    }

    fn with_image<T>(&self, f: impl FnOnce(&Image<'_>) -> Result<T>) -> Result<T> {
        let chunks = live_chunks(&self.vars);
        let builder = Builder { schema: &self.schema, vars: &self.vars, chunks: &chunks, facts: &self.facts };
        f(&builder.build()?)
    }

    /// Allocates `size` bytes that the committed state does not use.
    fn metadata_space(&mut self, size: u64) -> Result<Extent> {
        if let Some(front) = self.front.take() {
            if front.len >= size {
                return Ok(front);
            }
            self.space.release(front);
        }
        if let Some(offset) = self.space.take_below(size, 8, u64::MAX) {
            return Ok(Extent { offset, len: size });
        }
        // A file whose metadata outgrew their space will grow again.
        let len = (size + size / 4).next_multiple_of(8);
        Ok(Extent { offset: self.take(len, 8)?, len })
    }

    fn write_metadata(&self, space: Extent, size: u64) -> Result<u64> {
        let mut buffer = Vec::with_capacity(PIECE.min(size as usize));
        let mut at = space.offset;
        let root = self.with_image(|image| {
            image.write(space.offset, &mut |bytes| {
                buffer.extend_from_slice(bytes);
                if buffer.len() >= PIECE {
                    self.store.write_at(&buffer, at)?;
                    at += buffer.len() as u64;
                    buffer.clear();
                }
                Ok(())
            })
        })?;
        self.store.write_at(&buffer, at)?;
        at += buffer.len() as u64;
        if at != space.offset + size {
            return Err(Error::Internal("metadata differs from its planned size".into()));
        }
        Ok(root)
    }
}
