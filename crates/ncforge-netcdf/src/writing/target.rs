//! A dataset whose chunks ncforge writes, and the chunks of it that are not in the file yet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ncforge::codec::{CodecChain, Filter, filters};
use ncforge::model::shape;

use super::hdf5::{Hdf5, Id, Owned};
use super::jobs::Queued;
use super::seen::Seen;
use crate::report::wish;
use crate::{heap, policy};

/// A chunk that is being gathered.
pub(super) struct Chunk {
    pub(super) data: Arc<Vec<u8>>,
    /// The part that was written.
    pub(super) seen: Seen,
    /// The time of the last write to it.
    pub(super) used: u64,
}

/// A dataset.
pub(super) struct Target {
    /// HDF5's identifier of its file.
    pub(super) file: Id,
    /// The number of its file among those of all libraries.
    pub(super) nc: i32,
    pub(super) chunk: Vec<u64>,
    /// Lengths of dimensions at most; `u64::MAX` for unlimited ones.
    most: Vec<u64>,
    pub(super) size: usize,
    pub(super) bytes: usize,
    pub(super) kind: Owned,
    /// A type in memory that is the same as the stored one.
    pub(super) same: Id,
    fill: Vec<u8>,
    pub(super) chain: CodecChain,
    /// Nothing was stored when ncforge first saw it, so that `stored` is all that is.
    fresh: bool,
    /// Chunks that were handed to HDF5, or will be.
    stored: HashSet<Box<[u64]>>,
    pub(super) chunks: HashMap<Box<[u64]>, Chunk>,
    /// Bytes of chunks that HDF5 would keep, which are not counted.
    cache: u64,
    /// Chunks that were handed on before they were whole, and how often one of them came back.
    early: HashSet<Box<[u64]>>,
    pub(super) returns: u32,
    /// Chunks that are being encoded.
    pub(super) queued: usize,
    /// Chunks that left the queue and are not in the file, oldest first: HDF5 failed to store them, or they are of a file that is another
    /// process's. The dataset's own calls try again, and fail as long as there are any.
    pub(super) waiting: Vec<Queued>,
    /// Reads that came between writes.
    pub(super) reads: u32,
}

/// Filters that ncforge encodes as netCDF-C's readers expect.
const FILTERS: [u16; 4] = [filters::DEFLATE, filters::SHUFFLE, filters::FLETCHER32, filters::ZSTD];

