//! The machine's fitness for benchmarks: processors, storage whose cold reads can be proven, libraries, MPI, quiet.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::cache::{self, PROVEN};
use crate::clock::storage_read;
use crate::driver::{Driver, LibnetcdfDriver, parallel_builds};
use crate::environment::{Environment, Filesystem};
use crate::error::{Error, Result};
use crate::noise::Snapshot;
use crate::team::MpiJob;

/// Bytes of the file that is read cold.
const PROBE: usize = 8 << 20;
/// The time for which other work is watched.
const WATCH: Duration = Duration::from_millis(1000);
/// Programs that start MPI jobs.
const LAUNCHERS: [&str; 4] = ["mpiexec", "mpiexec.openmpi", "mpiexec.mpich", "srun"];

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Good, as it should be.
    Good,
    /// Not there; some benchmarks cannot be made.
    Absent,
    /// Numbers measured so are to be doubted.
    Bad,
}

impl Standing {
    /// The standing in a word.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Good => "good",
            Standing::Absent => "absent",
            Standing::Bad => "BAD",
        }
    }
}

/// One thing that was examined.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The subject.
    pub what: String,
    /// The standing.
    pub standing: Standing,
    /// The result.
    pub found: String,
    /// The remedy.
    pub advice: Option<String>,
}

impl Check {
    fn new(what: &str, standing: Standing, found: impl Into<String>) -> Self {
        Check { what: what.to_owned(), standing, found: found.into(), advice: None }
    }

    fn advised(mut self, advice: &str) -> Self {
        self.advice = (self.standing != Standing::Good).then(|| advice.to_owned());
        self
    }
}

/// Examines everything; files are made in `folder`, and removed. Takes a second.
///
/// ```
/// let folder = std::env::temp_dir();
/// let found = ncforge_bench::doctor::examine(&folder)?;
/// assert!(found.iter().any(|c| c.what == "cold reads"));
/// # Ok::<(), ncforge_bench::Error>(())
/// ```
///
/// # Errors
/// When no file can be written in the folder.
pub fn examine(folder: &Path) -> Result<Vec<Check>> {
    let mut out = vec![build(), processors(&Environment::capture()), filesystem(folder), cold(folder)?];
    out.push(library());
    out.extend(parallel());
    out.extend(mpi());
    out.push(noise());
    Ok(out)
}

fn build() -> Check {
    let optimised = Environment::capture().optimised;
    let found = if optimised { "optimised" } else { "built without optimisation" };
    Check::new("program", if optimised { Standing::Good } else { Standing::Bad }, found)
        .advised("build it with --release")
}

fn processors(e: &Environment) -> Check {
    let governor = e.governor.as_deref();
    let slow = governor.is_some_and(|g| g == "powersave" || g == "conservative");
    let mut found = format!("{} × {}", e.cpus, e.cpu.as_deref().unwrap_or("unknown"));
    if let Some(g) = governor {
        found += &format!(", frequency governor {g}");
    }
    Check::new("processors", if slow { Standing::Bad } else { Standing::Good }, found)
        .advised("the frequency changes under way: set the governor to performance while you measure")
}

fn filesystem(folder: &Path) -> Check {
    match Filesystem::of(folder) {
        Some(f) if f.in_memory => {
            Check::new("file system", Standing::Bad, format!("{}: memory, no storage", f.kind))
                .advised("name a folder on a disk by --folder")
        }
        Some(f) => Check::new("file system", Standing::Good, format!("{} ({})", f.kind, f.options)),
        None => Check::new("file system", Standing::Absent, "the system does not say"),
    }
}

