//! Libraries under the benchmark, behind one trait.

mod libnetcdf;
mod ncforge;

use std::path::Path;

use ::ncforge::Hyperslab;

use crate::error::Result;

pub use libnetcdf::LibnetcdfDriver;
pub use ncforge::NcforgeDriver;

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
