//! Opening what a path or a URL means.

use std::path::Path;
use std::sync::Arc;

use super::ReadStore;
use super::file::FileStore;
use super::remote::{self, RemoteOptions};
use crate::error::Result;

/// Opens a file or a URL for reading, with the process' options for URLs.
///
/// # Errors
/// Those of [`FileStore::open`] and [`remote::open`].
pub fn open(path: &Path) -> Result<Arc<dyn ReadStore>> {
    match remote::url_of(path) {
        Some(url) => remote::open(url, &RemoteOptions::of_process()),
        None => Ok(Arc::new(FileStore::open(path)?)),
    }
}
