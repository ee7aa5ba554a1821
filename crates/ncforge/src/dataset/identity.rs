//! Which file a path meant when it was opened.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Enough about a file to notice that another one, or other contents, stand under its name: for handles that
/// travel between processes as a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Absolute path.
    pub path: PathBuf,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Number of the inode.
    pub inode: u64,
}

impl FileId {
    /// The identity of an open file.
    pub(super) fn of(path: &Path, file: &File) -> Result<Self> {
        let fail = |e| Error::io("open", path.display().to_string(), e);
        let absolute = std::path::absolute(path).map_err(fail)?;
        Ok(Self::from_metadata(absolute, &file.metadata().map_err(fail)?))
    }

    fn from_metadata(path: PathBuf, meta: &Metadata) -> Self {
        Self {
            path,
            size: meta.len(),
            modified_ns: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
            inode: meta.ino(),
        }
    }

    /// Whether the path still means the same file with the same contents, as far as size, time and inode tell.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("empty.nc");
    /// # std::fs::write(&path, [b"CDF\x01".as_slice(), &[0; 28]].concat())?;
    /// let data = ncforge::Dataset::open(&path)?;
    /// assert!(data.id().unwrap().is_current());
    /// std::fs::remove_file(&path)?;
    /// assert!(!data.id().unwrap().is_current());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_current(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|m| Self::from_metadata(self.path.clone(), &m) == *self)
    }
}
