//! The commit: data, then metadata, then the superblock.

use std::collections::HashSet;
use std::sync::Arc;

use super::image::{Builder, Ids};
use super::pieces::Pieces;
use super::space::Extent;
use super::standing::Standing;
use super::state::PlaceState;
use super::writer::Netcdf4Writer;
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::hdf5::emit::{Assembly, ChunkSource, SUPERBLOCK_SIZE, superblock};
use crate::hdf5::superblock::Superblock;
use crate::model::{DimId, Schema, VarId};
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

impl Netcdf4Writer {
    /// Makes the present state durable and visible, in this order: everything that the new metadata refers to
    /// and the metadata itself, in space that the committed state does not use; then the superblock.
    ///
    /// If the metadata are then placed after a gap that could hold them (their former space in front),
    /// they move there in a second commit, so that they stay in front and a sync does not leave a hole.
    pub(super) fn commit(&mut self) -> Result<()> {
        if !self.prepare()? {
            return self.store.sync();
        }
        self.release_collections()?;
        if self.reclaim || !self.is_steady {
            return self.commit_whole();
        }
        let root = match self.standing.take() {
            Some(mut standing) => {
                let written = standing.write(self);
                self.standing = Some(standing);
                written?
            }
            None => None,
        };
        let Some(root) = root else { return self.commit_twice() };
        let end = self.space.end_after(None).max(SUPERBLOCK_SIZE);
        self.flip(State { root, end })?;
        self.current = self.standing.as_mut().map(Standing::switch);
        self.space.commit();
        self.committed(State { root, end })
    }

    /// The last commit: metadata are in one place, in front if they fit there.
    pub(super) fn complete_metadata(&mut self) -> Result<()> {
        self.dirty |= self.standing.is_some();
        if !self.prepare()? {
            return self.store.sync();
        }
        self.commit_whole()
    }

    /// Completes what the metadata will refer to; whether there is anything to commit.
    fn prepare(&mut self) -> Result<bool> {
        let unsettled: Vec<VarId> = self.unsettled.iter().copied().collect();
        unsettled.into_iter().try_for_each(|id| self.settle(id))?;
        self.unsettled.clear();
        self.complete_references()?;
        self.heap.seal(&mut self.space, &*self.store)?;
        Ok(self.dirty)
    }

    /// Writes all metadata to one place.
    fn commit_whole(&mut self) -> Result<()> {
        self.reshape();
        let (assembly, _) = self.assemble()?;
        let size = assembly.size();
        let space = self.metadata_space(size)?;
        let mut state = self.switch_to(&assembly, space)?;
        if let Some(offset) = self.space.take_below(size, 8, space.offset) {
            state = self.switch_to(&assembly, Extent { offset, len: size })?;
        }
        self.is_steady = true;
        self.committed(state)
    }

    /// Writes all metadata to a second place, and keeps the first one to be brought up to date in turn.
    fn commit_twice(&mut self) -> Result<()> {
        let Some(old) = self.current.filter(|_| self.standing.is_none()) else { return self.commit_whole() };
        let (assembly, ids) = self.assemble()?;
        let space = self.metadata_space(assembly.size())?;
        let root = self.write_metadata(&assembly, space)?;
        let end = self.space.end_after(None).max(SUPERBLOCK_SIZE);
        self.flip(State { root, end })?;
        self.current = Some(space);
        self.standing = Some(Standing::new(self, assembly, ids, space, old));
        self.space.commit();
        self.committed(State { root, end })
    }

    /// Writes the metadata to `space` and sets the superblock to it; the old metadata are free then.
    fn switch_to(&mut self, assembly: &Assembly, space: Extent) -> Result<State> {
        let root = self.write_metadata(assembly, space)?;
        let live = self.live(Some(space))?;
        let (start, last) = bounds(&live);
        // If all extents in use are known, the file ends where the last one ends. If some heap collections are not
        // known, only released space is free.
        let end = if self.reclaim { last } else { self.space.end_after(self.current) };
        let state = State { root, end: end.max(SUPERBLOCK_SIZE) };
        if start < SUPERBLOCK_SIZE || last > state.end {
            return Err(self.wrong(start, &format!("bytes {start} to {last} in a file of {}", state.end)));
        }
        self.flip(state)?;
        if let Some(old) = self.current.replace(space) {
            self.space.release(old);
        }
        if std::mem::take(&mut self.reclaim) {
            self.space.set_live(live, SUPERBLOCK_SIZE);
        } else {
            self.space.commit();
        }
        Ok(state)
    }

