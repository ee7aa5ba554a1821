//! The input of the emitter: a plain description of every object of a file.

use std::sync::Arc;

use super::chunks::ChunkSource;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::datatype::Datatype;
use crate::hdf5::fill::FillValue;
use crate::model::Filter;

/// Position of an object in [`Image::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub usize);

/// All objects of a file; the first is the root group. Their metadata is emitted in this order.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// The objects.
    pub objects: Vec<Object>,
}

/// A group, a committed datatype or a dataset, and its attributes.
#[derive(Debug)]
pub(crate) struct Object {
    /// The kind of object.
    pub kind: Kind,
    /// Its attributes, in creation order.
    pub attrs: Vec<Attribute>,
}

/// The three kinds of objects.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A group: links in creation order.
    Group(Vec<Link>),
    /// A committed datatype.
    Type(Datatype),
    /// A dataset.
    Dataset(Box<Dataset>),
}

/// A name in a group, and the object that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The name's bytes.
    pub name: Vec<u8>,
    /// The object.
    pub target: ObjectId,
}

#[derive(Debug)]
pub(crate) struct Dataset {
    /// Type of its elements.
    pub datatype: Datatype,
    /// Its extents.
    pub space: Dataspace,
    /// The value of unwritten elements.
    pub fill: FillValue,
    /// The filters, in writing order.
    pub filters: Vec<Filter>,
    /// The place of its bytes.
    pub layout: Layout,
}

/// The place of a dataset's bytes.
#[derive(Debug)]
pub(crate) enum Layout {
    /// The object header.
    Compact(Vec<u8>),
    /// One run.
    Contiguous {
        /// Byte offset in the file; `None` if nothing was written yet.
        address: Option<u64>,
        /// Bytes.
        size: u64,
    },
    /// Chunks.
    Chunked {
        /// Chunk lengths, slowest first.
        chunk: Vec<u64>,
        /// Bytes of one element.
        element_size: u32,
        chunks: Arc<dyn ChunkSource>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// The name's bytes.
    pub name: Vec<u8>,
    /// Type of its elements.
    pub datatype: Datatype,
    /// Its extents.
    pub space: Dataspace,
    /// Its elements.
    pub data: Blob,
}

/// Bytes in which addresses are still to be filled in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blob {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// At these positions stand the 8-byte addresses of these objects.
    pub references: Vec<(usize, ObjectId)>,
    /// At these positions stand 12-byte ids (collection address, index) of these objects of the global heap.
    /// (In a ragged row's or string's 16 bytes they follow the 4-byte count.)
    pub heap: Vec<(usize, Blob)>,
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Blob { bytes, ..Blob::default() }
    }
}
