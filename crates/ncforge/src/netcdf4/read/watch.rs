//! Chunks of a file that another program may write to while it is open here.
//!
//! A writer never overwrites what its last committed state uses, but space that a commit has released is used again. Who
//! opened the file before would take these bytes for those of the chunk that was there. So after chunks were read, the
//! file's time of change is compared with that of its opening. If it differs, the file is opened once more, and the
//! chunks must be where they were, or are read from that state ([`Container::present`]). HDF5's own writers move chunks, too.
//!
//! A file that was written to just before it was opened may be written to again without another time of change
//! ([`Stamp::shows_changes`]). Its chunks are compared in the same way, until once all of a variable's were.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::chunk_index::DatasetChunks;
use crate::layout::{ChunkIndex, ChunkRecord, Place};
use crate::store::{FileStore, ReadStore, Stamp};

/// Opens a store.
pub(super) type Open = fn(Arc<dyn ReadStore>) -> Result<Arc<dyn Container>>;

/// A file that is open for reading only.
#[derive(Debug)]
pub(super) struct Watch {
    store: Arc<dyn ReadStore>,
    open: Open,
    /// Its state when it was opened, and whether each change since then shows.
    opened: Stamp,
    shows_changes: bool,
    /// How many requests its store had answered when it was last found unchanged.
    confirmed: AtomicU64,
    now: Mutex<Option<Now>>,
}

/// A later state of the file.
#[derive(Debug)]
struct Now {
    stamp: Stamp,
    shows_changes: bool,
    file: Arc<dyn Container>,
}

impl Watch {
    /// `None` for what nobody else writes to, or what is open for writing here.
    pub(super) fn new(store: &Arc<dyn ReadStore>, open: Open) -> Option<Self> {
        let opened = FileStore::of(&**store)?.opened()?;
        Some(Self {
            store: store.clone(),
            open,
            opened,
            shows_changes: opened.shows_changes(),
            confirmed: AtomicU64::new(u64::MAX),
            now: Mutex::new(None),
        })
    }

    fn file(&self) -> &FileStore {
        FileStore::of(&*self.store).expect("checked when the watch was made")
    }

    /// Whether the file is what was opened. Without a request since it last was, nothing can have been read that is not.
    pub(super) fn is_unchanged(&self) -> bool {
        let file = self.file();
        let requests = file.requests();
        if requests == self.confirmed.load(Ordering::Acquire) && file.as_slice().is_none() {
            return true;
        }
        let same = file.stamp().is_ok_and(|now| now == self.opened);
        if same {
            self.confirmed.store(requests, Ordering::Release);
        }
        same
    }

    /// What is damaged in a file that has changed may be what was written since.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Corrupt { path, .. } if self.file().stamp().is_ok_and(|now| now != self.opened) => {
                Error::Changed { path }
            }
            other => other,
        }
    }

    /// The present state of the file, and whether a later one shows.
    fn now(&self) -> Result<(Arc<dyn Container>, Stamp, bool)> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.file().stamp()?;
        let now = match &mut *now {
            Some(now) if now.stamp == stamp && now.shows_changes => now,
            slot => slot.insert(self.reopen()?),
        };
        Ok((now.file.clone(), now.stamp, now.shows_changes))
    }

    /// The present state of the file.
    pub(super) fn present(&self) -> Result<Arc<dyn Container>> {
        Ok(self.now()?.0)
    }

    fn reopen(&self) -> Result<Now> {
        FileStore::whole_state(
            || self.file().again().map(Arc::new),
            |again| {
                let stamp = again.opened().unwrap_or(self.opened);
                let file = (self.open)(again.clone())?;
                Ok(Now { stamp, shows_changes: stamp.shows_changes(), file })
            },
            |_| false,
        )
    }
}

/// The chunks of a variable of such a file.
#[derive(Debug)]
pub(super) struct WatchedChunks {
    chunks: DatasetChunks,
    watch: Arc<Watch>,
    /// The variable's path.
    var: String,
    /// Its chunks' shape.
    chunk: Vec<u64>,
    /// Whether each change since the opening shows, for this variable.
    settled: AtomicBool,
}

impl WatchedChunks {
    pub(super) fn new(chunks: DatasetChunks, watch: &Arc<Watch>, var: &str, chunk: &[u64]) -> Self {
        let settled = AtomicBool::new(watch.shows_changes);
        Self { chunks, watch: watch.clone(), var: var.to_owned(), chunk: chunk.to_owned(), settled }
    }

    /// The index of the variable in the present state of the file, if it has chunks of the same kind there.
    fn index_now(&self, file: &dyn Container) -> Result<Option<Arc<dyn ChunkIndex>>> {
        let Some(var) = file.schema().find_var(&self.var) else { return Ok(None) };
        Ok(match &file.layout(var)?.place {
            Place::Chunked { chunk, index, .. } if *chunk == self.chunk => Some(index.clone()),
            _ => None,
        })
    }
}

impl ChunkIndex for WatchedChunks {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        self.chunks.get(at).map_err(|e| self.watch.explain(e))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        self.chunks.list().map_err(|e| self.watch.explain(e))
    }

    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        self.chunks.visit(see).map_err(|e| self.watch.explain(e))
    }

    fn is_unchanged(&self) -> bool {
        self.settled.load(Ordering::Acquire) && self.watch.is_unchanged()
    }

    fn are_still_at(&self, chunks: &[(Vec<u64>, ChunkRecord)]) -> Result<bool> {
        let (file, stamp, shows_changes) = self.watch.now()?;
        let Some(index) = self.index_now(&*file)? else { return Ok(false) };
        if shows_changes && stamp == self.watch.opened && !self.settled.load(Ordering::Acquire) {
            // Nothing has changed that the time of change did not show, and nothing will.
            let sorted = |mut all: Vec<(Vec<u64>, ChunkRecord)>| {
                all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                all
            };
            self.settled.store(sorted(index.list()?) == sorted(self.chunks.list()?), Ordering::Release);
        }
        for (at, record) in chunks {
            if index.get(at)? != Some(*record) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
