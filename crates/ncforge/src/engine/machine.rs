//! The resources of this process: CPUs and memory of the machine, within the limits of its control group and its own. The standard
//! library knows those of CPUs.
//!
//! Facts: the kernel's documentation of control groups, versions 1 and 2 (`memory.max`;
//! `memory.limit_in_bytes`), and of `/proc/self/statm`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes where neither the system nor a control group says.
const UNKNOWN_MEMORY: u64 = 2 << 30;

/// Bytes of memory that this process may use at most. Asked once per process.
pub(super) fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let limits = [physical_memory().unwrap_or(UNKNOWN_MEMORY)].into_iter();
        limits.chain(group_memory()).chain(addresses_left()).min().unwrap_or(UNKNOWN_MEMORY)
    })
}

/// What is left of the address space where that is limited (`ulimit -v`): the program has taken some of it, and needs more.
#[cfg(unix)]
fn addresses_left() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is written only.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    if !known || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    // SAFETY: sysconf only returns numbers.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').next()?.parse().ok()?;
    Some(limit.rlim_cur.saturating_sub(pages * page))
}

#[cfg(not(unix))]
fn addresses_left() -> Option<u64> {
    None
}

/// CPUs that this process may use at most, at least 1.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CPUs that the processes of a job share on this machine: those of its control group, whatever each process is bound to.
pub(super) fn job_cpus() -> usize {
    let v2 = group_dirs("", "/sys/fs/cgroup").into_iter().map(|d| d.join("cpuset.cpus.effective"));
    let v1 =
        group_dirs("cpuset", "/sys/fs/cgroup/cpuset").into_iter().map(|d| d.join("cpuset.effective_cpus"));
    let online = std::iter::once(PathBuf::from("/sys/devices/system/cpu/online"));
    let counted = |path: PathBuf| count_list(std::fs::read_to_string(path).ok()?.trim());
    v2.chain(v1).chain(online).filter_map(counted).min().unwrap_or_else(cpus)
}

/// The number of entries of a list of numbers as the kernel prints it: `0-3,8`.
fn count_list(text: &str) -> Option<usize> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    text.split(',').try_fold(0usize, |sum, p| sum.checked_add(part(p)?)).filter(|&n| n > 0)
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
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_list("0-3,8"), Some(5));
        assert_eq!(count_list("7"), Some(1));
        assert_eq!(count_list(""), None);
        assert_eq!(count_list("3-1"), None);
    }

    #[test]
    fn the_machine_has_something() {
        assert!(cpus() >= 1 && job_cpus() >= 1);
        assert!(memory() >= 16 << 20);
    }
}
