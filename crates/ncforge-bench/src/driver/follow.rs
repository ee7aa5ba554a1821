//! Files to which one process appends records while others read them.
//!
//! What is legal differs: classic files have the number of their records in a header that a reader may look at again (netCDF-C: `NC_SHARE` and
//! `nc_sync`); packed files are always in a state that was committed; HDF5 files that are being written are not for other readers. A commit is on
//! disk when it returns, by every driver, so that all do the same work.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ncforge::Format;

use super::{ChunkAsk, Coding, DimSpec, FileSpec, VarSpec};
use crate::error::{Error, Result};

/// A file of records of one variable.
#[derive(Clone, Debug)]
pub struct RecordFile {
    /// Its format.
    pub format: Format,
    /// Whether it is the compressed blocks of such a file.
    pub packed: bool,
    /// Type of the values.
    pub dtype: ncforge::Atomic,
    /// Shape of a record.
    pub shape: Vec<u64>,
}

impl RecordFile {
    /// Bytes of a record.
    pub fn record(&self) -> usize {
        self.shape.iter().product::<u64>() as usize * self.dtype.size()
    }

    /// The file without records, as drivers create it: values along an unlimited dimension.
    pub(super) fn spec(&self) -> FileSpec {
        let dim = |name: String, len, unlimited| DimSpec { name, len, unlimited };
        let mut dims = vec![dim("time".to_owned(), 0, true)];
        dims.extend((1..).zip(&self.shape).map(|(i, &n)| dim(format!("dim_{i}"), n, false)));
        let var = VarSpec {
            name: "data".to_owned(),
            dtype: self.dtype,
            dims: (0..dims.len()).collect(),
            chunks: ChunkAsk::Unasked(Vec::new()),
            coding: Coding::default(),
            endian: ncforge::model::Endian::Native,
        };
        FileSpec { zarr: false, format: self.format, dims, vars: vec![var], fill: false, cache: None }
    }

    /// Several records as a selection.
    pub(super) fn slab(&self, first: u64, count: u64) -> ncforge::Hyperslab {
        let with = |first: u64, rest: &dyn Fn(u64) -> u64| -> Vec<u64> {
            std::iter::once(first).chain(self.shape.iter().map(|&n| rest(n))).collect()
        };
        ncforge::Hyperslab::new(&with(first, &|_| 0), &with(count, &|n| n))
    }

    /// Why nobody may read such a file while it is written.
    pub(super) fn illegal(&self) -> Option<String> {
        (!self.format.is_classic()).then(|| {
            "an HDF5 file that is being written is not for other readers; take classic, cdf2, cdf5 or packed".into()
        })
    }
}

/// Who appends.
pub trait Producer {
    /// Writes a record behind the last one.
    ///
    /// # Errors
    /// What the library says.
    fn append(&mut self, record: u64, bytes: &[u8]) -> Result<()>;
    /// Makes what was appended visible to those who look, and durable.
    ///
    /// # Errors
    /// What the library says.
    fn commit(&mut self) -> Result<()>;
    /// Closes the file.
    ///
    /// # Errors
    /// What the library says.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Who reads what others append.
pub trait Consumer {
    /// Looks again, and tells how many records there are.
    ///
    /// # Errors
    /// What the library says.
    fn records(&mut self) -> Result<u64>;
    /// Reads records that are there.
    ///
    /// # Errors
    /// What the library says.
    fn read(&mut self, first: u64, count: u64, out: &mut [u8]) -> Result<()>;
}

/// Records one after the other, by plain system calls.
pub(super) struct RawRecords {
    file: File,
    path: PathBuf,
    record: usize,
}

impl RawRecords {
    pub(super) fn open(path: &Path, of: &RecordFile, write: bool) -> Result<Self> {
        let mut options = File::options();
        options.read(true).write(write).create(write).truncate(write);
        let file = options.open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(RawRecords { file, path: path.to_owned(), record: of.record() })
    }
}

impl Producer for RawRecords {
    fn append(&mut self, record: u64, bytes: &[u8]) -> Result<()> {
        let at = record * self.record as u64;
        self.file.write_all_at(bytes, at).map_err(|e| Error::io("write", &self.path, e))
    }

    fn commit(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io("sync", &self.path, e))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Consumer for RawRecords {
    fn records(&mut self) -> Result<u64> {
        let bytes = self.file.metadata().map_err(|e| Error::io("measure", &self.path, e))?.len();
        Ok(bytes / self.record as u64)
    }

    fn read(&mut self, first: u64, _count: u64, out: &mut [u8]) -> Result<()> {
        let at = first * self.record as u64;
        self.file.read_exact_at(out, at).map_err(|e| Error::io("read", &self.path, e))
    }
}
