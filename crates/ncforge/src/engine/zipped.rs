//! Resources that an engine lends to zipped files: its threads, and a share of its memory.

use std::sync::{Arc, Mutex};

use super::Engine;
use super::pool::lock;
use crate::store::zipped::{Resources, Workers};

/// Changed blocks that one file may hold back: an eighth of the memory within these bounds.
const PENDING: (u64, u64) = (1 << 20, 64 << 20);

impl Workers for Engine {
    fn threads(&self) -> usize {
        self.inner.pool.threads()
    }

    fn run(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        // Work on blocks has no error of its own, and leaves a gap in its results should it panic.
        let _ = self.inner.pool.run(n, n > 1, |i| {
            work(i);
            Ok(())
        });
    }

    fn spawn(&self, job: Box<dyn FnOnce() + Send>) -> bool {
        let job = Mutex::new(Some(job));
        self.inner.pool.background(1, move || {
            let job = lock(&job).take();
            if let Some(job) = job {
                job();
            }
            false
        })
    }
}

impl Engine {
    /// The resources of a zipped file that is read or written with this engine.
    pub fn zipped_resources(&self) -> Resources {
        Resources {
            cache: Arc::clone(self.inner.budget.blocks()),
            workers: Arc::new(self.clone()),
            pending: (self.memory() / 8).clamp(PENDING.0, PENDING.1),
            ..Resources::default()
        }
    }
}
