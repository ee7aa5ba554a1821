//! Data held for the open files of one HDF5: chunks being gathered, chunks being encoded.
//!
//! Rules: chunks reach HDF5 in the order in which they became whole. Before HDF5 reads, flushes or closes a dataset, or writes
//! to it by itself, it has all of the dataset's chunks. Memory is bounded: chunks that were not written to for longest are
//! handed on first. What HDF5 fails to store waits with its dataset: that dataset's calls report it, and those that sync or close its
//! file; everything else is written. A forked child stores chunks of its parent's files only where it uses the file itself.

mod files;
mod queue;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use ncforge::store::Process;

use super::hdf5::{Block, Cache, Hdf5, Id};
use super::jobs::{Queued, Threads};
use super::room::Room;
use super::seen::Seen;
use super::slab::{Part, Slab};
use super::target::{Chunk, Target};
use crate::{engine, policy};

/// A file that is open for writing, for the log.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) room: Room,
    pub(super) served: u64,
    /// Writes that were left to netCDF-C, by reason.
    pub(super) left: Vec<(&'static str, u64)>,
    /// The reason why it is HDF5's from now on.
    pub(super) stopped: Option<&'static str>,
    /// Whether this process has it open for reading, too: HDF5 shows each opening what was written by the others.
    pub(super) shared: bool,
    /// The process that opened it, or took it over.
    pub(super) process: Process,
}

/// Everything of one HDF5.
pub(super) struct Output {
    hdf5: &'static Hdf5,
    pub(super) files: HashMap<i32, File>,
    /// Datasets that were written to.
    targets: HashMap<Id, Target>,
    /// Datasets that HDF5 writes, each for a reason.
    others: HashMap<Id, &'static str>,
    queue: VecDeque<Queued>,
    /// Bytes of chunks that are held beyond those that HDF5 would keep, and of those that are being encoded.
    held: u64,
    queued: u64,
    budget: u64,
    /// Memory of chunks that were written, for the next ones.
    spare: Vec<Vec<u8>>,
    threads: Option<Threads>,
    wanted: usize,
    clock: u64,
}

/// Something went wrong in HDF5, which netCDF-C reports.
pub(super) struct Failed;

impl From<()> for Failed {
    fn from((): ()) -> Self {
        Self
    }
}

const TOO_LARGE: &str = "more chunks at a time than memory holds";

type Result<T = (), E = Failed> = std::result::Result<T, E>;

impl Output {
    pub(super) fn new(hdf5: &'static Hdf5) -> Self {
        let (threads, memory) = engine::engine().map_or((1, 64 << 20), |e| (e.threads(), e.memory()));
        Self {
            hdf5,
            files: HashMap::new(),
            targets: HashMap::new(),
            others: HashMap::new(),
            queue: VecDeque::new(),
            held: 0,
            queued: 0,
            budget: policy::write_memory(memory),
            spare: Vec::new(),
            threads: None,
            wanted: threads,
            clock: 0,
        }
    }

    /// Datasets that are remembered.
    pub(super) fn datasets(&self) -> usize {
        self.targets.len() + self.others.len()
    }

    /// Takes a write of netCDF-C's to a dataset of file `nc`; `Ok(false)`: it is HDF5's, which has everything now.
    ///
    /// # Safety
    /// The arguments are those of an `H5Dwrite` that netCDF-C does for a `put`.
    pub(super) unsafe fn write(
        &mut self,
        nc: i32,
        dataset: Id,
        kind: Id,
        spaces: [Id; 2],
        values: *const c_void,
    ) -> Result<bool> {
        self.take_over(nc);
        if let Some(&why) = self.others.get(&dataset) {
            self.left(nc, why);
            return Ok(false);
        }
        if self.hdf5.points_of(spaces[0]) == 0 {
            return Ok(false);
        }
        let slab = match self.slab(nc, dataset, kind, spaces) {
            Ok(slab) => slab,
            Err(why) => {
                self.left(nc, why);
                self.hand_over(dataset)?;
                return Ok(false);
            }
        };
        if self.is_too_large(dataset) {
            self.hand_over(dataset)?;
            self.leave(dataset, TOO_LARGE);
            self.left(nc, TOO_LARGE);
            return Ok(false);
        }
        // A dataset that has chunks which cannot be stored takes no more.
        self.store_waiting(dataset, false)?;
        // SAFETY: the caller's promise; the selection has as many elements as the memory.
        unsafe { self.gather(dataset, &slab, values.cast())? };
        if let Some(file) = self.files.get_mut(&nc) {
            file.served += 1;
        }
        self.limit_queue();
        self.has_stored(dataset)?;
        Ok(true)
    }

