//! A new file: under a temporary name in the folder of its destination until it is complete.
//!
//! Every new file of ncforge comes about so: files of data, copies, reports. The temporary name, `.NAME.ncforge-partial`,
//! and the lock on the file behind it are one for all of them, so that of two programs that make the same file the second
//! one gets an error. A file that is to be replaced stays what it is until then, nobody may write to it meanwhile, and
//! the new one takes over its permissions. The temporary file of somebody else is never emptied: what a program that
//! ended has left is removed, by name.
//!
//! ```
//! use ncforge::store::{OutputFile, WriteStore};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("a.txt");
//! let output = OutputFile::create(&path, false)?;
//! output.store().write_at(b"all of it", 0)?;
//! assert!(!path.exists());
//! output.commit(true)?;
//! assert_eq!(std::fs::read(&path)?, b"all of it");
//! assert!(OutputFile::create(&path, false).is_err(), "it exists");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod names;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::fixed;
use super::identity::is_file_at;
use super::lock::{Guard, Kind, Locking, busy};
use super::{FileStore, WriteStore};
use crate::error::{Error, Op, Result};

pub use names::{free_space, place};

/// The number of tries after which a writer gives up that finds each temporary file gone.
const MOST_TRIES: u32 = 100;

/// The temporary name of a new file until it is complete: `.NAME.ncforge-partial` in the same folder.
///
/// ```
/// # use std::path::Path;
/// let partial = ncforge::store::partial_path(Path::new("out/a.nc"));
/// assert_eq!(partial, Path::new("out/.a.nc.ncforge-partial"));
/// ```
pub fn partial_path(path: &Path) -> PathBuf {
    companion_path(path, "partial")
}

/// A hidden name in the folder of a path: `.NAME.ncforge-KIND`; of a name to which the system allows no further bytes, its beginning and a
/// hash of all of it.
pub fn companion_path(path: &Path, kind: &str) -> PathBuf {
    let own = path.file_name().unwrap_or_default();
    let kind = format!(".ncforge-{kind}");
    let mut name = std::ffi::OsString::from(".");
    match 1 + own.len() + kind.len() <= names::LONGEST {
        true => name.push(own),
        false => name.push(names::shortened(own)),
    }
    name.push(kind);
    path.with_file_name(name)
}

/// Options for making a new file.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Replace a file that has this name.
    pub overwrite: bool,
    /// Go on with what an interrupted program left, if there is something.
    pub resume: bool,
    /// Whether files are locked.
    pub locking: Locking,
    /// The caller itself has locked the file that is replaced.
    pub replaces_own: bool,
}

/// A new file that does not have its name yet. Dropped before [`OutputFile::commit`] it leaves nothing behind.
#[derive(Debug)]
pub struct OutputFile {
    destination: PathBuf,
    partial: PathBuf,
    /// The two names with the folder in which they were given: the process may change to another one.
    fixed: Fixed,
    options: OutputOptions,
    /// Locked against others who make the same file.
    store: Arc<FileStore>,
    /// Locks the file that will be replaced.
    guard: Option<Guard>,
    /// True if the file holds data of an interrupted program.
    was_there: bool,
    /// True if the file stays when this value is dropped.
    keep: bool,
    published: bool,
    /// The log of finished work, for callers that keep one.
    journal: Option<File>,
}

/// Absolute names.
#[derive(Debug)]
struct Fixed {
    destination: PathBuf,
    partial: PathBuf,
}

