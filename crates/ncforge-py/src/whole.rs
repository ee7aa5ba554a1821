//! Whole new files, which get their name when they are complete.

use std::path::PathBuf;

use ncforge::store::OutputFile;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::outside;

/// Writes a file that is there complete or not at all, in the place of an older one.
#[pyfunction]
pub(crate) fn write_whole(
    py: Python<'_>,
    path: PathBuf,
    data: PyBackedBytes,
    overwrite: bool,
) -> PyResult<()> {
    outside(py, || OutputFile::write_whole(&path, &data, overwrite))
}

/// Makes a new file: `fill` writes it under a temporary name, which it is called with. It gets its own name when that
/// returns, and leaves nothing behind when that fails.
#[pyfunction]
pub(crate) fn make_file(py: Python<'_>, path: PathBuf, fill: Bound<'_, PyAny>) -> PyResult<()> {
    let file = outside(py, || OutputFile::create(&path, false))?;
    fill.call1((file.partial(),))?;
    outside(py, || file.commit(false))
}