    /// An error if HDF5 failed to store chunks of a dataset.
    fn has_stored(&self, dataset: Id) -> Result {
        let waits = self.targets.get(&dataset).is_some_and(|target| !target.waiting.is_empty());
        if waits { Err(Failed) } else { Ok(()) }
    }

    fn left(&mut self, nc: i32, why: &'static str) {
        if let Some(file) = self.files.get_mut(&nc) {
            match file.left.iter_mut().find(|(known, _)| *known == why) {
                Some((_, writes)) => *writes += 1,
                None => file.left.push((why, 1)),
            }
        }
    }

    /// The selection of a write, or why it is HDF5's.
    fn slab(
        &mut self,
        nc: i32,
        dataset: Id,
        kind: Id,
        [memory, selected]: [Id; 2],
    ) -> Result<Slab, &'static str> {
        let (hdf5, budget) = (self.hdf5, self.budget);
        let file = self.files.get(&nc).ok_or("its file is not known")?;
        if let Some(why) = file.stopped {
            return Err(why);
        }
        let target = match self.targets.entry(dataset) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match Target::inquire(hdf5, dataset, nc, budget) {
                Ok(target) => new.insert(target),
                Err(why) => {
                    self.others.insert(dataset, why);
                    return Err(why);
                }
            },
        };
        if target.same != kind {
            if !hdf5.is_same_type(kind, target.kind.id) {
                return Err("another byte order");
            }
            target.same = kind;
        }
        let pattern = hdf5.pattern_of(selected).ok_or("an irregular selection")?;
        let slab = Slab::new(target.chunk.len(), pattern).ok_or("an empty selection")?;
        let points = u64::try_from(hdf5.points_of(memory)).ok();
        if slab.elements().is_none_or(|n| Some(n) != points) {
            return Err("an irregular selection");
        }
        Ok(slab)
    }

    /// Copies values into chunks; whole ones are queued.
    ///
    /// # Safety
    /// `values` has the elements of the selection.
    unsafe fn gather(&mut self, dataset: Id, slab: &Slab, values: *const u8) -> Result {
        let Some(target) = self.targets.get(&dataset) else { return Err(Failed) };
        let lens = target.chunk.clone();
        self.clock += 1;
        slab.for_each_chunk(&lens, |number, part| {
            // SAFETY: the caller's promise.
            match unsafe { self.gather_part(dataset, slab, number, part, values)? } {
                Some(data) => {
                    self.queue(dataset, number.into(), data, Cache::Kept);
                    self.limit_queue();
                    self.has_stored(dataset)
                }
                None if self.held > self.budget => self.make_space(dataset),
                None => Ok(()),
            }
        })
    }

    /// Copies values into one chunk: its memory, if it is whole.
    ///
    /// # Safety
    /// As [`Self::gather`].
    unsafe fn gather_part(
        &mut self,
        dataset: Id,
        slab: &Slab,
        number: &[u64],
        part: &Part,
        values: *const u8,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        let Some(target) = self.targets.get_mut(&dataset) else { return Err(Failed) };
        let (size, bytes) = (target.size, target.bytes);
        let needed = target.whole(number);
        // SAFETY: the runs of a selection lie inside of it, and the caller's promise.
        let copy = |from: usize, to: usize, len: usize, data: &mut [u8]| unsafe {
            copy(values.add(from * size), &mut data[to * size..(to + len) * size]);
        };
        if slab.is_all(part, &needed) {
            let mut data = match target.release(number, &mut self.held) {
                Some(chunk) => Arc::try_unwrap(chunk.data).unwrap_or_else(|_| vec![0; bytes]),
                None => take_memory(&mut self.spare, bytes),
            };
            if needed != target.chunk {
                target.fill(&mut data);
            }
            slab.for_each_run(part, &target.chunk, |from, to, len| copy(from, to, len, &mut data));
            let data = Arc::new(data);
            if target.is_absent(number) {
                return Ok(Some(data));
            }
            // It is held until HDF5 would write it.
            let seen = Seen::all(bytes / size, needed.iter().product());
            let chunk = Chunk { data, seen, used: self.clock };
            target.hold(number, chunk, &mut self.held);
            return Ok(None);
        }
        if !target.chunks.contains_key(number) {
            target.note_return(number);
            let chunk = target.empty_chunk(number, take_memory(&mut self.spare, bytes));
            target.hold(number, chunk, &mut self.held);
        }
        let chunk = target.chunks.get_mut(number).ok_or(Failed)?;
        // Copied where it is being encoded.
        let data = Arc::make_mut(&mut chunk.data);
        let seen = &mut chunk.seen;
        slab.for_each_run(part, &target.chunk, |from, to, len| {
            seen.add(to, len);
            copy(from, to, len, data);
        });
        chunk.used = self.clock;
        if chunk.seen.count() < needed.iter().product::<u64>() || !target.is_absent(number) {
            return Ok(None);
        }
        Ok(target.release(number, &mut self.held).map(|chunk| chunk.data))
    }

    /// Queues a chunk that is held. Nothing of it stays in memory: from now on others may change it in HDF5.
    pub(super) fn hand_on(&mut self, dataset: Id, number: &[u64], cache: Cache) -> Result {
        self.complete(dataset, number)?;
        let Some(target) = self.targets.get_mut(&dataset) else { return Ok(()) };
        if let Some(chunk) = target.release(number, &mut self.held) {
            self.queue(dataset, number.into(), chunk.data, cache);
        }
        Ok(())
    }

    /// Gives the elements of a chunk that were not written the values that they have in HDF5.
    fn complete(&mut self, dataset: Id, number: &[u64]) -> Result {
        let Some(target) = self.targets.get(&dataset) else { return Ok(()) };
        let Some(chunk) = target.chunks.get(number) else { return Ok(()) };
        if chunk.seen.count() == target.chunk.iter().product::<u64>() {
            return Ok(());
        }
        let bytes = target.bytes;
        let (lens, _) = self.hdf5.extent_of(dataset).ok_or(Failed)?;
        let inside = target.inside(number, &lens);
        let covered = chunk.seen.count() == inside.iter().product::<u64>();
        if !covered {
            // HDF5 has what is on its way, or lacks what waits.
            while self.queue.iter().any(|q| q.dataset == dataset && *q.number == *number) {
                self.store_first();
            }
            let target = self.targets.get(&dataset).ok_or(Failed)?;
            if target.waiting.iter().any(|w| *w.number == *number) {
                return Err(Failed);
            }
        }
        let mut rest = take_memory(&mut self.spare, bytes);
        let Some(target) = self.targets.get_mut(&dataset) else { return Ok(()) };
        target.fill(&mut rest);
        if !covered {
            let at: Vec<u64> = number.iter().zip(&target.chunk).map(|(n, len)| n * len).collect();
            let block = Block { start: &at, count: &inside };
            let (kind, values) = (target.kind.id, rest.as_mut_ptr().cast_const().cast());
            // SAFETY: the memory has all elements of a chunk, and is ours.
            unsafe { self.hdf5.transfer(self.hdf5.read, dataset, kind, block, &target.chunk, values)? };
        }
        let size = target.size;
        if let Some(chunk) = target.chunks.get_mut(number) {
            chunk.seen.fill_rest(Arc::make_mut(&mut chunk.data).as_mut_slice(), &rest, size);
        }
        self.spare.push(rest);
        Ok(())
    }

    /// Gives HDF5 everything of the datasets that are chosen, of files that are this process's. What fails keeps nothing else from being
    /// stored.
    fn flush(&mut self, cache: Cache, chosen: impl Fn(Id, &Target) -> bool) -> Result {
        let is_meant =
            |(dataset, target): &(&Id, &Target)| chosen(**dataset, target) && self.is_own(target.nc);
        let mut all: Vec<Id> = self.targets.iter().filter(is_meant).map(|(&dataset, _)| dataset).collect();
        all.sort_unstable();
        let mut result = Ok(());
        for &dataset in &all {
            // Chunks that lack something are completed from the file.
            let _ = self.store_waiting(dataset, true);
            let Some(target) = self.targets.get(&dataset) else { continue };
            for number in target.held() {
                result = self.hand_on(dataset, &number, cache).and(result);
                self.limit_queue();
            }
        }
        self.drain();
        all.into_iter().fold(result, |result, dataset| self.has_stored(dataset).and(result))
    }

    /// HDF5 is about to sync a file: it gets everything of the one that an object is in; of all files if that is not known. `Ok(false)`: it
    /// must not, since chunks are the parent's to store: what the child's HDF5 writes without them, the parent's does not expect.
    pub(super) fn flush_file(&mut self, object: Id) -> Result<bool> {
        if self.targets.is_empty() {
            return Ok(true);
        }
        let file = self.hdf5.file_of(object);
        let is_chosen = |target: &Target| file.is_none_or(|file| file == target.file);
        let is_held_by_parent =
            |target: &Target| is_chosen(target) && !self.is_own(target.nc) && !target.is_stored();
        if self.targets.values().any(is_held_by_parent) {
            return Ok(false);
        }
        self.flush(Cache::Written, |_, target| is_chosen(target))?;
        Ok(true)
    }

    /// Ends the threads; the next chunk starts others.
    pub(super) fn rest(&mut self) {
        self.drain();
        self.threads = None;
    }

    /// HDF5 is about to read a dataset; one that is not known may be another opening of any in a file that is shared.
    pub(super) fn before_read(&mut self, dataset: Id) -> Result {
        if self.targets.contains_key(&dataset) {
            return self.flush_for_reading(dataset);
        }
        // What fails of one keeps no other from being flushed.
        let mut result = Ok(());
        for id in self.other_openings(dataset) {
            result = self.flush_for_reading(id).and(result);
        }
        result
    }

    /// The datasets of files that are shared, if this one may be another opening of them: what fails of one file is nothing to those who use
    /// another.
    fn other_openings(&self, dataset: Id) -> BTreeSet<Id> {
        let mut shared: Vec<(&i32, &File)> = self.files.iter().filter(|(_, file)| file.shared).collect();
        if !shared.is_empty() {
            let own = self.hdf5.number_of(dataset);
            shared.retain(|(_, file)| own.is_none_or(|own| own == file.room.file()));
        }
        let is_one = |target: &Target| shared.iter().any(|(nc, _)| **nc == target.nc);
        self.targets.iter().filter(|(_, target)| is_one(target)).map(|(&id, _)| id).collect()
    }

    fn flush_for_reading(&mut self, dataset: Id) -> Result {
        let Some(target) = self.targets.get_mut(&dataset) else { return Ok(()) };
        if target.is_stored() {
            return Ok(());
        }
        target.reads += 1;
        let (often, nc) = (target.reads > policy::READS_BETWEEN, target.nc);
        self.take_over(nc);
        self.flush(Cache::Kept, |id, _| id == dataset)?;
        if often {
            self.leave(dataset, "read between writes");
        }
        Ok(())
    }

    /// HDF5 is about to write to a dataset by itself; one that is not known may be another opening of any in a file that is shared: HDF5
    /// lets it write, whatever it was opened for.
    pub(super) fn hand_over(&mut self, dataset: Id) -> Result {
        let all = if self.targets.contains_key(&dataset) {
            BTreeSet::from([dataset])
        } else {
            self.other_openings(dataset)
        };
        for &id in &all {
            if let Some(target) = self.targets.get(&id) {
                self.take_over(target.nc);
            }
        }
        self.flush(Cache::Kept, |id, _| all.contains(&id))?;
        for id in all {
            if let Some(target) = self.targets.get_mut(&id) {
                target.forget();
            }
        }
        Ok(())
    }

    /// HDF5 is about to close a dataset; what fails is not tried again.
    pub(super) fn close(&mut self, dataset: Id) -> Result {
        let Some(target) = self.targets.get(&dataset) else {
            self.others.remove(&dataset);
            return Ok(());
        };
        self.take_over(target.nc);
        let result = self.flush(Cache::Written, |id, _| id == dataset);
        self.forget(dataset);
        result
    }

    /// Leaves a dataset to HDF5 from now on, with what it has.
    fn leave(&mut self, dataset: Id, why: &'static str) {
        self.forget(dataset);
        self.others.insert(dataset, why);
    }

    /// Forgets a dataset, with what it has.
    fn forget(&mut self, dataset: Id) {
        if let Some(mut target) = self.targets.remove(&dataset) {
            target.release_all(&mut self.held);
        }
        let queued = &mut self.queued;
        self.queue.retain(|q| {
            if q.dataset == dataset {
                *queued -= q.job.raw().len() as u64;
            }
            q.dataset != dataset
        });
    }
}

/// Memory for a chunk; its contents are of no meaning.
fn take_memory(spare: &mut Vec<Vec<u8>>, bytes: usize) -> Vec<u8> {
    match spare.iter().rposition(|v| v.len() == bytes) {
        Some(at) => spare.swap_remove(at),
        None => vec![0; bytes],
    }
}

/// Copies elements of the caller's.
///
/// # Safety
/// `from` has as many bytes as `to`.
unsafe fn copy(from: *const u8, to: &mut [u8]) {
    // SAFETY: the caller's promise; memory of the program and memory of ours do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
}
