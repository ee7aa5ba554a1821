//! Two threads as a team of ranks: for what needs more than one rank, and no second program.

use std::sync::{Barrier, Mutex};

use crate::error::{Error, Result};
use crate::team::Team;

/// Where threads meet.
pub(super) struct Place {
    barrier: Barrier,
    said: Mutex<Vec<Vec<u8>>>,
}

impl Place {
    pub(super) fn for_ranks(size: usize) -> Self {
        Place { barrier: Barrier::new(size), said: Mutex::new(vec![Vec::new(); size]) }
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// One of the threads.
pub(super) struct Member<'a> {
    pub(super) place: &'a Place,
    pub(super) rank: usize,
}

impl Team for Member<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.place.said().len()
    }

    fn kind(&self) -> String {
        "threads".to_owned()
    }

    fn barrier(&self) -> Result<()> {
        self.place.barrier.wait();
        Ok(())
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.place.said()[self.rank] = mine.to_vec();
        self.barrier()?;
        let all = self.place.said().clone();
        // Nobody says the next thing before everybody has heard this one.
        self.barrier()?;
        Ok(all)
    }

    /// Errors of independent access reach the others by their next word.
    fn fail(&self, _error: &Error) {}
}
