//! Classic netCDF: CDF-1, CDF-2 ("64-bit offset") and CDF-5 ("64-bit data"), over any store.
//!
//! A classic file is a header that describes everything, then the fixed variables one after the other, then
//! the records. All numbers are big-endian. Sources: the NetCDF Classic format specification (CDF-1, CDF-2)
//! and PnetCDF's description of CDF-5.
//!
//! **Reading** ([`open`]): every length in the header is checked against the file before anything is
//! allocated; an error has its byte offset. Harmless errors of real files are
//! accepted: padding that is not zero, names that no writer accepts today, gaps between header and data,
//! files shorter than their header says (missing values read as zero, unless the header declares more than a thousand
//! times the bytes of the file), record counts that a stream left undefined.
//!
//! ```
//! use std::sync::Arc;
//! use ncforge::store::MemoryStore;
//!
//! // The shortest classic file: magic, no records, three absent lists.
//! let mut bytes = b"CDF\x01".to_vec();
//! bytes.resize(32, 0);
//! let file = ncforge::raw::classic::open(Arc::new(MemoryStore::new("empty.nc", bytes)))?;
//! assert!(file.schema().vars.is_empty());
//! # Ok::<(), ncforge::Error>(())
//! ```
//!
//! **Writing** ([`create`], [`open_mut`]): data are written through the store to the offsets of the layout; the
//! container records the written parts and fills only the rest, when it is synced. A sync makes data
//! durable before the header (and its record count) refers to them. Redefinition uses the header padding
//! if it suffices; otherwise the data move into a new file that replaces the old one in one
//! step. After a crash a file is in the state of its last sync, apart from values that were overwritten since,
//! with one exception: a header change of more than a page (4 KiB) in a file of more than 64 MiB is written in
//! place, and a power cut during that one request can tear the header.
//!
//! ```
//! use std::sync::Arc;
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
//! use ncforge::store::MemoryStore;
//! use ncforge::raw::{Container, ContainerMut};
//!
//! let mut schema = Schema::new(Format::Cdf2);
//! let time = Dimension::new("time", 0, true);
//! schema.dims.push(time);
//! schema.vars.push(Variable::new("t", Atomic::Short, vec![DimId(0)]));
//! let store = Arc::new(MemoryStore::new("t.nc", Vec::new()));
//! let mut file = ncforge::raw::classic::create(store.clone(), schema, &Default::default())?;
//! file.grow(DimId(0), 3)?;
//! file.sync()?;
//! // Three records, unwritten, hence filled with the type's default; alone, shorts are not padded.
//! assert_eq!(store.to_vec()[4..8], [0, 0, 0, 3]);
//! assert!(store.to_vec().ends_with(&[0x80, 1, 0x80, 1, 0x80, 1]));
//! # Ok::<(), ncforge::Error>(())
//! ```

mod committed;
mod common;
mod cursor;
mod emit;
mod fill;
mod header;
mod layout;
mod limits;
mod order;
mod reader;
mod rebuild;
mod redefine;
mod rewrite;
mod version;
mod writer;
mod written;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::container::{Container, ContainerMut};
use crate::error::Result;
use crate::model::{Definition, Format, Schema};
use crate::store::{Part, ReadStore, WriteStore};

pub use common::{CommonHeader, ValuePlace};

/// Options of a new classic file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// Header padding: bytes left free between the header and the data, so that attributes, dimensions and variables can be
    /// added later without moving data. `None` reserves an eighth of the data's size, at most 8 KiB, and at
    /// least 1 KiB if there are record variables: small files stay small.
    pub header_room: Option<u64>,
    /// Whether values that are never written are filled. Variables may switch this off ([`crate::model::Fill`]).
    pub fill: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        CreateOptions { header_room: None, fill: true }
    }
}

/// Whether a file that starts with these bytes is a classic one.
///
/// ```
/// assert!(ncforge::raw::classic::detect(b"CDF\x05\0\0\0\0"));
/// assert!(!ncforge::raw::classic::detect(b"\x89HDF\r\n\x1a\n"));
/// ```
pub fn detect(first: &[u8; 8]) -> bool {
    first.starts_with(b"CDF") && version::Version::from_byte(first[3]).is_some()
}

/// Opens a classic file for reading. Reads its header, nothing else.
pub fn open(store: Arc<dyn ReadStore>) -> Result<Box<dyn Container>> {
    Ok(Box::new(reader::ClassicFile::open(store)?))
}

/// The parts of a classic file, for a store that uses them ([`crate::store::BlockStore::describe`]). Reads its header.
pub fn parts(store: &Arc<dyn ReadStore>) -> Result<Vec<Part>> {
    let file = reader::ClassicFile::open(store.clone())?;
    Ok(file.layout.parts(&file.schema))
}

/// Opens a classic file for update: overwriting, appending records, redefinition.
pub fn open_mut(store: Arc<dyn WriteStore>) -> Result<Box<dyn ContainerMut>> {
    Ok(Box::new(writer::ClassicWriter::open(store)?))
}

/// Creates a classic file in a store, discarding the store's contents.
///
/// A schema whose format is classic gets that version, or an error that says why it does not fit; for any other
/// format, the lowest version that fits is used ([`version_needed`]). Chunking and filters, which classic files
/// do not have, are left out. An unlimited dimension's length is the number of records to begin with.
pub fn create(
    store: Arc<dyn WriteStore>,
    schema: Schema,
    options: &CreateOptions,
) -> Result<Box<dyn ContainerMut>> {
    Ok(Box::new(writer::ClassicWriter::create(store, schema, options)?))
}

/// An error if no file of a classic `format` can hold a new definition, whatever is defined later. (If too large a variable
/// is no longer the last one, the error is for the variable defined after it.) The name must be legal, and unique among
/// objects of its kind.
pub(crate) fn check_new(schema: &Schema, format: Format, new: Definition) -> Result<()> {
    limits::check_new(schema, version::Version::of(format).unwrap_or(version::Version::V5), new)
}

/// The first of CDF-1, CDF-2 and CDF-5 that can hold a schema, whatever its format says.
///
/// ```
/// use ncforge::model::{Atomic, Format, Schema, Variable};
/// let mut schema = Schema::new(Format::Netcdf4);
/// schema.vars.push(Variable::new("a", Atomic::Int, vec![]));
/// assert_eq!(ncforge::raw::classic::version_needed(&schema)?, Format::Cdf1);
/// schema.vars.push(Variable::new("b", Atomic::Int64, vec![]));
/// assert_eq!(ncforge::raw::classic::version_needed(&schema)?, Format::Cdf5);
/// schema.vars.push(Variable::new("c", ncforge::DType::String, vec![]));
/// assert!(ncforge::raw::classic::version_needed(&schema).is_err());
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn version_needed(schema: &Schema) -> Result<Format> {
    let (version, _) = limits::choose(schema, Format::Netcdf4, None)?;
    Ok(version.format())
}
