//! Who does a store's work: threads of somebody above, an engine's for one.

use std::fmt::Debug;

/// Threads that a store may use.
pub trait Workers: Send + Sync + Debug {
    /// How many there are, the caller's own included.
    fn threads(&self) -> usize;
    /// Calls `work` for every index below `n`, on several threads or not, and waits for all of them.
    fn run(&self, n: usize, work: &(dyn Fn(usize) + Sync));
    /// Runs a job some time soon on a thread that has nothing to do; false, and nothing happens, if there is none.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) -> bool;
}

/// The calling thread.
#[derive(Debug)]
pub(super) struct Alone;

impl Workers for Alone {
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
