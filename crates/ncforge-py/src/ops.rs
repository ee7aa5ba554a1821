//! Whole-file work: `copy`, `compare`, `info`. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge::engine::{Engine, EngineOptions, parse_size};
use ncforge::{Dataset, Format, Result};
use ncforge_ops::compare::CompareOptions;
use ncforge_ops::copy::{ChunkSpec, Chunks, Codec, CopyOptions, Names, history_line};
use ncforge_ops::describe::{self, CdlOptions};
use ncforge_ops::doctor::{DoctorOptions, anatomy};
use ncforge_ops::tune::codec::Goal;
use ncforge_ops::tune::{Access, Machine};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::choosing::ChoosingRequest;
use crate::encoder::Asked;
use crate::errors::{invalid, outside};
use crate::progress::reporting;

/// What Python asks of a copy.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CopyRequest {
    format: String,
    chunks: String,
    codec: String,
    goal: Option<String>,
    allow_zstd: bool,
    level: Option<u32>,
    shuffle: Option<bool>,
    fletcher32: bool,
    vars: Option<Vec<String>>,
    memory: Option<String>,
    threads: Option<usize>,
    verify: bool,
    overwrite: bool,
    resume: bool,
    history: Option<String>,
    choosing: ChoosingRequest,
}

impl CopyRequest {
    fn engine(&self) -> Result<Engine> {
        engine(self.threads, self.memory.as_deref())
    }

    fn codec(&self) -> Result<Codec> {
        if self.codec != "auto" && (self.goal.is_some() || self.allow_zstd) {
            return Err(invalid("`goal` and `allow_zstd` go with codec=\"auto\""));
        }
        codec_of(&self.codec, self.goal.as_deref(), self.allow_zstd)
    }

    /// How chunk shapes are found; reads that are named with them are noted.
    fn chunks(&mut self) -> Result<Chunks> {
        Ok(match self.chunks.as_str() {
            "keep" if self.choosing.has_reads() => Chunks::Auto,
            "keep" => Chunks::Keep,
            "auto" => Chunks::Auto,
            text => match text.strip_prefix("auto:") {
                Some(_) if self.choosing.has_reads() => {
                    return Err(invalid("the reads are given twice: as for_=, and behind auto:"));
                }
                Some(reads) => {
                    self.choosing.set_reads(reads);
                    Chunks::Auto
                }
                None => Chunks::Spec(ChunkSpec::parse(text)?),
            },
        })
    }

    /// The options in the library's terms.
    pub(crate) fn options(mut self) -> Result<CopyOptions> {
        let codec = self.codec()?;
        Ok(CopyOptions {
            format: format_of(&self.format)?,
            chunks: self.chunks()?,
            choosing: self.choosing.choosing(true)?,
            codec,
            level: self.level,
            shuffle: self.shuffle,
            fletcher32: self.fletcher32,
            only: self.vars.map(|vars| Names { vars, groups: Vec::new() }),
            history: self.history.as_deref().map(history_line),
            overwrite: self.overwrite,
            resume: self.resume,
            verify: self.verify,
            ..CopyOptions::default()
        })
    }
}

/// A format by its name; `None`: the source's.
pub(crate) fn format_of(name: &str) -> Result<Option<Format>> {
    Ok(match name {
        "keep" => None,
        "classic" => Some(Format::Cdf1),
        "cdf2" => Some(Format::Cdf2),
        "cdf5" => Some(Format::Cdf5),
        "netcdf4" => Some(Format::Netcdf4),
        "netcdf4-classic" => Some(Format::Netcdf4Classic),
        other => return Err(invalid(format!("no format `{other}`"))),
    })
}

/// A codec by its name; what "auto" is for, and whether it may choose zstd.
pub(crate) fn codec_of(name: &str, goal: Option<&str>, zstd: bool) -> Result<Codec> {
    Ok(match name {
        "keep" => Codec::Keep,
        "none" => Codec::None,
        "deflate" | "zlib" => Codec::Deflate,
        "zstd" => Codec::Zstd,
        "auto" => Codec::Auto { goal: goal.map_or(Ok(Goal::default()), str::parse)?, zstd },
        other => return Err(invalid(format!("no codec `{other}`"))),
    })
}

/// The engine with these threads and this memory.
pub(crate) fn engine(threads: Option<usize>, memory: Option<&str>) -> Result<Engine> {
    if threads.is_none() && memory.is_none() {
        return Ok(Engine::global());
    }
    Engine::new(EngineOptions { threads, memory: memory.map(parse_size).transpose()? })
}

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
    request: CopyRequest,
    progress: Option<Py<PyAny>>,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let engine = request.engine()?;
        let options = request.options()?;
        let report = match elsewhere {
            None => ncforge_ops::copy::copy(&source, &target, &options, &engine, callback)?,
            Some(object) => {
                let asked = Asked::new(object, callback).map_err(|e| invalid(e.to_string()))?;
                ncforge_ops::copy::copy_with(&source, &target, &options, &engine, callback, &asked)?
            }
        };
        to_json(&report)
    })
}

/// Compares two files; what was found, as JSON.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    left: PathBuf,
    right: PathBuf,
    tolerance: Option<f64>,
    strict: bool,
    vars: Option<Vec<String>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let (left, right) = (Dataset::open(left)?, Dataset::open(right)?);
        let options = CompareOptions { tolerance, strict, vars };
        to_json(&ncforge_ops::compare::compare(&left, &right, &options, progress)?)
    })
}

/// The header as CDL.
#[pyfunction]
pub(crate) fn info_cdl(py: Python<'_>, path: PathBuf, special: bool) -> PyResult<Bound<'_, PyBytes>> {
    let text = outside(py, || {
        let dataset = Dataset::open(&path)?;
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(describe::cdl(dataset.container(), &CdlOptions { name, special }))
    })?;
    Ok(PyBytes::new(py, &text))
}

/// All that `ncforge info --json` tells, as JSON.
#[pyfunction]
pub(crate) fn info_json(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    outside(py, || to_json(&describe::json(Dataset::open(&path)?.container())))
}

/// What `ncforge info --html` draws, as a part of a page.
#[pyfunction]
pub(crate) fn draw_info(py: Python<'_>, path: PathBuf, reads: Option<String>) -> PyResult<String> {
    outside(py, || {
        let mut options =
            DoctorOptions { machine: Machine::of_user(), sample: false, ..DoctorOptions::default() };
        if let Some(text) = &reads {
            options.accesses = Access::parse(text, &[])?;
        }
        let (_, file) = anatomy(&path, &options, &engine(None, None)?)?;
        Ok(ncforge_view::info_fragment(&file))
    })
}
