//! Creating files, and updating them in place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::formats;
use super::options::{CreateOptions, Leads, UpdateOptions};
use super::shared::InPlace;
use crate::buffer::Buffer;
use crate::codec::quantize::Quantize;
use crate::container::Container;
use crate::engine::{Engine, Writer};
use crate::error::{Error, Op, Result};
use crate::model::{Changes, DimId, Schema, Values, VarId, quantization_of};
use crate::select::{Hyperslab, Picks};
use crate::store::lock::Kind;
use crate::store::output::OutputOptions;
use crate::store::{Durability, FileStore, Locking, OutputFile, WriteStore, zipped};

/// A dataset that is being created, or updated in place.
///
/// A new file is written under a temporary name in the same folder and takes its own name at
/// [`DatasetMut::close`], when all of it is written ([`CreateOptions::durable`]: and on disk), or at the first
/// [`DatasetMut::sync`]. Dropped before, it leaves nothing behind; after a sync, what comes is an update in place. An
/// update in place is in the file at `sync` and `close`, and outlives what its [`Durability`] says; dropped before, what was
/// written since the last sync may or may not be there. Others who read the file see what was written at `sync` and `close`,
/// and perhaps before: small writes in a row, and chunks that are not whole, wait for company.
///
/// A forked child of the process that opened it cannot change the file: writing is an error there, `sync`, `close` and
/// dropping do nothing.
///
/// Nobody else writes to the file meanwhile: it is locked as HDF5 locks files ([`Locking`]).
#[derive(Debug)]
pub struct DatasetMut {
    writer: Writer,
    path: PathBuf,
    new: Option<NewFile>,
    /// The locked file, if it is one.
    file: Option<Arc<FileStore>>,
    /// How values lose bits as they are written, by variable.
    quantized: HashMap<VarId, Quantize>,
    /// True if others write to the file at the same time.
    shared: bool,
}

/// A file that does not have its name yet.
#[derive(Debug)]
struct NewFile {
    output: OutputFile,
    durability: Durability,
    /// True if the file keeps its temporary name until it is closed.
    is_resumable: bool,
}

impl DatasetMut {
    /// Creates a file with this description.
    ///
    /// # Errors
    /// [`Error::Exists`] unless an existing file may be replaced; [`Error::Locked`] if another program is making the same
    /// file, or writes to the one that would be replaced.
    pub fn create(path: impl AsRef<Path>, schema: Schema, options: CreateOptions) -> Result<Self> {
        let output = Self::claim(path, &options)?;
        Self::create_as(output, schema, options)
    }

    /// Begins a new file whose description is not known yet, for [`DatasetMut::create_as`] with the same options.
    ///
    /// # Errors
    /// As [`DatasetMut::create`].
    pub fn claim(path: impl AsRef<Path>, options: &CreateOptions) -> Result<OutputFile> {
        let (overwrite, locking) = (options.overwrite, options.locking);
        OutputFile::begin(path.as_ref(), OutputOptions { overwrite, locking, ..OutputOptions::default() })
    }

