//! Datasets as users hold them: a file of any format, opened, with an engine to read it.
//!
//! [`Dataset`] reads; it is cheap to clone, and any number of threads may use it at once. [`DatasetMut`]
//! creates a file, or updates one in place.
//!
//! A [`Dataset`] has the description, and the number of records, that the file had when it was opened. Its values are those
//! of the newest state that somebody has synced; a read never gives older ones than a read before it. A zipped file alone stays in
//! the state of its opening, as a whole. Writes of this process are seen at once, also in the same tick of the clock; single
//! values of what is stored without filters show what other processes have written at most 10 milliseconds later. A variable that is no longer there as it was is
//! an [`Error::Changed`](crate::Error::Changed).
//!
//! ```
//! use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("t.nc");
//! let mut schema = Schema::new(Format::Cdf2);
//! schema.dims.push(Dimension::new("x", 3, false));
//! schema.vars.push(Variable::new("v", Atomic::Short, vec![DimId(0)]));
//! let v = schema.find_var("v").unwrap();
//!
//! let mut new = DatasetMut::create(&path, schema, CreateOptions::default())?;
//! let values: Vec<u8> = [1i16, 2, 3].iter().flat_map(|n| n.to_ne_bytes()).collect();
//! new.write_bytes(v, &Hyperslab::all(&[3]), &values)?;
//! new.close()?;
//!
//! let back = Dataset::open(&path)?;
//! assert_eq!(back.read(v, &Hyperslab::all(&[3]))?.bytes(), Some(&values[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aggregation;
mod convert;
mod define;
mod detect;
mod follow;
mod formats;
mod identity;
mod mutable;
mod options;
mod shared;
mod typed;
mod unpacked;
mod whole;

use crate::store::remote::shown_path;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::buffer::Buffer;
use crate::codec::unpack::Unpacking;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Definition, Format, Names, Schema, Values, VarId};
use crate::select::{Hyperslab, Picks};
use crate::store::lock::Kind;
use crate::store::{FileStore, Locking, ReadStore, RemoteOptions, remote};
use crate::view::{Seen, View};

use follow::Follower;
use options::Leads;

pub use crate::netcdf4::Alignment;
pub use convert::{Converted, Imap, convert_numbers};
pub use define::{
    ChunkChooser, DefineMode, Definer, NewFilter, NewLayout, NewStorage, NewVariable, Owner, default_chunks,
};
pub use identity::FileId;
pub use mutable::DatasetMut;
pub use options::{CreateOptions, UpdateOptions, set_follow};
pub use typed::Element;

/// A dataset that is open for reading. Clones share it.
#[derive(Clone, Debug)]
pub struct Dataset {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    container: Arc<dyn Container>,
    engine: Engine,
    path: PathBuf,
    origin: Origin,
    /// Whether anything was read.
    was_read: AtomicBool,
}

/// What a dataset is of.
#[derive(Debug)]
enum Origin {
    /// A file, an object, or bytes.
    File {
        /// Its identity at the opening.
        id: Option<FileId>,
        /// The follower of its states, if they are followed.
        follower: Option<Follower>,
    },
    /// Another dataset.
    View(Dataset, Arc<View>),
    /// Several files.
    Files {
        files: Vec<PathBuf>,
        format: Format,
        /// Their states, once they were asked for: many copies may be made of one whole.
        ids: OnceLock<Vec<FileId>>,
    },
}

/// An error if no file of this format can hold what was just defined in a description, or renamed, whatever else is
/// defined later: its name, its type, its dimensions and storage, its size. Programs that define one thing after the
/// other ask after each, to know at once what [`DatasetMut::create`] and [`DatasetMut::redefine`] would refuse.
///
/// ```
/// use ncforge::check_new;
/// use ncforge::model::{Definition, DimId, Dimension, Format, Schema};
///
/// let mut schema = Schema::new(Format::Cdf2);
/// schema.dims.push(Dimension::new("time", 0, true));
/// assert!(check_new(&schema, Format::Cdf2, Definition::Dimension(DimId(0))).is_ok());
/// schema.dims.push(Dimension::new("run", 0, true));
/// assert!(check_new(&schema, Format::Cdf2, Definition::Dimension(DimId(1))).is_err());
/// ```
pub fn check_new(schema: &Schema, format: Format, new: Definition) -> Result<()> {
    new.check_name(schema)?;
    check_changed(schema, format, new)
}

/// As [`check_new`], for a definition that kept its name, such as an attribute with new values: the name may be one that netCDF reserves.
pub fn check_changed(schema: &Schema, format: Format, changed: Definition) -> Result<()> {
    formats::check_changed(schema, &Names::of(schema), format, changed)
}

