//! An open HDF5 file: object headers, and what their messages say once sharing is resolved.

use std::sync::Arc;

use super::cursor::{Cursor, Sizes};
use super::datatype::Datatype;
use super::fractal_heap::FractalHeap;
use super::global_heap::GlobalHeap;
use super::message::{self, Message, ObjectHeader, kind};
use super::source::Source;
use super::span::Span;
use super::superblock::Superblock;
use crate::error::Result;
use crate::store::ReadStore;

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its bytes.
    pub source: Source,
    /// The fields of the superblock.
    pub superblock: Superblock,
    /// Strings and ragged rows.
    pub heap: Arc<GlobalHeap>,
    /// The indexes of shared messages; empty until the superblock extension is read.
    shared: Arc<[SharedIndex]>,
}

/// One index of the table of shared messages.
#[derive(Clone, Copy, Debug)]
struct SharedIndex {
    /// Bit `k`: messages of kind `k` are in this index.
    kinds: u16,
    heap: Option<u64>,
}

/// The body of a message after sharing is resolved.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// The bytes.
    pub bytes: Span,
    /// Their address, for messages.
    pub address: u64,
    /// The object header that the message really stands in, when it is another one: for datatypes, the
    /// committed type.
    pub owner: Option<u64>,
}

/// The kind of object that a header describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// A group.
    Group,
    /// A dataset.
    Dataset,
    /// A committed datatype.
    Datatype,
    /// None of them.
    Unknown,
}

impl File {
    /// Opens the file in a store.
    pub(crate) fn open(store: Arc<dyn ReadStore>) -> Result<Self> {
        let source = Source::new(store, 0, Sizes::default());
        source.fetch_front()?;
        let superblock = Superblock::read_from(&source)?;
        let source = source.based(superblock.base, superblock.sizes);
        let mut file = File { source, superblock, heap: Arc::default(), shared: Arc::default() };
        if let Some(address) = superblock.extension {
            file.shared = file.extension(address)?.into();
        }
        Ok(file)
    }

    /// The file for parsers that may meet absent bytes (see `Source::deferred`).
    pub(super) fn deferred(&self) -> Self {
        File {
            source: self.source.deferred(),
            superblock: self.superblock,
            heap: self.heap.clone(),
            shared: self.shared.clone(),
        }
    }

    /// The bytes of a store as an HDF5 file that has no superblock yet: for reading the heap of a file that is
    /// being written.
    pub(crate) fn detached(store: Arc<dyn ReadStore>) -> Self {
        let sizes = Sizes::default();
        let end = store.len();
        let superblock = Superblock { version: 2, sizes, base: 0, end, root: 0, extension: None, flags: 0 };
        let source = Source::new(store, 0, sizes);
        File { source, superblock, heap: Arc::default(), shared: Arc::default() }
    }

    /// The object header at an address.
    pub(crate) fn object(&self, address: u64) -> Result<ObjectHeader> {
        ObjectHeader::read(&self.source, address)
    }

    /// The kind of object that a header describes.
    pub(crate) fn kind(header: &ObjectHeader) -> ObjectKind {
        if header.has(kind::DATATYPE) && header.has(kind::DATASPACE) {
            ObjectKind::Dataset
        } else if header.has(kind::SYMBOL_TABLE) || header.has(kind::LINK_INFO) {
            ObjectKind::Group
        } else if header.has(kind::DATATYPE) {
            ObjectKind::Datatype
        } else {
            ObjectKind::Unknown
        }
    }

    /// A message's real body.
    pub(crate) fn body(&self, message: &Message) -> Result<Body> {
        if message.is_shared() {
            let mut c = message::cursor(&self.source, message);
            return self.pointed(&mut c, message.kind);
        }
        Ok(Body { bytes: message.body.clone(), address: message.address, owner: None })
    }

    /// The message of a kind that a shared-message pointer means.
    pub(crate) fn pointed(&self, c: &mut Cursor<'_>, kind: u16) -> Result<Body> {
        let version = c.version("a shared message", 1..=3)?;
        let place = c.u8()?;
        if version == 1 {
            // Six reserved bytes, then a symbol table entry: the link name, which means nothing, and the address.
            c.skip(6 + usize::from(c.sizes().length))?;
        }
        if version == 3 && place == 1 {
            let id = c.bytes(8)?;
            return self.in_shared_heap(id, kind);
        }
        let here = *c;
        let address = c.defined_address("a shared message")?;
        let header = self.object(address)?;
        let Some(message) = header.messages.into_iter().find(|m| m.kind == kind) else {
            return Err(here.fail(format!("no message of kind {kind} in the object that it is shared from")));
        };
        if message.is_shared() {
            return Err(here.fail("a shared message that points to a shared message"));
        }
        Ok(Body { bytes: message.body, address: message.address, owner: Some(address) })
    }

    /// A message of a kind in the heap of shared messages.
    pub(crate) fn in_shared_heap(&self, id: &[u8], kind: u16) -> Result<Body> {
        let heap = self.shared.iter().find(|i| kind < 16 && i.kinds >> kind & 1 == 1).and_then(|i| i.heap);
        let Some(heap) = heap else {
            return Err(self
                .source
                .fail(0, format!("a shared message of kind {kind} without a heap for it")));
        };
        let bytes = FractalHeap::read(&self.source, heap)?.get(&self.source, id)?;
        Ok(Body { bytes, address: heap, owner: None })
    }

    /// A cursor over a body.
    pub(crate) fn cursor<'a>(&'a self, body: &'a Body) -> Cursor<'a> {
        self.source.cursor(&body.bytes, body.address)
    }

    /// The datatype of an object, and the committed type that it is.
    pub(crate) fn datatype(&self, header: &ObjectHeader) -> Result<(Datatype, Option<u64>)> {
        let Some(message) = header.find(kind::DATATYPE) else {
            return Err(self.source.fail(header.address, "an object without a datatype"));
        };
        let body = self.body(message)?;
        let datatype = Datatype::parse(&mut self.cursor(&body))?;
        Ok((datatype, body.owner))
    }

    /// The superblock extension: where shared messages are, and features that change how a file is read.
    fn extension(&self, address: u64) -> Result<Vec<SharedIndex>> {
        let header = self.object(address)?;
        if header.has(kind::CACHE_IMAGE) {
            return Err(self.source.unsupported("a metadata cache image"));
        }
        if header.has(kind::DRIVER_INFO) {
            return Err(self.source.unsupported("a file split by a driver (family or multi)"));
        }
        let Some(message) = header.find(kind::SHARED_TABLE) else { return Ok(Vec::new()) };
        let mut c = message::cursor(&self.source, message);
        c.version("a shared message table", 0..=0)?;
        let table = c.defined_address("the shared message table")?;
        let count = u64::from(c.u8()?);
        let o = u64::from(self.source.sizes().offset);
        let entry = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * o;
        let bytes = self.source.read_checked(table, 4 + count * entry + 4, "the shared message table")?;
        let mut c = self.source.cursor(&bytes, table);
        c.signature(b"SMTB")?;
        let mut indexes = Vec::new();
        for _ in 0..count {
            c.version("a shared message index", 0..=0)?;
            c.skip(1)?;
            let kinds = c.u16()?;
            c.skip(4 + 2 + 2 + 2)?;
            c.address()?;
            indexes.push(SharedIndex { kinds, heap: c.address()? });
        }
        Ok(indexes)
    }
}
