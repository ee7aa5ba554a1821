//! Where one variable's bytes lie, in terms that the engine understands and no format owns.
//!
//! A format turns its metadata into a [`VarLayout`]; the engine turns a layout and a hyperslab into *pieces*
//! (a region of the array, a byte range of the store, and the codec chain between them).

use std::fmt::Debug;
use std::sync::Arc;

use crate::codec::CodecChain;
use crate::error::Result;

pub use crate::codec::{Element, Order, SwapField, is_swapped};

/// Where a variable's bytes lie and how they are encoded.
#[derive(Clone, Debug)]
pub struct VarLayout {
    /// The variable's path, for messages.
    pub name: String,
    /// Extents that the file holds, slowest first. May be shorter than the variable's current shape along
    /// unlimited dimensions; what is beyond reads as fill.
    pub shape: Vec<u64>,
    /// How one stored element becomes one element in memory.
    pub element: Element,
    /// One element in stored form (stored byte order, [`Element::size`] bytes) for what was never written.
    pub fill: Vec<u8>,
    /// The place.
    pub place: Place,
}

/// The place of a variable's bytes in the store.
#[derive(Clone, Debug)]
pub enum Place {
    /// Nothing is stored: everything reads as fill.
    Nowhere,
    /// The elements themselves, row-major, in stored form.
    Inline(Arc<[u8]>),
    /// Row-major from a byte offset. Bytes past the end of the store read as zero (a classic file may be
    /// short); the format checked that `offset + bytes` is sane.
    Contiguous {
        /// Byte offset of the first element.
        offset: u64,
    },
    /// Classic records: record `r` is row-major at `begin + r * stride`.
    Records {
        /// Byte offset of record 0.
        begin: u64,
        /// Bytes from one record to the next.
        stride: u64,
    },
    /// Chunks of equal shape, found through an index.
    Chunked {
        /// Chunk lengths, slowest first, each at least 1.
        chunk: Vec<u64>,
        /// The filters between stored bytes and a chunk's elements.
        codecs: CodecChain,
        /// Where each chunk lies.
        index: Arc<dyn ChunkIndex>,
    },
    /// Cannot be read, and why: "a virtual dataset", "filter 32013 (zfp)". Reading is an error that says so.
    Unsupported(String),
}

/// Where one chunk's encoded bytes lie.
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
    /// Where the chunk at grid coordinates `at` lies; `None` if it was never written.
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>>;
    /// All stored chunks with their grid coordinates, in no particular order.
    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>>;
    /// Shows the same chunks one after the other: of small chunks a list takes more memory than they do.
    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        self.list()?.into_iter().for_each(|(at, record)| see(&at, record));
        Ok(())
    }
}
