//! Joining files. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge_ops::combine::{self as joining, ConcatRequest};
use pyo3::prelude::*;

use crate::errors::outside;
use crate::file::File;
use crate::ops::to_json;
use crate::progress::reporting;
use crate::request::{Asked, invalid as refused};

/// Joins files along a dimension; the report as JSON.
#[pyfunction]
pub(crate) fn concat(
    py: Python<'_>,
    files: Vec<PathBuf>,
    target: PathBuf,
    request: Asked<ConcatRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.copy.run.engine.engine()?;
        to_json(&joining::concat(&files, &target, &options, &engine, callback)?)
    })
}

/// How files would be joined, as JSON.
#[pyfunction]
pub(crate) fn plan_concat(
    py: Python<'_>,
    files: Vec<PathBuf>,
    target: PathBuf,
    request: Asked<ConcatRequest>,
) -> PyResult<String> {
    outside(py, || {
        let options = request.0.options().map_err(refused)?;
        to_json(&joining::plan_concat(&files, &target, &options, &request.0.copy.run.engine.engine()?)?)
    })
}

/// The file that `concat` would make, without making it, and the files behind it in their order.
#[pyfunction]
pub(crate) fn join(
    py: Python<'_>,
    files: Vec<PathBuf>,
    request: Asked<ConcatRequest>,
) -> PyResult<(File, Vec<PathBuf>)> {
    outside(py, || {
        let options = request.0.options().map_err(refused)?;
        let joint = joining::join(&files, &options, &request.0.copy.run.engine.engine()?)?;
        let (path, files) = (joint.path().to_owned(), joint.files());
        Ok((File::over(joint, path), files))
    })
}
