//! A file on disk: `pread`, `pwrite`, and for reading optionally a map.

mod promise;
mod write;

use std::any::Any;
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

use super::attempts::Attempts;
use super::durability::Durability;
use super::identity::{Identity, continues, is_file_at};
use super::lock::{Held, Kind, Locking};
use super::near::{Moment, Near, Writes};
use super::{Origin, ReadStore, copy_from, past_end};
use crate::error::{Error, Op, Result};

use promise::Promise;

/// A file.
///
/// Reading never uses a map unless it was asked for ([`FileStore::open_mapped`]): a mapped file that another
/// process truncates turns into a signal, which a library cannot report.
#[derive(Debug)]
pub struct FileStore {
    /// Its lock, released before the file is closed.
    held: Held,
    file: File,
    path: PathBuf,
    /// Its name since it was renamed.
    renamed: OnceLock<PathBuf>,
    name: String,
    map: Option<Mmap>,
    /// The failures that changes survive.
    promise: Promise,
    /// Its length when it was opened, if it is open for reading only: asking the system at every read would cost
    /// as much as a small read. A file that is cut short meanwhile still gives an error, not less.
    len: Option<u64>,
    /// Blocks for small reads in a row, of a file that is open for reading only.
    near: Option<Near>,
    writes: Writes,
    /// The file's state when it was opened, if it is open for reading only.
    opened: Option<Opened>,
    /// Requests for bytes that have come.
    requests: AtomicU64,
}

/// The state in which a file was opened.
#[derive(Debug)]
struct Opened {
    identity: Identity,
    /// Whether each change since then shows.
    shows_changes: bool,
    /// The moment at which it was last found to be in this state.
    confirmed: Moment,
}

/// Opens a file for reading, and says what it is.
///
/// # Errors
/// [`Error::Io`] for a name that cannot be opened, a folder, a pipe or a device. A pipe without a writer is not waited for.
pub fn open_to_read(path: &Path) -> Result<(File, Metadata)> {
    let explain = |e| Error::io(Op::Open, path.display().to_string(), e);
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(explain)?;
    let meta = file.metadata().map_err(explain)?;
    match meta.is_file() {
        true => Ok((file, meta)),
        false if meta.is_dir() => Err(explain(ErrorKind::IsADirectory.into())),
        false => {
            Err(explain(std::io::Error::new(ErrorKind::NotSeekable, "is a pipe or a device, not a file")))
        }
    }
}

impl FileStore {
    /// A file that is open for reading and writing, and what messages call it.
    pub(super) fn named(file: File, path: &Path, name: &str) -> Self {
        let writes = Writes::of(&file);
        Self { name: name.to_owned(), promise: Promise::new(true), ..Self::counted(file, path, None, writes) }
    }

    fn counted(file: File, path: &Path, map: Option<Mmap>, writes: Writes) -> Self {
        Self {
            held: Held::none(&file),
            file,
            path: fixed(path),
            renamed: OnceLock::new(),
            name: path.display().to_string(),
            map,
            len: None,
            near: None,
            writes,
            opened: None,
            requests: AtomicU64::new(0),
            promise: Promise::new(false),
        }
    }

