//! The folder of one upload, within the folder for temporary files.
//!
//! It goes away with its process, unless that is killed. Each upload therefore removes those of its user that no process
//! holds any more: a lock on a file within says so, which, unlike a process' number, also counts between containers.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ncforge::{Error, Op, Result};
use tempfile::TempDir;

const PREFIX: &str = "ncforge-upload-";
const LOCK: &str = ".lock";

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    dir: TempDir,
    /// Open, and locked, as long as the folder is used.
    _lock: File,
}

impl Folder {
    /// A new folder; those that killed processes have left are removed.
    pub(super) fn new() -> Result<Self> {
        let parent = std::env::temp_dir();
        Self::within(&parent).map_err(|e| Error::io(Op::Create, parent.display().to_string(), e))
    }

    fn within(parent: &Path) -> std::io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Without its name yet, so that nobody finds it before it is locked.
        let unnamed = dir.path().join("lock");
        let lock = File::create(&unnamed)?;
        let is_locked = try_lock(&lock);
        if is_locked {
            fs::rename(unnamed, dir.path().join(LOCK))?;
        }
        remove_abandoned(parent, dir.path());
        Ok(Folder { dir, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes folders of uploads whose processes are gone. A folder that cannot be removed stays.
fn remove_abandoned(parent: &Path, own: &Path) {
    let Ok(user) = fs::metadata(own).map(|m| m.uid()) else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && path != own
            && fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir() && m.uid() == user);
        if !is_ours {
            continue;
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let Ok(lock) = File::options().read(true).custom_flags(flags).open(path.join(LOCK)) else { continue };
        if try_lock(&lock) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Locks a file for the process that has it open; `false` where another has, and where there are no locks.
fn try_lock(file: &File) -> bool {
    // SAFETY: a plain system call on a descriptor that `file` keeps open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_upload_has_left_is_removed_and_what_another_uses_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let killed = parent.path().join("ncforge-upload-killed");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        fs::write(killed.join("a.nc"), "x").unwrap();
        let other = parent.path().join("ncforge-upload-without-a-lock");
        fs::create_dir(&other).unwrap();
        let first = Folder::within(parent.path()).unwrap();
        assert!(!killed.exists() && other.exists());
        let second = Folder::within(parent.path()).unwrap();
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
