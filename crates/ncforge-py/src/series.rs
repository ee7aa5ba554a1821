//! Making series. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge_ops::combine::{self as making, SeriesRequest};
use ncforge_ops::progress::Silent;
use pyo3::prelude::*;

use crate::errors::outside;
use crate::ops::to_json;
use crate::progress::reporting;
use crate::request::{Asked, invalid as refused};

/// Makes a file for each variable; the report as JSON.
#[pyfunction]
pub(crate) fn series(
    py: Python<'_>,
    files: Vec<PathBuf>,
    folder: PathBuf,
    request: Asked<SeriesRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.join.copy.run.engine.engine()?;
        to_json(&making::series(&files, &folder, &options, &engine, callback)?)
    })
}

/// Which files would be made, as JSON.
#[pyfunction]
pub(crate) fn plan_series(
    py: Python<'_>,
    files: Vec<PathBuf>,
    folder: PathBuf,
    request: Asked<SeriesRequest>,
) -> PyResult<String> {
    outside(py, || {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.join.copy.run.engine.engine()?;
        to_json(&making::plan_series(&files, &folder, &options, &engine, &Silent)?)
    })
}
