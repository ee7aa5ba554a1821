//! The global heap: the bytes of strings and ragged rows, in collections of a few KiB.
//!
//! A stored string or row is a length, the address of a collection, and the number of an object in it
//! (format specification, "Global Heap").

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::source::Source;
use crate::error::Result;
use crate::store::PerProcess;

/// Bytes of collections that are cached.
const CACHE: usize = 16 << 20;

/// One collection.
#[derive(Debug)]
pub(crate) struct Collection {
    bytes: Vec<u8>,
    objects: FxHashMap<u16, std::ops::Range<usize>>,
}

impl Collection {
    /// Bytes of a collection's header (signature, version, reserved bytes, size), and of an object's in it: 8 and a length, up to the
    /// next multiple of 8, at which what follows begins whatever the bytes of lengths.
    fn head_len(source: &Source) -> usize {
        (8 + usize::from(source.sizes().length)).next_multiple_of(8)
    }

    /// Bytes of the collection at an address.
    fn size_at(source: &Source, address: u64) -> Result<u64> {
        let head = source.peek(address, Self::head_len(source) as u64)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"GCOL")?;
        c.version("a global heap collection", 1..=1)?;
        c.skip(3)?;
        let size = c.length()?;
        if size < head.len() as u64 {
            return Err(c.fail(format!("a global heap collection of {size} bytes")));
        }
        Ok(size)
    }

    /// Reads the collection at an address.
    pub(crate) fn read(source: &Source, address: u64) -> Result<Self> {
        let head = Self::head_len(source);
        let padding = head - 8 - usize::from(source.sizes().length);
        let bytes = source.read(address, Self::size_at(source, address)?)?.to_vec();
        let mut c = source.cursor(&bytes, address);
        c.skip(head)?;
        let mut objects = FxHashMap::default();
        while c.remaining() >= head {
            let index = c.u16()?;
            c.skip(6)?;
            let size = c.length()?;
            if index == 0 {
                // The free space: always last.
                break;
            }
            c.skip(padding)?;
            let start = c.pos();
            let len = usize::try_from(size).map_err(|_| c.fail("a heap object larger than memory"))?;
            c.skip(len)?;
            objects.insert(index, start..start + len);
            c.skip_up_to(len.next_multiple_of(8) - len);
        }
        Ok(Collection { bytes, objects })
    }

    /// Bytes that the collection takes in the file.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes of an object.
    pub(crate) fn get(&self, index: u32) -> Option<&[u8]> {
        let range = self.objects.get(&u16::try_from(index).ok()?)?;
        Some(&self.bytes[range.clone()])
    }
}

/// A pointer into the global heap as datasets and attributes store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapId {
    /// Elements of the row, or bytes of the string.
    pub count: u32,
    /// The collection; 0 or undefined for an empty or null value.
    pub address: Option<u64>,
    /// The object in it.
    pub index: u32,
}

impl HeapId {
    /// Reads the stored form: 4 bytes of count, an address, 4 bytes of index.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        Ok(HeapId { count: c.u32()?, address: c.address()?.filter(|&a| a != 0), index: c.u32()? })
    }
}

/// Collections that were read, for any number of threads.
#[derive(Debug, Default)]
pub(crate) struct GlobalHeap {
    cache: PerProcess<Mutex<Cached>>,
}

#[derive(Debug, Default)]
struct Cached {
    collections: FxHashMap<u64, Arc<Collection>>,
    /// Bytes of all of them.
    bytes: usize,
}

impl GlobalHeap {
    fn lock(&self) -> MutexGuard<'_, Cached> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The collection at an address.
    pub(crate) fn collection(&self, source: &Source, address: u64) -> Result<Arc<Collection>> {
        if let Some(found) = self.lock().collections.get(&address) {
            return Ok(found.clone());
        }
        let read = Arc::new(Collection::read(source, address)?);
        let cached = &mut *self.lock();
        if cached.bytes > CACHE {
            *cached = Cached::default();
        }
        cached.bytes += read.bytes.len();
        cached.collections.insert(address, read.clone());
        Ok(read)
    }

    /// Announces that objects of these collections are read next: of a store with latency, those collections that are
    /// absent are fetched in one round, and in a second one the rest of those that are long.
    pub(crate) fn want(&self, source: &Source, addresses: &[u64]) -> Result<()> {
        if !source.has_latency() {
            return Ok(());
        }
        let absent: Vec<u64> = {
            let cached = self.lock();
            addresses.iter().copied().filter(|a| !cached.collections.contains_key(a)).collect()
        };
        source.want(absent.iter().map(|&a| source.guess(a)))?;
        // Damage is reported by the reader of the heap.
        source.want(absent.iter().filter_map(|&a| Some((a, Collection::size_at(source, a).ok()?))))
    }
}
