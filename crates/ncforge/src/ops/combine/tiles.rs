//! The open files of a set of tiles: as many as memory and descriptors allow.
//!
//! A set may have ten thousand tiles. Each is opened once, to be looked at ([`Tiles::look`]); where its values lie
//! ([`Slim`]) is kept from then on as long as a share of the memory budget holds it. Beyond that a tile is opened anew
//! when it is read, and let go (those that were kept stay: a walk over all tiles, variable after variable, would make
//! any other rule keep the wrong ones). Descriptors are fewer still, and come and go below ([`PooledFile`]).

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::slim::{Commons, Slim};
use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::store::Store;

/// Descriptors that are open at a time, at most.
const MOST_DESCRIPTORS: u64 = 2048;

/// The files of a set.
#[derive(Debug)]
pub(crate) struct Tiles {
    paths: Vec<PathBuf>,
    engine: Engine,
    descriptors: Arc<Descriptors>,
    kept: Vec<OnceLock<Dataset>>,
    commons: Commons,
    /// Bytes of descriptions that are kept, and may be.
    held: AtomicU64,
    limit: u64,
}

impl Tiles {
    /// Of these paths; `memory` bytes for descriptions.
    pub(crate) fn new(paths: Vec<PathBuf>, engine: &Engine, memory: u64) -> Tiles {
        Tiles {
            kept: paths.iter().map(|_| OnceLock::new()).collect(),
            paths,
            engine: engine.clone(),
            commons: Commons::default(),
            descriptors: Arc::new(Descriptors::new(descriptor_limit())),
            held: AtomicU64::new(0),
            limit: memory,
        }
    }

    /// Bytes of descriptions that are kept.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Their paths.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The path of one, for messages.
    pub(crate) fn name(&self, tile: usize) -> String {
        self.paths[tile].display().to_string()
    }

    /// Leaves out the tiles that are not in `keep`.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.paths.retain(|_| kept.next().is_some_and(|k| *k));
        let mut kept = keep.iter();
        self.kept.retain(|_| kept.next().is_some_and(|k| *k));
    }

    /// Opens a tile for its values, or gives the one that is open.
    pub(crate) fn open(&self, tile: usize) -> Result<Dataset> {
        match self.kept[tile].get() {
            Some(open) => Ok(open.clone()),
            None => self.keep(tile, self.open_whole(tile)?),
        }
    }

    /// Opens a tile, and looks at all that it says. It stays open for its values, where there is room, and where
    /// there is something to be said of it.
    pub(crate) fn look<T>(
        &self,
        tile: usize,
        say: impl FnOnce(&Dataset) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let whole = self.open_whole(tile)?;
        let said = say(&whole)?;
        if said.is_some() && self.kept[tile].get().is_none() {
            self.keep(tile, whole)?;
        }
        Ok(said)
    }

    /// Keeps where a tile's values lie, if there is room.
    fn keep(&self, tile: usize, whole: Dataset) -> Result<Dataset> {
        if self.held.load(Ordering::Relaxed) >= self.limit {
            return Ok(whole);
        }
        let slim = Slim::of(&whole, &self.commons)?;
        let bytes = slim.bytes();
        let slim = Dataset::from_container(Box::new(slim), &self.engine);
        if self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit {
            return Ok(self.kept[tile].get_or_init(|| slim).clone());
        }
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        Ok(slim)
    }

    /// Opens a tile with its attributes, which [`Tiles::open`] may not have.
    pub(crate) fn open_whole(&self, tile: usize) -> Result<Dataset> {
        let store = PooledFile::open(&self.paths[tile], &self.descriptors)?;
        Dataset::from_store(Arc::new(store), &self.engine)
    }
}

/// Half of what the process may open, so that others have room.
fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call that writes into our own structure.
    let rc = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let soft = if rc == 0 { limit.rlim_cur } else { 64 };
    (soft / 2).clamp(4, MOST_DESCRIPTORS) as usize
}

/// Open files by their number. Most of them stay open once they are, and the others take turns: a walk over all
/// tiles, variable after variable, would make a rule that closes the oldest close every file before it is read again.
#[derive(Debug)]
struct Descriptors {
    /// So many stay open.
    stay: usize,
    /// So many take turns.
    turns: usize,
    next: AtomicUsize,
    state: Mutex<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    clock: u64,
    staying: HashMap<usize, Arc<File>>,
    /// With when each was last asked for.
    turning: HashMap<usize, (Arc<File>, u64)>,
}

