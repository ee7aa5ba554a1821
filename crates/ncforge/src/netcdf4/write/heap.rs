//! The global heap for the values of variables: strings and ragged rows, in collections between
//! the data.
//!
//! Collections start small and double up to 64 KiB, so that a file with two strings stays small and one with millions is not
//! scattered. What a commit has made durable is never touched again, but for the free space of the last collection: objects go
//! there, and only when they are durable their first head takes the place of that of the free space. So a record of a few
//! bytes costs a few bytes, and a crash at any moment leaves a collection as it was, or with more objects.

use super::space::{Extent, FileSpace};
use crate::error::{Error, Result};
use crate::hdf5::emit::Blob;
use crate::hdf5::emit::heap::{
    FULL_COLLECTION, MAX_OBJECTS, MIN_COLLECTION, OBJECT_HEAD, collection_size, encode_collection,
    encode_objects, object_size, objects_end,
};
use crate::store::WriteStore;

/// What a disk writes whole.
const SECTOR: u64 = 512;

/// A collection to which objects can be added.
#[derive(Debug)]
struct Open {
    place: Extent,
    /// Bytes that its objects take.
    used: u64,
    count: usize,
    /// The last objects, …
    objects: Vec<Vec<u8>>,
    /// … those that a commit has not made durable.
    durable: Durable,
}

/// The objects of a collection that stay as they are.
#[derive(Clone, Copy, Debug, Default)]
struct Durable {
    used: u64,
    count: usize,
}

impl Open {
    fn has_room(&self, need: u64) -> bool {
        collection_size(self.used + need) <= self.place.len && self.count < MAX_OBJECTS
    }

    /// Whether the head of the free space lies in one sector: a disk writes it whole, or not at all.
    fn can_continue(&self) -> bool {
        (self.place.offset + objects_end(self.used)) % SECTOR <= SECTOR - OBJECT_HEAD
    }

    /// Brings the last objects into the file.
    fn write(&self, store: &dyn WriteStore) -> Result<()> {
        let (Extent { offset, len }, Durable { used, count }) = (self.place, self.durable);
        let objects = self.objects.iter().map(Vec::as_slice);
        if count == 0 {
            return store.write_at(&encode_collection(objects, len), offset);
        }
        let from = objects_end(used);
        let bytes = encode_objects(objects, count, len - from);
        let (head, behind) = bytes.split_at(OBJECT_HEAD as usize);
        store.write_at(behind, offset + from + OBJECT_HEAD)?;
        store.sync()?;
        store.write_at(head, offset + from)
    }
}

/// Writes the heap.
#[derive(Debug)]
pub(super) struct HeapWriter {
    open: Option<Open>,
    /// Whether `open` has objects that are not written yet.
    dirty: bool,
    next: u64,
    /// All known collections to which variables refer, but for `open` before its first commit.
    extents: Vec<Extent>,
    /// Bytes of collections from which on it is worth to find out which of them are in use.
    many: u64,
}

/// Bytes of collections from which on those in use are searched again, if so many are in use.
fn many(used: u64) -> u64 {
    used.saturating_mul(2).saturating_add(FULL_COLLECTION)
}

impl HeapWriter {
    /// The heap of a file with these collections.
    pub(super) fn new(extents: Vec<Extent>) -> Self {
        let many = many(bytes(&extents));
        Self { open: None, dirty: false, next: MIN_COLLECTION, extents, many }
    }

    /// All collections.
    pub(super) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Whether the collections may be twice as many as are in use, because elements were overwritten.
    pub(super) fn has_doubled(&self) -> bool {
        bytes(&self.extents) > self.many
    }

    /// Forgets the collections that are not among `used`, and returns them; `None`: it is not known which are.
    pub(super) fn keep(&mut self, used: Option<&[Extent]>) -> Vec<Extent> {
        let Some(used) = used else {
            self.many = u64::MAX;
            return Vec::new();
        };
        let is_used = |e: &Extent| used.iter().any(|u| u.offset == e.offset);
        let (kept, gone): (Vec<_>, Vec<_>) = self.extents.iter().partition(|e| is_used(e));
        self.open = self.open.take().filter(|o| is_used(&o.place));
        self.many = many(bytes(&kept));
        self.extents = kept;
        gone
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
        if !self.open.as_ref().is_some_and(|o| o.has_room(need)) {
            self.seal(space, store)?;
            let len = self.next.max(collection_size(need));
            self.next = (self.next * 2).min(FULL_COLLECTION);
            let offset = space.take(len, 8).ok_or_else(|| Error::TooLarge("the file is too large".into()))?;
            let (place, durable) = (Extent { offset, len }, Durable::default());
            self.open = Some(Open { place, used: 0, count: 0, objects: Vec::new(), durable });
        }
        let Some(open) = &mut self.open else { return Err(Error::Internal("no heap collection".into())) };
        open.used += need;
        open.count += 1;
        open.objects.push(content);
        self.dirty = true;
        Ok((open.place.offset, open.count as u32))
    }

    /// Writes pending objects.
    pub(super) fn flush(&mut self, store: &dyn WriteStore) -> Result<()> {
        if std::mem::take(&mut self.dirty)
            && let Some(open) = &self.open
        {
            open.write(store).inspect_err(|_| self.dirty = true)?;
            if open.durable.count > 0 {
                self.settle();
            }
        }
        Ok(())
    }

    /// All objects stay where they are.
    fn settle(&mut self) {
        if let Some(open) = &mut self.open {
            open.durable = Durable { used: open.used, count: open.count };
            open.objects.clear();
        }
        self.open = self.open.take().filter(Open::can_continue);
    }

    /// Writes pending objects for a commit, or before another collection is begun: they stay where they are from then on. A new
    /// collection that is the last thing in the file is cut to its contents.
    pub(super) fn seal(&mut self, space: &mut FileSpace, store: &dyn WriteStore) -> Result<()> {
        let Some(open) = self.open.as_mut().filter(|o| o.durable.count == 0) else {
            return self.flush(store);
        };
        let len = collection_size(open.used);
        if space.shrink_end(open.place.end(), open.place.offset + len) {
            open.place.len = len;
            self.dirty = true;
        }
        let place = open.place;
        self.flush(store)?;
        self.extents.push(place);
        self.settle();
        Ok(())
    }
}

fn bytes(extents: &[Extent]) -> u64 {
    extents.iter().map(|e| e.len).sum()
}
