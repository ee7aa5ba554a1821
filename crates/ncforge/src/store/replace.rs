//! Replacing a file's contents in one step: a new file beside it, synced, renamed over it.
//!
//! The [`FileStore`] keeps its descriptor number, which from then on means the new file: whoever shares the
//! store goes on reading and writing without noticing. Other processes that have the old file open keep it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::{FileStore, Store};
use crate::error::{Error, Result};

/// What [`Store::replace`] does for files. Symbolic links are followed: the file they name is replaced.
/// Permissions are kept, owner and group where the system allows it.
pub(super) fn replace_file(store: &FileStore, build: &mut dyn FnMut(&dyn Store) -> Result<()>) -> Result<()> {
    let fail = |op: &str, e| Error::io(op, store.name(), e);
    let target = store.path().canonicalize().map_err(|e| fail("find", e))?;
    let (beside, path) = create_beside(&target)?;
    let guard = Unfinished(Some(&path));
    copy_ownership(store.file(), beside.file()).map_err(|e| fail("copy the permissions of", e))?;
    build(&beside)?;
    beside.file().sync_all().map_err(|e| fail("sync the new contents of", e))?;
    std::fs::rename(&path, &target).map_err(|e| fail("replace", e))?;
    guard.done();
    if let Some(dir) = target.parent() {
        // The rename itself becomes durable with its directory; some file systems cannot sync one.
        let _ = File::open(dir).and_then(|d| d.sync_all());
    }
    switch_descriptor(store.file(), beside.file()).map_err(|e| fail("switch to the new contents of", e))?;
    store.switched();
    Ok(())
}

fn create_beside(target: &Path) -> Result<(FileStore, PathBuf)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for attempt in 0u32.. {
        let path = target.with_file_name(format!(".{name}.{}-{attempt}.tmp", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((FileStore::from_file(file, &path, None), path)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => {}
            Err(e) => return Err(Error::io("create", path.display().to_string(), e)),
        }
    }
    unreachable!("the loop returns before it runs out of numbers")
}

fn copy_ownership(from: &File, to: &File) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let meta = from.metadata()?;
    let new = to.metadata()?;
    if (meta.uid(), meta.gid()) != (new.uid(), new.gid()) {
        // Only root may give files away; a group one belongs to can be kept by anyone.
        let _ = fchown(to, None, Some(meta.gid()));
        let _ = fchown(to, Some(meta.uid()), None);
    }
    to.set_permissions(meta.permissions())
}

/// Makes the descriptor of `old` mean the file of `new`, atomically for other threads.
fn switch_descriptor(old: &File, new: &File) -> std::io::Result<()> {
    // SAFETY: both descriptors are open and owned by their `File`s; the number of `old` stays open throughout.
    let rc = unsafe { libc::dup2(new.as_raw_fd(), old.as_raw_fd()) };
    if rc < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: as above; dup2 clears the flag that keeps the descriptor from child processes.
    let rc = unsafe { libc::fcntl(old.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    if rc < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Removes the unfinished file unless [`Unfinished::done`] was reached.
struct Unfinished<'a>(Option<&'a Path>);

impl Unfinished<'_> {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing_and_the_same_handle() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"old").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let store = FileStore::open_rw(&link).unwrap();

        let failed = store.replace(&mut |s| {
            s.write_at(b"half", 0)?;
            Err(Error::Invalid("stop".into()))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");

        store.replace(&mut |s| s.write_at(b"brand new", 0)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"brand new");
        assert!(link.is_symlink());
        assert_eq!(store.read_vec(0, 9).unwrap(), b"brand new");
        store.write_at(b"X", 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"Xrand new");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file stays");
    }
}
