//! The location of one variable's bytes, independent of the format.
//!
//! A format converts its metadata to a [`VarLayout`]; the engine converts a layout and a hyperslab to *pieces*
//! (a region of the array, a byte range of the store, and the codec chain between them).

mod absent;
mod chunks;
mod elsewhere;
mod runs;
mod sources;

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::codec::{CodecChain, kernels};
use crate::error::Result;
use crate::model::{Value, VarId, shape};
use crate::store::ReadStore;

pub(crate) use crate::codec::{Element, Order, SwapField, is_swapped};
pub use absent::Absent;
pub use chunks::{Cell, Cells, ChunkIndex, ChunkRecord, Holder};
pub use runs::Runs;
pub(crate) use sources::printable;
pub use sources::{NotFollowed, SourceName, few};

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

    /// Whether values are stored row by row, here or in the sources of its parts.
    pub fn is_in_rows(&self) -> bool {
        match &self.place {
            Place::Parts(parts) => matches!(parts.kept(), Kept::Rows),
            _ => self.runs().is_some(),
        }
    }

    /// Whether its chunks can be moved as they are stored, and those that it does not have are absent. What is not in chunks has none
    /// that could not.
    pub fn is_exact(&self) -> bool {
        self.place.chunks().is_none_or(|c| c.index.is_exact())
    }

    /// Whether the chunk at these coordinates was written, where [`Self::is_exact`].
    ///
    /// # Errors
    /// The chunk index cannot be read.
    pub fn has_chunk(&self, at: &[u64]) -> Result<bool> {
        self.place.chunks().map_or(Ok(true), |c| c.index.has(at))
    }

    /// Shows the grid coordinates of all chunks that were written, in no particular order. `false`: they are not known without asking for
    /// each, or are not the array's own.
    ///
    /// # Errors
    /// The chunk index cannot be read.
    pub fn each_chunk(&self, see: &mut dyn FnMut(&[u64])) -> Result<bool> {
        match self.place.chunks() {
            Some(Chunks { index, .. }) if index.is_listed() => {
                index.visit(&mut |at, _| see(at)).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// The end of the last value of a variable that is stored row by row in one store, and the length of that. `store` is the container's.
    ///
    /// # Errors
    /// As [`Container::layout`](crate::raw::Container::layout) of the source.
    pub fn last_byte(&self, store: &dyn ReadStore) -> Result<Option<(u64, u64)>> {
        if self.shape.contains(&0) {
            return Ok(None);
        }
        match &self.place {
            Place::Parts(parts) => parts.last_byte(),
            _ => Ok(self.runs().map(|runs| (runs.end(), store.len()))),
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
            Place::Parts(parts) => all = parts.stored_bytes()?,
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
    /// In other files, to which this one must not lead, or cannot. Reading is an error.
    NotFollowed(NotFollowed),
    /// Cannot be read, with the reason: "an external dataset", "filter 32013 (zfp)". Reading is an error with this reason.
    Unsupported(String),
}

impl Place {
    /// The chunks, if there are some: its own, or those of its parts ([`PartIndex::kept`]).
    pub fn chunks(&self) -> Option<Chunks<'_>> {
        match self {
            Place::Chunked { chunk, codecs, index } => Some(Chunks { chunk, codecs, index }),
            Place::Parts(parts) => match parts.kept() {
                Kept::Chunks(chunks) => Some(chunks),
                Kept::Rows | Kept::Otherwise => None,
            },
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
            Place::NotFollowed(other) => Some(&other.why),
            _ => None,
        }
    }

    /// The sources to which the file must not lead, or cannot.
    pub fn not_followed(&self) -> Option<&[SourceName]> {
        match self {
            Place::NotFollowed(other) => Some(&other.sources),
            _ => None,
        }
    }

    /// Whether nothing is stored.
    pub fn is_nowhere(&self) -> bool {
        matches!(self, Place::Nowhere)
    }
}

/// How values are stored in chunks.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    /// Chunk lengths, slowest first, each at least 1.
    pub chunk: &'a [u64],
    /// The filter chain between stored bytes and a chunk's elements.
    pub codecs: &'a CodecChain,
    /// The chunk index.
    pub index: &'a Arc<dyn ChunkIndex>,
}

/// Finds the parts of an array. Later parts lie over earlier ones. Elements in no part are absent, and so are those of a part whose
/// source is not there.
pub trait PartIndex: Send + Sync + Debug {
    /// The parts that may have elements in a box, in their order. A box of no elements meets none.
    ///
    /// # Errors
    /// What says where the parts are cannot be read.
    fn meeting(&self, within: &[Range<u64>]) -> Result<Vec<Cow<'_, ArrayPart>>>;
    /// All sources, also those of which no element can be placed. One may be there several times.
    ///
    /// # Errors
    /// What says where the parts are cannot be read.
    fn sources(&self) -> Result<Vec<Arc<dyn PartSource>>>;
    /// How the sources hold the values, where all do it alike.
    fn kept(&self) -> Kept<'_> {
        Kept::Otherwise
    }
    /// Bytes that are stored of them in the sources, as far as that is known.
    fn stored_bytes(&self) -> Result<u64> {
        Ok(0)
    }
    /// [`VarLayout::last_byte`] of the one source, if it is one.
    fn last_byte(&self) -> Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

/// How the sources of an array of parts hold its values.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// Each in its way.
    Otherwise,
    /// Row by row.
    Rows,
    /// In chunks of these lengths.
    Chunks(Chunks<'a>),
}

/// A list of parts in their order.
#[derive(Debug, Default)]
pub struct Parts {
    /// The parts.
    pub list: Vec<ArrayPart>,
    /// Sources of which no element can be placed, as they are not there.
    pub absent: Vec<Arc<dyn PartSource>>,
}

impl PartIndex for Parts {
    fn meeting(&self, within: &[Range<u64>]) -> Result<Vec<Cow<'_, ArrayPart>>> {
        let may_meet = |(axis, within): (&PartAxis, &Range<u64>)| {
            axis.stretches.iter().any(|s| s.to < within.end && s.last() >= within.start)
        };
        let is_empty = within.iter().any(Range::is_empty);
        let meets = |part: &&ArrayPart| !is_empty && part.axes.iter().zip(within).all(may_meet);
        Ok(self.list.iter().filter(meets).map(Cow::Borrowed).collect())
    }

    fn sources(&self) -> Result<Vec<Arc<dyn PartSource>>> {
        Ok(self.list.iter().map(|part| &part.source).chain(&self.absent).cloned().collect())
    }
}

/// Elements of an array that are those of another variable.
#[derive(Clone, Debug)]
pub struct ArrayPart {
    /// For each dimension of the array, which elements; the part is all combinations of them.
    pub axes: Vec<PartAxis>,
    /// For each dimension of the source the element that is taken, where no axis lies along it.
    pub origin: Vec<u64>,
    /// The source.
    pub source: Arc<dyn PartSource>,
}

/// The elements of a part along one dimension of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartAxis {
    /// The dimension of the source along which they lie. `None`: one element, whose place the part's origin says.
    pub along: Option<usize>,
    /// The elements, none of them twice.
    pub stretches: Stretches,
}

