//! Replacing a file's contents in one step: a new file in the same folder, synced, renamed over it.
//!
//! The [`FileStore`] keeps its descriptor number, which from then on means the new file: whoever shares the
//! store goes on reading and writing without noticing. Readers that have the old file open keep it; readers of this library find the
//! new one by what it continues ([`super::identity`]).

use std::fs::File;
use std::os::fd::AsRawFd;

use super::identity::{continue_from, is_file_at};
use super::lock::Locking;
use super::output::{OutputFile, OutputOptions};
use super::{FileStore, ReadStore, WriteStore};
use crate::error::{Error, Op, Result};

/// [`WriteStore::replace`] for files. Symbolic links are followed: the file they name is replaced.
/// Permissions are kept, owner and group where the system allows it, and the lock.
pub(super) fn replace_file(
    store: &FileStore,
    build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>,
) -> Result<()> {
    let fail = |op: &'static str, e| Error::io(Op::Other(op), store.name(), e);
    let target = store.path().canonicalize().map_err(|e| fail("find", e))?;
    let same_file = || match is_file_at(store.file(), &target) {
        true => Ok(()),
        // Another file has its name now, and stays.
        false => Err(Error::Changed { path: store.name().to_owned() }),
    };
    same_file()?;
    // The new file is locked like the old one, before it has its name.
    let locking = store.held().kind().map_or(Locking::Never, |_| Locking::BestEffort);
    let options = OutputOptions { overwrite: true, replaces_own: true, locking, ..OutputOptions::default() };
    let mut replacement = OutputFile::begin(&target, options)?;
    build(&**replacement.store())?;
    same_file()?;
    continue_from(replacement.store().file(), store.file());
    replacement.publish(true)?;
    switch_descriptor(store.file(), replacement.store().file())
        .map_err(|e| fail("switch to the new contents of", e))?;
    if store.held().kind().is_some() {
        replacement.store().held().forget();
    }
    store.switched();
    Ok(())
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
            Err(Error::Interrupted("stop".into()))
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
