//! Measuring. Reports go to Python as JSON text.

use std::path::PathBuf;

use ncforge::{Dataset, Error, Op, Result, parse_size};
use ncforge_bench::driver::{Driver, LibnetcdfDriver, NcforgeDriver};
use ncforge_bench::workload::access::{self, AccessOptions, Pattern, largest};
use ncforge_bench::workload::chunks::sweep::{self, SweepOptions};
use ncforge_bench::workload::chunks::{Files, Variant, grid};
use pyo3::prelude::*;

use crate::errors::{invalid, outside};
use crate::ops::to_json;
use crate::progress::reporting;

/// An error of the benchmark as one of the library.
pub(crate) fn of_library(error: ncforge_bench::Error) -> Error {
    match error {
        ncforge_bench::Error::Ncforge(e) => e,
        ncforge_bench::Error::Io { op, path, source } | ncforge_bench::Error::Place { op, path, source } => {
            Error::io(Op::Other(op), path, source)
        }
        other => invalid(other.to_string()),
    }
}

/// Python's request for `bench access`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AccessRequest {
    var: Option<String>,
    patterns: Vec<String>,
    repetitions: usize,
    cold: bool,
    seed: u64,
    threads: Option<usize>,
    memory: Option<String>,
}

/// Times reads from files; the report as JSON.
#[pyfunction]
pub(crate) fn bench_access(py: Python<'_>, files: Vec<PathBuf>, request: AccessRequest) -> PyResult<String> {
    outside(py, || {
        let patterns = request.patterns.iter().map(|p| match p.as_str() {
            "map" => Ok(Pattern::Map),
            "series" => Ok(Pattern::Series),
            "full" => Ok(Pattern::Full),
            other => Err(invalid(format!("a pattern is `map`, `series` or `full`, not `{other}`"))),
        });
        let options = AccessOptions {
            var: request.var.clone(),
            patterns: patterns.collect::<Result<_>>()?,
            repetitions: request.repetitions,
            cold: request.cold,
            seed: request.seed,
        };
        let driver = driver(request.threads, request.memory.as_deref())?;
        to_json(&access::run(&[&driver], &files, &options).map_err(of_library)?)
    })
}

fn driver(threads: Option<usize>, memory: Option<&str>) -> Result<NcforgeDriver> {
    Ok(NcforgeDriver::new(threads, memory.map(parse_size).transpose()?))
}

/// Python's request for `bench chunks`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepRequest {
    var: Option<String>,
    shapes: Vec<Vec<u64>>,
    most_shapes: usize,
    caches: Vec<Option<u64>>,
    deflate: Vec<u32>,
    shuffle: Vec<bool>,
    series: u64,
    series_first: bool,
    repetitions: usize,
    cold: bool,
    libraries: Vec<PathBuf>,
    folder: Option<PathBuf>,
    threads: Option<usize>,
    memory: Option<String>,
}

impl SweepRequest {
    fn variants(&self, file: &std::path::Path) -> Result<Vec<Variant>> {
        let mut shapes = self.shapes.clone();
        if shapes.is_empty() {
            let dataset = Dataset::open(file)?;
            let var = largest(file, self.var.as_deref()).map_err(of_library)?;
            let shape = dataset.schema().shape(dataset.var(&var.name)?);
            shapes = grid(&shape, var.size as u64, self.most_shapes, |_| true);
        }
        let mut variants = vec![Variant::classic()];
        for chunks in &shapes {
            for &deflate in &self.deflate {
                // Without compression nothing is shuffled: one row.
                let ways = if deflate == 0 { &[false][..] } else { &self.shuffle };
                variants.extend(ways.iter().map(|&shuffle| Variant {
                    chunks: Some(chunks.clone()),
                    deflate,
                    shuffle,
                }));
            }
        }
        Ok(variants)
    }
}

/// Stores a variable in many chunk shapes and times reads from each; the report as JSON.
#[pyfunction]
pub(crate) fn bench_chunks(
    py: Python<'_>,
    file: PathBuf,
    request: SweepRequest,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, None, |callback| {
        let folder = match &request.folder {
            Some(dir) => tempfile::Builder::new().prefix("ncforge-bench-").tempdir_in(dir),
            None => tempfile::Builder::new().prefix("ncforge-bench-").tempdir(),
        }
        .map_err(|e| Error::io(Op::Other("make a folder for the files of"), file.display().to_string(), e))?;
        let own = driver(request.threads, request.memory.as_deref())?;
        let libraries = request
            .libraries
            .iter()
            .map(|path| LibnetcdfDriver::load(path).map_err(of_library))
            .collect::<Result<Vec<_>>>()?;
        let mut drivers: Vec<&dyn Driver> = vec![&own];
        drivers.extend(libraries.iter().map(|l| l as &dyn Driver));
        let options = SweepOptions {
            var: request.var.clone(),
            variants: request.variants(&file)?,
            caches: request.caches.clone(),
            series: request.series,
            series_first: request.series_first,
            repetitions: request.repetitions,
            cold: request.cold,
            cell_seconds: None,
        };
        let total = options.variants.len() * (1 + options.repetitions * drivers.len() * options.caches.len());
        let mut done = 0;
        let mut tell = |text: &str| {
            let result = Python::attach(|py| match &progress {
                Some(call) => call.call1(py, (text, done, total)).map(drop),
                None => py.check_signals(),
            });
            done += 1;
            result.map_err(|raised| {
                callback.raise(raised);
                ncforge_bench::Error::Stopped
            })
        };
        to_json(
            &sweep::run(&drivers, &file, &Files::new(folder.path()), &options, &mut tell)
                .map_err(of_library)?,
        )
    })
}
