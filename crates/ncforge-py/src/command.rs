//! The command `ncforge`, for the script that comes with the package.

use std::ffi::OsString;

use ncforge::Error;
use pyo3::prelude::*;

use crate::errors::outside;

/// Runs a command line, the program's name first; the exit code. `again` starts the same command anew.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, argv: Vec<OsString>, again: Vec<OsString>) -> PyResult<u8> {
    outside(py, || Ok::<_, Error>(ncforge_cli::main(argv, &again)))
}
