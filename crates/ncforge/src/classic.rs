//! Classic netCDF: CDF-1, CDF-2 ("64-bit offset") and CDF-5 ("64-bit data"), over any store.
//!
//! A classic file is a header that describes everything, then the fixed variables one after the other, then
//! the records. All numbers are big-endian. Sources: the NetCDF Classic format specification (CDF-1, CDF-2)
//! and PnetCDF's description of CDF-5.
//!
//! **Reading** ([`open`]): the header is checked length by length against the file before anything is
//! allocated; what is wrong is an error with its byte offset. What real files get wrong without harm is
//! accepted: padding that is not zero, names that no writer would take today, gaps between header and data,
//! files shorter than their header says (missing values read as zero), record counts left open by a stream.
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

mod cursor;
mod header;
mod layout;
mod order;
mod reader;
mod version;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::container::Container;
use crate::error::Result;
use crate::store::Store;

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
pub fn open(store: Arc<dyn Store>) -> Result<Box<dyn Container>> {
    Ok(Box::new(reader::ClassicFile::open(store)?))
}
