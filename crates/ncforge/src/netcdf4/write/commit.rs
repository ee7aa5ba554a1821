//! The commit: data, then metadata, then the superblock.

use super::container::Netcdf4Writer;
use super::image::{Builder, live_chunks};
use super::space::Extent;
use super::state::PlaceState;
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::hdf5::emit::{ChunkSource, Image, SUPERBLOCK_SIZE, superblock};

/// Metadata is written in pieces of about this many bytes.
const PIECE: usize = 4 << 20;

impl Netcdf4Writer {
    /// Makes the present state durable and visible, in this order: everything that the new metadata refers to
    /// and the metadata itself, in space that the committed state does not use; then the superblock.
    ///
    /// When that leaves the metadata behind a gap that could hold it (the space in front that it had before),
    /// it moves there in a second commit, so that it stays in front and the file leaves no hole at each sync.
    pub(super) fn commit(&mut self) -> Result<()> {
        for id in self.schema.var_ids() {
            self.settle(id)?;
        }
        self.heap.seal(&mut self.space, &*self.store)?;
        if !self.dirty {
            return self.store.sync();
        }
        let size = self.metadata_size()?;
        let room = self.room(size)?;
        self.switch_to(room, size)?;
        if self.reclaim {
            self.reclaim()?;
        }
        if let Some(offset) = self.space.take_below(size, 8, room.offset) {
            self.switch_to(Extent { offset, len: size }, size)?;
        }
        self.dirty = false;
        let end = self.space.end().max(SUPERBLOCK_SIZE);
        let len = self.store.len();
        // Space that was reserved and not needed is given back.
        let surplus = std::mem::take(&mut self.reserved) > end;
        if len > end || (surplus && len == end) { self.store.set_len(end) } else { Ok(()) }
    }

    /// Writes the metadata to `room` and lets the superblock point there; what it had before is free then.
    fn switch_to(&mut self, room: Extent, size: u64) -> Result<()> {
        let root = self.write_metadata(room, size)?;
        let end = self.space.end_without(self.current).max(SUPERBLOCK_SIZE);
        if self.store.len() < end {
            self.store.set_len(end)?;
        }
        self.store.sync()?;
        self.store.write_at(&superblock(end, root), 0)?;
        self.store.sync()?;
        let old = self.current.replace(room);
        self.space.commit();
        if let Some(old) = old {
            self.space.release(old);
            self.space.commit();
        }
        Ok(())
    }

    /// Takes all space that the committed state does not refer to.
    pub(super) fn reclaim(&mut self) -> Result<()> {
        let live = self.live()?;
        self.space.set_live(live, SUPERBLOCK_SIZE);
        self.space.commit();
        self.reclaim = false;
        Ok(())
    }

    /// Everything that the committed state refers to.
    fn live(&self) -> Result<Vec<Extent>> {
        let mut live: Vec<Extent> =
            self.current.into_iter().chain(self.heap.extents().iter().copied()).collect();
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
        let builder = Builder { schema: &self.schema, vars: &self.vars, chunks: &chunks, kept: &self.kept };
        f(&builder.build()?)
    }

    /// Room for `size` bytes that the committed state does not use.
    fn room(&mut self, size: u64) -> Result<Extent> {
        if let Some(front) = self.front.take() {
            if front.len >= size {
                return Ok(front);
            }
            self.space.release(front);
        }
        if let Some(offset) = self.space.take_below(size, 8, u64::MAX) {
            return Ok(Extent { offset, len: size });
        }
        // A file that outgrew its room will grow again.
        let len = (size + size / 4).next_multiple_of(8);
        Ok(Extent { offset: self.take(len, 8)?, len })
    }

    fn write_metadata(&self, room: Extent, size: u64) -> Result<u64> {
        let mut buffer = Vec::with_capacity(PIECE.min(size as usize));
        let mut at = room.offset;
        let root = self.with_image(|image| {
            image.write(room.offset, &mut |bytes| {
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
        if at != room.offset + size {
            return Err(Error::Invalid("metadata differs from its planned size".into()));
        }
        Ok(root)
    }
}
