//! Threads and memory: what was asked for, what the environment says, what the machine has.

use super::machine;
use crate::error::{Error, Result};

/// The threads and the memory that an engine may use.
///
/// `None` means the first of these that is there:
///
/// * threads: `NCFORGE_THREADS`, `SLURM_CPUS_PER_TASK`, `OMP_NUM_THREADS` (its first number), else the CPUs
///   that this process may run on, within its control group's quota; of those that the processes of a job share on
///   one machine (MPI's launchers say how many), its part;
/// * memory: `NCFORGE_MEMORY` (bytes, or with a suffix, see [`parse_size`]), else a quarter of the memory of
///   the machine or of its control group, whichever is smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// Threads for one request; at least 1.
    pub threads: Option<usize>,
    /// Memory budget in bytes.
    pub memory: Option<u64>,
}

/// Options with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) threads: usize,
    pub(super) memory: u64,
}

/// More threads than this is a slip of the pen.
const MAX_THREADS: usize = 4096;
/// Below this the engine could hold no chunk of usual size.
const MIN_MEMORY: u64 = 1 << 20;

fn enough(memory: u64) -> Result<u64> {
    match memory >= MIN_MEMORY {
        true => Ok(memory),
        false => Err(Error::bad_option(
            "memory",
            format!("a memory budget of {memory} B is too small: it must be {MIN_MEMORY} B (1M) at least"),
        )),
    }
}

impl EngineOptions {
    /// The options, or an error if they ask for less memory than any engine has.
    pub(super) fn checked(self) -> Result<Self> {
        self.memory.map_or(Ok(self), |memory| enough(memory).map(|_| self))
    }

    pub(super) fn resolve(self) -> Result<Resolved> {
        self.resolve_with(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()))
    }

    fn resolve_with(self, env: impl Fn(&str) -> Option<String>) -> Result<Resolved> {
        let machine = Resolved::of_machine();
        let threads = match (self.threads, env("NCFORGE_THREADS")) {
            (Some(n), _) => n,
            (None, Some(text)) => parse_threads("NCFORGE_THREADS", &text)?,
            // Variables that are not ours may hold anything: what cannot be read is passed over.
            (None, None) => ["SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"]
                .iter()
                .find_map(|name| env(name)?.split(',').next()?.trim().parse().ok().filter(|&n| n > 0))
                .unwrap_or_else(|| share(machine.threads, machine::job_cpus(), &env)),
        };
        if threads == 0 {
            return Err(Error::bad_option("threads", "the number of threads must be at least 1"));
        }
        let memory = match (self.memory, env("NCFORGE_MEMORY")) {
            (Some(n), _) => n,
            (None, Some(text)) => parse_size(&text).and_then(enough).map_err(|e| {
                Error::bad_option("memory", format!("the environment variable NCFORGE_MEMORY: {e}"))
            })?,
            (None, None) => machine.memory,
        };
        Ok(Resolved { threads: threads.min(MAX_THREADS), memory: memory.max(MIN_MEMORY) })
    }
}

/// How many processes of the job a launcher started on this machine: Open MPI, MPICH and Intel MPI, MVAPICH, Cray's, and Slurm
/// (`4(x2)`: four on each of two).
const LOCAL_RANKS: [&str; 5] = [
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "PALS_LOCAL_SIZE",
    "SLURM_STEP_TASKS_PER_NODE",
];

/// The threads of one process of a job, so that it takes no CPU from the others: its part of the job's CPUs, and no more than `own`, which
/// it may run on.
fn share(own: usize, job: usize, env: impl Fn(&str) -> Option<String>) -> usize {
    let number = |text: String| text.trim().split(['(', ',']).next()?.parse().ok().filter(|&n| n > 0);
    let ranks: usize = LOCAL_RANKS.iter().find_map(|name| number(env(name)?)).unwrap_or(1);
    if ranks == 1 { own } else { own.min(job / ranks).max(1) }
}

impl Resolved {
    /// The resources of the machine, for options that were not given.
    pub(super) fn of_machine() -> Self {
        Self { threads: machine::cpus(), memory: (machine::memory() / 4).max(MIN_MEMORY) }
    }
}

