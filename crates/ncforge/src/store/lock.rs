//! Locks between programs: one writer at a time.
//!
//! Files that other programs write, too (classic and netCDF-4), are locked as the HDF5 library does it, by `flock` on the
//! whole file: exclusive for a writer, shared for those who write into places that were shared out before, and for a
//! reader that asks for it. Nobody waits: who comes second gets [`Error::Locked`]. `HDF5_USE_FILE_LOCKING` says whether
//! locks are taken ([`Locking`]). Zipped files, which only ncforge writes, have finer locks ([`ranges`]), so that readers
//! and a writer go side by side.
//!
//! Locks belong to the open file: two datasets of one process exclude each other like two processes, and the system
//! releases them when a process ends, however it ends. On file systems without locks everything works, with one warning
//! for each process ([`super::take_warnings`]).

pub(crate) mod ranges;

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use super::identity::is_file_at;
use super::process::Process;
use super::{Warning, warn};
use crate::error::{Error, Op, Result};

/// Whether files are locked while they are open, in HDF5's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locking {
    /// No locks (`FALSE`).
    Never,
    /// Locks where the file system has them; elsewhere none, with one warning for each process (`BEST_EFFORT`).
    #[default]
    BestEffort,
    /// Always: an error where the file system has no locks (`TRUE`).
    Always,
}

impl Locking {
    /// The environment variable that says whether files are locked. HDF5 reads it, too.
    pub const VARIABLE: &str = "HDF5_USE_FILE_LOCKING";

    /// The choice of the environment if it makes one, as in HDF5, else this one.
    #[must_use]
    pub fn or_environment(self) -> Self {
        std::env::var(Self::VARIABLE).ok().and_then(|word| Self::of_word(&word)).unwrap_or(self)
    }

    /// HDF5's words; `None` for others, which HDF5 ignores.
    fn of_word(word: &str) -> Option<Self> {
        match word {
            "FALSE" | "0" => Some(Locking::Never),
            "BEST_EFFORT" => Some(Locking::BestEffort),
            "TRUE" | "1" => Some(Locking::Always),
            _ => None,
        }
    }
}

/// The access that a lock leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Others may hold shared locks, too.
    Shared,
    /// Nobody else holds any.
    Exclusive,
}

/// The lock that an open file holds, or none. Released when it is dropped, which must be before the file is closed.
#[derive(Debug)]
pub(crate) struct Held {
    file: RawFd,
    /// The kind, and who took it: a child that inherits the open file must not release its parent's lock.
    lock: Mutex<Option<(Kind, Process)>>,
}

impl Held {
    /// None yet.
    pub(crate) fn none(file: &File) -> Self {
        Held { file: file.as_raw_fd(), lock: Mutex::new(None) }
    }

    /// Takes a lock. Whether there is one now: not with [`Locking::Never`], nor where the file system has none.
    pub(crate) fn take(&self, kind: Kind, how: Locking, name: &str) -> Result<bool> {
        let taken = lock_file(self.file, kind, how, name)?;
        if taken {
            *self.current() = Some((kind, Process::this()));
        }
        Ok(taken)
    }

    /// Releases the lock, if there is one.
    pub(crate) fn release(&self) {
        if let Some((_, owner)) = self.forget()
            && owner.is_here()
        {
            // Not left to closing: a process that was forked may hold the open file, too.
            let _ = flock(self.file, libc::LOCK_UN);
        }
    }

    /// Leaves the lock to whoever shares the open file.
    pub(crate) fn forget(&self) -> Option<(Kind, Process)> {
        self.current().take()
    }

    /// The kind of lock that is held.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.current().map(|(kind, _)| kind)
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<(Kind, Process)>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

/// Keeps writers away from a file that is about to be replaced: what they wrote would be lost.
#[derive(Debug)]
pub(crate) struct Guard {
    file: File,
}

impl Guard {
    /// An error if somebody writes to it. `None` without such a file, or one that cannot be locked.
    pub(crate) fn of(path: &Path, how: Locking) -> Result<Option<Self>> {
        if how == Locking::Never {
            return Ok(None);
        }
        let Ok(file) = File::open(path) else { return Ok(None) };
        let name = path.display().to_string();
        // A file system without locks gives its warning, or its error, where the new file is locked.
        match flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) {
            Err(e) if is_busy(&e) => return Err(busy(&name)),
            _ if ranges::keep_writers_away(&file).is_err_and(|e| is_busy(&e)) => return Err(busy(&name)),
            _ => {}
        }
        Ok(Some(Guard { file }))
    }

    /// True if the lock is on the file that has this name now.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        is_file_at(&self.file, path)
    }
}

