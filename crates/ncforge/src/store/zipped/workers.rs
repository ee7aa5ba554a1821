//! The threads that a store may use: those of a higher layer, for example of an engine.

use std::fmt::Debug;

/// Threads that a store may use.
pub trait Workers: Send + Sync + Debug {
    /// Number of threads, including the caller's own.
    fn threads(&self) -> usize;
    /// Calls `work` for every index below `n`, on several threads or not, and waits for all of them.
    fn run(&self, n: usize, work: &(dyn Fn(usize) + Sync));
    /// Runs a job soon on an idle thread; returns false, without running it, if there is none.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) -> bool;
}

/// Only the calling thread.
#[derive(Debug)]
pub(super) struct CallerOnly;

impl Workers for CallerOnly {
    fn threads(&self) -> usize {
        1
    }

    fn run(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(work);
    }

    fn spawn(&self, _job: Box<dyn FnOnce() + Send>) -> bool {
        false
    }
}