fn parse_threads(name: &str, text: &str) -> Result<usize> {
    text.trim().parse().map_err(|_| {
        Error::bad_option(
            "threads",
            format!("the environment variable {name}: `{text}` is not a number of threads"),
        )
    })
}

/// Reads a size in bytes: a number, with one of the suffixes `K`, `M`, `G`, `T` (powers of 1024, also written
/// `KiB`, `MB`, …), in either case.
///
/// ```
/// use ncforge::parse_size;
/// assert_eq!(parse_size("256M")?, 256 << 20);
/// assert_eq!(parse_size("1.5 GiB")?, 3 << 29);
/// assert!(parse_size("much").is_err());
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn parse_size(text: &str) -> Result<u64> {
    let bad =
        || Error::bad_option("memory", format!("`{text}` is not a size (write bytes, or 512K, 256M, 2G)"));
    let t = text.trim();
    let split = t.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(t.len());
    let (number, unit) = t.split_at(split);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(bad()),
    };
    let number = number.trim();
    if let Ok(n) = number.parse::<u64>() {
        return n.checked_mul(1 << shift).ok_or_else(bad);
    }
    let value = number.parse::<f64>().map_err(|_| bad())? * (1u64 << shift) as f64;
    if value.is_finite() && (0.0..9e18).contains(&value) { Ok(value as u64) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(options: EngineOptions, vars: &[(&str, &str)]) -> Result<Resolved> {
        options
            .resolve_with(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn options_win_over_the_environment() {
        let vars = [("NCFORGE_THREADS", "3"), ("NCFORGE_MEMORY", "64M"), ("OMP_NUM_THREADS", "7")];
        let got = resolve(EngineOptions { threads: Some(2), memory: Some(32 << 20) }, &vars).unwrap();
        assert_eq!(got, Resolved { threads: 2, memory: 32 << 20 });
        let got = resolve(EngineOptions::default(), &vars).unwrap();
        assert_eq!(got, Resolved { threads: 3, memory: 64 << 20 });
    }

    #[test]
    fn job_variables_are_obeyed_and_ours_are_checked() {
        let none = EngineOptions::default();
        let slurm = [("SLURM_CPUS_PER_TASK", "5"), ("OMP_NUM_THREADS", "7,2")];
        assert_eq!(resolve(none, &slurm).unwrap().threads, 5);
        assert_eq!(resolve(none, &[("OMP_NUM_THREADS", "7,2")]).unwrap().threads, 7);
        assert!(resolve(none, &[("NCFORGE_THREADS", "many")]).is_err());
        assert!(resolve(none, &[("NCFORGE_MEMORY", "lots")]).is_err());
        assert!(resolve(none, &[("NCFORGE_MEMORY", "1K")]).is_err());
        assert!(EngineOptions { memory: Some(1 << 10), threads: None }.checked().is_err());
        assert!(resolve(EngineOptions { threads: Some(0), memory: None }, &[]).is_err());
        assert!(resolve(none, &[]).unwrap().threads >= 1);
    }

    #[test]
    fn processes_of_a_job_take_their_part_of_its_cpus() {
        let env = |value: &'static str| {
            move |name: &str| (name == "SLURM_STEP_TASKS_PER_NODE").then(|| value.to_owned())
        };
        // Not bound; bound to one CPU each, to four of eight, to a socket that they share; more processes than CPUs; alone.
        assert_eq!(share(64, 64, env("16(x2)")), 4);
        assert_eq!(share(1, 64, env("64,32")), 1);
        assert_eq!(share(4, 8, env("2")), 4);
        assert_eq!(share(32, 64, env("64")), 1);
        assert_eq!(share(2, 2, env("8")), 1);
        assert_eq!(share(8, 64, env("1")), 8);
        assert_eq!(share(8, 64, env("many")), 8);
        let jobs = [("MPI_LOCALNRANKS", "100000"), ("NCFORGE_THREADS", "3")];
        let none = EngineOptions::default();
        assert_eq!(resolve(none, &jobs[..1]).unwrap().threads, 1);
        assert_eq!(resolve(none, &jobs).unwrap().threads, 3);
    }
}
