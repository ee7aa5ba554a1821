//! The commit: data, then metadata, then the superblock.

use super::container::Netcdf4Writer;
use super::image::{Builder, live_chunks};
use super::space::Extent;
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::hdf5::emit::{SUPERBLOCK_SIZE, superblock};

/// Metadata is written in pieces of about this many bytes.
const PIECE: usize = 4 << 20;

impl Netcdf4Writer {
    /// Makes the present state durable and visible, in this order: everything that the new metadata refers to
    /// and the metadata itself, in space that the committed state does not use; then the superblock.
    pub(super) fn commit(&mut self) -> Result<()> {
        for id in self.schema.var_ids() {
            self.settle(id)?;
        }
        self.heap.seal(&mut self.space, &*self.store)?;
        if !self.dirty {
            return self.store.sync();
        }
        let size = self.with_image(|image| image.size())?;
        let room = self.room(size)?;
        let root = self.write_metadata(room, size)?;
        let end = self.space.end().max(SUPERBLOCK_SIZE);
        if self.store.len() < end {
            self.store.set_len(end)?;
        }
        self.store.sync()?;
        self.store.write_at(&superblock(end, root), 0)?;
        self.store.sync()?;
        self.current = Some(room);
        // One spare room is enough; what is too small for today's metadata will not do tomorrow either.
        let (keep, drop): (Vec<_>, Vec<_>) = self.rooms.iter().partition(|r| **r == room || r.len >= size);
        self.rooms = keep;
        self.space.commit();
        for extent in drop {
            self.space.release(extent);
        }
        self.space.commit();
        self.dirty = false;
        Ok(())
    }

    fn with_image<T>(&self, f: impl FnOnce(&crate::hdf5::emit::Image<'_>) -> Result<T>) -> Result<T> {
        let chunks = live_chunks(&self.vars);
        let builder = Builder { schema: &self.schema, vars: &self.vars, chunks: &chunks, kept: &self.kept };
        f(&builder.build()?)
    }

    /// Room for `size` bytes that the committed state does not use: the foremost that is large enough.
    fn room(&mut self, size: u64) -> Result<Extent> {
        let free = self.rooms.iter().filter(|r| Some(**r) != self.current && r.len >= size);
        if let Some(room) = free.min_by_key(|r| r.offset) {
            return Ok(*room);
        }
        // A file that outgrew its room will grow again.
        let len = (size + size / 4).next_multiple_of(8);
        let offset = self.take(len, 8)?;
        let room = Extent { offset, len };
        self.rooms.push(room);
        Ok(room)
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
