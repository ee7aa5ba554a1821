//! An open file: reading (no lock held while bytes move), or writing with definitions that the library carries out
//! together before the next data.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

use ncforge::codec::unpack::Unpacking;
use ncforge::model::{Format, Members, Names, VarId};
use ncforge::store::remote::shown_path;
use ncforge::store::{Locking, MemoryStore, Process, ReadStore, RemoteOptions};
use ncforge::{
    Alignment, CreateOptions, Dataset, DatasetMut, Definer, Engine, EngineOptions, Error, Hyperslab,
    OpenOptions, Picks, Result, Schema, UpdateOptions, Values,
};
use ncforge_ops::choosing::for_new_variable;

use crate::unpacking::Unpacked;

/// The mode of an open file.
enum Mode {
    /// Reading: clones of the handle read side by side.
    Read(Dataset),
    /// Writing or updating.
    Write(Box<Definer>),
    /// Closed.
    Closed,
}

/// What an open file is worked on by.
enum Open<'a> {
    Read(&'a Dataset),
    Write(&'a mut Definer),
}

/// An open file behind one lock; the lock is never held while the interpreter is waited for. Readers share the lock, so that a forked
/// child reads on, whatever threads of its parent were reading.
pub(crate) struct State {
    mode: RwLock<Mode>,
    path: PathBuf,
    /// Where a new file is made that has no path.
    memory: Option<Arc<MemoryStore>>,
    /// The process that opened it.
    process: Process,
    /// The objects of each group, of a file that is read.
    members: OnceLock<Members>,
    /// How often the definition was changed.
    changes: AtomicU64,
}

impl Drop for State {
    fn drop(&mut self) {
        self.forget();
    }
}

impl State {
    /// Opens a file for reading; it is locked only if that is asked for.
    pub(crate) fn read(path: PathBuf, locking: Option<Locking>, follow: Option<bool>) -> Result<Self> {
        let options = OpenOptions { locking, follow, ..OpenOptions::default() };
        Ok(Self::over(Dataset::open_options(&path, &options)?, path))
    }

    /// Opens a URL for reading.
    pub(crate) fn read_url(
        url: PathBuf,
        remote: Option<RemoteOptions>,
        follow: Option<bool>,
    ) -> Result<Self> {
        let options = OpenOptions { remote, follow, ..OpenOptions::default() };
        Ok(Self::over(Dataset::open_options(&url, &options)?, url))
    }

    /// A dataset that is open for reading.
    pub(crate) fn over(dataset: Dataset, path: PathBuf) -> Self {
        State::of(Mode::Read(dataset), path, None)
    }

    pub(crate) fn read_store(store: Arc<dyn ReadStore>) -> Result<Self> {
        let path = PathBuf::from(store.name());
        Ok(Self::over(Dataset::from_store(store, &Engine::global())?, path))
    }

    fn defining(definer: Definer, path: PathBuf, memory: Option<Arc<MemoryStore>>) -> Self {
        let definer = definer.with_chunks_by(for_new_variable);
        State::of(Mode::Write(Box::new(definer)), path, memory)
    }

    fn of(mode: Mode, path: PathBuf, memory: Option<Arc<MemoryStore>>) -> Self {
        let (mode, process) = (RwLock::new(mode), Process::this());
        State { mode, path, memory, process, members: OnceLock::new(), changes: AtomicU64::new(0) }
    }

    pub(crate) fn update(path: PathBuf, locking: Locking, durable: bool) -> Result<Self> {
        let open = DatasetMut::open_options(&path, UpdateOptions { engine: None, locking, durable })?;
        Ok(Self::defining(open.define(), path, None))
    }

    /// A new file; `memory` is its own budget in bytes instead of the process'.
    pub(crate) fn create(
        path: PathBuf,
        format: Format,
        memory: Option<u64>,
        options: CreateOptions,
    ) -> Result<Self> {
        let own = |memory| Engine::new(EngineOptions { memory: Some(memory), ..EngineOptions::default() });
        let create = CreateOptions { engine: memory.map(own).transpose()?, ..options };
        // A fault of the name is reported now, not when the first values are written.
        Ok(Self::defining(DatasetMut::begin(&path, format, create)?, path, None))
    }

    /// A new file in memory; closing it gives its bytes.
    pub(crate) fn create_in_memory(name: String, format: Format, alignment: Option<Alignment>) -> Self {
        let path = PathBuf::from(&name);
        let store = Arc::new(MemoryStore::new(name, Vec::new()));
        let create = CreateOptions { alignment, ..CreateOptions::default() };
        Self::defining(DatasetMut::begin_in(store.clone(), format, create), path, Some(store))
    }

    /// An error in a forked child if a thread of the parent held the lock: nobody will ever unlock it there.
    fn lock(&self) -> Result<RwLockWriteGuard<'_, Mode>> {
        if self.process.is_here() {
            // A panic while writing leaves the file as it was; what follows is an error of its own.
            return Ok(self.mode.write().unwrap_or_else(PoisonError::into_inner));
        }
        match self.mode.try_write() {
            Ok(mode) => Ok(mode),
            Err(TryLockError::Poisoned(mode)) => Ok(mode.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Error::Inherited { path: shown_path(&self.path) }),
        }
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) fn is_open(&self) -> bool {
        self.reading().is_some() || !self.lock().is_ok_and(|mode| matches!(*mode, Mode::Closed))
    }

    /// The dataset if the file is open for reading, and asking does not mean to wait: a writer may hold the lock
    /// for as long as it writes, a reader never does.
    pub(crate) fn reading(&self) -> Option<Dataset> {
        let mode = match self.mode.try_read() {
            Ok(mode) => mode,
            Err(TryLockError::Poisoned(mode)) => mode.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        match &*mode {
            Mode::Read(dataset) => Some(dataset.clone()),
            Mode::Write(_) | Mode::Closed => None,
        }
    }

    /// Works on a file: without the lock where the file is open for reading.
    fn with<T>(&self, work: impl FnOnce(Open<'_>) -> Result<T>) -> Result<T> {
        let dataset = match self.reading() {
            Some(dataset) => dataset,
            None => match &mut *self.lock()? {
                Mode::Read(dataset) => dataset.clone(),
                Mode::Write(definer) => return work(Open::Write(definer)),
                Mode::Closed => return Err(Error::Closed),
            },
        };
        work(Open::Read(&dataset))
    }

    /// The description as it is now, definitions included that the file does not have yet.
    pub(crate) fn schema<T>(&self, part: impl FnOnce(&Schema) -> Result<T>) -> Result<T> {
        self.with(|open| match open {
            Open::Read(dataset) => part(dataset.schema()),
            Open::Write(definer) => part(definer.schema()),
        })
    }

    /// The description and the objects of its groups.
    pub(crate) fn members<T>(&self, part: impl FnOnce(&Schema, &Members) -> Result<T>) -> Result<T> {
        self.with(|open| match open {
            Open::Read(dataset) => {
                let schema = dataset.schema();
                let members = self.members.get().unwrap_or_else(|| {
                    // Made outside of the cell: a child that is forked meanwhile would wait for this thread for ever.
                    let made = Members::of(schema);
                    self.members.get_or_init(|| made)
                });
                part(schema, members)
            }
            Open::Write(definer) => {
                let (schema, names) = definer.named();
                part(schema, names.members())
            }
        })
    }

    /// The description and its names.
    pub(crate) fn named<T>(&self, part: impl FnOnce(&Schema, &Names) -> Result<T>) -> Result<T> {
        self.with(|open| match open {
            Open::Read(dataset) => part(dataset.schema(), &Names::of(dataset.schema())),
            Open::Write(definer) => {
                let (schema, names) = definer.named();
                part(schema, names)
            }
        })
    }

    /// Changes the definition; only a file that is open for writing can.
    pub(crate) fn define<T>(&self, change: impl FnOnce(&mut Definer) -> Result<T>) -> Result<T> {
        self.changing(|definer| {
            self.changes.fetch_add(1, Ordering::Relaxed);
            change(definer)
        })
    }

    /// How often the definition was changed: what was derived from it holds as long as this is the same.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn changing<T>(&self, change: impl FnOnce(&mut Definer) -> Result<T>) -> Result<T> {
        self.with(|open| match open {
            Open::Write(definer) => change(definer),
            Open::Read(_) => Err(Error::ReadOnly { path: shown_path(&self.path) }),
        })
    }

    /// Writes, once all definitions are carried out.
    fn write_with(&self, work: impl FnOnce(&mut DatasetMut) -> Result<()>) -> Result<()> {
        self.changing(|definer| work(definer.dataset()?))
    }

    /// Reads, once all definitions are carried out.
    fn read_with<T>(
        &self,
        reading: impl FnOnce(&Dataset) -> Result<T>,
        writing: impl FnOnce(&mut DatasetMut) -> Result<T>,
    ) -> Result<T> {
        self.with(|open| match open {
            Open::Read(dataset) => reading(dataset),
            Open::Write(definer) => writing(definer.dataset()?),
        })
    }

    /// Reads values of fixed size into `out`.
    pub(crate) fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let out = std::cell::RefCell::new(out);
        self.read_with(
            |d| d.read_bytes(var, slab, &mut out.borrow_mut()),
            |d| d.read_bytes(var, slab, &mut out.borrow_mut()),
        )
    }

    /// Reads values of any type.
    pub(crate) fn read_values(&self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        self.read_with(|d| d.read(var, slab), |d| d.read(var, slab))
    }

    /// Reads numbers and unpacks them.
    pub(crate) fn read_unpacked(&self, var: VarId, slab: &Hyperslab, rules: &Unpacking) -> Result<Unpacked> {
        self.read_with(|d| d.read_unpacked_new(var, slab, rules), |d| d.read_unpacked_new(var, slab, rules))
    }

    /// Reads picked positions of a variable of fixed size into `out`.
    pub(crate) fn read_picks_bytes(&self, var: VarId, picks: &Picks, out: &mut [u8]) -> Result<()> {
        let out = std::cell::RefCell::new(out);
        self.read_with(
            |d| d.read_picks_bytes(var, picks, &mut out.borrow_mut()),
            |d| d.read_picks_bytes(var, picks, &mut out.borrow_mut()),
        )
    }

    /// Reads picked positions of a variable of any type.
    pub(crate) fn read_picks(&self, var: VarId, picks: &Picks) -> Result<Values> {
        self.read_with(|d| d.read_picks(var, picks), |d| d.read_picks(var, picks))
    }

    /// Shows the file as its format sees it.
    pub(crate) fn container<T>(
        &self,
        part: impl FnOnce(&dyn ncforge::raw::Container) -> Result<T>,
    ) -> Result<T> {
        self.with(|open| match open {
            Open::Read(dataset) => part(dataset.container()),
            Open::Write(definer) => {
                let open = definer.dataset()?;
                open.writer().flush()?;
                part(open.container())
            }
        })
    }

    /// Sets the length of an unlimited dimension; it never shrinks.
    pub(crate) fn grow(&self, dim: ncforge::model::DimId, len: u64) -> Result<()> {
        self.write_with(|d| d.grow(dim, len))
    }

    /// Writes values; past the end of an unlimited dimension the file grows.
    pub(crate) fn write(&self, var: VarId, slab: &Hyperslab, values: &Values) -> Result<()> {
        self.write_with(|d| d.write(var, slab, values))
    }

    /// Writes values of fixed size; past the end of an unlimited dimension the file grows.
    pub(crate) fn write_bytes(&self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        self.write_with(|d| d.write_bytes(var, slab, bytes))
    }

    /// Brings everything so far into the file.
    pub(crate) fn sync(&self) -> Result<()> {
        self.with(|open| match open {
            Open::Write(definer) => definer.sync(),
            Open::Read(_) => Ok(()),
        })
    }

    /// Completes the file and closes it; a new one in memory gives its bytes. Closing a closed file does nothing. After an error
    /// it is still open: what could not be written is not forgotten.
    pub(crate) fn close(&self) -> Result<Option<Vec<u8>>> {
        if self.forget() {
            return Ok(None);
        }
        let mut mode = self.lock()?;
        let bytes = match &mut *mode {
            Mode::Write(definer) => {
                definer.finish()?;
                self.memory.as_ref().map(|store| store.to_vec())
            }
            Mode::Read(_) | Mode::Closed => None,
        };
        *mode = Mode::Closed;
        Ok(bytes)
    }

    /// Closes the file without completing it: a new one leaves nothing behind.
    pub(crate) fn abandon(&self) {
        if !self.forget()
            && let Ok(mut mode) = self.lock()
        {
            *mode = Mode::Closed;
        }
    }

    /// Lets go of a file that is written by a process that this one was forked from, and touches nothing of it: locks inside may be
    /// held by threads that are not here. Whether it was one.
    fn forget(&self) -> bool {
        if self.process.is_here() {
            return false;
        }
        let Ok(mut mode) = self.lock() else { return true };
        let is_inherited = matches!(&*mode, Mode::Write(definer) if definer.is_inherited());
        if is_inherited {
            std::mem::forget(std::mem::replace(&mut *mode, Mode::Closed));
        }
        is_inherited
    }
}

/// Shares one state between the Python object and work outside the interpreter.
pub(crate) type Shared = Arc<State>;
