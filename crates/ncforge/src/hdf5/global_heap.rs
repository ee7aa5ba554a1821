//! The global heap: the bytes of strings and ragged rows, in collections of a few KiB.
//!
//! A stored string or row is a length, the address of a collection, and the number of an object in it
//! (format specification, "Global Heap").

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::cursor::Cursor;
use super::source::Source;
use crate::error::Result;

/// Bytes of collections that are kept.
const CACHE: usize = 16 << 20;

/// One collection.
#[derive(Debug)]
pub struct Collection {
    bytes: Vec<u8>,
    objects: HashMap<u16, std::ops::Range<usize>>,
}

impl Collection {
    /// Reads the collection at an address.
    pub fn read(source: &Source, address: u64) -> Result<Self> {
        let l = usize::from(source.sizes().length);
        let head = source.peek(address, 8 + l as u64)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"GCOL")?;
        c.version("a global heap collection", 1..=1)?;
        c.skip(3)?;
        let size = c.length()?;
        if size < head.len() as u64 {
            return Err(c.fail(format!("a global heap collection of {size} bytes")));
        }
        let bytes = source.read(address, size)?.to_vec();
        let mut c = source.cursor(&bytes, address);
        c.skip(head.len())?;
        let mut objects = HashMap::new();
        while c.remaining() >= 8 + l {
            let index = c.u16()?;
            c.skip(6)?;
            let size = c.length()?;
            if index == 0 {
                // The free space: always last.
                break;
            }
            let start = c.pos();
            let len = usize::try_from(size).map_err(|_| c.fail("a heap object larger than memory"))?;
            c.skip(len)?;
            objects.insert(index, start..start + len);
            c.skip_up_to(len.next_multiple_of(8) - len);
        }
        Ok(Collection { bytes, objects })
    }

    /// Bytes that the collection takes in the file.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes of an object.
    pub fn get(&self, index: u32) -> Option<&[u8]> {
        let range = self.objects.get(&u16::try_from(index).ok()?)?;
        Some(&self.bytes[range.clone()])
    }
}

/// A pointer into the global heap as datasets and attributes store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapId {
    /// Elements of the row, or bytes of the string.
    pub count: u32,
    /// The collection; 0 or undefined for an empty or null value.
    pub address: Option<u64>,
    /// The object in it.
    pub index: u32,
}

impl HeapId {
    /// Reads the stored form: 4 bytes of count, an address, 4 bytes of index.
    pub fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        Ok(HeapId { count: c.u32()?, address: c.address()?.filter(|&a| a != 0), index: c.u32()? })
    }
}

/// Collections that were read, for any number of threads.
#[derive(Debug, Default)]
pub struct GlobalHeap {
    cache: Mutex<(HashMap<u64, Arc<Collection>>, usize)>,
}

impl GlobalHeap {
    /// The collection at an address.
    pub fn collection(&self, source: &Source, address: u64) -> Result<Arc<Collection>> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().0.get(&address) {
            return Ok(found.clone());
        }
        let read = Arc::new(Collection::read(source, address)?);
        let (map, bytes) = &mut *lock();
        if *bytes > CACHE {
            map.clear();
            *bytes = 0;
        }
        *bytes += read.bytes.len();
        map.insert(address, read.clone());
        Ok(read)
    }
}