/// Options for opening a file.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The engine to read with; the process' own when `None`.
    pub engine: Option<Engine>,
    /// Map the file into memory instead of reading it piece by piece. Faster for files that are in the
    /// system's cache; but when another process cuts the file short meanwhile, this one is killed.
    pub map: bool,
    /// Lock the file as HDF5 locks what it reads: nobody can write to it while it is open, and it cannot be opened while
    /// somebody writes. `None`: no lock; a file can be read while ncforge writes to it, and shows what was written at
    /// the writer's syncs.
    pub locking: Option<Locking>,
    /// Access to a URL; the process' options ([`RemoteOptions::of_process`]) when `None`. A URL is neither mapped nor
    /// locked.
    pub remote: Option<RemoteOptions>,
    /// Whether the file may lead to others, whose values are read as its own: virtual datasets and external links of HDF5, aggregation
    /// variables of the CF conventions. `None`: what [`set_follow`] says. A URL and bytes in memory lead to no file in any case.
    pub follow: Option<bool>,
}

/// Reads a variable of a state.
type Reading<'a> = &'a mut dyn FnMut(&Arc<dyn Container>, VarId) -> Result<()>;

impl Drop for Inner {
    fn drop(&mut self) {
        // Cached data of a closed file are of no use. What a view was read from is open.
        if *self.was_read.get_mut() && !matches!(self.origin, Origin::View(..)) {
            self.engine.forget_store(self.container.store());
        }
    }
}

