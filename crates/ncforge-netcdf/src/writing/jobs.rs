//! Chunks on their way to the file: encoded by threads in the background, in the order in which they became whole.
//!
//! Threads encode memory and nothing else: they take no lock of the hook, and never call HDF5. A program that waits for a chunk
//! encodes others meanwhile. After a fork the child has none of the threads; a job keeps its bytes until it is done with, so
//! the child encodes them itself.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ncforge::codec::CodecChain;
use ncforge::store::Process;
use ncforge::without_signals;

use super::hdf5::Id;

/// Encoded bytes and the mask of filters that were left out; `None` where HDF5 encodes the chunk.
pub(super) type Encoded = Option<(Vec<u8>, u32)>;

/// A chunk on its way.
pub(super) struct Queued {
    pub(super) dataset: Id,
    pub(super) number: Box<[u64]>,
    /// Whether the file had none of this number when it was queued.
    pub(super) is_new: bool,
    pub(super) job: Arc<Job>,
}

/// One chunk to encode.
pub(super) struct Job {
    raw: Arc<Vec<u8>>,
    chain: Option<CodecChain>,
    result: AtomicPtr<Encoded>,
    /// The process whose threads may work on it.
    process: Process,
}

impl Drop for Job {
    fn drop(&mut self) {
        let result = *self.result.get_mut();
        if !result.is_null() {
            // SAFETY: from `Box::into_raw`, and nobody else has it.
            drop(unsafe { Box::from_raw(result) });
        }
    }
}

impl Job {
    pub(super) fn new(raw: Arc<Vec<u8>>, chain: CodecChain) -> Self {
        Self { raw, chain: Some(chain), result: AtomicPtr::new(null_mut()), process: Process::this() }
    }

    /// A chunk that HDF5 encodes, when it writes what its cache has: there is nothing to do.
    pub(super) fn of_hdf5(raw: Arc<Vec<u8>>) -> Self {
        let done = Self { raw, chain: None, result: AtomicPtr::new(null_mut()), process: Process::this() };
        done.run();
        done
    }

    /// The elements.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The memory of the elements, if nobody else has it.
    pub(super) fn into_memory(mut self) -> Option<Vec<u8>> {
        Arc::try_unwrap(std::mem::take(&mut self.raw)).ok()
    }

    fn encode(&self) -> Encoded {
        catch_unwind(AssertUnwindSafe(|| self.chain.as_ref()?.encode(&self.raw).ok())).ok().flatten()
    }

    /// Encodes it on this thread.
    pub(super) fn run(&self) {
        self.result.store(Box::into_raw(Box::new(self.encode())), Ordering::Release);
    }

    /// The result, if it is there.
    pub(super) fn result(&self) -> Option<&Encoded> {
        // SAFETY: stored once, by `run`, and valid until the job is dropped.
        unsafe { self.result.load(Ordering::Acquire).as_ref() }
    }
}

/// Jobs that nobody works on yet.
#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Arc<Job>>,
    /// There will be no more.
    ended: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There is a job, or no more will be.
    work: Condvar,
    /// A job is done.
    done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, job: &Job) {
        job.run();
        // Whoever waits holds the lock between its look at the result and its sleep.
        drop(self.lock());
        self.done.notify_all();
    }
}

/// The threads of one process. They end when this is dropped; jobs that nobody began are left to whoever waits for them.
pub(super) struct Threads {
    shared: Arc<Shared>,
    process: Process,
    helpers: Vec<JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        let helpers = std::mem::take(&mut self.helpers);
        if !self.are_here() {
            // The parent's: there is nothing to wait for, or to give back.
            std::mem::forget(helpers);
            return;
        }
        self.shared.lock().ended = true;
        self.shared.work.notify_all();
        helpers.into_iter().for_each(|helper| drop(helper.join()));
    }
}

impl Threads {
    /// Starts threads: one fewer than work at a time, since the program's own helps.
    pub(super) fn start(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let spawn = |i: usize| {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name(format!("ncforge-w{i}")).spawn(move || serve(&shared)).ok()
        };
        let helpers = without_signals(|| (1..threads).map_while(spawn).collect());
        Self { shared, process: Process::this(), helpers }
    }

    /// Whether they are threads of this process.
    pub(super) fn are_here(&self) -> bool {
        self.process.is_here()
    }

    /// Hands a job to the threads.
    pub(super) fn add(&self, job: &Arc<Job>) {
        if self.are_here() && !self.helpers.is_empty() {
            self.shared.lock().jobs.push_back(Arc::clone(job));
            self.shared.work.notify_one();
        }
    }

    /// Waits until a job is done, doing what others wait for. The result belongs to the job if it is done.
    pub(super) fn wait_for(&self, job: &Job) {
        if job.process != self.process || !self.are_here() || self.helpers.is_empty() {
            if job.result().is_none() {
                job.run();
            }
            return;
        }
        let mut waiting = self.shared.lock();
        while job.result().is_none() {
            if let Some(other) = waiting.jobs.pop_front() {
                drop(waiting);
                self.shared.finish(&other);
                waiting = self.shared.lock();
            } else {
                waiting = self.shared.done.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

fn serve(shared: &Shared) {
    let mut waiting = shared.lock();
    loop {
        if waiting.ended {
            return;
        }
        if let Some(job) = waiting.jobs.pop_front() {
            drop(waiting);
            shared.finish(&job);
            drop(job);
            waiting = shared.lock();
        } else {
            waiting = shared.work.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use ncforge::codec::filters;

    use super::*;

    #[test]
    fn jobs_are_done_with_and_without_threads() {
        let chain = CodecChain::new(&[filters::deflate(1)], 4).unwrap();
        for threads in [1, 3] {
            let threads = Threads::start(threads);
            let jobs: Vec<_> = (0..50u8)
                .map(|i| Arc::new(Job::new(Arc::new(vec![i; 4096]), chain.clone())))
                .inspect(|job| threads.add(job))
                .collect();
            for (i, job) in jobs.iter().enumerate() {
                threads.wait_for(job);
                let (bytes, mask) = job.result().unwrap().as_ref().unwrap();
                let mut back = vec![0; 4096];
                chain.decode(bytes, *mask, &mut back).unwrap();
                assert!(back.iter().all(|&b| usize::from(b) == i));
            }
        }
    }
}
