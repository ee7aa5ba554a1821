//! What happens to whole files: other openings, and the end of the process.

use super::super::hdf5::{Cache, Id};
use super::{Entry, Output, Result};
use crate::engine;

impl Output {
    /// The files that this process has opened.
    fn own(&self) -> Vec<i32> {
        self.files.iter().filter(|(_, f)| f.fork == engine::forks()).map(|(nc, _)| *nc).collect()
    }

    /// Gives HDF5 everything of the files that this process has opened.
    pub(in crate::writing) fn flush_own(&mut self) -> Result {
        let own = self.own();
        self.flush(Cache::Kept, |_, target| own.contains(&target.nc))
    }

    /// The process ends: leaves the files that it has opened to HDF5.
    pub(in crate::writing) fn stop_own(&mut self) {
        for nc in self.own() {
            // One that has no space left does not keep others from being written.
            let _ = self.stop(nc, "the program ends");
        }
    }

    /// Leaves a file to HDF5 from now on.
    pub(in crate::writing) fn stop(&mut self, nc: i32, why: &'static str) -> Result {
        if let Some(file) = self.files.get_mut(&nc) {
            file.stopped = Some(why);
        }
        self.flush(Cache::Kept, |_, target| target.nc == nc)?;
        let served = |e: &Entry| matches!(e, Entry::Served(target) if target.nc == nc);
        let all: Vec<Id> = self.datasets.iter().filter(|(_, e)| served(e)).map(|(id, _)| *id).collect();
        all.into_iter().for_each(|dataset| self.leave(dataset, why));
        Ok(())
    }

    /// A file gets another opening, for reading.
    pub(in crate::writing) fn share(&mut self, nc: i32) -> Result {
        if let Some(file) = self.files.get_mut(&nc) {
            file.shared = true;
        }
        self.flush(Cache::Kept, |_, target| target.nc == nc)
    }
}
