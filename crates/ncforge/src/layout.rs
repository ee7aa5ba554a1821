//! The location of one variable's bytes, independent of the format.
//!
//! A format converts its metadata to a [`VarLayout`]; the engine converts a layout and a hyperslab to *pieces*
//! (a region of the array, a byte range of the store, and the codec chain between them).

mod absent;
mod parts;
mod runs;

use std::fmt::Debug;
use std::sync::Arc;

use crate::codec::{CodecChain, kernels};
use crate::error::{Error, Result};
use crate::model::shape;

pub(crate) use crate::codec::{Element, Order, SwapField, is_swapped};
pub use absent::Absent;
pub use parts::{ArrayPart, Convert, OpenPart, PartAxis, PartIndex, PartSource, Parts, Stretch};
pub use runs::Runs;

/// The location of a variable's bytes, and how they are encoded.
#[derive(Clone, Debug)]
pub struct VarLayout {
    /// The variable's path, for messages.
    pub name: String,
    /// Extents in the file, slowest first. May be shorter than the variable's current shape along
    /// unlimited dimensions; elements beyond them are absent.
    pub shape: Vec<u64>,
    /// The conversion of a stored element to one in memory.
    pub element: Element,
    /// How elements read that are not stored.
    pub absent: Absent,
    /// The place.
    pub place: Place,
}

impl VarLayout {
    /// One element as it reads inside the extents if nobody wrote it, in native byte order; zeros where that is not one value.
    pub fn unwritten(&self) -> Vec<u8> {
        self.native(self.absent.inside())
    }

    /// As [`Self::unwritten`], beyond the extents.
    pub(crate) fn past_end(&self) -> Vec<u8> {
        self.native(self.absent.past_end())
    }

    /// The value of all absent elements, in native byte order; `None` where they have not the same.
    pub fn one_absent(&self) -> Option<Vec<u8>> {
        self.absent.one().map(|one| self.native(Some(one)))
    }

    /// The bytes of values that are stored row by row; `None` for others.
    pub fn runs(&self) -> Option<Runs> {
        let size = self.element.size as u64;
        match self.place {
            Place::Contiguous { offset } => {
                Some(Runs { begin: offset, stride: None, number: 1, each: shape::bytes(&self.shape, size) })
            }
            Place::Records { begin, stride } => {
                let (&number, record) = self.shape.split_first()?;
                Some(Runs { begin, stride: Some(stride), number, each: shape::bytes(record, size) })
            }
            _ => None,
        }
    }

    /// Bytes that are stored of it in a store of `len` bytes.
    ///
    /// # Errors
    /// The chunk index cannot be read.
    pub fn stored_bytes(&self, len: u64) -> Result<u64> {
        let mut all = 0u64;
        match &self.place {
            Place::Inline(bytes) => all = bytes.len() as u64,
            Place::Chunked { index, .. } => index.visit(&mut |_, r| all = all.saturating_add(r.len))?,
            _ => all = self.runs().map_or(0, |runs| runs.bytes_within(len)),
        }
        Ok(all)
    }

    fn native(&self, stored: Option<&[u8]>) -> Vec<u8> {
        let mut one = stored.unwrap_or_default().to_vec();
        one.resize(self.element.size, 0);
        kernels::order_in_place(&mut one, &self.element);
        one
    }
}

/// The place of a variable's bytes in the store.
#[derive(Clone, Debug)]
pub enum Place {
    /// Nothing is stored: all elements are absent.
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
        /// The filter chain between stored bytes and a chunk's elements.
        codecs: CodecChain,
        /// The chunk index.
        index: Arc<dyn ChunkIndex>,
    },
    /// In other variables, most of them in other files.
    Parts(Arc<dyn PartIndex>),
    /// Cannot be read, with the reason: "an external dataset", "filter 32013 (zfp)". Reading is an error with this reason.
    Unsupported(String),
}

impl Place {
    /// The chunks, if there are some.
    pub fn chunks(&self) -> Option<Chunks<'_>> {
        match self {
            Place::Chunked { chunk, codecs, index } => Some(Chunks { chunk, codecs, index }),
            _ => None,
        }
    }

    /// The filter chain of chunks.
    pub fn codecs(&self) -> Option<&CodecChain> {
        self.chunks().map(|c| c.codecs)
    }

    /// The parts that lie elsewhere, if it consists of such.
    pub fn parts(&self) -> Option<&dyn PartIndex> {
        match self {
            Place::Parts(parts) => Some(&**parts),
            _ => None,
        }
    }

    /// The reason why it cannot be read, if there is one.
    pub fn unsupported(&self) -> Option<&str> {
        match self {
            Place::Unsupported(why) => Some(why),
            _ => None,
        }
    }

    /// Whether nothing is stored.
    pub fn is_nowhere(&self) -> bool {
        matches!(self, Place::Nowhere)
    }
}

/// How values are stored in chunks ([`Place::Chunked`]).
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    /// Chunk lengths, slowest first, each at least 1.
    pub chunk: &'a [u64],
    /// The filter chain between stored bytes and a chunk's elements.
    pub codecs: &'a CodecChain,
    /// The chunk index.
    pub index: &'a Arc<dyn ChunkIndex>,
}

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
    /// All stored chunks with their grid coordinates, in no particular order.
    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>>;
    /// Visits the same chunks one after the other: a list of small chunks takes more memory than the chunks.
    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        self.list()?.into_iter().for_each(|(at, record)| see(&at, record));
        Ok(())
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
