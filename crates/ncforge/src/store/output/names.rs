//! The system's functions for names, permissions and folders.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::error::{Error, Op, Result};

/// The bits of a mode that say who may read, write and execute.
const PERMISSIONS: u32 = 0o777;
/// Whoever makes a file may read and write it until it is complete.
const OWNER: u32 = 0o600;

/// Bytes of a name, at most: `NAME_MAX` of the usual file systems.
pub(super) const LONGEST: usize = 255;
/// Bytes of a long name that its short form begins with.
const BEGINNING: usize = 64;

/// A short name for a long one, the same each time.
pub(super) fn shortened(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    let end = (0..=BEGINNING).rev().find(|&i| text.is_char_boundary(i)).unwrap_or_default();
    // FNV-1a of 64 bits: the name is found again by every later version.
    let hash = name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{}-{hash:016x}", &text[..end])
}

/// The file that a path means: the end of a link, so that the link stays one.
pub(super) fn target(path: &Path) -> Result<PathBuf> {
    let shown = path.display().to_string();
    if path.file_name().is_none() || path.is_dir() {
        return Err(Error::io(Op::Create, shown, std::io::ErrorKind::IsADirectory.into()));
    }
    // Before the link is followed: that of `/dev/stdout` leads to a pipe, which has no path.
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        let what = "a pipe or a device cannot be the output";
        return Err(Error::io(Op::Create, shown, std::io::Error::new(std::io::ErrorKind::NotSeekable, what)));
    }
    let follow = |e| Error::io(Op::Other("follow the link"), shown.clone(), e);
    let destination = match path.is_symlink() {
        true => match std::fs::canonicalize(path) {
            // Nothing has the name that the link leads to: it is the new file's.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return target(&parent(path).join(std::fs::read_link(path).map_err(follow)?));
            }
            end => end.map_err(follow)?,
        },
        false => path.to_owned(),
    };
    check_name(&destination).map_err(|e| Error::io(Op::Create, shown, e))?;
    Ok(destination)
}

/// What names the file of a path, whichever links lead there, if it is there or could be made: two paths of one place are of one file.
pub fn place(path: &Path) -> Option<PathBuf> {
    let new = || {
        let path = target(path).ok()?;
        Some(std::fs::canonicalize(parent(&path)).ok()?.join(path.file_name()?))
    };
    std::fs::canonicalize(path).ok().or_else(new)
}

/// An error if a file could be made here, and could not get this name in the end: the name is too long, or the folder (its sticky bit is set)
/// lets nobody but owners replace what has it.
fn check_name(destination: &Path) -> std::io::Result<()> {
    let old = match destination.symlink_metadata() {
        Err(e) if e.raw_os_error() == Some(libc::ENAMETOOLONG) => return Err(e),
        Err(_) => return Ok(()),
        Ok(old) => old,
    };
    let folder = parent(destination).metadata()?;
    // SAFETY: asks for a number.
    let own = unsafe { libc::geteuid() };
    #[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
    let is_sticky = folder.mode() & libc::S_ISVTX as u32 != 0;
    match is_sticky && own != 0 && ![old.uid(), folder.uid()].contains(&own) {
        true => Err(std::io::Error::from_raw_os_error(libc::EPERM)),
        false => Ok(()),
    }
}

/// Makes a file that is not there. Users who may not read the file that it will replace may not read it meanwhile.
pub(super) fn create_new(partial: &Path, destination: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    let old = destination.metadata().ok();
    if let Some(old) = &old {
        options.mode(old.mode() & PERMISSIONS | OWNER);
    }
    let file = options.open(partial)?;
    if let Some(old) = old {
        // The process' mask may have taken more away than the old file has.
        file.set_permissions(std::fs::Permissions::from_mode(old.mode() & PERMISSIONS | OWNER))?;
    }
    Ok(file)
}

/// Gives a file the permissions of another one, and its owner and group where the system allows it.
pub(super) fn keep_ownership(old: &Metadata, new: &File) -> std::io::Result<()> {
    let is = new.metadata()?;
    if (old.uid(), old.gid()) != (is.uid(), is.gid()) {
        // Only root may give files away; a group one belongs to can be kept by anyone.
        let _ = fchown(new, None, Some(old.gid()));
        let _ = fchown(new, Some(old.uid()), None);
    }
    if is.mode() == old.mode() { Ok(()) } else { new.set_permissions(old.permissions()) }
}

/// Renames a file; an error if there is one of the new name. In one step where the system can.
pub(super) fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    match rename_exclusive(from, to) {
        Err(e) if is_not_supported(&e) => {}
        done => return done,
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => match std::fs::remove_file(from) {
            // Whoever makes a file of this name next may have removed it.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done,
        },
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(e),
        // Not every file system has hard links.
        Err(_) if to.symlink_metadata().is_ok() => Err(std::io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

fn is_not_supported(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP))
}

#[cfg(target_os = "linux")]
fn rename_exclusive(from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (c_name(from)?, c_name(to)?);
    // By its number: older C libraries do not have the function.
    // SAFETY: both names end with a NUL byte and outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(target_os = "macos")]
fn rename_exclusive(from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (c_name(from)?, c_name(to)?);
    // SAFETY: both names end with a NUL byte and outlive the call.
    let done = unsafe { libc::renamex_np(from.as_ptr(), to.as_ptr(), libc::RENAME_EXCL) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_exclusive(_from: &Path, _to: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from_raw_os_error(libc::ENOSYS))
}

fn c_name(path: &Path) -> std::io::Result<std::ffi::CString> {
    std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(std::io::Error::from)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a new name durable. A file system that cannot is no reason to fail: the data is.
pub(super) fn sync_parent(path: &Path) {
    let _ = File::open(parent(path)).and_then(|folder| folder.sync_all());
}

/// Bytes that can still be written in the folder of a path, if the system says.
pub fn free_space(path: &Path) -> Option<u64> {
    let name = c_name(parent(path)).ok()?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the name ends with a NUL byte; the structure is written by the call when it succeeds.
    let rc = unsafe { libc::statvfs(name.as_ptr(), stat.as_mut_ptr()) };
    if rc != 0 {
        return None;
    }
    // SAFETY: the call succeeded.
    let stat = unsafe { stat.assume_init() };
    // Some file systems of FUSE have no blocks at all, and room nevertheless.
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    (stat.f_blocks > 0).then(|| (stat.f_bavail as u64).saturating_mul(stat.f_frsize as u64))
}
