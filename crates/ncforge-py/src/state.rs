//! An open file: reading (no lock held while bytes move), or writing with definitions that are collected and
//! carried out together before the next data.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ncforge::codec::quantize::Quantize;
use ncforge::codec::unpack::{Missing, Unpacking};
use ncforge::container::put_attribute;
use ncforge::dataset::{Alignment, CreateOptions, OpenOptions};
use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::{Attribute, Format, VarId};
use ncforge::select::Picks;
use ncforge::store::packed::is_named_packed;
use ncforge::store::{Locking, MemoryStore, OutputFile, ReadStore};
use ncforge::{Buffer, Dataset, DatasetMut, Error, Hyperslab, Result, Schema, Values};

use crate::define::{self, Draft};
use crate::errors::invalid;
use crate::unpacking::Unpacked;

/// What a file is open for.
enum Mode {
    /// Reading: clones of the handle read side by side.
    Read(Dataset),
    /// Writing or updating.
    Write(Box<Writing>),
    /// Closed.
    Closed,
}

struct Writing {
    /// `None` before the first definitions of a new file are carried out.
    open: Option<DatasetMut>,
    /// The name of a new file until then.
    claim: Option<OutputFile>,
    /// How to create it then.
    create: CreateOptions,
    path: PathBuf,
    /// Where it is created instead of under its path.
    memory: Option<Arc<MemoryStore>>,
    /// Definitions that the file does not have yet.
    pending: Option<Schema>,
    /// Whether it is a packed file, which is a classic one inside.
    is_packed: bool,
    /// Variables whose values shall lose bits, of which the file does not know yet.
    rounding: Vec<(VarId, Quantize)>,
}

/// An open file behind one lock; the lock is never held while the interpreter is waited for.
pub(crate) struct State {
    mode: Mutex<Mode>,
    path: PathBuf,
}

impl State {
    /// Opens a file for reading; it is locked only if that is asked for.
    pub(crate) fn read(path: PathBuf, locking: Option<Locking>) -> Result<Self> {
        let options = OpenOptions { locking, ..OpenOptions::default() };
        Ok(Self::over(Dataset::open_options(&path, &options)?, path))
    }

    /// A dataset that is open for reading.
    pub(crate) fn over(dataset: Dataset, path: PathBuf) -> Self {
        State { mode: Mutex::new(Mode::Read(dataset)), path }
    }

    pub(crate) fn read_store(store: Arc<dyn ReadStore>) -> Result<Self> {
        let path = PathBuf::from(store.name());
        let dataset = Dataset::from_store(store, &Engine::global())?;
        Ok(State { mode: Mutex::new(Mode::Read(dataset)), path })
    }

    pub(crate) fn update(path: PathBuf, locking: Locking) -> Result<Self> {
        let open = Some(DatasetMut::open_locked(&path, &Engine::global(), locking)?);
        let writing = Writing {
            open,
            claim: None,
            create: CreateOptions::default(),
            path: path.clone(),
            memory: None,
            pending: None,
            is_packed: false,
            rounding: Vec::new(),
        };
        Ok(State { mode: Mutex::new(Mode::Write(Box::new(writing))), path })
    }

    /// A new file; `memory` is its own budget in bytes instead of the process'.
    pub(crate) fn create(
        path: PathBuf,
        format: Format,
        overwrite: bool,
        memory: Option<u64>,
        alignment: Option<Alignment>,
        locking: Locking,
    ) -> Result<Self> {
        let own = |memory| Engine::new(EngineOptions { memory: Some(memory), ..EngineOptions::default() });
        let engine = memory.map(own).transpose()?;
        let create = CreateOptions { overwrite, engine, alignment, locking, ..CreateOptions::default() };
        // What is wrong with the name is said now, not when the first values are written.
        let claim = Some(DatasetMut::claim(&path, &create)?);
        let (open, memory, rounding) = (None, None, Vec::new());
        let pending = Some(Schema::new(format));
        let writing = Writing {
            open,
            claim,
            create,
            path: path.clone(),
            memory,
            pending,
            is_packed: is_named_packed(&path),
            rounding,
        };
        Ok(State { mode: Mutex::new(Mode::Write(Box::new(writing))), path })
    }

    /// A new file in memory; closing it gives its bytes.
    pub(crate) fn create_in_memory(name: String, format: Format, alignment: Option<Alignment>) -> Self {
        let path = PathBuf::from(&name);
        let writing = Writing {
            open: None,
            claim: None,
            create: CreateOptions { alignment, ..CreateOptions::default() },
            path: path.clone(),
            memory: Some(Arc::new(MemoryStore::new(name, Vec::new()))),
            pending: Some(Schema::new(format)),
            is_packed: false,
            rounding: Vec::new(),
        };
        State { mode: Mutex::new(Mode::Write(Box::new(writing))), path }
    }

