//! Whole-file work: `copy`, `compare`, `info`. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge::engine::{Engine, EngineOptions, parse_size};
use ncforge::ops::compare::CompareOptions;
use ncforge::ops::copy::{ChunkSpec, Chunks, Codec, CopyOptions, Names, history_line};
use ncforge::ops::describe::{self, CdlOptions};
use ncforge::ops::progress::Progress;
use ncforge::tune::codec::Goal;
use ncforge::{Dataset, Format, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{invalid, outside};

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
}

impl CopyRequest {
    fn engine(&self) -> Result<Engine> {
        engine(self.threads, self.memory.as_deref())
    }

    fn codec(&self) -> Result<Codec> {
        if self.codec != "auto" && (self.goal.is_some() || self.allow_zstd) {
            return Err(invalid("`goal` and `allow_zstd` go with codec=\"auto\""));
        }
        Ok(match self.codec.as_str() {
            "keep" => Codec::Keep,
            "none" => Codec::None,
            "deflate" | "zlib" => Codec::Deflate,
            "zstd" => Codec::Zstd,
            "auto" => Codec::Auto {
                goal: self.goal.as_deref().map_or(Ok(Goal::default()), str::parse)?,
                zstd: self.allow_zstd,
            },
            other => return Err(invalid(format!("no codec `{other}`"))),
        })
    }

    fn options(self) -> Result<CopyOptions> {
        let codec = self.codec()?;
        Ok(CopyOptions {
            format: match self.format.as_str() {
                "keep" => None,
                "classic" => Some(Format::Cdf1),
                "cdf2" => Some(Format::Cdf2),
                "cdf5" => Some(Format::Cdf5),
                "netcdf4" => Some(Format::Netcdf4),
                "netcdf4-classic" => Some(Format::Netcdf4Classic),
                other => return Err(invalid(format!("no format `{other}`"))),
            },
            chunks: match self.chunks.as_str() {
                "keep" => Chunks::Keep,
                "auto" => Chunks::Auto,
                spec => Chunks::Spec(ChunkSpec::parse(spec)?),
            },
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

fn engine(threads: Option<usize>, memory: Option<&str>) -> Result<Engine> {
    if threads.is_none() && memory.is_none() {
        return Ok(Engine::global());
    }
    Engine::new(EngineOptions { threads, memory: memory.map(parse_size).transpose()? })
}

/// Calls a Python function with (stage, bytes done, bytes in all), if there is one, and looks for Ctrl-C; what is
/// raised stops the work.
struct Callback {
    call: Option<Py<PyAny>>,
    state: std::sync::Mutex<CallbackState>,
}

#[derive(Default)]
struct CallbackState {
    stage: String,
    done: u64,
    total: u64,
    last: Option<std::time::Instant>,
    error: Option<PyErr>,
}

/// Calls are at least this far apart: each one waits for the interpreter.
const CALL_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

impl Callback {
    fn update(&self, change: impl FnOnce(&mut CallbackState), now: bool) {
        let told = {
            let mut s = self.lock();
            change(&mut s);
            let due = now || s.done >= s.total || s.last.is_none_or(|t| t.elapsed() >= CALL_EVERY);
            if !due || s.error.is_some() {
                return;
            }
            s.last = Some(std::time::Instant::now());
            (s.stage.clone(), s.done, s.total)
        };
        // The lock is not held while the interpreter is waited for.
        let result = Python::attach(|py| {
            if let Some(call) = &self.call {
                call.call1(py, told)?;
            }
            py.check_signals()
        });
        if let Err(error) = result {
            self.lock().error.get_or_insert(error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CallbackState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Progress for Callback {
    fn begin(&self, stage: &str, total: u64) {
        self.update(
            |s| {
                *s = CallbackState { stage: stage.into(), total, error: s.error.take(), ..Default::default() }
            },
            true,
        );
    }

    fn advance(&self, bytes: u64) {
        self.update(|s| s.done += bytes, false);
    }

    fn stop(&self) -> bool {
        // Between two boxes nothing advances, and Ctrl-C would not be heard.
        if self.lock().last.is_some_and(|t| t.elapsed() >= CALL_EVERY) {
            self.update(|_| (), true);
        }
        self.lock().error.is_some()
    }
}

/// Runs work that reports its progress to a Python function, if there is one. What that function raised, or
/// `KeyboardInterrupt`, is what the caller sees.
fn reporting<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let callback = Callback { call: callback, state: std::sync::Mutex::default() };
    let result = outside(py, || work(&callback));
    let raised = callback.lock().error.take();
    match (result, raised) {
        (Err(_), Some(raised)) => Err(raised),
        (result, _) => result,
    }
}

fn to_json(report: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(report).map_err(|e| invalid(format!("a report that is no JSON: {e}")))
}

/// Copies a file; the report as JSON.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    request: CopyRequest,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |progress| {
        let engine = request.engine()?;
        let options = request.options()?;
        to_json(&ncforge::ops::copy::copy(&source, &target, &options, &engine, progress)?)
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
        to_json(&ncforge::ops::compare::compare(&left, &right, &options, progress)?)
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
