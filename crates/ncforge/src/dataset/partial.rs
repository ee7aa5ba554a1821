//! A file under a temporary name beside its destination, until it is whole.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::store::{FileStore, empty};

/// The temporary name under which a new file is written before it takes its own: `.NAME.ncforge-partial` in
/// the same folder.
///
/// ```
/// # use std::path::Path;
/// let partial = ncforge::dataset::partial_path(Path::new("out/a.nc"));
/// assert_eq!(partial, Path::new("out/.a.nc.ncforge-partial"));
/// ```
pub fn partial_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(".ncforge-partial");
    path.with_file_name(partial)
}

/// A partial file: locked against other writers of the same destination, removed on drop unless it was
/// [committed](Partial::commit) or [kept](Partial::keep).
#[derive(Debug)]
pub(super) struct Partial {
    destination: PathBuf,
    path: PathBuf,
    overwrite: bool,
    keep: bool,
    done: bool,
    /// Holds the lock.
    lock: File,
}

impl Partial {
    /// Begins a new file for `path`. What an interrupted run left behind is emptied.
    pub(super) fn create(path: &Path, overwrite: bool) -> Result<(Self, FileStore)> {
        Self::begin(path, overwrite, true)
    }

    /// Goes on with what an interrupted run left behind.
    pub(super) fn resume(path: &Path, overwrite: bool) -> Result<(Self, FileStore)> {
        Self::begin(path, overwrite, false)
    }

    fn begin(path: &Path, overwrite: bool, fresh: bool) -> Result<(Self, FileStore)> {
        // A link stays a link: the file it names is replaced.
        let destination = if path.is_symlink() {
            std::fs::canonicalize(path).map_err(|e| Error::io("create", path.display().to_string(), e))?
        } else {
            path.to_owned()
        };
        if destination.is_dir() {
            let e = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::io("create", path.display().to_string(), e));
        }
        if !overwrite && destination.exists() {
            return Err(Error::Exists(path.to_owned()));
        }
        let partial = partial_path(&destination);
        let lock = lock(&partial, path, fresh)?;
        let mut this = Self { destination, path: partial, overwrite, keep: !fresh, done: false, lock };
        if fresh {
            empty(&this.lock).map_err(|e| Error::io("create", this.path.display().to_string(), e))?;
        }
        let store = FileStore::open_rw(&this.path)?;
        this.keep = false;
        Ok((this, store))
    }

    /// Leaves the file where it is when this is dropped, to be resumed later.
    pub(super) fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    pub(super) fn destination(&self) -> &Path {
        &self.destination
    }

    /// Gives the file, which must be whole, its own name. With `durable`, the file and its name are on disk when
    /// this returns. A file that takes another's place is always on disk before it does: a failure of the machine
    /// must not cost both.
    pub(super) fn commit(mut self, durable: bool) -> Result<()> {
        let fail = |op: &str, e| Error::io(op, self.destination.display().to_string(), e);
        let replaces = self.overwrite && self.destination.exists();
        if durable || replaces {
            // The file under the temporary name may be another one than the locked: stores can be replaced.
            File::open(&self.path).and_then(|f| f.sync_all()).map_err(|e| fail("sync", e))?;
        }
        if self.overwrite {
            if let Ok(old) = std::fs::metadata(&self.destination) {
                std::fs::set_permissions(&self.path, old.permissions()).map_err(|e| fail("create", e))?;
            }
            std::fs::rename(&self.path, &self.destination).map_err(|e| fail("create", e))?;
        } else {
            // A link fails if somebody else made the destination meanwhile; a rename would replace it.
            match std::fs::hard_link(&self.path, &self.destination) {
                Ok(()) => {
                    let _ = std::fs::remove_file(&self.path);
                }
                Err(_) if self.destination.exists() => return Err(Error::Exists(self.destination.clone())),
                // Not every file system has hard links.
                Err(_) => std::fs::rename(&self.path, &self.destination).map_err(|e| fail("create", e))?,
            }
        }
        self.done = true;
        if !durable {
            return Ok(());
        }
        let parent = self.destination.parent().filter(|p| !p.as_os_str().is_empty());
        let dir = parent.unwrap_or(Path::new("."));
        // The new name becomes durable with its folder; some file systems cannot sync one.
        let _ = File::open(dir).and_then(|d| d.sync_all());
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.done && !self.keep {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens and locks the partial file.
fn lock(partial: &Path, destination: &Path, create: bool) -> Result<File> {
    let fail = |e| Error::io("create", destination.display().to_string(), e);
    loop {
        let file = File::options()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(partial)
            .map_err(fail)?;
        // SAFETY: a plain system call on our own descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let e = std::io::Error::last_os_error();
            match e.raw_os_error() {
                Some(libc::EWOULDBLOCK) => {
                    return Err(Error::Invalid(format!(
                        "`{}` is being written by another process (`{}` is locked)",
                        destination.display(),
                        partial.display()
                    )));
                }
                // Some network file systems have no locks; then nothing keeps two writers apart.
                Some(libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP) => return Ok(file),
                _ => return Err(fail(e)),
            }
        }
        // Between opening and locking, another process may have finished this very file under its final name.
        let ours = file.metadata().map_err(fail)?;
        if std::fs::metadata(partial).is_ok_and(|m| (m.dev(), m.ino()) == (ours.dev(), ours.ino())) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn only_whole_files_get_their_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        {
            let (_partial, store) = Partial::create(&path, false).unwrap();
            store.write_at(b"half", 0).unwrap();
            assert!(Partial::create(&path, false).is_err(), "two writers of one file");
        }
        assert_eq!(names(), 0, "a dropped file is removed");
        let (partial, store) = Partial::create(&path, false).unwrap();
        store.write_at(b"whole", 0).unwrap();
        partial.commit(false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert!(matches!(Partial::create(&path, false), Err(Error::Exists(_))));
        let (mut partial, store) = Partial::create(&path, true).unwrap();
        store.write_at(b"later", 0).unwrap();
        partial.keep(true);
        drop(partial);
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        let (partial, store) = Partial::resume(&path, true).unwrap();
        assert_eq!(store.read_vec(0, 5).unwrap(), b"later");
        partial.commit(true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"later");
        assert_eq!(names(), 1);
    }

    #[test]
    fn a_destination_made_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let (partial, _store) = Partial::create(&path, false).unwrap();
        std::fs::write(&path, b"theirs").unwrap();
        assert!(matches!(partial.commit(true), Err(Error::Exists(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }
}
