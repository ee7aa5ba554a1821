//! Copies whose chunks are encoded by other processes: the writer's side, and theirs.

use std::path::PathBuf;

use ncforge::engine::{Engine, EngineOptions};
use ncforge::{Error, Result};
use ncforge_ops::copy::{Elsewhere, EncodedChunks, Encoder as Inner, GroupId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::combine::CombineRequest;
use crate::errors::outside;
use crate::ops::CopyRequest;
use crate::progress::Callback;

/// A group: variable, box, group.
type Named = (usize, u64, u64);

/// Asks a Python object for the chunks of groups: `group_bytes`, `begin(ticket, groups)`, `group(id)`.
pub(crate) struct Asked<'a> {
    pub(crate) object: Py<PyAny>,
    pub(crate) group_bytes: u64,
    /// Where an exception is kept until the work has stopped.
    pub(crate) callback: &'a Callback,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(object: Py<PyAny>, callback: &'a Callback) -> PyResult<Self> {
        let group_bytes = Python::attach(|py| object.getattr(py, "group_bytes")?.extract(py))?;
        Ok(Self { object, group_bytes, callback })
    }

    fn ask<T>(&self, question: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| question(py, &self.object)).map_err(|raised| {
            self.callback.raise(raised);
            Error::Interrupted("the workers could not go on".into())
        })
    }
}

impl Elsewhere for Asked<'_> {
    fn group_bytes(&self) -> u64 {
        self.group_bytes
    }

    fn begin(&self, ticket: &str, groups: &[GroupId]) -> Result<()> {
        let groups: Vec<Named> = groups.iter().map(|g| (g.var, g.step, g.group)).collect();
        self.ask(|py, object| object.call_method1(py, "begin", (ticket, groups)).map(drop))
    }

    fn group(&self, id: GroupId) -> Result<EncodedChunks> {
        self.ask(|py, object| {
            let found = object.call_method1(py, "group", ((id.var, id.step, id.group),))?;
            found.bind(py).try_iter()?.map(|chunk| chunk?.extract()).collect()
        })
    }
}

/// Encodes groups of a copy that another process writes.
#[pyclass(frozen, module = "ncforge._core")]
pub(crate) struct Encoder(Inner);

fn engine(threads: Option<usize>) -> Result<Engine> {
    match threads {
        None => Ok(Engine::global()),
        threads => Engine::new(EngineOptions { threads, memory: None }),
    }
}

#[pymethods]
impl Encoder {
    /// For a copy.
    #[staticmethod]
    fn for_copy(
        py: Python<'_>,
        source: PathBuf,
        request: CopyRequest,
        ticket: String,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        outside(py, || Inner::for_copy(&source, &request.options()?, &ticket, &engine(threads)?)).map(Self)
    }

    /// For a combination.
    #[staticmethod]
    fn for_combine(
        py: Python<'_>,
        tiles: Vec<PathBuf>,
        target: PathBuf,
        request: CombineRequest,
        ticket: String,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        outside(py, || {
            ncforge_ops::combine::encoder(
                &tiles,
                &target,
                &request.options(&target)?,
                &ticket,
                &engine(threads)?,
            )
        })
        .map(Self)
    }

    /// The chunks of a group: bytes and filter mask, or `None`.
    fn group<'py>(&self, py: Python<'py>, id: Named) -> PyResult<Bound<'py, PyList>> {
        let (var, step, group) = id;
        let chunks = outside(py, || self.0.group(GroupId { var, step, group }))?;
        let list = PyList::empty(py);
        for chunk in chunks {
            list.append(chunk.map(|(bytes, mask)| (PyBytes::new(py, &bytes), mask)))?;
        }
        Ok(list)
    }
}
