//! Whole chunks on their way: encoded by threads, then stored by HDF5 in the order in which they were queued.
//!
//! The queue never stops at a chunk that HDF5 fails to store: that one waits with its dataset ([`Target::waiting`]), whose calls try
//! it again and report the error. Calls for other datasets and files go on.

use std::sync::Arc;

use super::super::hdf5::{Block, Cache, Id};
use super::super::jobs::{Job, Queued, Threads};
use super::super::room::Full;
use super::super::target::Target;
use super::{Failed, Output, Result};
use crate::policy;

impl Output {
    /// Sends a chunk on its way.
    ///
    /// A program that is killed must find what it synced. Where HDF5 replaces a chunk, it gives the old one's place to the next, while
    /// the index in the file still names it. So a chunk that the file has is replaced when HDF5 would do it: as long as HDF5 keeps its
    /// cache, it goes there.
    pub(super) fn queue(&mut self, dataset: Id, number: Box<[u64]>, data: Arc<Vec<u8>>, cache: Cache) {
        let Some(target) = self.targets.get_mut(&dataset) else { return };
        let is_new = target.is_absent(&number);
        let is_encoded = cache == Cache::Written || is_new;
        target.note_stored(&number);
        target.queued += 1;
        self.queued += data.len() as u64;
        let job = Arc::new(match is_encoded {
            true => Job::new(data, target.chain.clone()),
            false => Job::of_hdf5(data),
        });
        if is_encoded {
            let wanted = self.wanted;
            self.threads.take_if(|t| !t.are_here());
            self.threads.get_or_insert_with(|| Threads::start(wanted)).add(&job);
        }
        self.queue.push_back(Queued { dataset, number, is_new, job });
    }

    /// Takes the chunk that was queued first out of the queue: HDF5 has it then, or it waits with its dataset.
    pub(super) fn store_first(&mut self) {
        let Some(first) = self.queue.pop_front() else { return };
        self.queued -= first.job.raw().len() as u64;
        if let Some(target) = self.targets.get_mut(&first.dataset) {
            target.queued -= 1;
        }
        let _ = self.store(first);
    }

    /// Has HDF5 store a chunk. One that fails waits with its dataset.
    fn store(&mut self, chunk: Queued) -> Result {
        let stored = match self.targets.get(&chunk.dataset) {
            Some(target) if self.is_own(target.nc) => self.try_to_store(&chunk, target),
            Some(_) => Err(Failed),
            // Nobody asks for it any more.
            None => return Ok(()),
        };
        if let Some(target) = self.targets.get_mut(&chunk.dataset) {
            target.replace_waiting(&chunk.number);
            if stored.is_err() {
                target.waiting.push(chunk);
                return stored;
            }
        }
        if let Some(memory) = Arc::into_inner(chunk.job).and_then(Job::into_memory)
            && self.spare.iter().map(Vec::len).sum::<usize>() + memory.len() <= policy::SPARE
        {
            self.spare.push(memory);
        }
        Ok(())
    }

    fn try_to_store(&self, chunk: &Queued, target: &Target) -> Result {
        let (dataset, job) = (chunk.dataset, &chunk.job);
        if job.result().is_none() {
            match &self.threads {
                Some(threads) => threads.wait_for(job),
                // They have ended, and none of them began it.
                None => job.run(),
            }
        }
        let at: Vec<u64> = chunk.number.iter().zip(&target.chunk).map(|(n, len)| n * len).collect();
        if let Some(Some((bytes, mask))) = job.result() {
            if !chunk.is_new {
                self.make_room(dataset, target, &at, bytes.len() as u64)?;
            }
            return Ok(self.hdf5.store_chunk(dataset, &at, *mask, bytes)?);
        }
        let (lens, _) = self.hdf5.extent_of(dataset).ok_or(Failed)?;
        let block = Block { start: &at, count: &target.inside(&chunk.number, &lens) };
        let (kind, values) = (target.kind.id, job.raw().as_ptr().cast());
        // SAFETY: the job has all elements of a chunk.
        unsafe { self.hdf5.transfer(self.hdf5.write, dataset, kind, block, &target.chunk, values)? };
        Ok(())
    }

    /// Makes sure that there is room in the file for an encoded chunk that takes the place of a shorter one.
    fn make_room(&self, dataset: Id, target: &Target, at: &[u64], bytes: u64) -> Result {
        if self.hdf5.stored_chunk(dataset, at).is_none_or(|stored| stored >= bytes) {
            return Ok(());
        }
        match (self.files.get(&target.nc), self.hdf5.end_of(target.file)) {
            (Some(file), Some(end)) => file.room.promise(end, bytes).map_err(|Full| Failed),
            _ => Ok(()),
        }
    }

    /// Stores the chunks of a dataset that wait; an error if one still does. `each`: also those behind it, which may be smaller.
    pub(super) fn store_waiting(&mut self, dataset: Id, each: bool) -> Result {
        let Some(target) = self.targets.get_mut(&dataset) else { return Ok(()) };
        let mut waiting = std::mem::take(&mut target.waiting).into_iter();
        let mut result = Ok(());
        // Without `each`: HDF5 takes space in the file for each attempt.
        while (each || result.is_ok())
            && let Some(chunk) = waiting.next()
        {
            result = self.store(chunk).and(result);
        }
        if let Some(target) = self.targets.get_mut(&dataset) {
            target.waiting.extend(waiting);
        }
        result
    }

    pub(super) fn drain(&mut self) {
        while !self.queue.is_empty() {
            self.store_first();
        }
    }

    /// Stores what is encoded; waits where too much is not.
    pub(super) fn limit_queue(&mut self) {
        while self.queue.front().is_some_and(|q| q.job.result().is_some()) {
            self.store_first();
        }
        let most = policy::QUEUE.min(self.budget / 2);
        while self.queued > most && self.queue.len() > 2 * self.wanted {
            self.store_first();
        }
    }

    /// Whether chunks of a dataset come back that were handed on for space: HDF5 writes it as quickly.
    pub(super) fn is_too_large(&self, dataset: Id) -> bool {
        self.targets.get(&dataset).is_some_and(|target| target.returns > policy::RETURNS)
    }

    /// Notes that a chunk is handed on to make space, if it is not whole.
    fn note_early(&mut self, dataset: Id, number: &[u64]) {
        if let Some(target) = self.targets.get_mut(&dataset) {
            target.note_early(number);
        }
    }

    /// Hands on the chunks that were not written to for longest, down to three quarters of the bound, of datasets that have more than HDF5
    /// would keep. An error if one of this dataset cannot be.
    pub(super) fn make_space(&mut self, put: Id) -> Result {
        let mut all = Vec::new();
        for (&dataset, target) in self.targets.iter().filter(|(_, target)| target.excess() > 0) {
            all.extend(target.chunks.iter().map(|(n, c)| (c.used, dataset, n.clone())));
        }
        all.sort_unstable();
        let mut result = Ok(());
        for (_, dataset, number) in all {
            if self.held <= self.budget / 4 * 3 {
                break;
            }
            if self.targets.get(&dataset).is_some_and(|target| target.excess() > 0) {
                self.note_early(dataset, &number);
                let done = self.hand_on(dataset, &number, Cache::Written);
                if dataset == put {
                    result = done.and(result);
                }
            }
        }
        self.drain();
        result
    }
}
