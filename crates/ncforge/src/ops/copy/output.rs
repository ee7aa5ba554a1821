//! The output's names while it is being written: beside its place, hidden, locked; renamed when it is whole.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Lasting;
use crate::error::{Error, Result};

/// A claim on an output: nobody else writes it as long as this lives.
#[derive(Debug)]
pub(crate) struct Output {
    /// Where the output shall be in the end.
    pub(crate) path: PathBuf,
    /// The output until then.
    pub(crate) partial: PathBuf,
    /// What is done of it.
    pub(crate) journal: PathBuf,
    lock: File,
}

impl Output {
    /// Claims an output. An existing file is refused unless it may be overwritten.
    pub(crate) fn claim(path: &Path, overwrite: bool) -> Result<Output> {
        let path = target(path)?;
        if path.exists() && !overwrite {
            return Err(Error::Exists(path));
        }
        let (partial, journal) = (beside(&path, "partial"), beside(&path, "journal"));
        let failed = |e| Error::io("create", path.display().to_string(), e);
        loop {
            let lock = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&journal)
                .map_err(failed)?;
            // SAFETY: a plain system call on our own descriptor.
            if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                return Err(Error::Invalid(format!("another copy is writing `{}` just now", path.display())));
            }
            // A copy that ended in between took its journal away, and this lock is on what nobody else will find.
            if is_file_at(&lock, &journal).map_err(failed)? {
                return Ok(Output { path, partial, journal, lock });
            }
        }
    }

    /// The journal's file, which also is the lock.
    pub(crate) fn journal_file(&self) -> Result<File> {
        self.lock.try_clone().map_err(|e| Error::io("open", self.journal.display().to_string(), e))
    }

    /// Gives the whole output its name, durably if it shall last, and takes the journal away.
    pub(crate) fn finish(self, lasting: Lasting) -> Result<()> {
        std::fs::rename(&self.partial, &self.path)
            .map_err(|e| Error::io("rename the finished output to", self.path.display().to_string(), e))?;
        if lasting == Lasting::Durable {
            sync_parent(&self.path);
        }
        // Best effort: a journal without a partial output means nothing.
        let _ = std::fs::remove_file(&self.journal);
        Ok(())
    }

    /// Takes everything away: the output was not finished and shall not be resumed.
    pub(crate) fn abandon(self) {
        // Best effort: what cannot be removed is replaced by the next copy.
        let _ = std::fs::remove_file(&self.partial);
        let _ = std::fs::remove_file(&self.journal);
    }
}

/// Whether an open file is the one that has this name.
fn is_file_at(file: &File, path: &Path) -> std::io::Result<bool> {
    let own = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (own.dev(), own.ino())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// The file that a path means: the end of a link, so that the link stays one.
fn target(path: &Path) -> Result<PathBuf> {
    let shown = path.display().to_string();
    if path.file_name().is_none() || path.is_dir() {
        return Err(Error::io("create", shown, std::io::ErrorKind::IsADirectory.into()));
    }
    match path.symlink_metadata() {
        Ok(m) if m.file_type().is_symlink() => {
            std::fs::canonicalize(path).map_err(|e| Error::io("follow the link", shown.clone(), e))
        }
        _ => Ok(path.to_owned()),
    }
    .and_then(|p| match p.metadata() {
        Ok(m) if !m.is_file() => {
            Err(Error::Invalid(format!("`{shown}` is not a regular file; the output must be one")))
        }
        _ => Ok(p),
    })
}

/// A hidden name beside a path: `.NAME.ncforge-KIND`.
pub(crate) fn beside(path: &Path, kind: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".ncforge-{kind}"));
    path.with_file_name(name)
}

/// Makes a rename durable. A file system that cannot is no reason to fail: the data is.
fn sync_parent(path: &Path) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(dir) = File::open(parent) {
        let _ = dir.sync_all();
    }
}

