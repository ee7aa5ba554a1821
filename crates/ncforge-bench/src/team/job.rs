//! What launchers and batch systems tell a process about its job, by variables of the environment.
//!
//! Two questions are answered here. *Is this process a rank, and of how many?* Launchers of MPI jobs say so: Open MPI's
//! `mpiexec`, Hydra (MPICH, Intel MPI), MVAPICH, SLURM's `srun`, anything that speaks PMI. *On how many nodes are they?*
//! MPI itself knows that best (ranks that share memory are on one node); where it does not tell, the same
//! variables, SLURM's and those of PBS do.

use super::mpi::Family;

/// Looks a variable of the environment up.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of this process.
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(lookup: Lookup<'_>, name: &str) -> Option<u64> {
    lookup(name)?.trim().parse().ok().filter(|&n| n > 0)
}

/// How many ranks the launcher has started, and the family of MPI libraries that it belongs to; `None` for both families'
/// launchers (`srun`). `None`: no launcher of MPI jobs has started this process.
pub(super) fn launched(lookup: Lookup<'_>) -> Option<(usize, Option<Family>)> {
    let size = |name: &str| number(lookup, name).map(|n| n as usize);
    if let Some(n) = size("OMPI_COMM_WORLD_SIZE") {
        return Some((n, Some(Family::OpenMpi)));
    }
    if let Some(n) = size("PMI_SIZE").or_else(|| size("MV2_COMM_WORLD_SIZE")) {
        return Some((n, Some(Family::Mpich)));
    }
    // Every task of `srun` is a rank. A batch script has SLURM's variables, too, but is no task of a step.
    if lookup("SLURM_PROCID").is_some()
        && let Some(n) = size("SLURM_STEP_NUM_TASKS").filter(|&n| n > 1)
    {
        return Some((n, None));
    }
    size("MPI_LOCALNRANKS").map(|n| (n, Some(Family::Mpich)))
}

/// On how many nodes so many ranks run, as far as the variables say so and agree with that number. `read` gives the text of a
/// file: PBS lists nodes in one.
pub(super) fn nodes(ranks: u64, lookup: Lookup<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let told = |name: &str| number(lookup, name);
    // Ranks on this node: right where all nodes have as many.
    let each = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
    let by_each = each.iter().find_map(|name| told(name)).filter(|&n| ranks.is_multiple_of(n));
    let fits = |n: &u64| ranks.is_multiple_of(*n);
    by_each
        .map(|n| ranks / n)
        .or_else(|| told("SLURM_STEP_NUM_NODES").filter(fits))
        .or_else(|| slurm(ranks, lookup))
        .or_else(|| hosts(ranks, lookup, read))
        .or_else(|| {
            let both = (told("PBS_NUM_NODES")?, told("PBS_NUM_PPN")?);
            (both.0.checked_mul(both.1) == Some(ranks)).then_some(both.0)
        })
}

/// A whole allocation of SLURM's, where the ranks fill it.
fn slurm(ranks: u64, lookup: Lookup<'_>) -> Option<u64> {
    let nodes = number(lookup, "SLURM_JOB_NUM_NODES").or_else(|| number(lookup, "SLURM_NNODES"))?;
    let tasks = number(lookup, "SLURM_NTASKS")
        .or_else(|| number(lookup, "SLURM_NTASKS_PER_NODE").and_then(|n| n.checked_mul(nodes)))?;
    (tasks == ranks && ranks.is_multiple_of(nodes)).then_some(nodes)
}

/// The nodes in PBS's list, which has a line for every rank.
fn hosts(ranks: u64, lookup: Lookup<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let text = read(&lookup("PBS_NODEFILE")?)?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let nodes = lines.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
    (lines.len() as u64 == ranks && nodes > 0 && ranks.is_multiple_of(nodes)).then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(variables: &str, f: impl FnOnce(Lookup<'_>) -> T) -> T {
        let look = |name: &str| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|p| p.0 == name).map(|p| p.1.to_owned())
        };
        f(&look)
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        for (variables, found) in [
            ("", None),
            ("HOME=/root", None),
            ("OMPI_COMM_WORLD_SIZE=4 PMI_SIZE=4", Some((4, Some(Family::OpenMpi)))),
            ("PMI_SIZE=3 PMI_RANK=0", Some((3, Some(Family::Mpich)))),
            ("MV2_COMM_WORLD_SIZE=8", Some((8, Some(Family::Mpich)))),
            ("MPI_LOCALNRANKS=2", Some((2, Some(Family::Mpich)))),
            ("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=6", Some((6, None))),
            // A batch script, and a step of one task.
            ("SLURM_PROCID=0 SLURM_NTASKS=6 SLURM_NNODES=2", None),
            ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", None),
            ("PMI_SIZE=many", None),
            ("PMI_SIZE=0", None),
        ] {
            assert_eq!(with(variables, launched), found, "{variables}");
        }
    }

    #[test]
    fn nodes_are_told_by_launchers_and_batch_systems() {
        let list = |_: &str| Some("a\nb\na\nb\n\n".to_owned());
        for (ranks, variables, found) in [
            (4, "", None),
            (4, "OMPI_COMM_WORLD_LOCAL_SIZE=2", Some(2)),
            (4, "MV2_COMM_WORLD_LOCAL_SIZE=4", Some(1)),
            (6, "MPI_LOCALNRANKS=2", Some(3)),
            (5, "MPI_LOCALNRANKS=2", None),
            (4, "SLURM_STEP_NUM_NODES=2 SLURM_NNODES=4 SLURM_NTASKS=4", Some(2)),
            (8, "SLURM_NNODES=4 SLURM_NTASKS_PER_NODE=2", Some(4)),
            (8, "SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=8", Some(2)),
            // An allocation that these ranks do not fill says nothing about them.
            (4, "SLURM_NNODES=4 SLURM_NTASKS_PER_NODE=2", None),
            (4, "PBS_NODEFILE=/n", Some(2)),
            (8, "PBS_NODEFILE=/n", None),
            (8, "PBS_NODEFILE=/n PBS_NUM_NODES=2 PBS_NUM_PPN=4", Some(2)),
            (9, "PBS_NUM_NODES=2 PBS_NUM_PPN=4", None),
        ] {
            assert_eq!(with(variables, |l| nodes(ranks, l, &list)), found, "{ranks}: {variables}");
        }
        assert_eq!(with("PBS_NODEFILE=/n", |l| nodes(4, l, &|_| None)), None);
    }
}
