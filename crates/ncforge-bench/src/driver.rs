//! Libraries under the benchmark, behind one trait.

mod blocks;
mod coding;
mod hdf5;
mod libnetcdf;
mod mpi_io;
mod ncforge;
mod plain;
mod raw;
mod steps;
mod zarr;

use std::path::Path;

use ::ncforge::Hyperslab;

use crate::error::{Error, Result};

pub use blocks::{Access, BlockFile, ChunkAsk, DimSpec, FileSpec, MARK, VarSpec};
pub use coding::{Codec, Coding, Rounding, Shuffle};
pub use hdf5::Hdf5Driver;
pub use libnetcdf::LibnetcdfDriver;
pub use mpi_io::MpiIoDriver;
pub use ncforge::NcforgeDriver;
pub(crate) use plain::is_marked;
pub use raw::RawDriver;
pub(crate) use zarr::{files, is_marked_store, is_store, stored as stored_in_zarr};

/// A library that can open netCDF files.
pub trait Driver {
    /// Its name in results: "ncforge".
    fn name(&self) -> &str;
    /// Its version, as it tells it.
    fn version(&self) -> String;
    /// Opens a file for reading. Nothing of an earlier session may be reused: each starts with empty caches.
    fn open(&self, path: &Path) -> Result<Box<dyn Session>> {
        self.open_cached(path, None)
    }
    /// Opens a file for reading, with so many bytes for decoded chunks (of each variable, where the library counts
    /// so). `None`: what the library does by itself.
    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>>;

    /// Says why this library cannot create or read such a file in this way, before any file is touched.
    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        let _ = (spec, access);
        Some(format!("{} cannot create files here", self.name()))
    }
    /// Creates a file, ready for data: dimensions, variables, storage are defined. Every rank of
    /// [`Access::Shared`] calls it. An existing file is replaced.
    fn create<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let _ = (path, access);
        Err(Error::Invalid(self.refuses(spec, access).unwrap_or_default()))
    }
    /// Opens such a file to read blocks of its variables. Every rank of [`Access::Shared`] calls it.
    fn open_blocks<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let _ = access;
        blocks::reading_session(self.open(path)?, spec)
    }
    /// What lies below it, with versions: "HDF5 1.14.6".
    fn stands_on(&self) -> Vec<String> {
        Vec::new()
    }
    /// The ending of its files' names, where they are no netCDF files.
    fn extension(&self) -> Option<&str> {
        None
    }
}

/// A library at a path, or by a name that the system's loader finds: an HDF5 library where the file's name says so, else one of netCDF-C.
/// `find` is the system's netCDF-C, `h5` (or `hdf5`) its HDF5.
///
/// # Errors
/// [`Error::Missing`] when the system has none, [`Error::Invalid`] when it cannot be loaded.
pub fn library(path: &Path) -> Result<Box<dyn Driver>> {
    let missing = |what: &str, package: &str| {
        Error::Missing(format!(
            "the system has no {what} library that can be loaded; install it (Debian: {package}), or give the path of one"
        ))
    };
    if path == Path::new("find") {
        return Ok(Box::new(LibnetcdfDriver::find().ok_or_else(|| missing("netCDF-C", "libnetcdf19"))?));
    }
    if path == Path::new("h5") || path == Path::new("hdf5") {
        return Ok(Box::new(Hdf5Driver::find().ok_or_else(|| missing("HDF5", "libhdf5-103-1"))?));
    }
    Ok(if is_hdf5(path) { Box::new(Hdf5Driver::load(path)?) } else { Box::new(LibnetcdfDriver::load(path)?) })
}

/// Names under which netCDF-C is built for several processes (Debian's among them).
pub(crate) const PARALLEL: [&str; 4] =
    ["libnetcdf_pnetcdf.so.19", "libnetcdf_mpi.so.19", "libnetcdf_pnetcdf.so", "libnetcdf_mpi.so"];

pub(crate) use hdf5::PARALLEL as PARALLEL_HDF5;

/// Whether a library's file name is one of HDF5's.
pub(crate) fn is_hdf5(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libhdf5"))
}

/// One open file.
pub trait Session {
    /// The file's format, as `ncdump -k` names it.
    fn format(&self) -> String;
    /// Its numeric variables, in the order of the file.
    fn variables(&self) -> Vec<VarInfo>;
    /// Reads a selection of a variable (named by its path) into `out`, in native byte order, row-major.
    /// `out` has exactly as many bytes as the selection has values.
    fn read(&mut self, var: &str, slab: &Hyperslab, out: &mut [u8]) -> Result<()>;
}

/// What a workload needs to know about a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarInfo {
    /// Path of the variable.
    pub name: String,
    /// Current shape, slowest dimension first.
    pub shape: Vec<u64>,
    /// Bytes of one value.
    pub size: usize,
    /// Chunk lengths, if it is chunked.
    pub chunks: Option<Vec<u64>>,
    /// Names of the filters, in order.
    pub filters: Vec<String>,
}

impl VarInfo {
    /// Bytes of all values (saturating).
    pub fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.size as u64, |a, &n| a.saturating_mul(n))
    }
}
