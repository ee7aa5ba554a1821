//! netCDF's conventions on HDF5.
//!
//! A netCDF-4 file is an HDF5 file in which dimensions are dimension scales, user-defined types are committed
//! datatypes, and a few hidden attributes say the rest (`_Netcdf4Dimid`, `_Netcdf4Coordinates`, `_nc3_strict`,
//! `_NCProperties`). [`open`] reads any of them, and plain HDF5 files too, as netCDF-C does: dimensions that
//! have no names are made up (`phony_dim_0`), and what netCDF cannot express is left out with a note in
//! [`crate::Schema::skipped`] while the rest stays readable. So is an object whose description is damaged; asking
//! for it by [`crate::Dataset::var`] says what is wrong with it, and where.

pub(crate) mod read;
pub(crate) mod write;

use std::sync::Arc;

use crate::container::Container;
use crate::error::Result;
use crate::hdf5::superblock;
use crate::store::ReadStore;

pub use write::{Alignment, CreateOptions, create, open_mut};

/// Whether a store holds an HDF5 file.
pub fn detect(store: &dyn ReadStore) -> Result<bool> {
    superblock::find(store).map(|at| at.is_some())
}

/// Whether netCDF-4 files use attributes of this name for themselves. No program shows those to its users, so that users
/// cannot have attributes of their own under such names, which classic files can.
///
/// ```
/// use ncforge::raw::netcdf4::is_hidden;
///
/// assert!(is_hidden("_NCProperties") && is_hidden("CLASS"));
/// assert!(!is_hidden("_FillValue") && !is_hidden("units"));
/// ```
pub fn is_hidden(attribute: &str) -> bool {
    read::attrs::is_hidden(attribute.as_bytes())
}

/// Opens a netCDF-4 file (or a plain HDF5 file) for reading.
///
/// ```no_run
/// use std::{path::Path, sync::Arc};
/// use ncforge::store::FileStore;
/// let store = Arc::new(FileStore::open(Path::new("sst.nc"))?);
/// let file = ncforge::raw::netcdf4::open(store)?;
/// println!("{} variables", file.schema().vars.len());
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn open(store: Arc<dyn ReadStore>) -> Result<Box<dyn Container>> {
    open_as(store, true)
}

/// As [`open`]; `follow`: whether virtual datasets and external links of a file may lead to other files.
pub(crate) fn open_as(store: Arc<dyn ReadStore>, follow: bool) -> Result<Box<dyn Container>> {
    read::open_linked(store, follow)
}
