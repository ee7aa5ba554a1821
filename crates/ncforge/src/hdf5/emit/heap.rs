//! Global heap collections (HDF5 File Format Specification III.E): where strings and ragged rows lie.

use super::bytes::Out;
use super::image::{Blob, ObjectId};

/// Smallest collection that libhdf5 accepts.
pub(crate) const MIN_COLLECTION: u64 = 4096;
/// A collection is closed when it would grow past this (a larger object has one of its own).
pub(crate) const FULL_COLLECTION: u64 = 64 << 10;
/// Bytes before the first object.
const HEAD: u64 = 16;
/// Bytes before each object's contents.
pub(crate) const OBJECT_HEAD: u64 = 16;
/// Objects are numbered from 1 in 16 bits.
pub(crate) const MAX_OBJECTS: usize = 65535;

/// Bytes that an object of `len` bytes takes in a collection.
pub(crate) fn object_size(len: usize) -> u64 {
    OBJECT_HEAD + (len as u64).next_multiple_of(8)
}

/// Bytes of a collection that holds objects which take `used` bytes.
pub(crate) fn collection_size(used: u64) -> u64 {
    (HEAD + used).max(MIN_COLLECTION)
}

/// Where the objects of a collection end that take `used` bytes, from its beginning.
pub(crate) fn objects_end(used: u64) -> u64 {
    HEAD + used
}

/// The bytes of a collection of `size` bytes with these objects, numbered from 1.
pub(crate) fn encode_collection<'a>(objects: impl IntoIterator<Item = &'a [u8]>, size: u64) -> Vec<u8> {
    let mut o = Out::new();
    o.bytes(b"GCOL").bytes(&[1, 0, 0, 0]).u64(size);
    o.bytes(&encode_objects(objects, 0, size.saturating_sub(HEAD)));
    o.0
}

/// The last `size` bytes of a collection, with these objects behind `before` others.
pub(crate) fn encode_objects<'a>(
    objects: impl IntoIterator<Item = &'a [u8]>,
    before: usize,
    size: u64,
) -> Vec<u8> {
    let mut o = Out::new();
    for (i, object) in objects.into_iter().enumerate() {
        o.u16((before + i) as u16 + 1).u16(0).u32(0).u64(object.len() as u64).bytes(object);
        o.0.resize(o.len().next_multiple_of(8), 0);
    }
    let free = size.saturating_sub(o.len() as u64);
    if free >= OBJECT_HEAD {
        // Object 0 is the free space; its size includes its head.
        o.u64(0).u64(free);
    }
    o.0.resize(size as usize, 0);
    o.0
}

/// The place of an object in the heap: the position of its collection, its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Position of the collection.
    pub collection: usize,
    /// The object's number, from 1.
    pub index: u32,
}

/// Bytes whose heap objects have slots, but whose addresses are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    references: Vec<(usize, ObjectId)>,
    heap: Vec<(usize, Slot)>,
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Content { bytes, ..Content::default() }
    }
}

impl Content {
    /// The bytes, with addresses in place.
    pub(super) fn resolve(&self, objects: &[u64], collections: &[u64]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &(at, id) in &self.references {
            bytes[at..at + 8].copy_from_slice(&objects[id.0].to_le_bytes());
        }
        for &(at, slot) in &self.heap {
            bytes[at..at + 8].copy_from_slice(&collections[slot.collection].to_le_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&slot.index.to_le_bytes());
        }
        bytes
    }
}

/// Collects objects into collections.
#[derive(Debug, Default)]
pub(super) struct HeapPlan {
    collections: Vec<(u64, Vec<Content>)>,
}

impl HeapPlan {
    /// Gives everything a blob refers to a slot, innermost first.
    pub(super) fn intern(&mut self, blob: &Blob) -> Content {
        let heap = blob
            .heap
            .iter()
            .map(|(at, inner)| {
                let content = self.intern(inner);
                (*at, self.add(content))
            })
            .collect();
        Content { bytes: blob.bytes.clone(), references: blob.references.clone(), heap }
    }

    fn add(&mut self, content: Content) -> Slot {
        let size = object_size(content.bytes.len());
        let fits = self
            .collections
            .last()
            .is_some_and(|(used, c)| HEAD + used + size <= FULL_COLLECTION && c.len() < MAX_OBJECTS);
        if !fits {
            self.collections.push((0, Vec::new()));
        }
        let collection = self.collections.len() - 1;
        let (used, contents) = &mut self.collections[collection];
        *used += size;
        contents.push(content);
        Slot { collection, index: contents.len() as u32 }
    }

    /// Bytes of each collection.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.collections.iter().map(|(used, _)| collection_size(*used))
    }

    /// The bytes of each collection.
    pub(super) fn encode<'a>(
        &'a self,
        objects: &'a [u64],
        addresses: &'a [u64],
    ) -> impl Iterator<Item = Vec<u8>> + 'a {
        self.collections.iter().map(move |(used, contents)| {
            let bytes: Vec<Vec<u8>> = contents.iter().map(|c| c.resolve(objects, addresses)).collect();
            encode_collection(bytes.iter().map(Vec::as_slice), collection_size(*used))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_fill_their_size_and_split() {
        let c = encode_collection([&b"abc"[..], b""], MIN_COLLECTION);
        assert_eq!(c.len() as u64, MIN_COLLECTION);
        assert_eq!(&c[16..18], &[1, 0]);
        assert_eq!(&c[40..42], &[2, 0]);
        assert_eq!(&c[56..64], &[0; 8]);
        assert_eq!(u64::from_le_bytes(c[64..72].try_into().unwrap()), MIN_COLLECTION - 56);
        let mut plan = HeapPlan::default();
        let inner = Blob::from(vec![1; 40_000]);
        let blob = Blob {
            bytes: vec![0; 48],
            references: vec![],
            heap: vec![(4, inner.clone()), (20, inner.clone()), (36, inner)],
        };
        let content = plan.intern(&blob);
        assert_eq!(plan.sizes().count(), 3);
        let bytes = content.resolve(&[], &[100, 200, 300]);
        assert_eq!(bytes[4], 100);
        assert_eq!(bytes[20], 200);
        assert_eq!(bytes[12], 1);
    }
}
