//! The machine and the versions that a number belongs to.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::driver::Driver;
use crate::stats::distinct;

/// The circumstances of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The machine's name; left out where results are shared.
    pub host: Option<String>,
    /// Operating system and architecture: "linux x86_64".
    pub system: String,
    /// Kernel release, where it is known.
    pub kernel: Option<String>,
    /// The processor's name, where it is known.
    pub cpu: Option<String>,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Bytes of memory, where it is known.
    pub memory: Option<u64>,
    /// Version of ncforge.
    pub ncforge: String,
    /// True for an optimised build. Numbers of an unoptimised one mean nothing.
    pub optimised: bool,
    /// The file system under the files, where it is known.
    pub filesystem: Option<Filesystem>,
    /// The load of the machine when the measurement began: mean number of runnable processes of the last minute.
    pub load: Option<f64>,
    /// How processors choose their frequency, where it is known.
    pub governor: Option<String>,
    /// The container or virtual machine, as far as is known.
    pub virtualisation: Option<String>,
    /// The commit of the folder in which the command ran, where that is in a git repository.
    pub revision: Option<String>,
    /// The libraries that did the work, with versions: codecs, HDF5 below a library, MPI.
    pub libraries: Vec<String>,
    /// The layer that does MPI's input and output, where a job used it: "OMPIO", "ROMIO".
    pub mpi_io: Option<String>,
    /// Its hints, as it understood them.
    pub hints: Vec<(String, String)>,
    /// Variables that change how libraries work.
    pub variables: Vec<(String, String)>,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Its type: "ext4".
    pub kind: String,
    /// Mount options.
    pub options: String,
    /// The device; left out where results are shared.
    pub device: Option<String>,
    /// The kind of device, where the system says: "virtio, not rotational, 64 GiB".
    #[serde(default)]
    pub hardware: Option<String>,
    /// Whether files of it live in memory.
    pub in_memory: bool,
}

/// The device under a file as the system describes it: driver or model, kind, scheduler, size.
fn hardware(there: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let number = std::fs::metadata(there).ok()?.dev();
    let (major, minor) = (libc::major(number), libc::minor(number));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}")).canonicalize().ok()?;
    // A part of a disk has the description of the whole in the folder above.
    let whole = if device.join("queue").is_dir() { device } else { device.parent()?.to_owned() };
    let read = |name: &str| {
        let text = std::fs::read_to_string(whole.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|t| !t.is_empty())
    };
    let driver = || Some(whole.join("device/driver").canonicalize().ok()?.file_name()?.to_str()?.to_owned());
    let kind =
        read("queue/rotational").map(|r| if r == "0" { "not rotational" } else { "rotational" }.to_owned());
    let scheduler = read("queue/scheduler").and_then(|text| {
        let chosen = text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']'))?;
        Some(format!("scheduler {chosen}"))
    });
    let size =
        read("size").and_then(|n| n.parse::<u64>().ok()).map(|n| crate::report::bytes(n.saturating_mul(512)));
    let parts: Vec<String> =
        [read("device/model").or_else(driver), kind, scheduler, size].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The commit that is checked out in the repository around a folder.
fn revision(folder: &Path) -> Option<String> {
    let read = |path: &Path| std::fs::read_to_string(path).ok().map(|t| t.trim().to_owned());
    let git = folder.ancestors().map(|f| f.join(".git")).find(|g| g.exists())?;
    // A work tree, or a module, has a file that names the folder.
    let git = match read(&git).filter(|_| git.is_file()) {
        Some(text) => git.parent()?.join(text.strip_prefix("gitdir:")?.trim()),
        None => git,
    };
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else { return Some(head) };
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |c| git.join(c));
    let packed = || {
        let text = read(&common.join("packed-refs"))?;
        text.lines().find_map(|l| Some(l.strip_suffix(name)?.trim().to_owned()))
    };
    let commit = read(&git.join(name)).or_else(|| read(&common.join(name))).or_else(packed)?;
    commit.bytes().all(|b| b.is_ascii_hexdigit()).then_some(commit)
}

