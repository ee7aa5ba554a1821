//! Reading netCDF-4: an HDF5 file as a netCDF dataset.

mod again;
pub(crate) mod attrs;
mod builder;
mod container;
pub(crate) mod dims;
mod heap_refs;
mod hints;
mod links;
mod lookup;
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

use crate::container::Container;
use crate::error::Result;
use crate::hdf5::file::File;
use crate::store::ReadStore;

use container::Facts;
use parts::Virtuals;
use scan::FoundExternal;
use watch::Open;

/// Opens a store, with what its external links lead to. `follow`: whether these, and virtual datasets, may lead to other files.
pub(crate) fn open_linked(store: Arc<dyn ReadStore>, follow: bool) -> Result<Box<dyn Container>> {
    links::open(store, follow)
}

/// Opens a store. `follow`: whether virtual datasets may lead to other files.
pub(crate) fn open(store: Arc<dyn ReadStore>, follow: bool) -> Result<Netcdf4File> {
    Ok(open_own(store, follow)?.container)
}

/// A file with its own objects, and its links to others.
struct Opened {
    container: Netcdf4File,
    externals: Vec<FoundExternal>,
}

fn open_own(store: Arc<dyn ReadStore>, follow: bool) -> Result<Opened> {
    // Another state is opened for its chunks.
    let again: Open = |store| Ok(Arc::new(open(store, false)?));
    let file = Arc::new(File::open(store)?);
    let mut found = scan::scan(&file)?;
    let virtuals = Virtuals::find(&file, &mut found, follow, again);
    let externals = std::mem::take(&mut found.externals);
    let built = builder::build(&file, found)?;
    file.source.forget();
    let container = Netcdf4File::new(Facts { file, built, elsewhere: Arc::new(virtuals) }, again);
    Ok(Opened { container, externals })
}
