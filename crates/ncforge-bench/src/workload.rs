//! The tasks of drivers, and their results.

pub mod access;
pub mod chunks;
pub mod combine;
pub mod convert;
pub mod io;
pub mod records;

use std::path::Path;

use crate::error::{Error, Result};

/// A folder for files, removed at the end: in `parent`, or where temporary files are.
fn folder(parent: Option<&Path>) -> Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("ncforge-bench-");
    match parent {
        Some(dir) => builder.tempdir_in(dir),
        None => builder.tempdir(),
    }
    .map_err(|e| Error::place("make a folder in", parent.unwrap_or(Path::new("the temporary folder")), e))
}

/// Lengths as text.
pub(crate) fn listed(lengths: &[u64], between: &str) -> String {
    lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}