    /// Makes everything durable, and then the superblock name it.
    fn flip(&mut self, state: State) -> Result<()> {
        if self.store.len() < state.end {
            self.store.set_len(state.end)?;
        }
        self.store.sync()?;
        self.store.write_at(&superblock(state.end, state.root), 0)?;
        self.store.sync()
    }

    /// After a commit: what was changed before it is in the file.
    fn committed(&mut self, state: State) -> Result<()> {
        // Only now: until the superblock was replaced, the state before needed the bytes that are truncated.
        let len = self.store.len();
        // Reserved space that was not needed is released.
        let surplus = std::mem::take(&mut self.reserved) > state.end;
        if len > state.end || (surplus && len == state.end) {
            self.store.set_len(state.end)?;
        }
        self.read_back(state)?;
        if self.standing.is_none() {
            self.vars.iter_mut().for_each(|v| v.place.was_committed());
        }
        for id in std::mem::take(&mut self.touched) {
            self.vars[id.0].place.was_committed();
        }
        self.grown.clear();
        self.dirty = false;
        Ok(())
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
        let known = |used: &Extent| self.heap.extents().contains(used);
        if let Some(lost) = self.collections_in_use()?.unwrap_or_default().iter().find(|u| !known(u)) {
            return Err(self.wrong(lost.offset, "values refer to space that is free"));
        }
        let found = read::open(Arc::clone(&self.read_store), false)?;
        // Dimensions with invented names exist only as long as variables that use them.
        let seen = |s: &Schema| (s.groups.len(), s.vars.len());
        if seen(found.schema()) != seen(&self.schema) {
            return Err(self.wrong(0, "the description that is read is not the one that was written"));
        }
        let phony = self.facts.phony(&self.schema);
        for id in self.schema.var_ids() {
            let path = self.schema.var_path(id);
            let Some(other) = found.schema().find_var(&path) else {
                return Err(self.wrong(0, &format!("`{path}` is not found")));
            };
            if found.schema().shape(other) != self.seen_again(id, &phony) {
                return Err(self.wrong(0, &format!("`{path}` has another shape when it is read")));
            }
        }
        Ok(())
    }

    /// The shape in which a variable is read: along dimensions that are invented, it has its own lengths.
    fn seen_again(&self, id: VarId, phony: &HashSet<DimId>) -> Vec<u64> {
        let shape = self.schema.shape(id);
        let own = self.vars[id.0].extents(&shape);
        let dims = self.schema.var(id).dims.iter().zip(&shape).zip(own);
        dims.map(|((d, &len), &own)| if phony.contains(d) { own } else { len }).collect()
    }

    fn wrong(&self, offset: u64, what: &str) -> Error {
        Error::corrupt(self.store.name(), offset, format!("after an update, {what}"))
    }

    /// All known extents of a state whose metadata are in `metadata`.
    fn live(&self, metadata: Option<Extent>) -> Result<Vec<Extent>> {
        let standing = self.standing.iter().flat_map(Standing::extents);
        let metadata = metadata.into_iter().filter(|_| self.standing.is_none()).chain(standing);
        let mut live: Vec<Extent> = metadata.chain(self.heap.extents().iter().copied()).collect();
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

    /// All metadata, placed relative to their beginning.
    pub(super) fn assemble(&self) -> Result<(Assembly, Ids)> {
        let builder = Builder { schema: &self.schema, vars: &self.vars, facts: &self.facts, planned: None };
        let (image, ids) = builder.build()?;
        Ok((Assembly::new(image)?, ids))
    }

    /// Allocates `size` bytes that the committed state does not use.
    pub(super) fn metadata_space(&mut self, size: u64) -> Result<Extent> {
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

    /// Writes metadata to a place, which is free again if that fails.
    fn write_metadata(&mut self, assembly: &Assembly, space: Extent) -> Result<u64> {
        let written = self.write_at(assembly, space);
        if written.is_err() {
            self.space.release(space);
        }
        written
    }

    fn write_at(&self, assembly: &Assembly, space: Extent) -> Result<u64> {
        let mut out = Pieces::new(&*self.store, space.offset);
        let root = assembly.write(space.offset, &mut |bytes| out.put(bytes))?;
        if out.finish()? != space.offset + assembly.size() {
            return Err(Error::Internal("metadata differs from its planned size".into()));
        }
        Ok(root)
    }
}
