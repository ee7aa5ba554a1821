//! Combining tiles. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge_ops::combine::{self as tiling, CombineRequest};
use pyo3::prelude::*;

use crate::encoder::Workers;
use crate::errors::{invalid, outside};
use crate::ops::to_json;
use crate::progress::reporting;
use crate::request::{Asked, invalid as refused};

/// Combines tiles; the report as JSON. With `elsewhere`, other processes encode.
#[pyfunction]
#[pyo3(signature = (tiles, target, request, progress, elsewhere=None))]
pub(crate) fn combine(
    py: Python<'_>,
    tiles: Vec<PathBuf>,
    target: PathBuf,
    request: Asked<CombineRequest>,
    progress: Option<Py<PyAny>>,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let options = request.0.options(&target).map_err(refused)?;
        let engine = request.0.run.engine.engine()?;
        let report = match elsewhere {
            None => tiling::combine(&tiles, &target, &options, &engine, callback)?,
            Some(object) => {
                let workers = Workers::new(object, callback).map_err(|e| invalid(e.to_string()))?;
                tiling::combine_with(&tiles, &target, &options, &engine, callback, Some(&workers))?
            }
        };
        to_json(&report)
    })
}

/// How tiles lie and would be combined, as JSON.
#[pyfunction]
pub(crate) fn plan_combine(
    py: Python<'_>,
    tiles: Vec<PathBuf>,
    target: PathBuf,
    request: Asked<CombineRequest>,
) -> PyResult<String> {
    outside(py, || {
        let options = request.0.options(&target).map_err(refused)?;
        to_json(&tiling::plan(&tiles, &target, &options, &request.0.run.engine.engine()?)?)
    })
}
