//! Locks of zipped files: one writer at a time, and readers that pin the root they read.
//!
//! They are taken on byte ranges far behind any data:
//! byte [`WRITER`] by the writer, byte [`PINS`]` + n` shared by readers of root number `n`. Where the system has
//! no such locks (Linux has), the whole file is locked: one writer or many readers.
//!
//! A reader takes its pin, then looks whether the root is still the newest, and else begins again; a writer writes
//! its root, then looks for pins of older ones. Whatever the order in time, one of them sees the other.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use super::Locking;
use crate::error::Result;
use crate::store::Process;
use crate::store::{FileStore, ReadStore};

/// The byte that a writer locks.
#[cfg(target_os = "linux")]
const WRITER: i64 = (1 << 62) - 1;
/// The first of the readers' bytes.
#[cfg(target_os = "linux")]
const PINS: i64 = 1 << 62;

/// A lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Keeps the file open, which must not be closed before it is unlocked.
    store: Arc<dyn ReadStore>,
    at: i64,
    /// A child that inherits the open file must not release its parent's lock.
    owner: Process,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.owner.is_here()
            && let Some(file) = file_of(&*self.store)
        {
            let _ = sys::unlock(file.as_raw_fd(), self.at);
        }
    }
}

fn file_of(store: &dyn ReadStore) -> Option<&File> {
    FileStore::of(store).map(FileStore::file)
}

/// The writer's lock; `None` if the store is not a file, or goes without locks.
pub(crate) fn writer(store: &Arc<dyn ReadStore>, how: Locking) -> Result<Option<Lock>> {
    let Some(file) = file_of(&**store).filter(|_| how != Locking::Never) else { return Ok(None) };
    match sys::lock_writer(file.as_raw_fd()) {
        Ok(at) => Ok(Some(Lock { store: store.clone(), at, owner: Process::this() })),
        Err(e) if super::is_busy(&e) => Err(super::busy(store.name())),
        Err(e) => super::without(&e, how, store.name()).map(|()| None),
    }
}

/// Keeps writers away from a file, be it zipped or not, as long as it is open.
pub(super) fn keep_writers_away(file: &File) -> std::io::Result<()> {
    sys::keep_writers_away(file.as_raw_fd())
}

/// A reader's pin on a root; `None` if the store is not a file, or lies where there are no locks: who writes there takes
/// every root for one that is read.
pub(crate) fn pin(store: &Arc<dyn ReadStore>, sequence: u64) -> Option<Lock> {
    let at = sys::lock_reader(file_of(&**store)?.as_raw_fd(), sequence).ok()?;
    Some(Lock { store: store.clone(), at, owner: Process::this() })
}

/// Whether anybody reads a root with a number below `sequence`.
pub(crate) fn is_read(store: &dyn ReadStore, sequence: u64) -> bool {
    let raw = |f: &File| sys::is_read(f.as_raw_fd(), sequence);
    file_of(store).is_some_and(raw)
}

/// Whether somebody has it open for writing.
pub(crate) fn is_written(store: &dyn ReadStore) -> bool {
    file_of(store).is_some_and(|f| sys::is_written(f.as_raw_fd()))
}

#[cfg(target_os = "linux")]
mod sys {
    use super::{PINS, RawFd, WRITER};

    fn call(fd: RawFd, command: i32, kind: i32, start: i64, len: i64) -> std::io::Result<libc::flock> {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: len,
            l_pid: 0,
        };
        // SAFETY: a plain system call on an open descriptor, with a lock description that lives long enough.
        let rc = unsafe { libc::fcntl(fd, command, &raw mut lock) };
        if rc < 0 { Err(std::io::Error::last_os_error()) } else { Ok(lock) }
    }

    pub(super) fn lock_writer(fd: RawFd) -> std::io::Result<i64> {
        call(fd, libc::F_OFD_SETLK, libc::F_WRLCK, WRITER, 1).map(|_| WRITER)
    }

    pub(super) fn keep_writers_away(fd: RawFd) -> std::io::Result<()> {
        call(fd, libc::F_OFD_SETLK, libc::F_RDLCK, WRITER, 1).map(|_| ())
    }

    /// The byte of a root: numbers beyond what an offset can say share the last one.
    fn byte(sequence: u64) -> i64 {
        PINS + (sequence.min((1 << 61) - 1)) as i64
    }

    pub(super) fn lock_reader(fd: RawFd, sequence: u64) -> std::io::Result<i64> {
        let at = byte(sequence);
        call(fd, libc::F_OFD_SETLK, libc::F_RDLCK, at, 1).map(|_| at)
    }

    pub(super) fn unlock(fd: RawFd, at: i64) -> std::io::Result<()> {
        call(fd, libc::F_OFD_SETLK, libc::F_UNLCK, at, 1).map(|_| ())
    }

    pub(super) fn is_written(fd: RawFd) -> bool {
        call(fd, libc::F_OFD_GETLK, libc::F_RDLCK, WRITER, 1)
            .is_ok_and(|l| i32::from(l.l_type) != libc::F_UNLCK)
    }

    pub(super) fn is_read(fd: RawFd, sequence: u64) -> bool {
        let below = byte(sequence) - PINS;
        if below == 0 {
            return false;
        }
        match call(fd, libc::F_OFD_GETLK, libc::F_WRLCK, PINS, below) {
            Ok(found) => i32::from(found.l_type) != libc::F_UNLCK,
            // Nobody knows: rather waste space than overwrite what is read.
            Err(_) => true,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use super::RawFd;

    fn flock(fd: RawFd, how: i32) -> std::io::Result<()> {
        // SAFETY: a plain system call on an open descriptor.
        let rc = unsafe { libc::flock(fd, how) };
        if rc < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(super) fn lock_writer(fd: RawFd) -> std::io::Result<i64> {
        flock(fd, libc::LOCK_EX | libc::LOCK_NB).map(|()| 0)
    }

    pub(super) fn keep_writers_away(_fd: RawFd) -> std::io::Result<()> {
        // The caller's lock of the whole file does.
        Ok(())
    }

    pub(super) fn lock_reader(fd: RawFd, _sequence: u64) -> std::io::Result<i64> {
        flock(fd, libc::LOCK_SH | libc::LOCK_NB).map(|()| 0)
    }

    pub(super) fn unlock(fd: RawFd, _at: i64) -> std::io::Result<()> {
        flock(fd, libc::LOCK_UN)
    }

    pub(super) fn is_written(_fd: RawFd) -> bool {
        // Whoever reads holds the lock of the whole file: nobody writes.
        false
    }

    pub(super) fn is_read(_fd: RawFd, _sequence: u64) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::store::FileStore;

    #[test]
    fn one_writer_and_pins_that_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"x").unwrap();
        let open = || Arc::new(FileStore::open_rw(&path).unwrap()) as Arc<dyn ReadStore>;
        let (a, b) = (open(), open());
        let writer = |store| writer(store, Locking::BestEffort);
        let held = writer(&a).unwrap();
        assert!(held.is_some() && is_written(&*b));
        assert!(matches!(writer(&b), Err(Error::Locked { .. })));
        drop(held);
        assert!(!is_written(&*b));
        assert!(writer(&b).unwrap().is_some());
        let reader = Arc::new(FileStore::open(&path).unwrap()) as Arc<dyn ReadStore>;
        let pinned = pin(&reader, 7).unwrap();
        assert!(is_read(&*a, 8) && !is_read(&*a, 7) && !is_read(&*a, 0));
        drop(pinned);
        assert!(!is_read(&*a, 8));
    }
}
