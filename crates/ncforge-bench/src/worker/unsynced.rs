//! A file that is not forced to the disk.

use std::path::Path;

use ncforge::store::{FileStore, Store};

use crate::error::Result;

/// A file store that leaves it to the system when bytes reach the disk, as netcdf-c, HDF5 and a plain `write` do.
/// ncforge's own way is to sync before a file gets its name; for comparisons of the work itself both sides must
/// do the same.
#[derive(Debug)]
pub(super) struct Unsynced(FileStore);

impl Unsynced {
    /// A new, empty file; one that has this name is emptied.
    pub(super) fn create(path: &Path) -> Result<Self> {
        if path.exists() {
            std::fs::remove_file(path).map_err(|e| crate::error::Error::io("remove", path, e))?;
        }
        Ok(Self(FileStore::create(path)?))
    }
}

impl Store for Unsynced {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> ncforge::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.0.as_slice()
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> ncforge::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn set_len(&self, len: u64) -> ncforge::Result<()> {
        self.0.set_len(len)
    }

    fn reserve(&self, len: u64) -> ncforge::Result<()> {
        self.0.reserve(len)
    }

    fn sync(&self) -> ncforge::Result<()> {
        Ok(())
    }

    fn replace(&self, build: &mut dyn FnMut(&dyn Store) -> ncforge::Result<()>) -> ncforge::Result<()> {
        self.0.replace(build)
    }
}
