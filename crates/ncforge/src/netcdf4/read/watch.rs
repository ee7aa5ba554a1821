//! Chunks of a file that another program may write to while a container of it is open.
//!
//! A writer never overwrites what its last committed state uses, but space that a commit has released is used again. Who
//! opened the file before would take these bytes for those of the chunk that was there. So after chunks were read, the file is
//! asked whether it is as it was opened ([`FileStore::is_as_opened`]). If that is not certain, it is opened once more, and
//! the chunks must be where they were; else what was read is an [`Error::Changed`]. HDF5's own writers move chunks, too.
//!
//! A container is of one state of the file. A [`Dataset`](crate::Dataset) goes on to the next one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::chunk_index::DatasetChunks;
use crate::layout::{ChunkIndex, ChunkRecord, Place};
use crate::store::{FileStore, PerProcess, ReadStore};

/// Opens a store.
pub(super) type Open = fn(Arc<dyn ReadStore>) -> Result<Arc<dyn Container>>;

/// A later state of a file: the file as it was opened then, and what is in it.
type Later = (Arc<FileStore>, Arc<dyn Container>);

/// A file that is open for reading only.
#[derive(Debug)]
pub(super) struct Watch {
    store: Arc<dyn ReadStore>,
    open: Open,
    /// The number of requests that its store had answered when it was last found as it was opened.
    confirmed: AtomicU64,
    /// A later state of the file.
    now: PerProcess<Mutex<Option<Later>>>,
}

impl Watch {
    /// `None` for what nobody else writes to, or what is open for writing here.
    pub(super) fn new(store: &Arc<dyn ReadStore>, open: Open) -> Option<Self> {
        FileStore::of(&**store)?.opened()?;
        let (confirmed, now) = (AtomicU64::new(u64::MAX), PerProcess::default());
        Some(Self { store: store.clone(), open, confirmed, now })
    }

    fn file(&self) -> &FileStore {
        FileStore::of(&*self.store).expect("checked when the watch was made")
    }

    /// Whether the file is what was opened. Without a request since it last was, nothing can have been read that is not.
    fn is_unchanged(&self) -> bool {
        let file = self.file();
        let requests = file.requests();
        if requests == self.confirmed.load(Ordering::Acquire) && file.as_slice().is_none() {
            return true;
        }
        let same = file.is_as_opened();
        if same {
            self.confirmed.store(requests, Ordering::Release);
        }
        same
    }

    /// Whether the contents of the file are those that were opened, as far as shows.
    pub(super) fn has_opened_contents(&self) -> bool {
        self.file().has_opened_contents()
    }

    /// Apparent damage in a file that has changed may be data that were written since.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Corrupt { path, .. } if !self.has_opened_contents() => Error::Changed { path },
            other => other,
        }
    }

    /// The present state of the file.
    fn now(&self) -> Result<Arc<dyn Container>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, container)) = &*now
            && file.is_as_opened()
        {
            return Ok(container.clone());
        }
        let opened = FileStore::whole_state(
            || self.file().again().map(Arc::new),
            |file| Ok((file.clone(), (self.open)(file.clone())?)),
            |_| false,
        )?;
        Ok(now.insert(opened).1.clone())
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
}

impl WatchedChunks {
    pub(super) fn new(chunks: DatasetChunks, watch: &Arc<Watch>, var: &str, chunk: &[u64]) -> Self {
        Self { chunks, watch: watch.clone(), var: var.to_owned(), chunk: chunk.to_owned() }
    }

    /// The index of the variable in a later state of the file, if it has chunks of the same kind there.
    fn index_in(&self, file: &dyn Container) -> Result<Option<Arc<dyn ChunkIndex>>> {
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

    fn prepare(&self, touched: &[Range<u64>]) -> Result<()> {
        self.chunks.prepare(touched).map_err(|e| self.watch.explain(e))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        self.chunks.list().map_err(|e| self.watch.explain(e))
    }

    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        self.chunks.visit(see).map_err(|e| self.watch.explain(e))
    }

    fn outside(&self) -> Result<u64> {
        self.chunks.outside().map_err(|e| self.watch.explain(e))
    }

    fn is_unchanged(&self) -> bool {
        self.watch.is_unchanged()
    }

    fn are_still_at(&self, chunks: &[(Vec<u64>, ChunkRecord)]) -> Result<bool> {
        let file = self.watch.now()?;
        let Some(index) = self.index_in(&*file)? else { return Ok(false) };
        for (at, record) in chunks {
            if index.get(at)? != Some(*record) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
