//! Finding and opening the files in which sources of virtual datasets lie.
//!
//! Only a file leads to other files. What came from a URL or from memory must not make a program read its own disk.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::super::container::Netcdf4File;
use super::super::lookup::{self, first_of};
use super::super::paths::{End, Paths};
use super::super::watch::Open as Again;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::dataset::Dataset;
use crate::hdf5::file::{File, ObjectKind};
use crate::layout::{NotFollowed, OpenPart, SourceName, VarLayout};
use crate::model::{Value, VarId};
use crate::store::{FileStore, Kept, PerProcess, ReadStore};

/// Virtual datasets that are sources of each other.
const MAX_NESTED: usize = 16;

/// A file, and the way from it to others.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) file: Arc<File>,
    paths: PerProcess<Mutex<Paths>>,
    /// What is open; nothing is kept open once the file that was opened first is closed.
    pool: Weak<Pool>,
    /// Whether sources in other files may be opened.
    follow: bool,
    /// How another state of the file, and a dataset, are opened.
    pub(super) again: Again,
    open_dataset: OpenDataset,
}

/// A file and a dataset in it, as a mapping names them.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) file: Vec<u8>,
    pub(super) dataset: Vec<u8>,
}

impl Named {
    pub(super) fn name(&self) -> SourceName {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        SourceName { file: text(&self.file), variable: text(&self.dataset) }
    }
}

/// Opens a dataset, which was found at an address, as the only variable of its file. The number: virtual datasets that led to it.
pub(super) type OpenDataset = fn(&Arc<Sources>, (u64, String, Dataset), usize) -> Result<Opened>;

/// A source that is open: a file with one variable.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) container: Netcdf4File,
}

impl Opened {
    pub(super) fn shape(&self) -> &[u64] {
        self.container.dataset(self.var()).space.dims()
    }
}

impl OpenPart for Opened {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.container.store()
    }

    fn var(&self) -> VarId {
        VarId(0)
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        self.container.layout(self.var())
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.container.decode_heap(self.var(), stored)
    }
}

/// Open sources of a file, and theirs.
#[derive(Debug, Default)]
pub(super) struct Pool {
    files: Kept<PathBuf, Arc<Sources>>,
    datasets: Kept<DatasetKey, Arc<Opened>>,
}

/// The address of an open file in memory, which an entry keeps there, and of a dataset in it.
type DatasetKey = (usize, u64);

impl Sources {
    /// Sources of a file that was opened.
    pub(super) fn new(
        file: &Arc<File>,
        pool: &Arc<Pool>,
        follow: bool,
        again: Again,
        open_dataset: OpenDataset,
    ) -> Arc<Self> {
        let (file, paths, pool) = (file.clone(), PerProcess::default(), Arc::downgrade(pool));
        Arc::new(Self { file, paths, pool, follow, again, open_dataset })
    }

    fn store(&self) -> &dyn ReadStore {
        &**self.file.source.store()
    }

    /// Whether other files may be opened from this one.
    pub(super) fn leads(&self) -> bool {
        self.follow && self.store().local_path().is_some()
    }

    /// These sources, which must not be opened from this file.
    pub(super) fn not_followed(&self, sources: Vec<SourceName>) -> NotFollowed {
        NotFollowed::new("a virtual dataset", sources, !self.follow)
    }

    /// Opens a source; `None` if it is not there. `depth`: virtual datasets that led here.
    pub(super) fn open(
        self: &Arc<Self>,
        Named { file, dataset }: &Named,
        mut depth: usize,
    ) -> Result<Option<Arc<Opened>>> {
        let sources = if file == b"." { Some(self.clone()) } else { self.file(file, lookup::OF_SOURCES)? };
        let (Some(mut sources), mut path) = (sources, dataset.clone()) else { return Ok(None) };
        loop {
            if depth > MAX_NESTED {
                let what =
                    format!("a chain of more than {MAX_NESTED} virtual datasets, or a circle of them,");
                return Err(self.file.source.unsupported(what));
            }
            match sources.end(&path)? {
                End::Here(address) => return sources.dataset(address, &path, depth).map(Some),
                End::Nowhere => return Ok(None),
                End::Away { file, path: there } => {
                    let Some(next) = sources.file(&file, lookup::OF_LINKS)? else { return Ok(None) };
                    (sources, path, depth) = (next, there, depth + 1);
                }
            }
        }
    }

    /// Where a path ends.
    fn end(&self, path: &[u8]) -> Result<End> {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.resolve(&self.file, self.file.superblock.root, path)
    }

    /// Opens the dataset at an address of the file, to which a path led.
    fn dataset(self: &Arc<Self>, address: u64, path: &[u8], depth: usize) -> Result<Arc<Opened>> {
        let file = &self.file;
        let pool = self.pool.upgrade();
        let key: DatasetKey = (Arc::as_ptr(file) as usize, address);
        if let Some(pool) = &pool
            && let Some(found) = pool.datasets.find(&key)
        {
            return Ok(found);
        }
        let header = file.object(address)?;
        let name = String::from_utf8_lossy(path).trim_start_matches('/').to_owned();
        if File::kind(&header) != ObjectKind::Dataset {
            return Err(Error::Unsupported {
                path: format!("{}: {name}", file.source.name()),
                what: "a virtual dataset whose source is no dataset".into(),
            });
        }
        let opened = Arc::new((self.open_dataset)(self, (address, name, file.dataset(&header)?), depth)?);
        if let Some(pool) = &pool {
            pool.datasets.keep(key, opened.clone());
        }
        Ok(opened)
    }

    /// Opens the file of a name; `None` if there is none. `prefix` is the environment's variable with folders.
    fn file(&self, name: &[u8], prefix: &str) -> Result<Option<Arc<Self>>> {
        let Some(own) = self.store().local_path().filter(|_| self.leads()) else {
            let text = String::from_utf8_lossy(name).into_owned();
            let source = SourceName { file: text, variable: String::new() };
            return Err(self.file.source.unsupported(self.not_followed(vec![source]).why));
        };
        first_of(name, own, prefix, |path| self.at(path))
    }

    /// Opens the file at a path, if it is not open in its present state.
    fn at(&self, path: &Path) -> Result<Arc<Self>> {
        let pool = self.pool.upgrade();
        let is_current = |s: &Arc<Sources>| FileStore::of(s.store()).is_some_and(FileStore::is_as_opened);
        if let Some(pool) = &pool
            && let Some(found) = pool.files.find(path)
            && is_current(&found)
        {
            return Ok(found);
        }
        let file = Arc::new(File::open(Arc::new(FileStore::open(path)?))?);
        let (paths, pool_of_it) = (PerProcess::default(), self.pool.clone());
        let Self { follow, again, open_dataset, .. } = *self;
        let opened = Arc::new(Self { file, paths, pool: pool_of_it, follow, again, open_dataset });
        if let Some(pool) = &pool {
            pool.files.keep(path.to_owned(), opened.clone());
        }
        Ok(opened)
    }
}
