//! What this process may use: CPUs and memory of the machine, within the limits of its control group. The standard
//! library knows those of CPUs.
//!
//! Facts: the kernel's documentation of control groups, versions 1 and 2 (`memory.max`;
//! `memory.limit_in_bytes`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// When neither the system nor a control group says.
const UNKNOWN_MEMORY: u64 = 2 << 30;

/// Bytes of memory that this process may use at most. Asked once per process.
pub(super) fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let physical = physical_memory().unwrap_or(UNKNOWN_MEMORY);
        group_memory().map_or(physical, |limit| limit.min(physical))
    })
}

/// CPUs that this process may use at most, at least 1.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(unix)]
fn physical_memory() -> Option<u64> {
    // SAFETY: sysconf only returns numbers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let (pages, size) = (u64::try_from(pages).ok()?, u64::try_from(size).ok()?);
    pages.checked_mul(size).filter(|&n| n > 0)
}

#[cfg(not(unix))]
fn physical_memory() -> Option<u64> {
    None
}

/// The tightest memory limit on the way from this process' control group to the root.
fn group_memory() -> Option<u64> {
    let v2 = group_dirs("", "/sys/fs/cgroup").into_iter().filter_map(|d| read_number(&d.join("memory.max")));
    let v1 = group_dirs("memory", "/sys/fs/cgroup/memory")
        .into_iter()
        .filter_map(|d| read_number(&d.join("memory.limit_in_bytes")));
    v2.chain(v1).min()
}

/// A file that holds one number; "max" and "-1" mean no limit.
fn read_number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Folders of this process' control group and its ancestors under `root`. `controller` is a name of
/// version 1, or empty for version 2.
fn group_dirs(controller: &str, root: &str) -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours =
            if controller.is_empty() { names.is_empty() } else { names.split(',').any(|n| n == controller) };
        ours.then(|| path.trim_start_matches('/').to_owned())
    });
    let root = PathBuf::from(root);
    let mut dirs = vec![root.clone()];
    if let Some(path) = path {
        let mut at = root;
        for part in path.split('/').filter(|p| !p.is_empty() && *p != "..") {
            at.push(part);
            dirs.push(at.clone());
        }
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_something() {
        assert!(cpus() >= 1);
        assert!(memory() >= 16 << 20);
    }
}