impl Dataset {
    /// Opens a file for reading; with the feature `remote` also a URL ([`crate::store::remote`]).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_options(path, &OpenOptions::default())
    }

    /// Opens a file for reading with an engine.
    pub fn open_with(path: impl AsRef<Path>, engine: &Engine) -> Result<Self> {
        Self::open_options(path, &OpenOptions { engine: Some(engine.clone()), ..OpenOptions::default() })
    }

    /// Opens a file for reading, with options.
    pub fn open_options(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let engine = options.engine.clone().unwrap_or_else(Engine::global);
        let leads =
            Leads::new(options.follow.or(engine.follow()), options.remote.clone(), formats::open_path);
        let (container, id, follower) = match remote::url_of(path) {
            Some(url) => {
                let store =
                    remote::open(url, &options.remote.clone().unwrap_or_else(RemoteOptions::of_process))?;
                let id = FileId::of_object(path, &*store);
                (formats::open(store, &engine, &leads)?, id, None)
            }
            None => FileStore::whole_state(
                || {
                    let store =
                        if options.map { FileStore::open_mapped(path)? } else { FileStore::open(path)? };
                    if let Some(locking) = options.locking {
                        store.lock(Kind::Shared, locking.or_environment())?;
                    }
                    Ok(Arc::new(store))
                },
                |store| {
                    let id = FileId::of(path, store.file())?;
                    let container = formats::open(store.clone(), &engine, &leads)?;
                    // A zipped file is read through another store, which keeps the state of its opening.
                    let is_file = FileStore::of(&**container.store()).is_some();
                    let follower =
                        is_file.then(|| Follower::new(store.clone(), engine.clone(), leads.clone()));
                    Ok((container, Some(id), follower))
                },
                // The header of a classic file is changed in one place.
                |(container, ..)| container.schema().format.is_classic(),
            )?,
        };
        Ok(Self::new(container.into(), &engine, path.to_owned(), Origin::File { id, follower }))
    }

    /// Opens a dataset in any store, a [`crate::store::MemoryStore`] for one.
    pub fn from_store(store: Arc<dyn ReadStore>, engine: &Engine) -> Result<Self> {
        Ok(Self::from_container(
            formats::open(store, engine, &Leads::new(engine.follow(), None, formats::open_path))?,
            engine,
        ))
    }

    /// A dataset over a container that is open already.
    pub fn from_container(container: Box<dyn Container>, engine: &Engine) -> Self {
        let path = PathBuf::from(container.store().name());
        Self::new(container.into(), engine, path, Origin::File { id: None, follower: None })
    }

    fn new(container: Arc<dyn Container>, engine: &Engine, path: PathBuf, origin: Origin) -> Self {
        let (engine, was_read) = (engine.clone(), AtomicBool::new(false));
        Self { inner: Arc::new(Inner { container, engine, path, origin, was_read }) }
    }

    /// The dimensions, variables, groups, attributes and types of the file.
    pub fn schema(&self) -> &Schema {
        self.inner.container.schema()
    }

    /// The file as its format sees it.
    pub fn container(&self) -> &dyn Container {
        &*self.inner.container
    }

    /// The engine that reads.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The path that it was opened by; the store's name if it is not a file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The identity of the file or object when it was opened; `None` if it is neither.
    pub fn id(&self) -> Option<&FileId> {
        match &self.inner.origin {
            Origin::File { id, .. } => id.as_ref(),
            Origin::View(..) | Origin::Files { .. } => None,
        }
    }

    /// Reads from the newest state of the file, see [`Follower`]. `slab` is what is read, if that is one box.
    fn latest<T>(
        &self,
        var: VarId,
        slab: Option<&Hyperslab>,
        mut read: impl FnMut(&dyn Container, VarId) -> Result<T>,
    ) -> Result<T> {
        let mut found = None;
        self.of_latest(var, slab, &mut |container, var| {
            found = Some(read(&**container, var)?);
            Ok(())
        })?;
        found.ok_or_else(|| Error::Internal("nothing was read".into()))
    }

    fn of_latest(&self, var: VarId, slab: Option<&Hyperslab>, read: Reading<'_>) -> Result<()> {
        self.note_read();
        let own = &self.inner.container;
        match &self.inner.origin {
            Origin::File { follower: Some(follower), .. } => follower.read(own, var, slab, read),
            Origin::View(whole, view) if var.0 < self.schema().vars.len() => {
                whole.of_latest(var, None, &mut |container, now| {
                    let is_opened = now == var && Arc::ptr_eq(container, &whole.inner.container);
                    match is_opened {
                        true => read(own, var),
                        false => {
                            let later = Seen::later(view.clone(), container.clone(), var, now);
                            read(&(Arc::new(later) as Arc<dyn Container>), var)
                        }
                    }
                })
            }
            _ => read(own, var),
        }
    }

    /// Reads a selection of a variable.
    pub fn read(&self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        self.latest(var, Some(slab), |container, var| self.engine().read(container, var, slab))
    }

    /// Reads all of a variable.
    pub fn read_all(&self, var: VarId) -> Result<Values> {
        self.read(var, &Hyperslab::all(&self.schema().shape(var)))
    }

    /// Reads a selection of a variable of a fixed-size type into memory of the caller, see
    /// [`Engine::read_bytes`].
    pub fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.latest(var, Some(slab), |container, var| self.engine().read_bytes(container, var, slab, out))
    }

    /// Reads a selection of a variable of numbers and unpacks it in the same pass: `out` gets what the stored numbers
    /// mean, `mask` (a byte an element) 1 where they are missing. Whether any is missing. See [`Unpacking`].
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for what are no such numbers, a selection outside the variable, or memory of another size; what
    /// [`Dataset::read_bytes`] gives.
    pub fn read_unpacked(
        &self,
        var: VarId,
        slab: &Hyperslab,
        rules: &Unpacking,
        out: &mut [u8],
        mut mask: Option<&mut [u8]>,
    ) -> Result<bool> {
        self.latest(var, Some(slab), |container, var| {
            self.engine().read_unpacked(container, var, slab, rules, out, mask.as_deref_mut())
        })
    }

    /// [`Dataset::read_unpacked`] into new memory, which goes back to the engine when it is dropped; the mask only if
    /// something is missing and `rules` asks for a mask.
    ///
    /// # Errors
    /// As [`Dataset::read_unpacked`], and [`crate::Error::Budget`] for what no machine could hold.
    pub fn read_unpacked_new(
        &self,
        var: VarId,
        slab: &Hyperslab,
        rules: &Unpacking,
    ) -> Result<(Buffer, Option<Buffer>)> {
        self.latest(var, Some(slab), |container, var| {
            self.engine().read_unpacked_new(container, var, slab, rules)
        })
    }

    /// Reads picked positions of a variable, see [`Picks`]. Each chunk that they meet is decoded once.
    pub fn read_picks(&self, var: VarId, picks: &Picks) -> Result<Values> {
        self.check_picks(var, picks)?;
        self.latest(var, None, |container, var| self.engine().read_picks(container, var, picks))
    }

    /// Reads picked positions of a variable of a fixed-size type into memory of the caller, see
    /// [`Engine::read_picks_bytes`].
    pub fn read_picks_bytes(&self, var: VarId, picks: &Picks, out: &mut [u8]) -> Result<()> {
        self.check_picks(var, picks)?;
        self.latest(var, None, |container, var| self.engine().read_picks_bytes(container, var, picks, out))
    }

    /// Whether positions lie in a variable as it was when the file was opened: later, it may be longer.
    fn check_picks(&self, var: VarId, picks: &Picks) -> Result<()> {
        let schema = self.schema();
        match schema.vars.get(var.0) {
            Some(v) if matches!(self.inner.origin, Origin::File { follower: Some(_), .. }) => {
                picks.check(&schema.shape(var), &v.name)
            }
            _ => Ok(()),
        }
    }

    /// Says that something of it was read, not by its own methods.
    pub fn note_read(&self) {
        self.inner.was_read.store(true, Ordering::Relaxed);
    }

    /// The variable with this path. The error says whether it is not there, or there but damaged or of a kind
    /// that is not supported ([`crate::model::Skipped`]).
    pub fn var(&self, path: &str) -> Result<VarId> {
        let schema = self.schema();
        schema.find_var(path).ok_or_else(|| schema.no_variable(path, &shown_path(self.path())))
    }
}