impl Filesystem {
    /// The file system that a file, or its folder, lies on.
    pub fn of(path: &Path) -> Option<Filesystem> {
        let absolute = std::path::absolute(path).ok()?;
        let there = absolute.ancestors().find(|p| p.exists())?.canonicalize().ok()?;
        let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
        let best = mounts
            .lines()
            .filter_map(|line| {
                let mut f = line.split(' ');
                let (device, point, kind, options) = (f.next()?, f.next()?, f.next()?, f.next()?);
                let point = point.replace("\\040", " ");
                there.starts_with(&point).then_some((point.len(), device, kind, options))
            })
            // Of two mounts on one point the later one is seen.
            .max_by_key(|m| m.0)?;
        Some(Filesystem {
            kind: best.2.to_owned(),
            options: best.3.to_owned(),
            device: Some(best.1.to_owned()),
            hardware: hardware(&there),
            in_memory: matches!(best.2, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs"),
        })
    }
}

/// Processors that this process may use, at least 1.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Numbers of the processors that this process may use; none where the system does not say.
pub(crate) fn allowed_processors() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a set of processors is plain bits, for which all zeros are a value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: a plain system call that writes into our own set, whose size it gets.
        let done = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
        if done == 0 {
            let most = libc::CPU_SETSIZE as usize;
            // SAFETY: the numbers are below the size of the set.
            return (0..most).filter(|&n| unsafe { libc::CPU_ISSET(n, &set) }).collect();
        }
    }
    Vec::new()
}

/// Variables that are recorded: they change threads, caches, locks, transports.
const VARIABLES: [&str; 12] = [
    "NCFORGE_",
    "OMP_",
    "HDF5_",
    "NETCDF_",
    "NC_",
    "PNETCDF_",
    "ROMIO_",
    "MPICH_",
    "MPIR_CVAR_",
    "I_MPI_",
    "MV2_",
    "SLURM_CPUS",
];
/// Open MPI's launcher describes the job in variables of the same form as those that tune: addresses, folders, a key. These parts
/// of Open MPI are tuned.
const OPEN_MPI: [&str; 12] =
    ["btl_", "coll_", "fbtl_", "fcoll_", "fs_", "hwloc_", "io_", "mpi_", "mtl_", "osc_", "pml_", "sharedfp_"];
/// Variables that say where the job runs, not how.
const PLACES: [&str; 5] = ["HOST", "_if_include", "_if_exclude", "I_MPI_HYDRA_", "NCFORGE_BENCH_TEAM"];

/// Whether a variable is recorded.
fn is_recorded(name: &str) -> bool {
    let tunes = match name.strip_prefix("OMPI_MCA_") {
        Some(part) => {
            OPEN_MPI.iter().any(|known| part.starts_with(known) || known.strip_suffix('_') == Some(part))
        }
        None => VARIABLES.iter().any(|known| name.starts_with(known)),
    };
    tunes && !PLACES.iter().any(|place| name.contains(place))
}