    /// Opens an existing file for reading.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, meta) = open_to_read(path)?;
        let writes = Writes::of_metadata(&meta);
        Ok(Self::counted(file, path, None, writes).for_reading(&meta))
    }

    fn for_reading(self, meta: &Metadata) -> Self {
        let identity = Identity::of(meta);
        let confirmed = Moment::of(&self.writes);
        let opened = Opened { identity, shows_changes: identity.is_settled(), confirmed };
        Self { len: Some(meta.len()), near: Some(Near::default()), opened: Some(opened), ..self }
    }

    /// A file that is open for reading, opened once more: with its length of now, not mapped, not locked. If an update had to
    /// build a new file for it, that one.
    ///
    /// # Errors
    /// The system refuses another descriptor.
    pub(crate) fn again(&self) -> Result<Self> {
        let fail = |e| Error::io(Op::Open, &self.name, e);
        let own = Identity::of(&self.file.metadata().map_err(fail)?);
        let is_own = |file: &File| Identity::of_file(file).is_some_and(|found| found.file() == own.file());
        let named = open_to_read(self.path()).ok();
        let (file, meta) = match named.filter(|(file, _)| is_own(file) || continues(file, &own)) {
            Some(found) => found,
            None => self.opened_without_name().map_err(fail)?,
        };
        let writes = Writes::of_metadata(&meta);
        let again = Self::counted(file, self.path(), None, writes).for_reading(&meta);
        Ok(Self { name: self.name.clone(), ..again })
    }

    /// A file whose name is another one's, or nobody's. Locks belong to what is opened, so a second descriptor of the same
    /// would share those of zipped files; it is what other systems have.
    fn opened_without_name(&self) -> std::io::Result<(File, Metadata)> {
        let descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = File::open(descriptor).or_else(|_| self.file.try_clone())?;
        let meta = file.metadata()?;
        Ok((file, meta))
    }

    /// Reads a state of a file that others may write to: opens it and reads, until nobody has written to it meanwhile, or what
    /// was found is whole anyhow. A writer that never stops is not waited for: after a while, what could be read is accepted.
    ///
    /// # Errors
    /// Those of `open` at once, those of `read` in the end: [`Error::Changed`] for what may be whole at another time.
    pub(crate) fn whole_state<T>(
        mut open: impl FnMut() -> Result<Arc<Self>>,
        mut read: impl FnMut(&Arc<Self>) -> Result<T>,
        is_whole: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let mut attempts = Attempts::at_a_state();
        loop {
            let file = open()?;
            let found = read(&file);
            let enough = found.as_ref().is_ok_and(|found| is_whole(found) || attempts.settles());
            if enough || file.now() == file.opened() {
                return found;
            }
            let Some(wait) = attempts.next_wait() else {
                return found.map_err(|e| match e {
                    Error::Corrupt { path, .. } => Error::Changed { path },
                    other => other,
                });
            };
            drop(found);
            std::thread::sleep(wait);
        }
    }

    /// The file's state when it was opened, if it is open for reading only.
    pub(crate) fn opened(&self) -> Option<Identity> {
        self.opened.as_ref().map(|opened| opened.identity)
    }

    /// The file's present state; `None` if the system does not say.
    fn now(&self) -> Option<Identity> {
        Identity::of_file(&self.file)
    }

    /// Whether its contents are those that were opened, as far as shows.
    pub(crate) fn has_opened_contents(&self) -> bool {
        self.opened().zip(self.now()).is_none_or(|(opened, now)| now.has_contents_of(&opened))
    }

    /// Whether each change since it was opened shows.
    pub(crate) fn shows_changes(&self) -> bool {
        self.opened.as_ref().is_none_or(|opened| opened.shows_changes)
    }

    /// True if the file is certainly in the state that was opened. This asks the system.
    pub(crate) fn is_as_opened(&self) -> bool {
        let Some(opened) = &self.opened else { return true };
        // Writes of this process from here on are later than the answer.
        let moment = Moment::now(&self.writes);
        let same = opened.shows_changes && self.now() == Some(opened.identity);
        if same {
            opened.confirmed.set(moment);
        }
        same
    }

    /// As [`Self::is_as_opened`], asked once a tick of the system's clock unless this process has written to the file.
    pub(crate) fn was_as_opened(&self) -> bool {
        let Some(opened) = &self.opened else { return true };
        opened.confirmed.is(Moment::now(&self.writes)) || self.is_as_opened()
    }

    /// The number of requests for its bytes so far. None that is not counted yet has brought anything to its caller.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Acquire) + self.near.as_ref().map_or(0, Near::requests)
    }

    /// Opens an existing file for reading and maps it.
    pub fn open_mapped(path: &Path) -> Result<Self> {
        let mut store = Self::open(path)?;
        // SAFETY: the map is read-only; that nobody truncates the file meanwhile is the caller's word.
        let map = unsafe { Mmap::map(&store.file) };
        store.map = map.ok();
        Ok(store)
    }

    /// Opens an existing file for reading and writing.
    pub fn open_rw(path: &Path) -> Result<Self> {
        super::remote::refuse_writing(path)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| Error::io(Op::Update, path.display().to_string(), e))?;
        let writes = Writes::of(&file);
        Ok(Self::counted(file, path, None, writes))
    }

    /// Creates a file, or empties the one that is there, for reading and writing.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(|e| Error::io(Op::Create, path.display().to_string(), e))?;
        let writes = Writes::of(&file);
        Ok(Self { promise: Promise::new(true), ..Self::counted(file, path, None, writes) })
    }

    /// The file that a store is, if it is one.
    pub fn of(store: &dyn ReadStore) -> Option<&Self> {
        store.as_any()?.downcast_ref()
    }

    /// The length that the system reports now.
    fn file_len(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }

    /// Its path, absolute: it goes on meaning the same file when the process changes its folder.
    pub fn path(&self) -> &Path {
        self.renamed.get().unwrap_or(&self.path)
    }

    /// Records the new name of the file; this happens once at most.
    pub(super) fn renamed(&self, path: &Path) {
        let _ = self.renamed.set(path.to_owned());
    }

    /// Locks the file until it is unlocked or closed; with [`Locking::Never`], and where there are no locks, it is not
    /// locked.
    ///
    /// # Errors
    /// [`Error::Locked`] if somebody else has a lock that does not allow this one.
    pub(crate) fn lock(&self, kind: Kind, how: Locking) -> Result<()> {
        self.held.take(kind, how, &self.name).map(drop)
    }

    /// Releases the lock.
    pub(crate) fn unlock(&self) {
        self.held.release();
    }

    /// The lock that it holds.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// True if the path still names this file, and not one that replaced it.
    pub fn is_current(&self) -> bool {
        is_file_at(&self.file, self.path())
    }

    /// Sets the failures that changes survive from now on; until then, a failure of the machine.
    pub fn promise(&self, durability: Durability) {
        self.promise.choose(durability);
    }

    /// True in a forked child of the process that opened the file: the child does not change it, and leaves its lock and its name alone.
    pub(crate) fn is_inherited(&self) -> bool {
        self.promise.is_inherited()
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The descriptor means another file now.
    pub(super) fn switched(&self) {
        self.writes.switched(&self.file);
    }

    #[cfg(test)]
    pub(super) fn near(&self) -> &Near {
        self.near.as_ref().expect("open for reading only")
    }
}

