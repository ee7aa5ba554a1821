//! Whether all of a file is there: what is not would become something else in what is made of it.

use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Result};

/// An error if the file was cut: its last values are read as zeros.
pub(crate) fn check_whole(dataset: &Dataset) -> Result<()> {
    match dataset.container().missing_bytes() {
        0 => Ok(()),
        missing => {
            let what = format!("the file is {missing} bytes shorter than its header says");
            Err(Error::corrupt(shown_path(dataset.path()), None, what))
        }
    }
}

/// An error if an object of the file is damaged.
pub(crate) fn check_undamaged(dataset: &Dataset) -> Result<()> {
    match dataset.schema().skipped.iter().find(|s| s.is_damaged()) {
        Some(damaged) => Err(damaged.error(&shown_path(dataset.path()))),
        None => Ok(()),
    }
}
