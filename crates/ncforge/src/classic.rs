//! Classic netCDF: CDF-1, CDF-2 ("64-bit offset") and CDF-5 ("64-bit data"), over any store.
//!
//! A classic file is a header that describes everything, then the fixed variables one after the other, then
//! the records. All numbers are big-endian. Sources: the NetCDF Classic format specification (CDF-1, CDF-2)
//! and PnetCDF's description of CDF-5.
//!
//! **Reading** ([`open`]): the header is checked length by length against the file before anything is
//! allocated; what is wrong is an error with its byte offset. What real files get wrong without harm is
//! accepted: padding that is not zero, names that no writer would take today, gaps between header and data,
//! files shorter than their header says (missing values read as zero, unless the header promises a thousand
//! times what the file has), record counts left open by a stream.
//!
//! ```
//! use std::sync::Arc;
//! use ncforge::store::MemoryStore;
//!
//! // The shortest classic file: magic, no records, three absent lists.
//! let mut bytes = b"CDF\x01".to_vec();
//! bytes.resize(32, 0);
//! let file = ncforge::classic::open(Arc::new(MemoryStore::new("empty.nc", bytes)))?;
//! assert!(file.schema().vars.is_empty());
//! # Ok::<(), ncforge::Error>(())
//! ```
//!
//! **Writing** ([`create`], [`open_mut`]): data go through the store to the places that the layout tells; the
//! container keeps account of them and fills only what nobody wrote, when it is synced. A sync makes data
//! durable before the header (and its record count) speaks of them. Redefinition happens in the room after the
//! header where it suffices; otherwise the data move into a new file that takes the old one's place in one
//! step. After a crash a file is in the state of its last sync, apart from values that were overwritten since,
//! with one exception: a header change of more than a page (4 KiB) in a file of more than 64 MiB is written in
//! place, and a power cut in the midst of that one request can tear the header.
//!
//! ```
//! use std::sync::Arc;
//! use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
//! use ncforge::store::MemoryStore;
//! use ncforge::{Container, ContainerMut};
//!
//! let mut schema = Schema::new(Format::Cdf2);
//! let time = Dimension { name: "time".into(), group: Schema::ROOT, len: 0, unlimited: true };
//! schema.dims.push(time);
//! schema.vars.push(Variable::new("t", Atomic::Short, vec![DimId(0)]));
//! let store = Arc::new(MemoryStore::new("t.nc", Vec::new()));
//! let mut file = ncforge::classic::create(store.clone(), schema, &Default::default())?;
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

/// How a file is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOptions {
    /// Bytes left free between the header and the data, so that attributes, dimensions and variables can be
    /// added later without moving data. `None` reserves an eighth of the data's size, at most 8 KiB, and at
    /// least 1 KiB if there are record variables: small files stay small.
    pub header_room: Option<u64>,
    /// Whether values that nobody writes are filled. Variables may ask not to be ([`crate::model::Fill`]).
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
/// assert!(ncforge::classic::detect(b"CDF\x05\0\0\0\0"));
/// assert!(!ncforge::classic::detect(b"\x89HDF\r\n\x1a\n"));
/// ```
pub fn detect(first: &[u8; 8]) -> bool {
    first.starts_with(b"CDF") && version::Version::from_byte(first[3]).is_some()
}

/// Opens a classic file for reading. Reads its header, nothing else.
pub fn open(store: Arc<dyn ReadStore>) -> Result<Box<dyn Container>> {
    Ok(Box::new(reader::ClassicFile::open(store)?))
}

/// What stands where in a classic file, for stores that lay out what they hold by it ([`crate::store::BlockStore::describe`]). Reads its header.
pub fn parts(store: &Arc<dyn ReadStore>) -> Result<Vec<Part>> {
    let file = reader::ClassicFile::open(store.clone())?;
    Ok(file.layout.parts(&file.schema))
}

/// Opens a classic file for update: overwriting, appending records, redefinition.
pub fn open_mut(store: Arc<dyn WriteStore>) -> Result<Box<dyn ContainerMut>> {
    Ok(Box::new(writer::ClassicWriter::open(store)?))
}

/// Creates a classic file in a store, dropping what the store held.
///
/// A schema whose format is classic gets that version, or an error that says why it does not fit; any other
/// format means the first version that does ([`version_needed`]). Chunking and filters, which classic files
/// do not have, are left out. An unlimited dimension's length is the number of records to begin with.
pub fn create(
    store: Arc<dyn WriteStore>,
    schema: Schema,
    options: &CreateOptions,
) -> Result<Box<dyn ContainerMut>> {
    Ok(Box::new(writer::ClassicWriter::create(store, schema, options)?))
}

/// An error if no file of a classic `format` can hold what was just defined, whatever else is defined later. (Where a
/// variable is not the last one that has too many bytes, the one that made it so.) Its name is legal, and no other object of
/// its kind has it.
pub(crate) fn check_new(schema: &Schema, format: Format, new: Definition) -> Result<()> {
    limits::check_new(schema, version::Version::of(format).unwrap_or(version::Version::V5), new)
}

/// The first of CDF-1, CDF-2 and CDF-5 that can hold a schema, whatever its format says.
///
/// ```
/// use ncforge::model::{Atomic, Format, Schema, Variable};
/// let mut schema = Schema::new(Format::Netcdf4);
/// schema.vars.push(Variable::new("a", Atomic::Int, vec![]));
/// assert_eq!(ncforge::classic::version_needed(&schema)?, Format::Cdf1);
/// schema.vars.push(Variable::new("b", Atomic::Int64, vec![]));
/// assert_eq!(ncforge::classic::version_needed(&schema)?, Format::Cdf5);
/// schema.vars.push(Variable::new("c", ncforge::DType::String, vec![]));
/// assert!(ncforge::classic::version_needed(&schema).is_err());
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn version_needed(schema: &Schema) -> Result<Format> {
    let (version, _) = limits::choose(schema, Format::Netcdf4, None)?;
    Ok(version.format())
}
