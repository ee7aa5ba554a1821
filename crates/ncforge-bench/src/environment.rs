//! The machine and the versions that a number belongs to.

use serde::Serialize;

/// Where a measurement was made.
#[derive(Clone, Debug, Serialize)]
pub struct Environment {
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
}

impl Environment {
    /// What can be told about this machine without privilege.
    pub fn capture() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let field = |text: String, key: &str| {
            let line = text.lines().find(|l| l.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Environment {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_known_about_every_machine() {
        let e = Environment::capture();
        assert!(e.cpus > 0);
        assert!(!e.system.trim().is_empty());
    }
}