/// Writes a file, evicts it, reads it, and measures how much came from storage.
fn cold(folder: &Path) -> Result<Check> {
    let mut file = tempfile::Builder::new()
        .prefix("ncforge-bench-doctor-")
        .tempfile_in(folder)
        .map_err(|e| Error::place("make a file in", folder, e))?;
    let path: PathBuf = file.path().to_owned();
    let bytes: Vec<u8> = (0..PROBE).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    file.write_all(&bytes).map_err(|e| Error::io("write", &path, e))?;
    let what = "cold reads";
    if let Err(e) = cache::make_cold(std::slice::from_ref(&path)) {
        let advice = "take a folder on a local disk; results say `warm` otherwise";
        return Ok(Check::new(what, Standing::Absent, e.to_string()).advised(advice));
    }
    let before = storage_read();
    cache::warm(&path)?;
    let Some((a, b)) = before.zip(storage_read()) else {
        let found = "files can be evicted, but the system does not count what comes from storage";
        return Ok(Check::new(what, Standing::Absent, found));
    };
    let share = b.saturating_sub(a) as f64 / PROBE as f64;
    let found = format!("after eviction {:.1} % of a file came from storage", share * 100.0);
    let standing = if share >= PROVEN { Standing::Good } else { Standing::Absent };
    Ok(Check::new(what, standing, found).advised("cold reads cannot be proven here; their rows say so"))
}

fn library() -> Check {
    match LibnetcdfDriver::find() {
        Some(l) => Check::new("netCDF-C", Standing::Good, l.version()),
        None => Check::new("netCDF-C", Standing::Absent, "no library that can be loaded")
            .advised("install it (Debian: libnetcdf19), or give its path by --library"),
    }
}

/// Parallel builds need an MPI library in the process when they are loaded; here only their presence is checked.
fn parallel() -> Vec<Check> {
    let found: Vec<String> = parallel_builds().iter().map(|p| p.display().to_string()).collect();
    let what = "parallel netCDF-C";
    vec![if found.is_empty() {
        Check::new(what, Standing::Absent, "not where systems keep libraries")
            .advised("install it (Debian: libnetcdf-pnetcdf-19) to measure it under mpiexec")
    } else {
        Check::new(what, Standing::Good, found.join(", "))
    }]
}

fn mpi() -> Vec<Check> {
    let found = MpiJob::found();
    let mut out: Vec<Check> = found
        .iter()
        .map(|(path, version)| {
            let first = version.lines().next().unwrap_or_default();
            Check::new("MPI", Standing::Good, format!("{path}: {first}"))
        })
        .collect();
    if out.is_empty() {
        let found = "no library; `--ranks` starts processes without it";
        out.push(
            Check::new("MPI", Standing::Absent, found)
                .advised("install Open MPI or MPICH for collective access"),
        );
    }
    let on_path = |name: &&str| {
        std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|f| f.join(name).is_file()))
    };
    let launchers: Vec<&str> = LAUNCHERS.into_iter().filter(on_path).collect();
    out.push(if launchers.is_empty() {
        Check::new("MPI launcher", Standing::Absent, "none on the path")
            .advised("install mpiexec (Debian: openmpi-bin)")
    } else {
        Check::new("MPI launcher", Standing::Good, launchers.join(", "))
    });
    out
}

fn noise() -> Check {
    let before = Snapshot::now();
    std::thread::sleep(WATCH);
    let n = before.since(0.0);
    let share = |what: &str, v: Option<f64>| v.map(|v| format!("{what} {:.0} %", v * 100.0));
    let seen = [
        share("others used", n.others),
        share("the host took", n.steal),
        share("waiting for a processor", n.psi_cpu),
        share("waiting for storage", n.psi_io),
    ];
    let found = seen.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if found.is_empty() {
        return Check::new("quiet", Standing::Absent, "the system does not say");
    }
    Check::new("quiet", if n.is_disturbing(false) { Standing::Bad } else { Standing::Good }, found)
        .advised("something else uses the machine: wait, or expect disturbed rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_examined_and_nothing_stays() {
        let dir = tempfile::tempdir().unwrap();
        let found = examine(dir.path()).unwrap();
        for what in
            ["program", "processors", "file system", "cold reads", "netCDF-C", "MPI", "MPI launcher", "quiet"]
        {
            assert!(found.iter().any(|c| c.what == what), "{what}");
        }
        assert!(found.iter().all(|c| c.standing != Standing::Good || c.advice.is_none()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(examine(Path::new("/nonexistent")).is_err());
    }
}
