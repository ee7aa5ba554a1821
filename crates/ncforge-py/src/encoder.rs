//! Copies whose chunks are encoded by other processes: the writer's side, and theirs.

use std::path::PathBuf;

use ncforge::{Error, Result};
use ncforge_ops::combine::CombineRequest;
use ncforge_ops::copy::{CopyRequest, Elsewhere, EncodedChunks, Encoder as Inner, GroupId};
use ncforge_ops::request::EngineRequest;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::outside;
use crate::progress::Callback;
use crate::request::{Asked, invalid as refused};

/// A group: variable, box, group.
type Named = (usize, u64, u64);

/// Asks a Python object for the chunks of groups: `group_bytes`, `begin(ticket, groups)`, `group(id)`.
pub(crate) struct Workers<'a> {
    pub(crate) object: Py<PyAny>,
    pub(crate) group_bytes: u64,
    /// Where an exception is kept until the work has stopped.
    pub(crate) callback: &'a Callback,
}

impl<'a> Workers<'a> {
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

impl Elsewhere for Workers<'_> {
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

#[pymethods]
impl Encoder {
    /// For a copy.
    #[staticmethod]
    fn for_copy(
        py: Python<'_>,
        source: PathBuf,
        request: Asked<CopyRequest>,
        ticket: String,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        outside(py, || {
            let follow = request.0.run.engine.follow;
            let engine = EngineRequest { threads, memory: None, follow }.engine()?;
            Inner::for_copy(&source, &request.0.options().map_err(refused)?, &ticket, &engine)
        })
        .map(Self)
    }

    /// For a combination.
    #[staticmethod]
    fn for_combine(
        py: Python<'_>,
        tiles: Vec<PathBuf>,
        target: PathBuf,
        request: Asked<CombineRequest>,
        ticket: String,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        outside(py, || {
            let follow = request.0.run.engine.follow;
            let engine = EngineRequest { threads, memory: None, follow }.engine()?;
            let options = request.0.options(&target).map_err(refused)?;
            ncforge_ops::combine::encoder(&tiles, &target, &options, &ticket, &engine)
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