    fn lock(&self) -> MutexGuard<'_, Mode> {
        // A panic while writing leaves the file as it was; what follows is an error of its own.
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.lock(), Mode::Closed)
    }

    /// The dataset if the file is open for reading, and asking does not mean to wait: a writer may hold the lock
    /// for as long as it writes, a reader never does.
    pub(crate) fn reading(&self) -> Option<Dataset> {
        match &*self.mode.try_lock().ok()? {
            Mode::Read(dataset) => Some(dataset.clone()),
            Mode::Write(_) | Mode::Closed => None,
        }
    }

    /// The description as it is now, definitions included that the file does not have yet.
    pub(crate) fn schema<T>(&self, look: impl FnOnce(&Schema) -> Result<T>) -> Result<T> {
        match &*self.lock() {
            Mode::Read(dataset) => look(dataset.schema()),
            Mode::Write(w) => look(w.schema()),
            Mode::Closed => Err(closed()),
        }
    }

    /// Changes the description. It is carried out before the next data. A change that fails must leave the
    /// description as it was.
    pub(crate) fn define<T>(&self, change: impl FnOnce(&mut Draft<'_>) -> Result<T>) -> Result<T> {
        self.writing(|w| w.define(change))
    }

    /// Sets an attribute. A fill value is chosen while its variable has no values.
    pub(crate) fn set_attribute(&self, group: usize, var: Option<usize>, new: Attribute) -> Result<()> {
        self.writing(|w| {
            if let Some(var) = var.filter(|_| new.name == "_FillValue") {
                w.check_fill(var, &new)?;
            }
            w.define(|draft| define::set_attribute(draft, group, var, new))
        })
    }

    /// What only a file that is open for writing can do.
    fn writing<T>(&self, work: impl FnOnce(&mut Writing) -> Result<T>) -> Result<T> {
        match &mut *self.lock() {
            Mode::Write(w) => work(w),
            Mode::Read(_) => Err(read_only()),
            Mode::Closed => Err(closed()),
        }
    }

    /// Values that are written to a variable lose bits from now on.
    pub(crate) fn quantize(&self, var: VarId, how: Quantize) -> Result<()> {
        self.define(|s| {
            how.check(s.schema.var(var).dtype)?;
            put_attribute(&mut s.schema.vars[var.0].attrs, ncforge::model::quantization_attribute(how));
            Ok(())
        })?;
        self.writing(|w| {
            w.rounding.push((var, how));
            Ok(())
        })
    }

    /// Reads values of fixed size into `out`.
    pub(crate) fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => return w.carried_out()?.read_bytes(var, slab, out),
            Mode::Closed => return Err(closed()),
        };
        dataset.read_bytes(var, slab, out)
    }

    /// Reads values of any type.
    pub(crate) fn read_values(&self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => return w.carried_out()?.read(var, slab),
            Mode::Closed => return Err(closed()),
        };
        dataset.read(var, slab)
    }

    /// Reads numbers and unpacks them.
    pub(crate) fn read_unpacked(&self, var: VarId, slab: &Hyperslab, rules: &Unpacking) -> Result<Unpacked> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => {
                let stored = w.carried_out()?.read(var, slab)?;
                let stored = stored.bytes().ok_or_else(|| invalid("these values have no fixed size"))?;
                let count = stored.len() / rules.stored_size();
                let (mut out, mut mask) =
                    (Buffer::zeroed(count * rules.result_size()), Buffer::zeroed(count));
                let any = rules.unpack(stored, &mut out, Some(&mut mask))?;
                return Ok((out, (any && rules.becomes == Missing::Marked).then_some(mask)));
            }
            Mode::Closed => return Err(closed()),
        };
        dataset.read_unpacked_new(var, slab, rules)
    }

    /// Reads picked positions of a variable of fixed size into `out`.
    pub(crate) fn read_picks_bytes(&self, var: VarId, picks: &Picks, out: &mut [u8]) -> Result<()> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => {
                let values = w.carried_out()?.read_picks(var, picks)?;
                return match values.bytes() {
                    Some(bytes) if bytes.len() == out.len() => {
                        out.copy_from_slice(bytes);
                        Ok(())
                    }
                    _ => Err(invalid("the destination does not fit the selection")),
                };
            }
            Mode::Closed => return Err(closed()),
        };
        dataset.read_picks_bytes(var, picks, out)
    }

    /// Reads picked positions of a variable of any type.
    pub(crate) fn read_picks(&self, var: VarId, picks: &Picks) -> Result<Values> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => return w.carried_out()?.read_picks(var, picks),
            Mode::Closed => return Err(closed()),
        };
        dataset.read_picks(var, picks)
    }

    /// Looks at the file as its format sees it.
    pub(crate) fn container<T>(&self, look: impl FnOnce(&dyn ncforge::Container) -> Result<T>) -> Result<T> {
        let dataset = match &mut *self.lock() {
            Mode::Read(dataset) => dataset.clone(),
            Mode::Write(w) => {
                let open = w.carried_out()?;
                open.writer().flush()?;
                return look(open.container());
            }
            Mode::Closed => return Err(closed()),
        };
        look(dataset.container())
    }

    /// Sets the length of an unlimited dimension; it never shrinks.
    pub(crate) fn grow(&self, dim: ncforge::model::DimId, len: u64) -> Result<()> {
        self.writing(|w| w.carried_out()?.grow(dim, len))
    }

    /// Writes values; past the end of an unlimited dimension the file grows.
    pub(crate) fn write(&self, var: VarId, slab: &Hyperslab, values: &Values) -> Result<()> {
        self.writing(|w| w.carried_out()?.write(var, slab, values))
    }

    /// Writes values of fixed size; past the end of an unlimited dimension the file grows.
    pub(crate) fn write_bytes(&self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        self.writing(|w| w.carried_out()?.write_bytes(var, slab, bytes))
    }

    /// Makes everything so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        match &mut *self.lock() {
            Mode::Write(w) => w.carried_out()?.sync(),
            Mode::Read(_) => Ok(()),
            Mode::Closed => Err(closed()),
        }
    }

    /// Completes the file and closes it; a new one in memory gives its bytes. Closing a closed file does nothing.
    pub(crate) fn close(&self) -> Result<Option<Vec<u8>>> {
        match std::mem::replace(&mut *self.lock(), Mode::Closed) {
            Mode::Write(mut w) => {
                w.carried_out()?;
                w.open.take().map_or(Ok(()), DatasetMut::close)?;
                Ok(w.memory.map(|store| store.to_vec()))
            }
            Mode::Read(_) | Mode::Closed => Ok(None),
        }
    }

    /// Closes the file without completing it: a new one leaves nothing behind.
    pub(crate) fn abandon(&self) {
        drop(std::mem::replace(&mut *self.lock(), Mode::Closed));
    }
}