impl OutputFile {
    /// Begins a new file.
    ///
    /// # Errors
    /// [`Error::Exists`] unless an existing file may be replaced; [`Error::Locked`] if another program is making the same
    /// file, or writes to the one that would be replaced.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self> {
        Self::begin(path, OutputOptions { overwrite, ..OutputOptions::default() })
    }

    /// Begins a new file, or goes on with one.
    pub fn begin(path: &Path, options: OutputOptions) -> Result<Self> {
        let options = OutputOptions { locking: options.locking.or_environment(), ..options };
        super::remote::refuse_writing(path)?;
        let destination = names::target(path)?;
        if !options.overwrite && destination.exists() {
            return Err(Error::Exists(path.to_owned()));
        }
        let guard = match options.replaces_own {
            true => None,
            false => Guard::of(&destination, options.locking)?,
        };
        let partial = partial_path(&destination);
        for _ in 0..MOST_TRIES {
            if let Some((store, was_there)) = take(&partial, &destination, options)? {
                let fixed = Fixed { destination: fixed(&destination), partial: fixed(&partial) };
                let this = Self {
                    destination,
                    partial,
                    fixed,
                    options,
                    store: Arc::new(store),
                    guard,
                    was_there,
                    keep: was_there,
                    published: false,
                    journal: None,
                };
                if !was_there {
                    // The journal of a program that ended between two steps.
                    let _ = std::fs::remove_file(companion_path(&this.fixed.destination, "journal"));
                }
                return Ok(this);
            }
        }
        Err(busy(&path.display().to_string()))
    }

    /// Whether a program that ended has left a part of a file under its temporary name: bytes that are not the file itself, whose second name
    /// this is for a moment where the system cannot rename in one step.
    pub fn is_begun(path: &Path) -> bool {
        let Ok(destination) = names::target(path) else { return false };
        let left = File::open(partial_path(&destination)).ok();
        left.is_some_and(|left| {
            left.metadata().is_ok_and(|m| m.len() > 0) && !is_file_at(&left, &destination)
        })
    }

    /// Takes away what a program that ended has left of a file, unless somebody else is at it: for work of which nobody can go on with a
    /// part, or that is complete.
    pub fn clear(path: &Path) {
        let Ok(destination) = names::target(path) else { return };
        let left = [partial_path(&destination), companion_path(&destination, "journal")];
        let options = OutputOptions { overwrite: true, resume: true, ..OutputOptions::default() };
        if left.iter().any(|left| left.symlink_metadata().is_ok())
            && let Ok(claim) = Self::begin(&destination, options)
        {
            claim.abandon();
        }
    }

    /// The file under its temporary name.
    pub fn store(&self) -> &Arc<FileStore> {
        &self.store
    }

    /// The final path of the file.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// The path of the file until then.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// True if the file holds data of an interrupted program.
    pub fn was_there(&self) -> bool {
        self.was_there
    }

    /// Empties the file, and forgets what was noted of it.
    pub fn restart(&mut self) -> Result<()> {
        self.store.set_len(0)?;
        self.was_there = false;
        Ok(())
    }

    /// Lets the file stay under its temporary name when this value is dropped, or not.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// A file in the same folder that belongs to it, for notes of what is done.
    pub fn journal(&mut self) -> Result<File> {
        let path = self.journal_path();
        let failed = |e| Error::io(Op::Create, path.display().to_string(), e);
        if self.journal.is_none() {
            let open = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            self.journal = Some(open.map_err(failed)?);
        }
        let journal = self.journal.as_ref().expect("just opened");
        journal.try_clone().map_err(failed)
    }

    /// The name of [`OutputFile::journal`].
    pub fn journal_path(&self) -> PathBuf {
        companion_path(&self.fixed.destination, "journal")
    }

    /// Gives the file, which must be complete, its own name. With `durable`, the file and its name are on disk when this
    /// returns. A file that takes another's place is always on disk before it does: a failure of the machine must not
    /// cost both.
    ///
    /// # Errors
    /// [`Error::Appeared`] if there is a file of this name now, and none may be replaced: the new one stays under its
    /// temporary name. [`Error::Locked`] if another program writes to the one that would be replaced, or has taken the
    /// temporary name (where there are no locks).
    pub fn commit(mut self, durable: bool) -> Result<()> {
        self.publish(durable)
    }

    /// As [`OutputFile::commit`]; the file stays open, and locked.
    pub fn publish(&mut self, durable: bool) -> Result<()> {
        let replaces = self.options.overwrite && self.fixed.destination.exists();
        self.take_name(durable || replaces)?;
        if durable {
            names::sync_parent(&self.fixed.destination);
        }
        Ok(())
    }

    fn take_name(&mut self, is_synced: bool) -> Result<()> {
        let fail = |op: Op, e| Error::io(op, self.destination.display().to_string(), e);
        self.store.check()?;
        if !is_file_at(self.store.file(), &self.fixed.partial) {
            self.keep = true;
            return Err(busy(&self.destination.display().to_string()));
        }
        let old = self.options.overwrite.then(|| std::fs::metadata(&self.fixed.destination).ok()).flatten();
        if is_synced {
            self.store.file().sync_all().map_err(|e| fail(Op::Other("sync"), e))?;
        }
        if let Some(old) = &old {
            if !self.options.replaces_own
                && self.guard.as_ref().is_none_or(|g| !g.is_of(&self.fixed.destination))
            {
                self.guard = Guard::of(&self.fixed.destination, self.options.locking)?;
            }
            names::keep_ownership(old, self.store.file()).map_err(|e| fail(Op::Create, e))?;
        }
        let renamed = match self.options.overwrite {
            true => std::fs::rename(&self.fixed.partial, &self.fixed.destination),
            false => names::rename_new(&self.fixed.partial, &self.fixed.destination),
        };
        match renamed {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                self.keep = true;
                let (path, partial) = (self.destination.clone(), self.partial.clone());
                return Err(Error::Appeared { path, partial });
            }
            Err(e) => return Err(fail(Op::Create, e)),
        }
        self.published = true;
        self.store.renamed(&self.fixed.destination);
        self.guard = None;
        self.remove_journal();
        Ok(())
    }

    /// Leaves nothing behind, be it new or gone on with.
    pub fn abandon(mut self) {
        self.keep = false;
    }

    /// Writes a file that is there complete or not at all. Into what is no regular file (a terminal, a pipe) it is written
    /// as it is.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn write_whole(path: &Path, contents: &[u8], overwrite: bool) -> Result<()> {
        if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return std::fs::write(path, contents)
                .map_err(|e| Error::io(Op::Write, path.display().to_string(), e));
        }
        let output = Self::create(path, overwrite)?;
        output.store.write_at(contents, 0)?;
        output.commit(false)
    }

    /// Writes a file that is there complete or not at all, in the place of an older one, without waiting for the disk: for
    /// what can be made anew after a failure of the machine.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn write_scratch(path: &Path, contents: &[u8]) -> Result<()> {
        let mut output = Self::create(path, true)?;
        output.store.write_at(contents, 0)?;
        output.take_name(false)
    }

    fn remove_journal(&self) {
        let path = self.journal_path();
        // The next one to make this file may have begun its own.
        if self.journal.as_ref().is_some_and(|own| is_file_at(own, &path)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // A process that was forked from this one leaves the names alone.
        let is_left = !self.published && !self.keep && !self.store.is_inherited();
        if is_left && is_file_at(self.store.file(), &self.fixed.partial) {
            let _ = std::fs::remove_file(&self.fixed.partial);
            let _ = std::fs::remove_file(self.journal_path());
        }
    }
}