impl Target {
    /// The facts about a dataset; an error says why it is left to HDF5.
    pub(super) fn inquire(hdf5: &Hdf5, dataset: Id, nc: i32, budget: u64) -> Result<Self, &'static str> {
        const NO_ANSWER: &str = "HDF5 does not describe it";
        let kind = hdf5.type_of(dataset).ok_or(NO_ANSWER)?;
        let (class, size) = hdf5.class_and_size(&kind);
        // H5T_INTEGER, H5T_FLOAT, H5T_STRING of one character, H5T_ENUM.
        let fixed = matches!((class, size), (0 | 1 | 8, 1 | 2 | 4 | 8) | (3, 1));
        if !fixed {
            return Err("a type that is no number or text");
        }
        // Of others, HDF5 may touch the file by which the fill value was read, which another opening has closed.
        let creation = hdf5.creation_of(dataset).ok_or(NO_ANSWER)?;
        let chunk = hdf5.chunk_of(&creation).ok_or("not compressed")?;
        let list = hdf5.filters_of(&creation).ok_or(NO_ANSWER)?;
        if list.is_empty() {
            return Err("not compressed");
        }
        if list.iter().any(|(id, ..)| !FILTERS.contains(id)) || hdf5.has_chunk_options(&creation) {
            return Err("another filter");
        }
        let bytes = shape::checked(&chunk, size as u64).ok_or(NO_ANSWER)?;
        if !wish().always && bytes < policy::LEAST_CHUNK {
            return Err("small chunks");
        }
        if bytes > budget / 2 {
            return Err("large chunks");
        }
        let (_, most) = hdf5.extent_of(dataset).ok_or(NO_ANSWER)?;
        let list: Vec<_> =
            list.into_iter().map(|(id, params, optional)| Filter { id, params, optional }).collect();
        let chain = CodecChain::new(&list, size).map_err(|_| "another filter")?;
        if chain.not_written().is_some() || most.len() != chunk.len() || chunk.contains(&0) {
            return Err("another filter");
        }
        let fill = hdf5.fill_of(&creation, &kind, size).ok_or(NO_ANSWER)?;
        heap::note_chunk(bytes);
        Ok(Self {
            file: hdf5.file_of(dataset).ok_or(NO_ANSWER)?,
            nc,
            chunk,
            most,
            size,
            bytes: bytes as usize,
            kind,
            same: -1,
            fill,
            chain,
            fresh: hdf5.stored_bytes(dataset) == 0,
            stored: HashSet::new(),
            chunks: HashMap::new(),
            cache: hdf5.cache_of(dataset).ok_or(NO_ANSWER)?,
            early: HashSet::new(),
            returns: 0,
            queued: 0,
            waiting: Vec::new(),
            reads: 0,
        })
    }

    /// Lengths of what a chunk has inside these lengths of the dataset.
    pub(super) fn inside(&self, number: &[u64], lens: &[u64]) -> Vec<u64> {
        let len = |d: usize| lens[d].saturating_sub(number[d] * self.chunk[d]).min(self.chunk[d]);
        (0..number.len()).map(len).collect()
    }

    /// Lengths of what must be written of a chunk before nothing more can come.
    pub(super) fn whole(&self, number: &[u64]) -> Vec<u64> {
        self.inside(number, &self.most)
    }

    /// Whether the file has no chunk of this number.
    pub(super) fn is_absent(&self, number: &[u64]) -> bool {
        self.fresh && !self.stored.contains(number)
    }

    /// Notes that the file gets a chunk.
    pub(super) fn note_stored(&mut self, number: &[u64]) {
        if self.fresh && !self.stored.contains(number) {
            self.stored.insert(number.into());
        }
    }

    /// HDF5 writes to the dataset by itself: nothing that is remembered holds.
    pub(super) fn forget(&mut self) {
        self.fresh = false;
        self.stored = HashSet::new();
    }

    /// Whether the file has all of its chunks.
    pub(super) fn is_stored(&self) -> bool {
        self.queued == 0 && self.waiting.is_empty() && self.chunks.is_empty()
    }

    /// Takes what waits of a chunk, which has come anew.
    pub(super) fn replace_waiting(&mut self, number: &[u64]) {
        self.waiting.retain(|w| *w.number != *number);
    }

    /// Bytes of chunks beyond those that HDF5 would keep.
    pub(super) fn excess(&self) -> u64 {
        ((self.chunks.len() * self.bytes) as u64).saturating_sub(self.cache)
    }

    /// Takes a chunk into memory; `held` counts the bytes beyond.
    pub(super) fn hold(&mut self, number: &[u64], chunk: Chunk, held: &mut u64) {
        *held -= self.excess();
        self.chunks.insert(number.into(), chunk);
        *held += self.excess();
    }

    /// Takes a chunk out of memory.
    pub(super) fn release(&mut self, number: &[u64], held: &mut u64) -> Option<Chunk> {
        *held -= self.excess();
        let chunk = self.chunks.remove(number);
        *held += self.excess();
        chunk
    }

    /// Drops the chunks in memory.
    pub(super) fn release_all(&mut self, held: &mut u64) {
        *held -= self.excess();
        self.chunks = HashMap::new();
    }

    /// Notes that a chunk is handed on to make space, if more of it can come.
    pub(super) fn note_early(&mut self, number: &[u64]) {
        let whole = self.whole(number).iter().product();
        if self.chunks.get(number).is_some_and(|c| c.seen.count() < whole) {
            self.early.insert(number.into());
        }
    }

    /// Notes that a chunk gets values that was not in memory.
    pub(super) fn note_return(&mut self, number: &[u64]) {
        self.returns += u32::from(self.early.contains(number));
    }

    /// A chunk in which nothing is written.
    pub(super) fn empty_chunk(&self, number: &[u64], mut data: Vec<u8>) -> Chunk {
        if self.whole(number) != self.chunk {
            // Elements beyond the dataset's final lengths keep the fill value.
            self.fill(&mut data);
        }
        let seen = Seen::none(self.bytes / self.size);
        Chunk { data: Arc::new(data), seen, used: 0 }
    }

    /// Sets all elements to the fill value.
    pub(super) fn fill(&self, data: &mut [u8]) {
        if self.fill.iter().all(|b| *b == self.fill[0]) {
            data.fill(self.fill[0]);
        } else {
            data.chunks_exact_mut(self.size).for_each(|e| e.copy_from_slice(&self.fill));
        }
    }

    /// Numbers of the chunks in memory, in order.
    pub(super) fn held(&self) -> Vec<Box<[u64]>> {
        let mut numbers: Vec<_> = self.chunks.keys().cloned().collect();
        numbers.sort_unstable();
        numbers
    }
}
