//! Whether this process is a rank of an MPI job, and of how many, by the variables of launchers: Open MPI's `mpiexec`, Hydra (MPICH, Intel
//! MPI), MVAPICH, SLURM's `srun`, anything that speaks PMI.

use super::mpi::Family;

/// Finds a variable of the environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of this process.
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(lookup: Lookup<'_>, name: &str) -> Option<u64> {
    lookup(name)?.trim().parse().ok().filter(|&n| n > 0)
}

/// The number of ranks that the launcher has started, and the family of MPI libraries that it belongs to; `None` for both families'
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

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(variables: &str, f: impl FnOnce(Lookup<'_>) -> T) -> T {
        let find = |name: &str| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|p| p.0 == name).map(|p| p.1.to_owned())
        };
        f(&find)
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
}
