//! What happens to whole files: other openings, and the end of the process.

use ncforge::store::Process;

use super::super::hdf5::{Cache, Id};
use super::{File, Output, Result};

impl Output {
    /// Whether chunks of a file are this process's to store. Those that a forked child has of its parent's files, the parent stores.
    pub(super) fn is_own(&self, nc: i32) -> bool {
        self.files.get(&nc).is_none_or(|file| file.process.is_here())
    }

    /// This process writes to a file, reads what it wrote, or closes it: as in HDF5, a forked child that does so has to store what it has.
    pub(super) fn take_over(&mut self, nc: i32) {
        if let Some(file) = self.files.get_mut(&nc) {
            file.process = Process::this();
        }
    }

    /// Gives HDF5 everything.
    pub(in crate::writing) fn flush_all(&mut self) -> Result {
        self.flush(Cache::Kept, |_, _| true)
    }

    /// The process ends: leaves the files that it has opened to HDF5.
    pub(in crate::writing) fn stop_own(&mut self) {
        let own: Vec<i32> = self.files.keys().copied().filter(|&nc| self.is_own(nc)).collect();
        for nc in own {
            // One that has no space left does not keep others from being written.
            let _ = self.stop(nc, "the program ends");
        }
    }

    /// Leaves a file to HDF5 from now on.
    pub(in crate::writing) fn stop(&mut self, nc: i32, why: &'static str) -> Result {
        if let Some(file) = self.files.get_mut(&nc) {
            file.stopped = Some(why);
        }
        self.take_over(nc);
        self.flush(Cache::Kept, |_, target| target.nc == nc)?;
        self.served(nc).into_iter().for_each(|dataset| self.leave(dataset, why));
        Ok(())
    }

    /// Forgets a file that is closed, with the datasets that a failed close left open.
    pub(in crate::writing) fn end(&mut self, nc: i32) -> Option<File> {
        self.served(nc).into_iter().for_each(|dataset| self.forget(dataset));
        self.files.remove(&nc)
    }

    fn served(&self, nc: i32) -> Vec<Id> {
        self.targets.iter().filter(|(_, target)| target.nc == nc).map(|(&id, _)| id).collect()
    }

    /// A file gets another opening, for reading.
    pub(in crate::writing) fn share(&mut self, nc: i32) -> Result {
        if let Some(file) = self.files.get_mut(&nc) {
            file.shared = true;
        }
        self.take_over(nc);
        self.flush(Cache::Kept, |_, target| target.nc == nc)
    }
}
