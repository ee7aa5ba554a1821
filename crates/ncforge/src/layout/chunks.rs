//! Where chunks lie, and how they are to be had as they are stored, whichever store each lies in.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::select::coordinates;
use crate::store::ReadStore;

/// The location of one chunk's encoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRecord {
    /// Byte offset in the store.
    pub offset: u64,
    /// Encoded length in bytes.
    pub len: u64,
    /// Bit `i` set: filter `i` of the chain was skipped for this chunk.
    pub mask: u32,
}

/// Finds chunks by their grid coordinates. Loaded from the file on first use; any number of threads.
pub trait ChunkIndex: Send + Sync + Debug {
    /// The location of the chunk at grid coordinates `at`; `None` if it was never written.
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>>;
    /// Reads what [`Self::get`] needs for the chunks of a box of grid coordinates, in few rounds of requests.
    ///
    /// # Errors
    /// The index cannot be read.
    fn prepare(&self, touched: &[Range<u64>]) -> Result<()> {
        let _ = touched;
        Ok(())
    }
    /// All stored chunks with their grid coordinates, in no particular order.
    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>>;
    /// Visits the same chunks one after the other: a list of small chunks takes more memory than the chunks.
    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        self.list()?.into_iter().for_each(|(at, record)| see(&at, record));
        Ok(())
    }
    /// Stored chunks that lie outside of the array, where nothing reads them.
    ///
    /// # Errors
    /// The index cannot be read.
    fn outside(&self) -> Result<u64> {
        Ok(0)
    }
    /// Whether the chunks of the array are such as they are stored: each can be moved, unless [`Self::cells`] says otherwise, and what it
    /// does not have is absent. Otherwise they say only which chunks of other arrays reading decodes.
    fn is_exact(&self) -> bool {
        true
    }
    /// Whether [`Self::visit`] and [`Self::list`] have all of them; otherwise these are errors, and each has to be asked for.
    fn is_listed(&self) -> bool {
        true
    }
    /// Whether the chunk at these coordinates was written, where [`Self::is_exact`].
    fn has(&self, at: &[u64]) -> Result<bool> {
        Ok(self.get(at)?.is_some())
    }
    /// How the chunks of a box of grid coordinates are to be had as they are stored, where [`Self::is_exact`]. `own` are this index and
    /// the store that it is of.
    fn cells(&self, own: &Holder, touched: &[Range<u64>]) -> Result<Cells> {
        Cells::of(self, own, touched)
    }
    /// Whether nobody has written to the store since the index was opened, as far as can be seen.
    fn is_unchanged(&self) -> bool {
        true
    }
    /// Whether the store still has these chunks where this index found them.
    ///
    /// # Errors
    /// The present state of the store cannot be read.
    fn are_still_at(&self, chunks: &[(Vec<u64>, ChunkRecord)]) -> Result<bool> {
        let _ = chunks;
        Ok(true)
    }
    /// After the bytes of chunks with these grid coordinates were read from a store of this name: whether they are these
    /// chunks' bytes.
    ///
    /// # Errors
    /// [`Error::Changed`]: somebody has written to the store meanwhile, and it has one of the chunks elsewhere.
    fn check_places(&self, store: &str, read: &mut dyn Iterator<Item = Vec<u64>>) -> Result<()> {
        if self.is_unchanged() {
            return Ok(());
        }
        let mut chunks = Vec::new();
        for at in read {
            // Without a record nothing was read.
            chunks.extend(self.get(&at)?.map(|record| (at, record)));
        }
        match self.are_still_at(&chunks)? {
            true => Ok(()),
            false => Err(Error::Changed { path: store.to_owned() }),
        }
    }
}

/// A store, and the index that finds chunks in it.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The store.
    pub store: Arc<dyn ReadStore>,
    /// The index.
    pub index: Arc<dyn ChunkIndex>,
}

/// How a chunk is to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// It was never written.
    Unwritten,
    /// Not in one piece, or with elements that are not of the array: its values have to be read.
    Pieces,
    /// As it is stored.
    Stored {
        /// The number of its holder.
        holder: usize,
        /// Its grid coordinates there.
        at: Vec<u64>,
        /// Its place there.
        record: ChunkRecord,
    },
}

/// The chunks of a box of grid coordinates.
#[derive(Debug)]
pub struct Cells {
    /// Row-major.
    pub list: Vec<Cell>,
    /// The stores that hold them.
    pub holders: Vec<Holder>,
}

impl Cells {
    /// The chunks of one store, `own`, that an index finds.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn of(index: &(impl ChunkIndex + ?Sized), own: &Holder, touched: &[Range<u64>]) -> Result<Self> {
        let cell = |at: Vec<u64>| {
            Ok(match index.get(&at)? {
                Some(record) => Cell::Stored { holder: 0, at, record },
                None => Cell::Unwritten,
            })
        };
        index.prepare(touched)?;
        let list = coordinates(touched).map(cell).collect::<Result<_>>()?;
        Ok(Self { list, holders: vec![own.clone()] })
    }

    /// One that has to be read.
    pub fn pieces() -> Self {
        Self { list: vec![Cell::Pieces], holders: Vec::new() }
    }

    /// Adds others behind its own.
    pub fn append(&mut self, other: Cells) {
        let before = self.holders.len();
        self.holders.extend(other.holders);
        self.list.extend(other.list.into_iter().map(|cell| match cell {
            Cell::Stored { holder, at, record } => Cell::Stored { holder: holder + before, at, record },
            cell => cell,
        }));
    }
}
