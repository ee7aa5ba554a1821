//! Whole-file work: copying, comparing, zipping, splitting, describing, choosing chunks. Requests come as dictionaries of
//! keyword arguments, reports go to Python as JSON text.

use std::path::{Path, PathBuf};

use ncforge::{Dataset, OpenOptions, Result};
use ncforge_ops::choosing::{TuneRequest, tune_chunks as choose};
use ncforge_ops::compare::CompareRequest;
use ncforge_ops::copy::CopyRequest;
use ncforge_ops::describe::{self, CdlOptions};
use ncforge_ops::doctor::{DoctorRequest, ReaderCache, anatomy};
use ncforge_ops::request::EngineRequest;
use ncforge_ops::split::SplitRequest;
use ncforge_ops::zip::{self as zipping, UnzipRequest, ZipRequest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::encoder::Workers;
use crate::errors::{invalid, outside};
use crate::progress::reporting;
use crate::request::{Asked, invalid as refused};

pub(crate) fn to_json(report: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(report).map_err(|e| invalid(format!("a report that is no JSON: {e}")))
}

/// Copies a file; the report as JSON. With `elsewhere`, other processes encode.
#[pyfunction]
#[pyo3(signature = (source, target, request, progress, elsewhere=None))]
pub(crate) fn copy(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    request: Asked<CopyRequest>,
    progress: Option<Py<PyAny>>,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.run.engine.engine()?;
        let report = match elsewhere {
            None => ncforge_ops::copy::copy(&source, &target, &options, &engine, callback)?,
            Some(object) => {
                let workers = Workers::new(object, callback).map_err(|e| invalid(e.to_string()))?;
                ncforge_ops::copy::copy_with(&source, &target, &options, &engine, callback, &workers)?
            }
        };
        to_json(&report)
    })
}

/// How a file would be copied, as JSON; nothing is written.
#[pyfunction]
pub(crate) fn plan_copy(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    request: Asked<CopyRequest>,
) -> PyResult<String> {
    outside(py, || {
        let options = request.0.options().map_err(refused)?.for_output(&target)?;
        let engine = request.0.run.engine.engine()?;
        let source = Dataset::open_with(&source, &engine)?;
        to_json(&ncforge_ops::copy::plan(&source, &options, &engine)?)
    })
}

/// Compares two files; what was found, as JSON.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    left: PathBuf,
    right: PathBuf,
    request: Asked<CompareRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.engine.engine()?;
        let (left, right) = (Dataset::open_with(left, &engine)?, Dataset::open_with(right, &engine)?);
        to_json(&ncforge_ops::compare::compare(&left, &right, &options, progress)?)
    })
}

/// Splits a file into tiles whose names begin with `base`; the report as JSON.
#[pyfunction]
pub(crate) fn split(
    py: Python<'_>,
    source: PathBuf,
    base: Option<PathBuf>,
    request: Asked<SplitRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let options = request.0.options().map_err(refused)?;
        let engine = request.0.engine.engine()?;
        to_json(&ncforge_ops::split::split(&source, base.as_deref(), &options, &engine, progress)?)
    })
}

/// Zips a classic file; the report as JSON.
#[pyfunction]
pub(crate) fn zip(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    request: Asked<ZipRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let options = request.0.options().map_err(refused)?;
        to_json(&zipping::zip(&source, &target, &options, &request.0.engine.engine()?, progress)?)
    })
}

/// Unzips a zipped file; the report as JSON.
#[pyfunction]
pub(crate) fn unzip(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    request: Asked<UnzipRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let engine = request.0.engine.engine()?;
        to_json(&zipping::unzip(&source, &target, request.0.overwrite, &engine, progress)?)
    })
}

/// Rewrites a zipped file without unused space; the report as JSON.
#[pyfunction]
pub(crate) fn compact(
    py: Python<'_>,
    path: PathBuf,
    request: Asked<EngineRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| to_json(&zipping::compact(&path, &request.0.engine()?, progress)?))
}

/// Reads everything in a file and checks it; what was found, as JSON.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    path: PathBuf,
    request: Asked<EngineRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        to_json(&ncforge_ops::verify::verify(&path, &request.0.engine()?, progress)?)
    })
}

/// The digests of a file and its variables, as JSON.
#[pyfunction]
pub(crate) fn digest(
    py: Python<'_>,
    path: PathBuf,
    request: Asked<EngineRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        to_json(&ncforge_ops::digest::digest(&path, &request.0.engine()?, progress)?)
    })
}

/// Chunk shapes that suit a file's variables, as JSON.
#[pyfunction]
pub(crate) fn tune_chunks(py: Python<'_>, path: PathBuf, request: Asked<TuneRequest>) -> PyResult<String> {
    outside(py, || to_json(&choose(&path, &request.0, &request.0.engine.engine()?)?))
}

/// The header as CDL.
#[pyfunction]
#[pyo3(signature = (path, special, follow=None))]
pub(crate) fn info_cdl(
    py: Python<'_>,
    path: PathBuf,
    special: bool,
    follow: Option<bool>,
) -> PyResult<Bound<'_, PyBytes>> {
    let text = outside(py, || {
        let dataset = Dataset::open_options(&path, &OpenOptions { follow, ..OpenOptions::default() })?;
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(describe::cdl(dataset.container(), &CdlOptions { name, special }))
    })?;
    Ok(PyBytes::new(py, &text))
}

/// All that `ncforge info --json` prints, as JSON.
#[pyfunction]
#[pyo3(signature = (path, follow=None))]
pub(crate) fn info_json(py: Python<'_>, path: PathBuf, follow: Option<bool>) -> PyResult<String> {
    let options = OpenOptions { follow, ..OpenOptions::default() };
    outside(py, || to_json(&describe::json(Dataset::open_options(&path, &options)?.container())))
}

/// What `ncforge info --html` draws, as a part of a page.
#[pyfunction]
pub(crate) fn draw_info(py: Python<'_>, path: PathBuf, request: Asked<DoctorRequest>) -> PyResult<String> {
    outside(py, || draw(&path, &request.0))
}

fn draw(path: &Path, request: &DoctorRequest) -> Result<String> {
    let options = DoctorRequest { sample: false, ..request.clone() }.options(ReaderCache::default());
    let (_, file) = anatomy(path, &options, &request.engine.engine()?)?;
    Ok(ncforge_view::info_fragment(&file))
}
