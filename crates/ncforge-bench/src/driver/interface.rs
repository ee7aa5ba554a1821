//! The interface of a library under the benchmark.

use std::path::Path;

use ncforge::Hyperslab;
use ncforge::model::shape;

use super::blocks::{Access, BlockFile, FileSpec};
use crate::error::Result;

/// A file that was created or opened for blocks.
pub type Opened<'a> = Result<Box<dyn BlockFile + 'a>>;

/// A library that can open netCDF files.
pub trait Driver {
    /// Its name in results: "ncforge".
    fn name(&self) -> &str;
    /// Its version.
    fn version(&self) -> String;
    /// Opens a file for reading. Nothing of an earlier session may be reused: each starts with empty caches.
    fn open(&self, path: &Path) -> Result<Box<dyn Session>> {
        self.open_cached(path, None)
    }
    /// Opens a file for reading, with `cache` bytes for decoded chunks (of each variable, where the library counts
    /// so). `None`: what the library does by itself.
    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>>;

    /// Says why this library cannot create or read such a file in this way, before any file is touched.
    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String>;
    /// Creates a file, ready for data: dimensions, variables, storage are defined. Every rank of
    /// [`Access::Shared`] calls it. An existing file is replaced.
    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a>;
    /// Opens such a file to read blocks of its variables. Every rank of [`Access::Shared`] calls it.
    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a>;
    /// The libraries below, with versions: "HDF5 1.14.6".
    fn stands_on(&self) -> Vec<String> {
        Vec::new()
    }
    /// The ending of its files' names, where they are no netCDF files.
    fn extension(&self) -> Option<&str> {
        None
    }
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

/// The facts about a variable that a workload needs.
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
        shape::bytes(&self.shape, self.size as u64)
    }
}
