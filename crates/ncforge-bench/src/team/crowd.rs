//! Whether the ranks of a node have a processor each.
//!
//! Launchers bind ranks: under Open MPI's `mpirun` each of a few ranks may use one core only. The processors of one rank say
//! nothing about all of them then; together they have the processors that any of them may use.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Team, exchange};
use crate::environment::{allowed_processors, processors};
use crate::error::Result;

/// The ranks of the node that has the fewest processors for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Ranks on that node.
    pub ranks: usize,
    /// Processors that one or the other of them may use.
    pub processors: usize,
}

/// A rank's description of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Own {
    node: String,
    /// Numbers of processors that it may use; none where the system does not say.
    allowed: BTreeSet<usize>,
    /// The number that it may use at a time, less where a cgroup has a quota.
    at_a_time: usize,
}

impl Crowd {
    /// Every rank must call it.
    ///
    /// # Errors
    /// As for [`Team::barrier`].
    pub fn of(team: &dyn Team) -> Result<Crowd> {
        let own = Own {
            // All containers of a machine share this identity, and count its processors alike.
            node: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            allowed: allowed_processors().into_iter().collect(),
            at_a_time: processors(),
        };
        Ok(Crowd::among(&exchange(team, &own)?))
    }

    /// Whether ranks must wait for one another.
    pub fn is_crowded(self) -> bool {
        self.ranks > self.processors
    }

    fn among(all: &[Own]) -> Crowd {
        let mut nodes: BTreeMap<&str, Vec<&Own>> = BTreeMap::new();
        for one in all {
            nodes.entry(&one.node).or_default().push(one);
        }
        let fullest = nodes.values().map(|ranks| {
            let together: BTreeSet<usize> = ranks.iter().flat_map(|r| r.allowed.iter().copied()).collect();
            let most = ranks.iter().map(|r| r.at_a_time).max().unwrap_or(1);
            let has_quota = ranks.iter().any(|r| r.at_a_time < r.allowed.len());
            let processors = if has_quota { most.min(together.len()) } else { together.len().max(most) };
            Crowd { ranks: ranks.len(), processors: processors.max(1) }
        });
        // The most ranks for each processor.
        let fullest = fullest.max_by(|a, b| (a.ranks * b.processors).cmp(&(b.ranks * a.processors)));
        fullest.unwrap_or(Crowd { ranks: 1, processors: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(node: &str, allowed: &[usize], at_a_time: usize) -> Own {
        Own { node: node.into(), allowed: allowed.iter().copied().collect(), at_a_time }
    }

    #[test]
    fn ranks_that_are_bound_to_cores_of_their_own_are_not_crowded() {
        let bound = Crowd::among(&[rank("a", &[0], 1), rank("a", &[1], 1)]);
        assert_eq!(bound, Crowd { ranks: 2, processors: 2 });
        assert!(!bound.is_crowded());
        let one = Crowd::among(&[rank("a", &[0], 1), rank("a", &[0], 1)]);
        assert_eq!(one, Crowd { ranks: 2, processors: 1 });
        assert!(one.is_crowded());
    }

    #[test]
    fn the_fullest_node_counts() {
        let all =
            [rank("a", &[0, 1], 2), rank("b", &[0, 1], 2), rank("b", &[0, 1], 2), rank("b", &[0, 1], 2)];
        assert_eq!(Crowd::among(&all), Crowd { ranks: 3, processors: 2 });
    }

    #[test]
    fn quotas_and_unknown_processors() {
        let quota = [rank("a", &[0, 1, 2, 3], 2), rank("a", &[0, 1, 2, 3], 2), rank("a", &[0, 1, 2, 3], 2)];
        assert_eq!(Crowd::among(&quota), Crowd { ranks: 3, processors: 2 });
        assert_eq!(Crowd::among(&[rank("", &[], 8), rank("", &[], 8)]), Crowd { ranks: 2, processors: 8 });
    }

    #[test]
    fn one_process_is_no_crowd() {
        assert!(!Crowd::of(&super::super::Alone).unwrap().is_crowded());
    }
}
