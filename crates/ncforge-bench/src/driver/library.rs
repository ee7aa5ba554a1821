//! Libraries by their paths and names.

use std::path::Path;

use super::{Driver, Hdf5Driver, LibnetcdfDriver};
use crate::error::{Error, Result};

/// Names of the system's netCDF-C; the first is that of its results, the others were its names before.
const SYSTEMS_NETCDF: [&str; 3] = ["netcdf-c", "libnetcdf", "find"];
/// The names of the system's HDF5.
const SYSTEMS_HDF5: [&str; 2] = ["hdf5", "h5"];

/// The system's library that this name means, by the name that it has in results: `netcdf-c` or `hdf5`.
pub(crate) fn system(name: &str) -> Option<&'static str> {
    [&SYSTEMS_NETCDF[..], &SYSTEMS_HDF5[..]]
        .into_iter()
        .find(|names| names.contains(&name))
        .map(|names| names[0])
}

/// A library at a path, or by a name that the system's loader finds: an HDF5 library where the file's name says so, else one of netCDF-C.
/// `netcdf-c` (or `find`) is the system's netCDF-C, `hdf5` (or `h5`) its HDF5.
///
/// # Errors
/// [`Error::Missing`] when the system has none, [`Error::Invalid`] when it cannot be loaded.
pub fn library(path: &Path) -> Result<Box<dyn Driver>> {
    if SYSTEMS_HDF5.iter().any(|name| path == Path::new(name)) {
        return Ok(Box::new(Hdf5Driver::find().ok_or_else(|| missing("HDF5", "libhdf5-103-1"))?));
    }
    Ok(if is_hdf5(path) { Box::new(Hdf5Driver::load(path)?) } else { Box::new(netcdf_c(path)?) })
}

/// A netCDF-C at a path, or the system's by the names that [`library`] takes.
///
/// # Errors
/// As [`library`].
pub fn netcdf_c(path: &Path) -> Result<LibnetcdfDriver> {
    if SYSTEMS_NETCDF.iter().any(|name| path == Path::new(name)) {
        return LibnetcdfDriver::find().ok_or_else(|| missing("netCDF-C", "libnetcdf19"));
    }
    LibnetcdfDriver::load(path)
}

fn missing(what: &str, package: &str) -> Error {
    Error::Missing(format!(
        "the system has no {what} library that can be loaded; install it (Debian: {package}), or give the path of one"
    ))
}

/// Whether a library is one of HDF5, by its file's name or as the system's.
pub(crate) fn is_hdf5(path: &Path) -> bool {
    let is_system = SYSTEMS_HDF5.iter().any(|name| path == Path::new(name));
    is_system || path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libhdf5"))
}
