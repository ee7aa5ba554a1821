//! The machine and the versions that a number belongs to.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Where a measurement was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The machine's name; left out where results are shared.
    pub host: Option<String>,
    /// Operating system and architecture: "linux x86_64".
    pub system: String,
    /// Kernel release, where it can be told.
    pub kernel: Option<String>,
    /// The processor's name, where it can be told.
    pub cpu: Option<String>,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Bytes of memory, where it can be told.
    pub memory: Option<u64>,
    /// Version of ncforge.
    pub ncforge: String,
    /// Whether it was compiled with optimisation. Numbers of an unoptimised build mean nothing.
    pub optimised: bool,
    /// The file system under the files, where it can be told.
    pub filesystem: Option<Filesystem>,
    /// What the machine had to do when the measurement began: mean number of runnable processes of the last minute.
    pub load: Option<f64>,
    /// How processors choose their frequency, where it can be told.
    pub governor: Option<String>,
    /// Whether it is a container or a virtual machine, as far as can be told.
    pub virtualisation: Option<String>,
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
    /// Whether files of it live in memory.
    pub in_memory: bool,
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
            in_memory: matches!(best.2, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs"),
        })
    }
}

/// Processors that this process may use, at least 1.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Variables that are worth telling: they change threads, caches, locks, transports.
const VARIABLES: [&str; 10] = [
    "NCFORGE_",
    "OMP_",
    "HDF5_",
    "NETCDF_",
    "NC_",
    "PNETCDF_",
    "ROMIO_",
    "OMPI_MCA_",
    "MPICH_",
    "SLURM_CPUS",
];

impl Environment {
    /// What can be told about this machine without privilege.
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
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
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
            variables: std::env::vars()
                .filter(|(name, _)| {
                    VARIABLES.iter().any(|v| name.starts_with(v)) && name != "NCFORGE_BENCH_TEAM"
                })
                .collect(),
        }
    }

    /// The same, with the file system that files at this path lie on.
    pub fn capture_for(path: &Path) -> Self {
        Environment { filesystem: Filesystem::of(path), ..Self::capture() }
    }

    /// What is different, in words; the machine's name, its load and such do not count.
    pub fn differences(&self, other: &Environment) -> Vec<String> {
        let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "unknown".to_owned());
        let kind = |e: &Environment| e.filesystem.as_ref().map(|f| f.kind.clone());
        let pairs = [
            ("system", self.system.clone(), other.system.clone()),
            ("kernel", text(&self.kernel), text(&other.kernel)),
            ("processor", text(&self.cpu), text(&other.cpu)),
            ("processors", self.cpus.to_string(), other.cpus.to_string()),
            (
                "memory",
                self.memory.map_or_else(String::new, crate::report::bytes),
                other.memory.map_or_else(String::new, crate::report::bytes),
            ),
            ("ncforge", self.ncforge.clone(), other.ncforge.clone()),
            ("optimised", self.optimised.to_string(), other.optimised.to_string()),
            ("governor", text(&self.governor), text(&other.governor)),
            ("virtualisation", text(&self.virtualisation), text(&other.virtualisation)),
        ];
        let mut found: Vec<String> = pairs
            .into_iter()
            .filter(|(_, a, b)| a != b)
            .map(|(name, a, b)| format!("{name} {a}, then {b}"))
            .collect();
        // Not every workload writes files.
        if let (Some(a), Some(b)) = (kind(self), kind(other))
            && a != b
        {
            found.push(format!("file system {a}, then {b}"));
        }
        for (name, value) in &self.variables {
            match other.variables.iter().find(|v| v.0 == *name) {
                Some((_, now)) if now != value => found.push(format!("{name}={value}, then {now}")),
                None => found.push(format!("{name}={value}, then not set")),
                Some(_) => {}
            }
        }
        let new = other.variables.iter().filter(|v| !self.variables.iter().any(|s| s.0 == v.0));
        found.extend(new.map(|(name, value)| format!("{name} not set, then {value}")));
        found
    }

    /// Without what tells whose machine it is: devices, and paths in variables.
    pub fn redacted(mut self) -> Self {
        self.host = None;
        if let Some(f) = &mut self.filesystem {
            f.device = None;
        }
        for (_, value) in &mut self.variables {
            if value.contains('/') {
                "(a path)".clone_into(value);
            }
        }
        self
    }
}

fn virtualisation() -> Option<String> {
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
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
    }
}