/// A path that goes on meaning the same file when the process changes its folder. Links in it are not followed.
pub(super) fn fixed(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl ReadStore for FileStore {
    fn len(&self) -> u64 {
        match (&self.map, self.len) {
            (Some(m), _) => m.len() as u64,
            (None, Some(len)) => len,
            (None, None) => self.file_len(),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let read = self.file.read_exact_at(buf, offset);
        if let Some(near) = &self.near {
            // A block older than this read must not answer for these bytes.
            near.forget(offset, buf.len() as u64);
        }
        self.requests.fetch_add(1, Ordering::Release);
        read.map_err(|e| {
            if e.kind() == ErrorKind::UnexpectedEof {
                past_end(&self.name, buf.len() as u64, offset, self.file_len())
            } else {
                Error::io(Op::ReadAt { len: buf.len() as u64, offset }, &self.name, e)
            }
        })
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.map.as_deref()
    }

    fn read_value(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if let Some(all) = &self.map
            && copy_from(all, buf, offset)
        {
            return Ok(());
        }
        match &self.near {
            Some(near) if near.read(&self.file, &self.writes, buf, offset) => Ok(()),
            _ => self.read_at(buf, offset),
        }
    }

    fn origin(&self) -> Origin<'_> {
        Origin::File(self.path())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
