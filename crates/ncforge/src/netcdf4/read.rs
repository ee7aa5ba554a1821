//! Reading netCDF-4: an HDF5 file as a netCDF dataset.

pub(crate) mod attrs;
mod builder;
mod container;
pub(crate) mod dims;
mod heap_refs;
mod hints;
pub(crate) mod narrow;
mod objects;
mod parts;
mod paths;
mod prefetch;
pub(crate) mod scan;
pub(crate) mod types;
pub(crate) mod values;
mod watch;

use std::sync::Arc;

pub(crate) use container::Netcdf4File;

use crate::error::Result;
use crate::hdf5::file::File;
use crate::store::ReadStore;

use container::Facts;
use parts::Virtuals;
use watch::Open;

/// Opens a store. `follow`: whether virtual datasets may lead to other files.
pub(crate) fn open(store: Arc<dyn ReadStore>, follow: bool) -> Result<Netcdf4File> {
    // Another state is opened for its chunks.
    let again: Open = |store| Ok(Arc::new(open(store, false)?));
    let file = Arc::new(File::open(store)?);
    let mut found = scan::scan(&file)?;
    let virtuals = Virtuals::find(&file, &mut found, follow, again);
    let built = builder::build(&file, found)?;
    file.source.forget();
    Ok(Netcdf4File::new(Facts { file, built, elsewhere: Arc::new(virtuals) }, again))
}