fn lock_file(file: RawFd, kind: Kind, how: Locking, name: &str) -> Result<bool> {
    let operation = match (how, kind) {
        (Locking::Never, _) => return Ok(false),
        (_, Kind::Shared) => libc::LOCK_SH,
        (_, Kind::Exclusive) => libc::LOCK_EX,
    };
    let Err(e) = flock(file, operation | libc::LOCK_NB) else { return Ok(true) };
    if is_busy(&e) {
        // A shared lock says who is in the way: readers let it through.
        let only_read = kind == Kind::Exclusive && flock(file, libc::LOCK_SH | libc::LOCK_NB).is_ok();
        if !only_read {
            return Err(busy(name));
        }
        let _ = flock(file, libc::LOCK_UN);
        let what = "it is open elsewhere, in a program that locks what it reads (netCDF-C and HDF5 do), or that is about \
                    to replace it";
        return Err(Error::Locked { path: name.to_owned(), what: what.to_owned() });
    }
    without(&e, how, name).map(|()| false)
}

/// The error that another program writes to the file.
pub(crate) fn busy(name: &str) -> Error {
    let what = "it is open for writing in another program, or elsewhere in this one";
    Error::Locked { path: name.to_owned(), what: what.to_owned() }
}

/// Whether a lock was refused because somebody else has one.
pub(crate) fn is_busy(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EWOULDBLOCK | libc::EACCES))
}

/// Goes on where a file system has no locks, if that is allowed; other failures are errors.
pub(crate) fn without(e: &std::io::Error, how: Locking, name: &str) -> Result<()> {
    let code = e.raw_os_error();
    let is_absent = matches!(code, Some(libc::ENOSYS | libc::ENOLCK | libc::EOPNOTSUPP));
    if !is_absent || how == Locking::Always {
        return Err(Error::io(
            Op::Other("lock"),
            name,
            std::io::Error::from_raw_os_error(code.unwrap_or(libc::EIO)),
        ));
    }
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        warn(Warning::Unlocked(format!(
            "the file system of `{name}` has no locks: nothing keeps two programs from writing to the same file at the \
             same time"
        )));
    });
    Ok(())
}

fn flock(file: RawFd, operation: i32) -> std::io::Result<()> {
    loop {
        // SAFETY: a plain system call on a descriptor that its owner keeps open.
        if unsafe { libc::flock(file, operation) } == 0 {
            return Ok(());
        }
        let e = std::io::Error::last_os_error();
        if e.kind() != std::io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_hdf5() {
        let all =
            [("FALSE", Some(Locking::Never)), ("0", Some(Locking::Never)), ("1", Some(Locking::Always))];
        for (word, meaning) in all {
            assert_eq!(Locking::of_word(word), meaning);
        }
        assert_eq!(Locking::of_word("TRUE"), Some(Locking::Always));
        assert_eq!(Locking::of_word("BEST_EFFORT"), Some(Locking::default()));
        assert_eq!(Locking::of_word("false"), None, "HDF5 knows capitals alone");
    }

    #[test]
    fn one_writer_or_many_who_share() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let open = || File::options().create(true).truncate(false).write(true).open(&path).unwrap();
        let (a, b) = (open(), open());
        let (first, second) = (Held::none(&a), Held::none(&b));
        let take = |held: &Held, kind| held.take(kind, Locking::BestEffort, "f");
        assert!(take(&first, Kind::Exclusive).unwrap());
        for kind in [Kind::Exclusive, Kind::Shared] {
            let refused = take(&second, kind).unwrap_err();
            assert!(refused.to_string().contains("open for writing"), "{refused}");
            assert_eq!(refused.kind(), crate::error::ErrorKind::Failed);
        }
        assert!(Guard::of(&path, Locking::BestEffort).is_err());
        assert!(!second.take(Kind::Exclusive, Locking::Never, "f").unwrap());
        first.release();
        assert!(take(&first, Kind::Shared).unwrap() && take(&second, Kind::Shared).unwrap());
        let refused = take(&second, Kind::Exclusive).unwrap_err();
        assert!(refused.to_string().contains("locks what it reads"), "{refused}");
        drop(first);
        assert!(take(&second, Kind::Exclusive).unwrap());
    }

    #[test]
    fn a_file_that_will_be_replaced_gets_no_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert!(Guard::of(&path, Locking::BestEffort).unwrap().is_none());
        std::fs::write(&path, b"x").unwrap();
        let guard = Guard::of(&path, Locking::BestEffort).unwrap().unwrap();
        assert!(guard.is_of(&path) && Guard::of(&path, Locking::BestEffort).unwrap().is_some());
        let file = File::options().write(true).open(&path).unwrap();
        assert!(Held::none(&file).take(Kind::Exclusive, Locking::BestEffort, "f").is_err());
        drop(guard);
        assert!(Held::none(&file).take(Kind::Exclusive, Locking::BestEffort, "f").unwrap());
    }
}
