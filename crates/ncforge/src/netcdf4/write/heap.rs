//! The global heap for the values of variables: strings and ragged rows, in collections between
//! the data.
//!
//! Collections start small and double up to 64 KiB, so that a file with two strings stays small and one with
//! millions is not scattered. A collection that a commit has made durable is never touched again.

use super::space::{Extent, FileSpace};
use crate::error::{Error, Result};
use crate::hdf5::emit::Blob;
use crate::hdf5::emit::heap::{
    FULL_COLLECTION, MIN_COLLECTION, collection_size, encode_collection, object_size,
};
use crate::store::WriteStore;

/// A collection to which objects can be added.
#[derive(Debug)]
struct Open {
    place: Extent,
    used: u64,
    objects: Vec<Vec<u8>>,
}

/// Writes the heap.
#[derive(Debug)]
pub(super) struct HeapWriter {
    open: Option<Open>,
    /// Whether `open` has objects that are not written yet.
    dirty: bool,
    next: u64,
    /// All known collections to which variables refer.
    extents: Vec<Extent>,
}

impl HeapWriter {
    /// The heap of a file with these collections.
    pub(super) fn new(extents: Vec<Extent>) -> Self {
        Self { open: None, dirty: false, next: MIN_COLLECTION, extents }
    }

    /// All collections.
    pub(super) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Stores all objects to which a blob refers; returns its bytes with the references.
    pub(super) fn store(
        &mut self,
        blob: Blob,
        space: &mut FileSpace,
        store: &dyn WriteStore,
    ) -> Result<Vec<u8>> {
        let mut bytes = blob.bytes;
        for (at, target) in blob.heap {
            let content = self.store(target, space, store)?;
            let (address, index) = self.add(content, space, store)?;
            bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&index.to_le_bytes());
        }
        Ok(bytes)
    }

    fn add(&mut self, content: Vec<u8>, space: &mut FileSpace, store: &dyn WriteStore) -> Result<(u64, u32)> {
        let need = object_size(content.len());
        let fits = self
            .open
            .as_ref()
            .is_some_and(|o| collection_size(o.used + need) <= o.place.len && o.objects.len() < 65535);
        if !fits {
            self.seal(space, store)?;
            let len = self.next.max(collection_size(need));
            self.next = (self.next * 2).min(FULL_COLLECTION);
            let offset = space.take(len, 8).ok_or_else(|| Error::TooLarge("the file is too large".into()))?;
            self.open = Some(Open { place: Extent { offset, len }, used: 0, objects: Vec::new() });
        }
        let Some(open) = &mut self.open else { return Err(Error::Internal("no heap collection".into())) };
        open.used += need;
        open.objects.push(content);
        self.dirty = true;
        Ok((open.place.offset, open.objects.len() as u32))
    }

    /// Writes pending objects; the collection stays open.
    pub(super) fn flush(&mut self, store: &dyn WriteStore) -> Result<()> {
        if let Some(open) = self.open.as_ref().filter(|_| self.dirty) {
            let bytes = encode_collection(open.objects.iter().map(Vec::as_slice), open.place.len);
            store.write_at(&bytes, open.place.offset)?;
        }
        self.dirty = false;
        Ok(())
    }

    /// Writes and closes the open collection, cutting it to its contents if it is the last thing in the file.
    pub(super) fn seal(&mut self, space: &mut FileSpace, store: &dyn WriteStore) -> Result<()> {
        if let Some(open) = &mut self.open {
            let len = collection_size(open.used);
            if space.shrink_end(open.place.end(), open.place.offset + len) {
                open.place.len = len;
                self.dirty = true;
            }
        }
        self.flush(store)?;
        self.extents.extend(self.open.take().map(|o| o.place));
        Ok(())
    }
}