/// Opens and locks a temporary file; a new one unless the one that is there shall be gone on with. `None`: it changed
/// meanwhile, look again.
fn take(partial: &Path, destination: &Path, options: OutputOptions) -> Result<Option<(FileStore, bool)>> {
    let name = destination.display().to_string();
    let lock = |file: File| -> Result<Option<FileStore>> {
        let store = FileStore::named(file, partial, &name);
        store.lock(Kind::Exclusive, options.locking)?;
        // Between opening and locking, another program may have finished this very file under its own name.
        Ok(is_file_at(store.file(), partial).then_some(store))
    };
    let fail = |e| Error::io(Op::Create, &name, e);
    match File::options().read(true).write(true).open(partial) {
        Ok(file) => {
            // A second name of the complete file, which is locked by that, is nothing to go on with.
            if !is_file_at(&file, destination) {
                let Some(store) = lock(file)? else { return Ok(None) };
                if options.resume {
                    return Ok(Some((store, true)));
                }
            }
            // Nobody has it any more. It is not emptied: where there are no locks, somebody may.
            std::fs::remove_file(partial).map_err(fail)?;
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(fail(e)),
    }
    match names::create_new(partial, destination) {
        Ok(file) => Ok(lock(file)?.map(|store| (store, false))),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
        Err(e) => Err(fail(e)),
    }
}

#[cfg(test)]
mod tests;
