//! The page cache: evict a file, warm it, and measure how much of it is there.
//!
//! No privilege is needed: `posix_fadvise(DONTNEED)` drops clean pages of a file, `mincore` tells which pages
//! are resident. (Linux answers "all" for files that the user may neither write nor owns; then eviction cannot
//! be proven, and the result says 1.0.) Other systems have neither: the functions say so by an error.

use std::fs::File;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes the file's dirty pages out and drops all of them from the page cache. Pages that another process
/// has mapped or locked stay; [`resident`] tells.
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
    }
}
