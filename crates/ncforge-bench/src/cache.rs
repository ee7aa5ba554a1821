//! The page cache: evict a file, warm it, and measure how much of it is there.
//!
//! No privilege is needed: `posix_fadvise(DONTNEED)` drops clean pages of a file. How many are left is found by
//! `cachestat`, where the kernel has it; else by `mincore`, where its answer is right (for files that the user may neither write
//! nor owns it answers "all"); else by reads that may not wait (`RWF_NOWAIT`) at some places. Other systems have none of
//! these: the functions say so by an error. After a cold read, the bytes that the process fetched from storage prove
//! it ([`crate::clock::storage_read`]).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::environment::Filesystem;
use crate::error::{Error, Result};

/// Writes the file's dirty pages out and drops all of them from the page cache. Pages that another process
/// has mapped or locked stay; [`resident`] says how many.
#[cfg(target_os = "linux")]
pub fn evict(path: &Path) -> Result<()> {
    use std::os::fd::AsRawFd;
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    // Only clean pages can be dropped.
    file.sync_all().map_err(|e| Error::io("sync", path, e))?;
    // SAFETY: the descriptor is open for the length of the call; advice changes no memory of ours.
    let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match code {
        0 => Ok(()),
        code => Err(Error::io("evict", path, std::io::Error::from_raw_os_error(code))),
    }
}

/// The share of the file's pages that is in the page cache, 0 to 1.
#[cfg(target_os = "linux")]
pub fn resident(path: &Path) -> Result<f64> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    let len = file.metadata().map_err(|e| Error::io("measure", path, e))?.len();
    if len == 0 {
        return Ok(1.0);
    }
    if let Some((there, all)) = cachestat(&file, len) {
        return Ok((there as f64 / all as f64).min(1.0));
    }
    if !mincore_answers(path, &file) {
        let unknown =
            || Error::io("measure the residency of", path, std::io::ErrorKind::PermissionDenied.into());
        return sampled(&file, len).ok_or_else(unknown);
    }
    // SAFETY: the mapping is never read, only asked about, so that a file changing under it does no harm.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
    // SAFETY: sysconf has no preconditions.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let mut pages = vec![0u8; map.len().div_ceil(page)];
    // SAFETY: the range is our own mapping, page-aligned by mmap, and `pages` has one byte for each of its pages.
    let code = unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr()) };
    if code != 0 {
        return Err(Error::io("measure the residency of", path, std::io::Error::last_os_error()));
    }
    Ok(pages.iter().filter(|&&p| p & 1 == 1).count() as f64 / pages.len() as f64)
}

/// Not available on this system.
#[cfg(not(target_os = "linux"))]
pub fn evict(path: &Path) -> Result<()> {
    Err(Error::io("evict", path, std::io::ErrorKind::Unsupported.into()))
}

/// Not available on this system.
#[cfg(not(target_os = "linux"))]
pub fn resident(path: &Path) -> Result<f64> {
    Err(Error::io("measure the residency of", path, std::io::ErrorKind::Unsupported.into()))
}

/// Reads all of the file once, so that it is in the page cache (as far as it fits).
pub fn warm(path: &Path) -> Result<()> {
    let mut file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    std::io::copy(&mut file, &mut std::io::sink()).map(drop).map_err(|e| Error::io("read", path, e))
}

/// The state of the page cache before a phase, and the proof after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheState {
    /// The state in a word: `cold-verified`, `cold-unverified`, `warm-verified`, `warm-unverified`, `as-is`, `written`.
    pub label: String,
    /// Cold: per cent of the stored bytes that came from storage. Others: per cent of the file in the page cache before.
    pub percent: Option<f64>,
}

impl CacheState {
    /// The label with its percentage, as it stands in tables.
    pub fn text(&self) -> String {
        match self.percent {
            Some(p) => format!("{} ({p:.1} %)", self.label),
            None => self.label.clone(),
        }
    }
}

/// This share of stored bytes must come from storage for a read to count as cold, and of pages be there to count as
/// warm.
pub const PROVEN: f64 = 0.99;

/// The number of tries of eviction.
const TRIES: u32 = 5;