impl Environment {
    /// The facts about this machine that need no privilege.
    pub fn capture() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let field = |text: String, key: &str| {
            let line = text.lines().find(|l| l.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Environment {
            host: read("/proc/sys/kernel/hostname").map(|s| s.trim().to_owned()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            kernel: read("/proc/sys/kernel/osrelease").map(|s| s.trim().to_owned()),
            cpu: read("/proc/cpuinfo").and_then(|s| field(s, "model name")),
            cpus: processors(),
            memory: read("/proc/meminfo").and_then(|s| field(s, "MemTotal")).and_then(|s| {
                let kib: u64 = s.split_whitespace().next()?.parse().ok()?;
                kib.checked_mul(1024)
            }),
            ncforge: env!("CARGO_PKG_VERSION").to_owned(),
            optimised: cfg!(not(debug_assertions)),
            filesystem: None,
            load: read("/proc/loadavg").and_then(|s| s.split_whitespace().next()?.parse().ok()),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .map(|s| s.trim().to_owned()),
            virtualisation: virtualisation(),
            revision: std::env::current_dir().ok().and_then(|f| revision(&f)),
            libraries: vec![env!("NCFORGE_CODECS").to_owned()]
                .into_iter()
                .filter(|l| !l.is_empty())
                .collect(),
            mpi_io: None,
            hints: Vec::new(),
            variables: std::env::vars().filter(|(name, _)| is_recorded(name)).collect(),
        }
    }

    /// Adds the file system of `path`, and the libraries below these drivers.
    #[must_use]
    pub fn completed(mut self, path: &Path, drivers: &[&dyn Driver]) -> Self {
        self.filesystem = Filesystem::of(path);
        for driver in drivers {
            let name = driver.name().rsplit('/').next().unwrap_or_default();
            let below = driver.stands_on();
            let line = format!("{name} {}: {}", driver.version(), below.join(", "));
            if !below.is_empty() && !self.libraries.contains(&line) {
                self.libraries.push(line);
            }
        }
        self
    }

    /// The facts about the machine, by name; nothing that differs from one run to the next.
    pub(crate) fn facts(&self) -> [(&'static str, String); 7] {
        let known = |v: &Option<String>| v.clone().unwrap_or_default();
        let cpu = self.cpu.as_deref().unwrap_or("unknown");
        [
            ("system", format!("{} {}", self.system, known(&self.kernel)).trim().to_owned()),
            ("processor", if self.cpus == 0 { String::new() } else { format!("{} × {cpu}", self.cpus) }),
            ("memory", self.memory.map_or_else(String::new, crate::report::bytes)),
            ("virtualisation", known(&self.virtualisation)),
            ("frequency governor", known(&self.governor)),
            ("ncforge", format!("{}{}", self.ncforge, if self.optimised { "" } else { " (NOT OPTIMISED)" })),
            ("MPI-IO", known(&self.mpi_io)),
        ]
    }

    /// The differences in words; the machine's name, its load and such do not count.
    pub fn differences(&self, other: &Environment) -> Vec<String> {
        if self.system.is_empty() != other.system.is_empty() {
            return vec!["of one of them nothing is known".to_owned()];
        }
        let shown = |v: String| if v.is_empty() { "unknown".to_owned() } else { v };
        let pairs = self.facts().into_iter().zip(other.facts()).filter(|(a, b)| a != b);
        let mut found: Vec<String> =
            pairs.map(|((name, a), (_, b))| format!("{name} {}, then {}", shown(a), shown(b))).collect();
        let kind = |e: &Environment| e.filesystem.as_ref().map(|f| f.kind.clone());
        // Not every workload writes files.
        if let (Some(a), Some(b)) = (kind(self), kind(other))
            && a != b
        {
            found.push(format!("file system {a}, then {b}"));
        }
        // Other libraries are other rows; codecs and what lies below a library do not show there.
        let gone = self.libraries.iter().filter(|l| !other.libraries.contains(l));
        let come = other.libraries.iter().filter(|l| !self.libraries.contains(l));
        if !self.libraries.is_empty() && !other.libraries.is_empty() {
            found.extend(gone.map(|l| format!("{l} only in the first")));
            found.extend(come.map(|l| format!("{l} only in the second")));
        }
        let value = |e: &Environment, name: &str| {
            let found = e.variables.iter().find(|v| v.0 == name);
            found.map_or_else(|| "not set".to_owned(), |v| v.1.clone())
        };
        let names = self.variables.iter().chain(&other.variables).map(|v| v.0.as_str());
        for name in distinct(names) {
            let (a, b) = (value(self, name), value(other, name));
            if a != b {
                found.push(format!("{name}: {a}, then {b}"));
            }
        }
        found
    }

    /// The environment without what shows whose machine it is: devices, and paths in variables.
    pub fn redacted(mut self) -> Self {
        self.host = None;
        if let Some(f) = &mut self.filesystem {
            f.device = None;
        }
        for (_, value) in self.variables.iter_mut().chain(&mut self.hints) {
            if value.contains('/') {
                "(a path)".clone_into(value);
            }
        }
        self
    }
}

fn virtualisation() -> Option<String> {
    let set = |name: &str| std::env::var_os(name).is_some();
    let groups = std::fs::read_to_string("/proc/1/cgroup").unwrap_or_default();
    let named = ["docker", "kubepods", "libpod", "lxc", "containerd"].iter().any(|n| groups.contains(n));
    let files = ["/.dockerenv", "/run/.containerenv", "/.singularity.d"];
    if named
        || files.iter().any(|f| Path::new(f).exists())
        || set("APPTAINER_CONTAINER")
        || set("SINGULARITY_CONTAINER")
    {
        return Some("container".to_owned());
    }
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = cpu.lines().find(|l| l.starts_with("flags"))?;
    flags.split_whitespace().any(|f| f == "hypervisor").then(|| "virtual machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_known_about_every_machine() {
        let e = Environment::capture();
        assert!(e.cpus > 0);
        assert!(!e.system.trim().is_empty());
        let shm = Filesystem::of(Path::new("/dev/shm/x"));
        assert!(shm.is_none_or(|f| f.in_memory || !f.kind.is_empty()));
        assert!(e.libraries.iter().any(|l| l.contains("libdeflate-sys ")), "{:?}", e.libraries);
    }

    #[test]
    fn variables_that_tune_are_recorded_and_no_others() {
        for name in [
            "OMPI_MCA_btl",
            "OMPI_MCA_coll_tuned_priority",
            "OMPI_MCA_io",
            "I_MPI_FABRICS",
            "OMP_NUM_THREADS",
        ] {
            assert!(is_recorded(name), "{name}");
        }
        for name in [
            "OMPI_MCA_orte_precondition_transports",
            "OMPI_MCA_orte_hnp_uri",
            "OMPI_MCA_ess_base_jobid",
            "OMPI_MCA_initial_wdir",
            "OMPI_MCA_btl_tcp_if_include",
            "I_MPI_HYDRA_HOST_FILE",
            "MPICH_INTERFACE_HOSTNAME",
            "NCFORGE_BENCH_TEAM",
            "HOME",
        ] {
            assert!(!is_recorded(name), "{name}");
        }
    }

    #[test]
    fn the_commit_is_read_from_a_repository_and_from_a_work_tree() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let at = |folder: &str| revision(&dir.path().join(folder));
        put("main/.git/HEAD", "ref: refs/heads/a\n");
        put("main/.git/refs/heads/a", "0123abcd\n");
        put("main/deep/x", "");
        assert_eq!(at("main/deep").as_deref(), Some("0123abcd"));
        put("main/.git/packed-refs", "# pack-refs with: peeled\n4567cdef refs/heads/b\n");
        put("main/.git/worktrees/w/HEAD", "ref: refs/heads/b\n");
        put("main/.git/worktrees/w/commondir", "../..\n");
        put("tree/.git", &format!("gitdir: {}\n", dir.path().join("main/.git/worktrees/w").display()));
        assert_eq!(at("tree").as_deref(), Some("4567cdef"));
        put("main/.git/HEAD", "89ab\n");
        assert_eq!(at("main").as_deref(), Some("89ab"));
        put("main/.git/HEAD", "ref: refs/heads/none\n");
        assert_eq!(at("main"), None);
    }

    #[test]
    fn what_shows_whose_machine_it_is_goes() {
        let mut e = Environment::capture().completed(Path::new("/tmp/x"), &[]);
        e.hints.push(("cb_config_list".into(), "/home/me".into()));
        let text = serde_json::to_string(&e.redacted()).unwrap();
        assert!(!text.contains("/home/me"), "{text}");
        assert!(text.contains(r#""host":null"#) && !text.contains(r#""device":"/"#), "{text}");
    }
}
