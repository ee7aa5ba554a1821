//! Finding and opening the files in which sources of virtual datasets lie.
//!
//! A name is looked for where HDF5 looks for it: as it is, if it is absolute; in the folders of `HDF5_VDS_PREFIX`; in the folder of the
//! file that names it; in the current folder; in the folder in which that file really is, if its name is a symbolic link. Of an
//! absolute name without a file, the last component is looked for in the other places.
//!
//! Only a file leads to other files. What came from a URL or from memory must not make a program read its own disk.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::super::container::Netcdf4File;
use super::super::paths::{End, Paths};
use super::super::watch::Open as Again;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::dataset::Dataset;
use crate::hdf5::file::{File, ObjectKind};
use crate::layout::{NotFollowed, OpenPart, SourceName, VarLayout};
use crate::model::{Value, VarId};
use crate::store::{FileStore, PerProcess, ReadStore};

/// Files that stay open, and datasets: far fewer than the descriptors that a process may have.
const KEPT: usize = 64;
/// Virtual datasets that are sources of each other.
const MAX_NESTED: usize = 16;
/// Folders in which sources are looked for, as HDF5 knows it.
const PREFIX: &str = "HDF5_VDS_PREFIX";
/// In it: the folder of the file that names the source.
const ORIGIN: &str = "${ORIGIN}";

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
    open: PerProcess<Mutex<Open>>,
}

/// The latest ones, the last one last.
#[derive(Debug, Default)]
struct Open {
    files: Vec<(PathBuf, Arc<Sources>)>,
    datasets: Vec<(DatasetKey, Arc<Opened>)>,
}

/// The address of an open file in memory, which an entry keeps there, and a path in it.
type DatasetKey = (usize, Vec<u8>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds an entry, and makes it the last one.
fn find<K: PartialEq<Q>, Q: ?Sized, V: Clone>(list: &mut Vec<(K, V)>, key: &Q) -> Option<V> {
    let at = list.iter().position(|(k, _)| k == key)?;
    let entry = list.remove(at);
    let found = entry.1.clone();
    list.push(entry);
    Some(found)
}

fn keep<K: PartialEq, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    list.retain(|(k, _)| *k != key);
    if list.len() >= KEPT {
        list.remove(0);
    }
    list.push((key, value));
}

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
        depth: usize,
    ) -> Result<Option<Arc<Opened>>> {
        if depth > MAX_NESTED {
            let what = format!("a chain of more than {MAX_NESTED} virtual datasets, or a circle of them,");
            return Err(self.file.source.unsupported(what));
        }
        let sources = if file == b"." { Some(self.clone()) } else { self.file(file)? };
        let Some(sources) = sources else { return Ok(None) };
        let pool = self.pool.upgrade();
        let key: DatasetKey = (Arc::as_ptr(&sources.file) as usize, dataset.clone());
        if let Some(pool) = &pool
            && let Some(found) = find(&mut lock(&pool.open).datasets, &key)
        {
            return Ok(Some(found));
        }
        let Some(opened) = sources.dataset(dataset, depth)? else { return Ok(None) };
        let opened = Arc::new(opened);
        if let Some(pool) = &pool {
            keep(&mut lock(&pool.open).datasets, key, opened.clone());
        }
        Ok(Some(opened))
    }

    /// Opens a dataset of the file.
    fn dataset(self: &Arc<Self>, path: &[u8], depth: usize) -> Result<Option<Opened>> {
        let file = &self.file;
        let address = match lock(&self.paths).resolve(file, file.superblock.root, path)? {
            End::Here(address) => address,
            End::Nowhere => return Ok(None),
            End::Away { .. } => {
                let what = "a virtual dataset whose source is behind an external link";
                return Err(file.source.unsupported(what));
            }
        };
        let header = file.object(address)?;
        let name = String::from_utf8_lossy(path).trim_start_matches('/').to_owned();
        if File::kind(&header) != ObjectKind::Dataset {
            return Err(Error::Unsupported {
                path: format!("{}: {name}", file.source.name()),
                what: "a virtual dataset whose source is no dataset".into(),
            });
        }
        (self.open_dataset)(self, (address, name, file.dataset(&header)?), depth).map(Some)
    }

    /// Opens the file of a name; `None` if there is none.
    fn file(&self, name: &[u8]) -> Result<Option<Arc<Self>>> {
        let Some(own) = self.store().local_path().filter(|_| self.leads()) else {
            let text = String::from_utf8_lossy(name).into_owned();
            let source = SourceName { file: text, variable: String::new() };
            return Err(self.file.source.unsupported(self.not_followed(vec![source]).why));
        };
        first_of(name, own, PREFIX, |path| self.at(path))
    }

    /// Opens the file at a path, if it is not open in its present state.
    fn at(&self, path: &Path) -> Result<Arc<Self>> {
        let pool = self.pool.upgrade();
        let is_current = |s: &Arc<Sources>| FileStore::of(s.store()).is_some_and(FileStore::is_as_opened);
        if let Some(pool) = &pool
            && let Some(found) = find(&mut lock(&pool.open).files, path)
            && is_current(&found)
        {
            return Ok(found);
        }
        let file = Arc::new(File::open(Arc::new(FileStore::open(path)?))?);
        let (paths, pool_of_it) = (PerProcess::default(), self.pool.clone());
        let Self { follow, again, open_dataset, .. } = *self;
        let opened = Arc::new(Self { file, paths, pool: pool_of_it, follow, again, open_dataset });
        if let Some(pool) = &pool {
            keep(&mut lock(&pool.open).files, path.to_owned(), opened.clone());
        }
        Ok(opened)
    }
}

