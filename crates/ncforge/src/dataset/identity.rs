//! Which file a path meant when it was opened.

use crate::store::remote::shown_path;
use std::fs::File;
#[cfg(feature = "remote")]
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

#[cfg(feature = "remote")]
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Op, Result};
#[cfg(feature = "remote")]
use crate::store::remote::RemoteStore;
use crate::store::{Identity, ReadStore, remote};

/// Enough about a file, or an object of a URL, to notice that another one, or other contents, stand under its name: for
/// handles that travel between processes as a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Absolute path, or the URL.
    pub path: PathBuf,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Number of the inode; of an object a hash of its ETag, 0 if it has none.
    pub inode: u64,
}

impl FileId {
    /// The identity of an open file.
    pub(super) fn of(path: &Path, file: &File) -> Result<Self> {
        let fail = |e| Error::io(Op::Open, shown_path(path), e);
        let absolute = std::path::absolute(path).map_err(fail)?;
        Ok(Self::new(absolute, &Identity::of(&file.metadata().map_err(fail)?)))
    }

    /// The identity of what a path or a URL means now. A URL takes one request.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn at(path: &Path) -> Result<Self> {
        if remote::url_of(path).is_some() {
            let store = crate::store::open(path)?;
            return Self::of_object(path, &*store)
                .ok_or_else(|| Error::Internal(format!("`{}` has no version", store.name())));
        }
        let fail = |e| Error::io(Op::Open, shown_path(path), e);
        let meta = std::fs::metadata(path).map_err(fail)?;
        Ok(Self::new(std::path::absolute(path).map_err(fail)?, &Identity::of(&meta)))
    }

    /// The identity of an open object.
    #[cfg(feature = "remote")]
    pub(super) fn of_object(path: &Path, store: &dyn ReadStore) -> Option<Self> {
        let (modified_ns, tag) = RemoteStore::of(store)?.version();
        let hash = |tag: &str| FxBuildHasher.hash_one(tag);
        Some(Self { path: path.to_owned(), size: store.len(), modified_ns, inode: tag.map_or(0, hash) })
    }

    /// Without the feature `remote` no object is ever open.
    #[cfg(not(feature = "remote"))]
    pub(super) fn of_object(_: &Path, _: &dyn ReadStore) -> Option<Self> {
        None
    }

    fn new(path: PathBuf, identity: &Identity) -> Self {
        let (_, inode) = identity.file();
        Self { path, size: identity.size(), modified_ns: identity.modified_ns(), inode }
    }

    /// Whether the path still means the same file with the same contents, as far as size, time and inode show. Of a URL
    /// this takes one request.
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
        Self::at(&self.path).is_ok_and(|now| now == *self)
    }
}