impl Descriptors {
    fn new(limit: usize) -> Self {
        let turns = (limit / 8).max(2);
        let stay = limit.saturating_sub(turns);
        Descriptors { stay, turns, next: AtomicUsize::new(0), state: Mutex::default() }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: usize) -> Option<Arc<File>> {
        let mut pool = self.pool();
        if let Some(file) = pool.staying.get(&id) {
            return Some(Arc::clone(file));
        }
        pool.clock += 1;
        let now = pool.clock;
        pool.turning.get_mut(&id).map(|(file, last)| {
            *last = now;
            Arc::clone(file)
        })
    }

    fn put(&self, id: usize, file: &Arc<File>) {
        let mut pool = self.pool();
        if pool.staying.len() < self.stay {
            pool.staying.insert(id, Arc::clone(file));
            return;
        }
        pool.clock += 1;
        let now = pool.clock;
        if pool.turning.len() >= self.turns
            && let Some(oldest) = pool.turning.iter().min_by_key(|(_, (_, last))| *last).map(|(id, _)| *id)
        {
            pool.turning.remove(&oldest);
        }
        pool.turning.insert(id, (Arc::clone(file), now));
    }

    fn forget(&self, id: usize) {
        let mut pool = self.pool();
        pool.staying.remove(&id);
        pool.turning.remove(&id);
    }

    /// How many are open.
    #[cfg(test)]
    fn open(&self) -> usize {
        let pool = self.pool();
        pool.staying.len() + pool.turning.len()
    }
}

/// A file whose descriptor is closed when others need it, and opened again when it is read.
#[derive(Debug)]
struct PooledFile {
    id: usize,
    path: PathBuf,
    name: String,
    len: u64,
    inode: u64,
    descriptors: Arc<Descriptors>,
}

impl PooledFile {
    fn open(path: &Path, descriptors: &Arc<Descriptors>) -> Result<Self> {
        let name = path.display().to_string();
        let file = Arc::new(File::open(path).map_err(|e| Error::io("open", &name, e))?);
        let meta = file.metadata().map_err(|e| Error::io("open", &name, e))?;
        if meta.is_dir() {
            return Err(Error::io("open", name, std::io::ErrorKind::IsADirectory.into()));
        }
        let id = descriptors.next.fetch_add(1, Ordering::Relaxed);
        descriptors.put(id, &file);
        let (len, inode) = (meta.len(), meta.ino());
        Ok(PooledFile { id, path: path.to_owned(), name, len, inode, descriptors: Arc::clone(descriptors) })
    }

    fn file(&self) -> Result<Arc<File>> {
        if let Some(file) = self.descriptors.get(self.id) {
            return Ok(file);
        }
        let file = Arc::new(File::open(&self.path).map_err(|e| Error::io("open", &self.name, e))?);
        let meta = file.metadata().map_err(|e| Error::io("open", &self.name, e))?;
        if (meta.len(), meta.ino()) != (self.len, self.inode) {
            return Err(Error::Tiles(format!("`{}` has changed while it was being read", self.name)));
        }
        self.descriptors.put(self.id, &file);
        Ok(file)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.descriptors.forget(self.id);
    }
}

impl Store for PooledFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(Error::corrupt(
                &self.name,
                offset,
                format!("{} bytes are needed here, the file ends at byte {}", buf.len(), self.len),
            ));
        }
        self.file()?
            .read_exact_at(buf, offset)
            .map_err(|e| Error::io(format!("read {} bytes at offset {offset} of", buf.len()), &self.name, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_few_and_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let pool = Arc::new(Descriptors::new(3));
        let files: Vec<PooledFile> = (0..10)
            .map(|i| {
                let path = dir.path().join(i.to_string());
                std::fs::write(&path, [i as u8; 4]).unwrap();
                PooledFile::open(&path, &pool).unwrap()
            })
            .collect();
        for round in 0..2 {
            for (i, f) in files.iter().enumerate() {
                let mut buf = [0; 2];
                f.read_at(&mut buf, 2).unwrap();
                assert_eq!(buf, [i as u8; 2], "{round}");
                assert!(pool.open() <= 3);
            }
        }
        assert!(files[0].read_at(&mut [0; 2], 3).is_err());
        // The first one stayed open; of one that takes turns it is noticed that the file is another now.
        std::fs::write(dir.path().join("1"), b"changed").unwrap();
        assert_eq!(files[1].read_at(&mut [0; 2], 0).unwrap_err().exit_code(), 4);
    }
}