/// Whether an error says that a file is not there.
fn is_missing(e: &std::io::Error) -> bool {
    matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// What `open` gives for the first file that a name in the file at `own` means; `None` if there is none. `prefix` is the environment's
/// variable with folders.
pub(in super::super) fn first_of<T>(
    name: &[u8],
    own: &Path,
    prefix: &str,
    open: impl Fn(&Path) -> Result<T>,
) -> Result<Option<T>> {
    let mut failed = None;
    for path in candidates(name, own, std::env::var_os(prefix).as_deref()) {
        match open(&path) {
            Ok(found) => return Ok(Some(found)),
            Err(Error::Io { source, .. }) if is_missing(&source) => {}
            Err(Error::NotNetcdf { path, .. }) => {
                failed.get_or_insert(Error::NotHdf5 { path, from: own.display().to_string() });
            }
            Err(e) => {
                failed.get_or_insert(e);
            }
        }
    }
    failed.map_or(Ok(None), Err)
}

/// The paths that a name may mean in a file at `own`, where `prefixes` are folders.
fn candidates(name: &[u8], own: &Path, prefixes: Option<&OsStr>) -> Vec<PathBuf> {
    let mut name = Path::new(OsStr::from_bytes(name)).to_owned();
    let mut paths = Vec::new();
    if name.is_absolute() {
        paths.push(name.clone());
        match name.file_name() {
            Some(last) => name = last.into(),
            None => return paths,
        }
    }
    let folder = own.parent().unwrap_or(Path::new("/"));
    let prefixes = prefixes.map(OsStr::as_bytes).unwrap_or_default();
    for prefix in prefixes.split(|&b| b == b':').filter(|p| !p.is_empty()) {
        let path = match prefix.strip_prefix(ORIGIN.as_bytes()) {
            Some(below) => [folder.as_os_str().as_bytes(), below].concat(),
            None => prefix.to_vec(),
        };
        paths.push(Path::new(&OsString::from_vec(path)).join(&name));
    }
    paths.push(folder.join(&name));
    paths.push(name.clone());
    if let Some(real) = own.canonicalize().ok().as_deref().and_then(Path::parent) {
        paths.push(real.join(&name));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(name: &str, prefixes: Option<&str>) -> Vec<String> {
        let found = candidates(name.as_bytes(), Path::new("/none/a.h5"), prefixes.map(OsStr::new));
        found.into_iter().map(|p| p.display().to_string()).collect()
    }

    #[test]
    fn names_are_looked_for_where_hdf5_does() {
        assert_eq!(places("b.h5", None), ["/none/b.h5", "b.h5"]);
        assert_eq!(
            places("c/b.h5", Some("/p:${ORIGIN}/q:")),
            ["/p/c/b.h5", "/none/q/c/b.h5", "/none/c/b.h5", "c/b.h5"]
        );
        assert_eq!(places("/x/b.h5", None), ["/x/b.h5", "/none/b.h5", "b.h5"]);
    }

    #[test]
    fn a_file_behind_a_symbolic_link_has_two_folders() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(real.join("a.h5"), b"").unwrap();
        let link = dir.path().join("a.h5");
        std::os::unix::fs::symlink(real.join("a.h5"), &link).unwrap();
        let found = candidates(b"b.h5", &link, None);
        assert_eq!(found, [dir.path().join("b.h5"), "b.h5".into(), real.join("b.h5")]);
    }
}
