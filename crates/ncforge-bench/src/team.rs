//! Several processes that measure together: ranks, barriers, exchange of results.
//!
//! Three kinds of teams do the same: one process [alone](Alone); processes of this machine that the benchmark starts
//! itself and that meet in shared memory; the ranks of an MPI job ([`mpi`]). The work of a rank is the same
//! program with the same options in all of them.
//!
//! **Errors.** A rank that fails says so by [`Team::fail`]; the others learn of it at their next barrier, leave by an
//! error, and nobody waits for who is gone.

mod crowd;
mod launch;
mod launcher;
pub mod mpi;
mod shared;

use crate::error::{Error, Result};

pub use crowd::Crowd;
pub use launch::{Launched, launch};
pub use mpi::MpiJob;
pub use shared::SharedTeam;

/// One rank's view of its team.
pub trait Team {
    /// This rank, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// The number of machines on which they run.
    fn nodes(&self) -> usize {
        1
    }
    /// The mechanism of the team, in words: "built-in processes".
    fn kind(&self) -> String;
    /// Waits until every rank is here.
    ///
    /// # Errors
    /// [`Error::Rank`] when another rank has failed.
    fn barrier(&self) -> Result<()>;
    /// Gives everybody the bytes of every rank, in the order of the ranks. Every rank must call it.
    ///
    /// # Errors
    /// As for [`Team::barrier`].
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>>;
    /// Learns of the failure of another rank without waiting for anybody. (Under MPI the job ends with it.)
    ///
    /// # Errors
    /// [`Error::Rank`] when one has failed.
    fn failed(&self) -> Result<()> {
        Ok(())
    }
    /// The job as MPI knows it, where it is one.
    fn mpi(&self) -> Option<&MpiJob> {
        None
    }
    /// Announces to the others that this rank cannot go on. (Under MPI, where this cannot reach them, the job ends.)
    fn fail(&self, error: &Error);
}

/// A team of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Team for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn kind(&self) -> String {
        "one process".to_owned()
    }

    fn barrier(&self) -> Result<()> {
        Ok(())
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![mine.to_vec()])
    }

    fn fail(&self, _error: &Error) {}
}

/// Gives everybody a value of every rank.
///
/// # Errors
/// As for [`Team::barrier`].
pub fn exchange<T: serde::Serialize + serde::de::DeserializeOwned>(
    team: &dyn Team,
    mine: &T,
) -> Result<Vec<T>> {
    let broken = |e: serde_json::Error| Error::Team(format!("what ranks exchange is damaged: {e}"));
    let all = team.all_gather(&serde_json::to_vec(mine).map_err(broken)?)?;
    all.iter().map(|bytes| serde_json::from_slice(bytes).map_err(broken)).collect()
}

/// Passes on a result when every rank has succeeded; otherwise every rank gets an error, all of them the same. For work
/// after which nobody waits for anybody: the error reaches the others here.
///
/// # Errors
/// This rank's own, or [`Error::Rank`] with the first one that failed.
pub fn agree<T>(team: &dyn Team, mine: Result<T>) -> Result<T> {
    let failure = match &mine {
        Ok(_) => None,
        // Already known to everybody.
        Err(Error::Rank { .. }) => return mine,
        Err(e) => Some((e.exit_code(), e.to_string())),
    };
    let all = exchange(team, &failure)?;
    match all.into_iter().enumerate().find_map(|(rank, failure)| Some((rank, failure?))) {
        None => mine,
        Some(_) if team.size() == 1 => mine,
        Some((rank, (code, message))) => {
            Err(Error::Rank { rank, message, code, reported_here: rank == team.rank() })
        }
    }
}