/// The elements of a part along one dimension: nearly always one stretch, which needs no memory of its own.
pub type Stretches = SmallVec<[Stretch; 1]>;

impl PartAxis {
    /// Adjacent elements along the dimension `along` of the source, at least one.
    pub fn run(along: usize, to: u64, from: u64, count: u64) -> Self {
        Self { along: Some(along), stretches: smallvec![Stretch::run(to, from, count)] }
    }

    /// The elements of the array between which all of it lies.
    pub fn range(&self) -> Range<u64> {
        let first = self.stretches.iter().map(|s| s.to).min().unwrap_or(0);
        let last = self.stretches.iter().map(|s| s.last().saturating_add(1)).max().unwrap_or(0);
        first..last
    }
}

/// Elements at equal distances, in the array and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first element in the array.
    pub to: u64,
    /// From an element to the next in the array, at least 1.
    pub to_step: u64,
    /// The first element in the source.
    pub from: u64,
    /// From an element to the next in the source, at least 1.
    pub from_step: u64,
    /// The number of elements, at least 1.
    pub count: u64,
}

impl Stretch {
    /// Adjacent elements.
    pub fn run(to: u64, from: u64, count: u64) -> Self {
        Self { to, to_step: 1, from, from_step: 1, count }
    }

    /// The last element in the array.
    fn last(&self) -> u64 {
        self.to.saturating_add(self.count.saturating_sub(1).saturating_mul(self.to_step))
    }
}

/// The source of a part, opened when it is needed.
pub trait PartSource: Send + Sync + Debug {
    /// Its present state; `None` if it is not there.
    ///
    /// # Errors
    /// It is there and cannot be read, or has values of another type.
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>>;
    /// Its name; `None` where it has none, as it is no variable.
    fn name(&self) -> Option<SourceName>;
}

/// A variable that is open as the source of a part.
pub trait OpenPart: Send + Sync {
    /// The store with its bytes.
    fn store(&self) -> &Arc<dyn ReadStore>;
    /// Its number in that store.
    fn var(&self) -> VarId;
    /// Its layout.
    ///
    /// # Errors
    /// As [`Container::layout`](crate::Container::layout).
    fn layout(&self) -> Result<Arc<VarLayout>>;
    /// Its shape, where that is not the one of its layout.
    fn shape(&self) -> Option<Vec<u64>> {
        None
    }
    /// Dimensions of length 1 that the part names, and that it does not have, in ascending order.
    fn lacks(&self) -> &[usize] {
        &[]
    }
    /// How its elements become elements of the array; `None`: they are such.
    fn convert(&self) -> Option<&dyn Convert> {
        None
    }
    /// Values of a heap type from stored elements.
    ///
    /// # Errors
    /// As [`Container::decode_heap`](crate::Container::decode_heap).
    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>>;
}

/// A conversion of numbers.
pub trait Convert: Send + Sync + Debug {
    /// Converts numbers in native byte order, into memory for as many numbers of the array's type.
    ///
    /// # Errors
    /// A number that the array's type does not have.
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()>;
}
