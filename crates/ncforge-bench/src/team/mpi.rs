//! The ranks of an MPI job. The MPI library is found when the program runs; nothing is linked.
//!
//! Two families exist in practice, with different types for handles: Open MPI, where handles are addresses of objects in
//! the library, and MPICH with its descendants (Intel MPI, MVAPICH, Cray), where they are numbers. The library says itself
//! which it is. Which library to load follows from the variables that the launcher sets, or from `NCFORGE_MPI`.

mod abi;
mod file;
mod hints;
mod job;

use super::Team;
use crate::error::{Error, Result};

pub(super) use self::abi::Family;
pub use self::abi::LIBRARY_VARIABLE;
pub use self::file::{FileBox, MpiFile};
pub use self::hints::IoLayer;
pub use self::job::MpiJob;

impl Team for MpiJob {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn kind(&self) -> String {
        format!("MPI ({})", self.version())
    }

    fn barrier(&self) -> Result<()> {
        MpiJob::barrier(self)
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        MpiJob::all_gather(self, mine)
    }

    fn mpi(&self) -> Option<&MpiJob> {
        Some(self)
    }

    fn fail(&self, error: &Error) {
        self.abort(error);
    }
}
