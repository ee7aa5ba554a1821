//! References to chunks: the document as text, and arrays of offsets and lengths.

use std::path::PathBuf;

use ncforge::model::shape;
use ncforge::{Dataset, Error, Result};
use ncforge_ops::refs::{self, Array, Chunk, Fills, References, RefsOptions, RefsRequest};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::{Value, json};

use crate::errors::{invalid, outside};
use crate::file::File;
use crate::ops::to_json;
use crate::progress::reporting;
use crate::request::{Asked, invalid as refused};

/// Positions in a chunk grid for which memory is allocated, at most.
const MOST_POSITIONS: u64 = 1 << 28;

/// The references of files, written to `output`, or as a document of kerchunk's where there is none; and what was done, as JSON.
#[pyfunction]
pub(crate) fn references(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    output: Option<PathBuf>,
    overwrite: bool,
    request: Asked<RefsRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Option<String>, String)> {
    reporting(py, progress, |progress| {
        let options = request.0.options(output.as_deref()).map_err(refused)?;
        let engine = request.0.engine.engine()?;
        match output {
            Some(output) => {
                let report = refs::write_references(&paths, &output, overwrite, &options, &engine, progress)?;
                Ok((None, to_json(&report)?))
            }
            None => {
                let made = refs::references(&paths, &options, &engine, progress)?;
                Ok((Some(made.json()), to_json(&made.report())?))
            }
        }
    })
}

/// The same as arrays: what the files are and what was left out as JSON, and for each variable its path, its metadata as
/// JSON, and for each position in its chunk grid the number of the file (-1: no chunk; -2: the bytes are in the dictionary),
/// the offset and the length.
#[pyfunction]
pub(crate) fn reference_arrays(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    request: Asked<RefsRequest>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Bound<'_, PyList>)> {
    let (about, grids, made) = reporting(py, progress, |progress| {
        let options = request.0.options(None).map_err(refused)?;
        let made = refs::references(&paths, &options, &request.0.engine.engine()?, progress)?;
        let grids = made.arrays.iter().map(Grid::of).collect::<Result<Vec<_>>>()?;
        Ok((about(&made)?, grids, made))
    })?;
    Ok((about, listed(py, &made, grids)?))
}

/// The same of one open file, whose chunks are found at `location`. Fill values are those of chunks that were never written.
#[pyfunction]
pub(crate) fn file_arrays<'py>(
    py: Python<'py>,
    file: &Bound<'py, File>,
    location: String,
    vars: Option<Vec<String>>,
) -> PyResult<(String, Bound<'py, PyList>)> {
    let dataset: Option<Dataset> = file.get().reading();
    let (about, grids, made) = outside(py, || {
        let dataset = dataset.ok_or_else(|| invalid("the file is not open for reading"))?;
        let options = RefsOptions { inline: 0, vars, fills: Fills::Stored, ..RefsOptions::default() };
        let made = refs::references_of(&dataset, &location, &options)?;
        let grids = made.arrays.iter().map(Grid::of).collect::<Result<Vec<_>>>()?;
        Ok((about(&made)?, grids, made))
    })?;
    Ok((about, listed(py, &made, grids)?))
}

fn about(made: &References) -> Result<String> {
    let groups: Vec<Value> =
        made.groups.iter().map(|g| json!({ "path": g.path, "zattrs": g.zattrs() })).collect();
    let mut about = serde_json::to_value(made.report()).map_err(|e| invalid(e.to_string()))?;
    about["groups"] = Value::Array(groups);
    about["locations"] = json!(made.files);
    to_json(&about)
}

/// One array's chunks by position.
struct Grid {
    files: Vec<i32>,
    offsets: Vec<u64>,
    lens: Vec<u64>,
}

impl Grid {
    fn of(array: &Array) -> Result<Grid> {
        let counts = counts(array);
        let size = shape::elements(&counts);
        if size > MOST_POSITIONS {
            return Err(Error::TooLarge(format!("the chunk grid of `{}` has {size} positions", array.path)));
        }
        let size = size as usize;
        let mut grid = Grid { files: vec![-1; size], offsets: vec![0; size], lens: vec![0; size] };
        for (at, chunk) in &array.stored {
            let i = linear(at, &counts);
            match chunk {
                Chunk::Range { file, offset, len } => {
                    grid.files[i] = i32::try_from(*file).unwrap_or(i32::MAX);
                    (grid.offsets[i], grid.lens[i]) = (*offset, *len);
                }
                Chunk::Inline(bytes) => {
                    grid.files[i] = -2;
                    grid.lens[i] = bytes.len() as u64;
                }
            }
        }
        Ok(grid)
    }
}

fn counts(array: &Array) -> Vec<u64> {
    array.shape.iter().zip(&array.chunks).map(|(&n, &c)| n.div_ceil(c)).collect()
}

fn linear(at: &[u64], counts: &[u64]) -> usize {
    at.iter().zip(counts).fold(0, |i, (&a, &n)| i * n + a) as usize
}

fn listed<'py>(py: Python<'py>, made: &References, grids: Vec<Grid>) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for (array, grid) in made.arrays.iter().zip(grids) {
        let inlined = PyDict::new(py);
        let counts = counts(array);
        for (at, chunk) in &array.stored {
            if let Chunk::Inline(bytes) = chunk {
                inlined.set_item(linear(at, &counts), PyBytes::new(py, bytes))?;
            }
        }
        out.append((
            &array.path,
            array.zarray(),
            array.zattrs(),
            PyArray1::from_vec(py, grid.files),
            PyArray1::from_vec(py, grid.offsets),
            PyArray1::from_vec(py, grid.lens),
            inlined,
        ))?;
    }
    Ok(out)
}
