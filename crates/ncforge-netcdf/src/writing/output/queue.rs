//! Whole chunks on their way: encoded by threads, then stored by HDF5 in the order in which they were queued.

use std::sync::Arc;

use super::super::hdf5::{Block, Cache, Id};
use super::super::jobs::{Job, Queued, Threads};
use super::{Entry, Failed, Output, Result};
use crate::policy;

impl Output {
    /// Sends a chunk on its way.
    ///
    /// A program that is killed must find what it synced. Where HDF5 replaces a chunk, it gives the old one's place to the next, while
    /// the index in the file still names it. So a chunk that the file has is replaced when HDF5 would do it: as long as HDF5 keeps its
    /// cache, it goes there.
    pub(super) fn queue(&mut self, dataset: Id, number: Box<[u64]>, data: Arc<Vec<u8>>, cache: Cache) {
        let Some(Entry::Served(target)) = self.datasets.get_mut(&dataset) else { return };
        let is_encoded = cache == Cache::Written || target.is_absent(&number);
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
        self.queue.push_back(Queued { dataset, number, job });
    }

    /// Gives HDF5 the chunk that was queued first, once it is encoded.
    fn store_first(&mut self) -> Result {
        let Some(first) = self.queue.front() else { return Ok(()) };
        let (dataset, job) = (first.dataset, &first.job);
        if job.result().is_none() {
            match &self.threads {
                Some(threads) => threads.wait_for(job),
                None => return Err(Failed),
            }
        }
        let Some(Entry::Served(target)) = self.datasets.get_mut(&dataset) else { return Err(Failed) };
        let at: Vec<u64> = first.number.iter().zip(&target.chunk).map(|(n, len)| n * len).collect();
        match job.result() {
            Some(Some((bytes, mask))) => self.hdf5.store_chunk(dataset, &at, *mask, bytes)?,
            _ => {
                let (lens, _) = self.hdf5.extent_of(dataset).ok_or(Failed)?;
                let block = Block { start: &at, count: &target.inside(&first.number, &lens) };
                let (kind, values) = (target.kind.id, job.raw().as_ptr().cast());
                // SAFETY: the job has all elements of a chunk.
                unsafe { self.hdf5.transfer(self.hdf5.write, dataset, kind, block, &target.chunk, values)? };
            }
        }
        target.queued -= 1;
        self.queued -= job.raw().len() as u64;
        let done = self.queue.pop_front();
        if let Some(memory) = done.and_then(|d| Arc::into_inner(d.job)).and_then(Job::into_memory)
            && self.spare.iter().map(Vec::len).sum::<usize>() + memory.len() <= policy::SPARE
        {
            self.spare.push(memory);
        }
        Ok(())
    }

    pub(super) fn drain(&mut self) -> Result {
        while !self.queue.is_empty() {
            self.store_first()?;
        }
        Ok(())
    }

    /// Stores what is encoded; waits where too much is not.
    pub(super) fn limit_queue(&mut self) -> Result {
        while self.queue.front().is_some_and(|q| q.job.result().is_some()) {
            self.store_first()?;
        }
        let most = policy::QUEUE.min(self.budget / 2);
        while self.queued > most && self.queue.len() > 2 * self.wanted {
            self.store_first()?;
        }
        Ok(())
    }

    /// Whether chunks of a dataset come back that were handed on for space: HDF5 writes it as quickly.
    pub(super) fn is_too_large(&self, dataset: Id) -> bool {
        matches!(self.datasets.get(&dataset), Some(Entry::Served(t)) if t.returns > policy::RETURNS)
    }

    /// Hands on the chunks that were not written to for longest, down to three quarters of the bound, of datasets that have more than HDF5
    /// would keep.
    pub(super) fn make_space(&mut self) -> Result {
        let mut all = Vec::new();
        for (&dataset, entry) in &self.datasets {
            if let Entry::Served(target) = entry
                && target.beyond() > 0
            {
                all.extend(target.chunks.iter().map(|(n, c)| (c.used, dataset, n.clone())));
            }
        }
        all.sort_unstable();
        for (_, dataset, number) in all {
            if self.held <= self.budget / 4 * 3 {
                break;
            }
            if matches!(self.datasets.get(&dataset), Some(Entry::Served(t)) if t.beyond() > 0) {
                self.hand_on(dataset, &number, false, Cache::Written)?;
            }
        }
        self.drain()
    }
}