/// Brings files out of the page cache, and makes sure.
///
/// # Errors
/// [`Error::BadOption`] when they stay: memory is their home, or somebody has them mapped.
pub fn make_cold(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        if let Some(f) = Filesystem::of(path).filter(|f| f.in_memory) {
            return Err(Error::bad_option(
                "cache",
                format!(
                    "`{}` lies on a {}, which is memory: no read of it is ever cold; take a file on a disk, or --cache warm",
                    path.display(),
                    f.kind
                ),
            ));
        }
        let mut share = 1.0;
        for attempt in 0..TRIES {
            evict(path)?;
            share = resident(path)?;
            if share == 0.0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20 << attempt));
        }
        if share > 1.0 - PROVEN {
            return Err(Error::bad_option(
                "cache",
                format!(
                    "{:.1} % of `{}` stay in the page cache: some process has it mapped or locked, so that a cold read is not possible",
                    share * 100.0,
                    path.display()
                ),
            ));
        }
    }
    Ok(())
}

/// The share of several files' bytes that is in the page cache; `None` where the system does not say.
pub fn resident_of(paths: &[PathBuf]) -> Option<f64> {
    let mut pages = (0.0, 0.0);
    for path in paths {
        let len = std::fs::metadata(path).ok()?.len() as f64;
        pages = (pages.0 + resident(path).ok()? * len, pages.1 + len);
    }
    (pages.1 > 0.0).then(|| pages.0 / pages.1)
}

/// Pages of a file that are in the page cache, and all its pages, by `cachestat` (Linux 6.5). `None` where the system
/// has no such call, or does not answer this user.
#[cfg(target_os = "linux")]
fn cachestat(file: &File, len: u64) -> Option<(u64, u64)> {
    use std::os::fd::AsRawFd;
    /// The number of the call, the same on all architectures.
    const CACHESTAT: libc::c_long = 451;
    let range = [0u64, 0];
    // Pages cached, dirty, under write-back, evicted, recently evicted.
    let mut counts = [0u64; 5];
    // SAFETY: the kernel reads two numbers and writes five; a length of 0 means up to the end.
    let code = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0) };
    // SAFETY: sysconf has no preconditions.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?.max(1);
    (code == 0).then(|| (counts[0], len.div_ceil(page)))
}

/// Whether `mincore` answers the user: it answers "all" for files that are neither the user's nor writable.
#[cfg(target_os = "linux")]
fn mincore_answers(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: geteuid has no preconditions.
    let me = unsafe { libc::geteuid() };
    file.metadata().is_ok_and(|m| m.uid() == me) || File::options().write(true).open(path).is_ok()
}

/// The share of a few hundred places of a file that can be read without waiting for storage (`RWF_NOWAIT`).
#[cfg(target_os = "linux")]
fn sampled(file: &File, len: u64) -> Option<f64> {
    use std::os::fd::AsRawFd;
    const PLACES: u64 = 256;
    let mut there = 0u64;
    let mut byte = [0u8];
    for i in 0..PLACES {
        let io = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let at = libc::off_t::try_from(len / PLACES * i).ok()?;
        // glibc has `preadv2` since 2.26, and the binaries run with older ones. Like glibc, this gives the kernel the offset in two
        // halves; one of 64 bits reads the first only.
        let (fd, low, high) = (file.as_raw_fd(), at as libc::c_long, (at >> 31 >> 1) as libc::c_long);
        // SAFETY: one buffer of one byte, which outlives the call.
        let got = unsafe {
            libc::syscall(
                libc::SYS_preadv2,
                fd,
                &raw const io,
                1 as libc::c_long,
                low,
                high,
                libc::RWF_NOWAIT,
            )
        };
        match got {
            1 => there += 1,
            _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN) => {}
            _ => return None,
        }
    }
    Some(there as f64 / PLACES as f64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_warmed_file_is_resident() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, vec![1u8; 1 << 20]).unwrap();
        warm(&path).unwrap();
        assert!(resident(&path).unwrap() > 0.99);
        // Whether pages go is up to the file system (a memory one keeps them); the measurement must not fail.
        evict(&path).unwrap();
        assert!((0.0..=1.0).contains(&resident(&path).unwrap()));
        let file = File::open(&path).unwrap();
        assert!(sampled(&file, 1 << 20).is_none_or(|s| (0.0..=1.0).contains(&s)));
        let gone = resident(&path).unwrap() == 0.0;
        assert!(!gone || make_cold(std::slice::from_ref(&path)).is_ok());
    }
}