/// What tells one state of a source file from another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    len: u64,
    modified_seconds: i64,
    modified_nanos: i64,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> Result<Identity> {
        let m = path.metadata().map_err(|e| Error::io("open", path.display().to_string(), e))?;
        Ok(Identity {
            device: m.dev(),
            inode: m.ino(),
            len: m.len(),
            modified_seconds: m.mtime(),
            modified_nanos: m.mtime_nsec(),
        })
    }

    /// Whether another machine may mean the same file: devices and inodes have other numbers there.
    pub(crate) fn is_alike(&self, other: &Identity) -> bool {
        let seen = |i: &Identity| (i.len, i.modified_seconds);
        seen(self) == seen(other)
    }

    /// Of several files: what tells one state of all of them from another.
    pub(crate) fn of_all(paths: &[PathBuf]) -> Result<Identity> {
        if let [one] = paths {
            return Identity::of(one);
        }
        let mut all = Identity { device: 0, inode: 0, len: 0, modified_seconds: 0, modified_nanos: 0 };
        let (mut here, mut anywhere) = (String::new(), String::new());
        for path in paths {
            let one = Identity::of(path)?;
            here.push_str(&format!("{one:?};"));
            anywhere.push_str(&format!("{} {};", one.len, one.modified_seconds));
            all.len = all.len.saturating_add(one.len);
        }
        // Hashes stand where a single file has its number and its time: of all that is known here, and of what is the
        // same on other machines.
        all.inode = super::plan::fnv1a(here.as_bytes());
        all.modified_seconds = super::plan::fnv1a(anywhere.as_bytes()).cast_signed();
        all.device = paths.len() as u64;
        Ok(all)
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

/// Bytes that can still be written beside a path, if the system tells.
pub(crate) fn free_space(path: &Path) -> Option<u64> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(parent.as_os_str())).ok()?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the name ends with a NUL byte; the structure is written by the call when it succeeds.
    let rc = unsafe { libc::statvfs(name.as_ptr(), stat.as_mut_ptr()) };
    if rc != 0 {
        return None;
    }
    // SAFETY: the call succeeded.
    let stat = unsafe { stat.assume_init() };
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    Some((stat.f_bavail as u64).saturating_mul(stat.f_frsize as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_claimed_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.nc");
        let a = Output::claim(&path, false).unwrap();
        assert!(matches!(Output::claim(&path, true), Err(Error::Invalid(_))));
        assert_eq!(a.partial, dir.path().join(".o.nc.ncforge-partial"));
        std::fs::write(&a.partial, b"x").unwrap();
        a.finish(Lasting::Durable).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(matches!(Output::claim(&path, false), Err(Error::Exists(_))));
        Output::claim(&path, true).unwrap().abandon();
        assert!(path.exists());
        assert!(Output::claim(dir.path(), true).is_err());
    }

    #[test]
    fn a_lock_on_a_journal_that_was_taken_away_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let a = Output::claim(&dir.path().join("o.nc"), false).unwrap();
        let file = a.journal_file().unwrap();
        assert!(is_file_at(&file, &a.journal).unwrap());
        std::fs::remove_file(&a.journal).unwrap();
        assert!(!is_file_at(&file, &a.journal).unwrap());
        std::fs::write(&a.journal, b"").unwrap();
        assert!(!is_file_at(&file, &a.journal).unwrap(), "the one of the next copy");
    }

    #[test]
    fn of_several_files_each_counts_on_other_machines_too() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b"].iter().map(|n| dir.path().join(n)).collect();
        paths.iter().for_each(|p| std::fs::write(p, b"1234").unwrap());
        let old = Identity::of_all(&paths).unwrap();
        assert!(old.is_alike(&Identity::of_all(&paths).unwrap()));
        let other_day = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86400);
        File::options().write(true).open(&paths[1]).unwrap().set_modified(other_day).unwrap();
        let new = Identity::of_all(&paths).unwrap();
        assert!(new.len() == old.len() && !old.is_alike(&new), "changed, and as long as before");
    }
}
