//! Where one variable's bytes lie, in terms that the engine understands and no format owns.
//!
//! A format turns its metadata into a [`VarLayout`]; the engine turns a layout and a hyperslab into *pieces*
//! (a region of the array, a byte range of the store, and the codec chain between them).

use std::fmt::Debug;
use std::sync::Arc;

use crate::codec::CodecChain;
use crate::error::Result;
use crate::model::{Atomic, DType, Endian, Schema, UserKind};

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
}

/// How a stored element relates to the element in memory (native byte order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes of one stored element. In memory it has the same size, except for heap types.
    pub size: usize,
    /// What to do with its bytes.
    pub order: Order,
    /// Whether the stored bytes are references or strings to be resolved by the container
    /// ([`crate::Container::decode_heap`]); the engine then moves the stored form untouched.
    pub heap: bool,
}

/// What happens to the bytes of an element between store and memory. Its own inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The same bytes.
    Keep,
    /// Every run of `size` bytes (2, 4 or 8) is reversed.
    Swap(usize),
    /// Inside a compound: at each offset, `count` numbers of `unit` bytes are reversed.
    Fields(Vec<SwapField>),
}

/// One run of numbers inside a compound whose bytes are reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapField {
    /// Byte offset in the element.
    pub offset: usize,
    /// Bytes of one number: 2, 4 or 8.
    pub unit: usize,
    /// How many numbers stand there.
    pub count: usize,
}

impl Element {
    /// The element of a fixed-size type that is stored with the same size and offsets as in memory, in byte
    /// order `endian`; `None` for heap types.
    pub fn of(schema: &Schema, dtype: DType, endian: Endian) -> Option<Element> {
        let size = schema.fixed_size(dtype)?;
        let mut fields = Vec::new();
        if is_swapped(endian) {
            collect_swaps(schema, dtype, 0, 1, &mut fields);
        }
        let order = match fields.as_slice() {
            [] => Order::Keep,
            [one] if one.offset == 0 && one.count == 1 && one.unit == size => Order::Swap(size),
            _ => Order::Fields(fields),
        };
        Some(Element { size, order, heap: false })
    }

    /// The same element as it is in memory.
    pub(crate) fn in_memory(&self) -> Element {
        Element { order: Order::Keep, ..self.clone() }
    }

    /// The element of an atomic type.
    pub fn atomic(a: Atomic, endian: Endian) -> Element {
        let order = if a.size() > 1 && is_swapped(endian) { Order::Swap(a.size()) } else { Order::Keep };
        Element { size: a.size(), order, heap: false }
    }
}

/// Whether numbers stored in this byte order are reversed on this machine.
pub fn is_swapped(endian: Endian) -> bool {
    match endian {
        Endian::Native => false,
        Endian::Little => cfg!(target_endian = "big"),
        Endian::Big => cfg!(target_endian = "little"),
    }
}

fn collect_swaps(schema: &Schema, dtype: DType, offset: usize, count: usize, out: &mut Vec<SwapField>) {
    let number = |a: Atomic| (a.size() > 1).then_some(SwapField { offset, unit: a.size(), count });
    match dtype {
        DType::Atomic(a) => out.extend(number(a)),
        DType::String => {}
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { base, .. } => out.extend(number(*base)),
            UserKind::Opaque { .. } | UserKind::Vlen { .. } => {}
            UserKind::Compound { size, fields } => {
                for i in 0..count {
                    for f in fields {
                        collect_swaps(schema, f.dtype, offset + i * size + f.offset, f.count(), out);
                    }
                }
            }
        },
    }
}