impl Writing {
    fn define<T>(&mut self, change: impl FnOnce(&mut Draft<'_>) -> Result<T>) -> Result<T> {
        let is_new = self.pending.is_none();
        let mut schema = match self.pending.take() {
            Some(pending) => pending,
            None => self.schema().clone(),
        };
        let format = if self.is_packed && !schema.format.is_classic() { Format::Cdf5 } else { schema.format };
        let done = change(&mut Draft { schema: &mut schema, format });
        if done.is_ok() || !is_new {
            self.pending = Some(schema);
        }
        done
    }

    /// An error if a variable holds values: what it was filled with stays in the file.
    fn check_fill(&mut self, var: usize, new: &Attribute) -> Result<()> {
        let same =
            self.schema().vars.get(var).and_then(|v| v.attr("_FillValue")).is_some_and(|old| old == new);
        let Some(open) = self.open.as_mut().filter(|open| !same && var < open.schema().vars.len()) else {
            return Ok(());
        };
        if open.is_untouched(VarId(var))? {
            return Ok(());
        }
        let name = open.schema().var_path(VarId(var));
        Err(invalid(format!(
            "`_FillValue` of `{name}` is set before its first value is written: it has values"
        )))
    }

    fn schema(&self) -> &Schema {
        match (&self.pending, &self.open) {
            (Some(pending), _) => pending,
            (None, Some(open)) => open.schema(),
            (None, None) => unreachable!("a new file has pending definitions until it is open"),
        }
    }

    /// The file with all definitions carried out. When that fails the definitions are dropped, so that the file
    /// can still be closed; a new file then stays undefined and the error comes back each time.
    fn carried_out(&mut self) -> Result<&mut DatasetMut> {
        match (&mut self.open, self.pending.take()) {
            (Some(open), Some(schema)) => open.redefine(schema)?,
            (Some(_), None) => {}
            (open @ None, Some(schema)) => {
                let made = match (&self.memory, self.claim.take()) {
                    (Some(store), _) => {
                        DatasetMut::create_in(store.clone(), schema.clone(), self.create.clone())
                    }
                    (None, Some(claim)) => DatasetMut::create_as(claim, schema.clone(), self.create.clone()),
                    (None, None) => DatasetMut::create(&self.path, schema.clone(), self.create.clone()),
                };
                match made {
                    Ok(created) => *open = Some(created),
                    Err(error) => {
                        self.pending = Some(schema);
                        return Err(error);
                    }
                }
            }
            (None, None) => {}
        }
        let open = self.open.as_mut().ok_or_else(|| invalid("the file was not created"))?;
        for (var, how) in self.rounding.drain(..) {
            open.quantize(var, how)?;
        }
        Ok(open)
    }
}

fn closed() -> Error {
    invalid("the dataset is closed")
}

fn read_only() -> Error {
    invalid("the dataset is open for reading only (mode 'r')")
}

/// Shares one state between the Python object and work outside the interpreter.
pub(crate) type Shared = Arc<State>;