    /// Creates a dataset as a file that was [begun](DatasetMut::claim).
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] if the format cannot hold what is described, [`Error::Io`] if it cannot be written.
    pub fn create_as(mut output: OutputFile, schema: Schema, mut options: CreateOptions) -> Result<Self> {
        if options.zipped.is_none() && zipped::is_named_zipped(output.destination()) {
            options.zipped = Some(zipped::Options::default());
        }
        let engine = options.engine.take().unwrap_or_else(Engine::global);
        let container = formats::create(output.store().clone(), schema, &options, &engine)?;
        output.keep(options.keep_partial);
        Ok(Self::of_new(output, Writer::new(engine, container), &options))
    }

    /// Goes on with a file that an interrupted run left under its [temporary name](crate::store::partial_path). What
    /// was synced then is there.
    ///
    /// # Errors
    /// [`Error::Io`] if there is none; as [`DatasetMut::create`].
    pub fn resume(path: impl AsRef<Path>, mut options: CreateOptions) -> Result<Self> {
        let (overwrite, locking) = (options.overwrite, options.locking);
        let how = OutputOptions { overwrite, locking, resume: true, ..OutputOptions::default() };
        let mut output = OutputFile::begin(path.as_ref(), how)?;
        if !output.was_there() {
            let partial = output.partial().display().to_string();
            return Err(Error::io(Op::Open, partial, std::io::ErrorKind::NotFound.into()));
        }
        let engine = options.engine.take().unwrap_or_else(Engine::global);
        let container = formats::open_mut(output.store().clone(), &engine)?;
        output.keep(options.keep_partial);
        Ok(Self::of_new(output, Writer::new(engine, container), &options))
    }

    fn of_new(output: OutputFile, writer: Writer, options: &CreateOptions) -> Self {
        let durability = Durability::asked(options.durable);
        let is_zipped = writer.container().store().blocks().is_some();
        // The file of an interrupted run can be continued, even after a failure of the machine.
        output.store().promise(match is_zipped || options.keep_partial {
            true => Durability::Machine,
            false => durability,
        });
        Self {
            writer,
            path: output.destination().to_owned(),
            file: Some(output.store().clone()),
            new: Some(NewFile { output, durability, is_resumable: options.keep_partial }),
            quantized: HashMap::new(),
            shared: false,
        }
    }

    /// Opens a file for updates in place.
    ///
    /// # Errors
    /// [`Error::Locked`] if another program, or another dataset of this one, has it open for writing, or if a program
    /// reads it that locks what it reads, as netCDF-C does with netCDF-4 files.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Engine::global())
    }

    /// Opens a file for updates in place, with an engine.
    ///
    /// # Errors
    /// As [`DatasetMut::open`].
    pub fn open_with(path: impl AsRef<Path>, engine: &Engine) -> Result<Self> {
        Self::open_options(path, UpdateOptions { engine: Some(engine.clone()), ..UpdateOptions::default() })
    }

    /// Opens a file for updates in place, with options.
    ///
    /// # Errors
    /// As [`DatasetMut::open`].
    pub fn open_options(path: impl AsRef<Path>, options: UpdateOptions) -> Result<Self> {
        let path = path.as_ref();
        let engine = options.engine.unwrap_or_else(Engine::global);
        loop {
            let file = Arc::new(FileStore::open_rw(path)?);
            let container = formats::open_locked(&file, &engine, options.locking)?;
            // One that was replaced between opening and locking is nobody's any more.
            if !file.is_current() && path.exists() {
                continue;
            }
            if container.store().blocks().is_none() {
                file.promise(Durability::asked(options.durable));
            }
            let schema = container.schema();
            let quantized =
                schema.var_ids().filter_map(|v| Some((v, quantization_of(schema.var(v))?))).collect();
            return Ok(Self {
                writer: Writer::new(engine, container),
                path: path.to_owned(),
                new: None,
                file: Some(file),
                quantized,
                shared: false,
            });
        }
    }

    /// Opens a file into which several write at the same time, threads or processes or machines, each of them by a
    /// `DatasetMut` of its own from this function. Every value has its place before ([`DatasetMut::reserve`]), nothing of
    /// the description changes, and each value is written by one of them. Contiguous variables, records, and chunks without
    /// filters can be written so; with chunks it does not matter who else writes into the same one. Values
    /// can be read once their writer has closed; they are durable after [`DatasetMut::sync`]. The writers share a lock, which
    /// keeps away those who would update the file in place.
    ///
    /// ```
    /// use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
    /// use ncforge::{Engine, CreateOptions, Dataset, DatasetMut, Hyperslab};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("t.nc");
    /// let mut schema = Schema::new(Format::Cdf5);
    /// schema.dims.push(Dimension::new("x", 4, false));
    /// schema.vars.push(Variable::new("v", Atomic::UByte, vec![DimId(0)]));
    /// let v = schema.find_var("v").unwrap();
    /// let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
    /// new.reserve(v)?;
    /// new.close()?;
    /// std::thread::scope(|s| {
    ///     for part in 0..2u8 {
    ///         let path = &path;
    ///         s.spawn(move || -> ncforge::Result<()> {
    ///             let mut file = DatasetMut::open_shared(path, &Engine::global())?;
    ///             file.write_bytes(v, &Hyperslab::new(&[u64::from(part) * 2], &[2]), &[part, part])?;
    ///             file.close()
    ///         });
    ///     }
    /// });
    /// assert_eq!(Dataset::open(&path)?.read_all(v)?.bytes(), Some(&[0, 0, 1, 1][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_shared(path: impl AsRef<Path>, engine: &Engine) -> Result<Self> {
        let path = path.as_ref();
        let file = Arc::new(FileStore::open_rw(path)?);
        file.lock(Kind::Shared, Locking::default().or_environment())?;
        let container = formats::open_stored(
            file.clone(),
            engine,
            &Leads::new(engine.follow(), None, formats::open_path),
        )?;
        let writer = Writer::shared(engine.clone(), Box::new(InPlace::new(container, file.clone())?));
        Ok(Self {
            writer,
            path: path.to_owned(),
            new: None,
            file: Some(file),
            quantized: HashMap::new(),
            shared: true,
        })
    }

    /// Gives all of a variable, as it stands, its place in the file, to be written by others after this is closed
    /// ([`DatasetMut::open_shared`]): until then its values are whatever the file holds. An error for compressed chunks,
    /// whose length nobody knows before.
    pub fn reserve(&mut self, var: VarId) -> Result<()> {
        self.writer.reserve(var)
    }

    /// Creates a dataset in any empty store, a [`crate::store::MemoryStore`] for one. There is no temporary
    /// name then.
    pub fn create_in(store: Arc<dyn WriteStore>, schema: Schema, mut options: CreateOptions) -> Result<Self> {
        let path = PathBuf::from(store.name());
        let engine = options.engine.take().unwrap_or_else(Engine::global);
        let container = formats::create(store, schema, &options, &engine)?;
        Ok(Self {
            writer: Writer::new(engine, container),
            path,
            new: None,
            file: None,
            quantized: HashMap::new(),
            shared: false,
        })
    }

    /// The path that it is, or will be, found under.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The current description.
    pub fn schema(&self) -> &Schema {
        self.writer.schema()
    }

    /// The file as its format sees it, without what the writer still holds.
    pub fn container(&self) -> &dyn Container {
        self.writer.container()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.writer.engine()
    }

    /// The writer, for work on chunks.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Writes a selection, see [`Writer::write`]. Writing past the end of an unlimited dimension grows it.
    pub fn write(&mut self, var: VarId, slab: &Hyperslab, values: &Values) -> Result<()> {
        match values {
            Values::Fixed(bytes) => self.write_bytes(var, slab, bytes),
            Values::Heap(_) => self.writer.write(var, slab, values),
        }
    }

    /// Writes a selection of a fixed-size type, see [`Writer::write_bytes`].
    pub fn write_bytes(&mut self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let Some(how) = self.quantized.get(&var) else {
            return self.writer.write_bytes(var, slab, bytes);
        };
        let mut rounded = Buffer::from(bytes);
        let schema = self.schema();
        let (dtype, fill) = (schema.var(var).dtype, schema.fill_value(var));
        how.apply(dtype, &mut rounded, &fill);
        self.writer.write_bytes(var, slab, &rounded)
    }

    /// From now on, values that are written to a variable lose bits. The variable's attributes say so; a file that
    /// is opened for update goes on as its attributes say, as netCDF-C does.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for other types than float and double, and for numbers of digits or bits that mean
    /// nothing for the type.
    pub fn quantize(&mut self, var: VarId, how: Quantize) -> Result<()> {
        let mut schema = self.schema().clone();
        how.check(schema.var(var).dtype)?;
        schema.claim_quantization(var, how);
        self.writer.redefine(schema)?;
        self.quantized.insert(var, how);
        Ok(())
    }

    /// Quantizes variables whose attributes already say so.
    pub(super) fn quantize_from_now(&mut self, vars: impl IntoIterator<Item = (VarId, Quantize)>) {
        self.quantized.extend(vars);
    }

    /// Reads back a selection, what was just written included.
    pub fn read(&mut self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        self.writer.read(var, slab)
    }

    /// Reads back a selection of a fixed-size type.
    pub fn read_bytes(&mut self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.writer.read_bytes(var, slab, out)
    }

    /// Reads back picked positions, see [`Picks`].
    pub fn read_picks(&mut self, var: VarId, picks: &Picks) -> Result<Values> {
        self.writer.read_picks(var, picks)
    }

    /// Changes the description: attributes at will; new dimensions, variables, groups and types at the ends of
    /// their arenas; names.
    pub fn redefine(&mut self, schema: Schema) -> Result<()> {
        self.writer.redefine(schema)
    }

    /// Takes over what is new or different in a description that continues this one: costs what was changed.
    pub(super) fn redefine_parts(&mut self, schema: &Schema, changes: &Changes) -> Result<()> {
        self.writer.redefine_parts(schema, changes)
    }

    /// A number that changes with each change of the description as a whole.
    pub(super) fn revision(&self) -> u64 {
        self.writer.revision()
    }

    /// Whether no value of a variable was ever stored, written or filled: its fill value is still to be chosen.
    pub fn is_untouched(&mut self, var: VarId) -> Result<bool> {
        self.writer.flush()?;
        Ok(self.writer.is_untouched(var))
    }

    /// Sets the length of an unlimited dimension; it never shrinks.
    pub fn grow(&mut self, dim: DimId, len: u64) -> Result<()> {
        self.writer.grow(dim, len)
    }

    /// Brings everything written so far into the file. A new file gets its name, and from then on is updated in place (unless
    /// it shall be [resumed](CreateOptions::keep_partial)).
    ///
    /// # Errors
    /// [`Error::Appeared`] if another program made a file of this name meanwhile, and none may be replaced; [`Error::Lost`] if
    /// values of a write that failed are missing. Values that wait in memory go on waiting after an error, and are written with the
    /// next sync.
    pub fn sync(&mut self) -> Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.writer.sync()?;
        if let Some(new) = self.new.as_mut().filter(|new| !new.is_resumable) {
            new.output.publish(new.durability == Durability::Machine)?;
            if self.writer.container().store().blocks().is_some() {
                // Its own locks let readers in while it is written.
                new.output.store().unlock();
            }
            self.new = None;
        }
        Ok(())
    }

    /// Writes what is left, and gives a new file its name.
    ///
    /// # Errors
    /// As [`DatasetMut::sync`].
    pub fn close(mut self) -> Result<()> {
        if self.is_inherited() {
            // Locks in it may be held for ever by threads that the child does not have.
            std::mem::forget(self);
            return Ok(());
        }
        self.finish()
    }

    /// As [`DatasetMut::close`]. After an error it is still open: what could not be written may be written by another attempt.
    ///
    /// # Errors
    /// As [`DatasetMut::sync`].
    pub fn finish(&mut self) -> Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        if let Some(new) = &self.new {
            new.output.store().promise(new.durability);
        }
        if self.shared {
            // All went to the file at once; whether it is durable is for all of its writers together to say.
            self.writer.flush()?;
        } else {
            self.writer.complete()?;
        }
        if let Some(mut new) = self.new.take()
            && let Err(e) = new.output.publish(new.durability == Durability::Machine)
        {
            match (&e, &self.file) {
                // The file is complete under its other name: another attempt would find the same.
                (Error::Appeared { .. }, Some(file)) => file.unlock(),
                _ => self.new = Some(new),
            }
            return Err(e);
        }
        if let Some(file) = &self.file {
            // Now, not when the last who shares the open file has let go of it.
            file.unlock();
        }
        Ok(())
    }

    /// The file, if it is one.
    pub(super) fn store(&self) -> Option<&Arc<FileStore>> {
        self.file.as_ref()
    }

    fn is_inherited(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.is_inherited())
    }
}
