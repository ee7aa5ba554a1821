//! Whether all of a file is there, and stays: what is not would become something else in what is made of it.

use std::path::Path;

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

/// An error if the output is one of the inputs, each of which is a `noun`.
pub(crate) fn check_kept<P: AsRef<Path>>(output: &Path, inputs: &[P], noun: &'static str) -> Result<()> {
    let Ok(file) = std::fs::canonicalize(output) else { return Ok(()) };
    let is_output = |input: &P| std::fs::canonicalize(input).is_ok_and(|input| input == file);
    match inputs.iter().any(is_output) {
        true => Err(Error::OutputIsInput { output: output.to_owned(), input: noun }),
        false => Ok(()),
    }
}
