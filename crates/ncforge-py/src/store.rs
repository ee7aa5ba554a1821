//! Bytes that Python has, as stores: `bytes`, objects with `read` and `seek`, and objects that read many ranges at a time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use ncforge::store::{IoProfile, PerProcess, Process, ReadStore, past_end};
use ncforge::{Error, Op, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// The bytes of a `bytes` object, where they lie.
#[derive(Debug)]
pub(crate) struct BytesStore {
    name: String,
    bytes: PyBackedBytes,
}

impl BytesStore {
    pub(crate) fn new(name: String, bytes: PyBackedBytes) -> Self {
        Self { name, bytes }
    }
}

impl ReadStore for BytesStore {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let part = usize::try_from(offset)
            .ok()
            .and_then(|from| self.bytes.get(from..from.checked_add(buf.len())?))
            .ok_or_else(|| past_end(&self.name, buf.len() as u64, offset, self.len()))?;
        buf.copy_from_slice(part);
        Ok(())
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }
}

/// A Python object that reads and seeks. Requests wait for each other, because the object has one position; decoding
/// goes on side by side.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    name: String,
    len: u64,
    object: Py<PyAny>,
    /// Held while the object is positioned and read.
    turn: PerProcess<Mutex<()>>,
    /// Set if the object is a file of the system: a forked child has the same position in it as its parent, and as other children.
    opened_by: Option<Process>,
}

impl ObjectStore {
    /// Asks the object for its length.
    pub(crate) fn new(name: String, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let before: u64 = object.call_method0("tell")?.extract()?;
        let len: u64 = object.call_method1("seek", (0, 2))?.extract()?;
        object.call_method1("seek", (before,))?;
        let opened_by = object.call_method0("fileno").is_ok().then(Process::this);
        let turn = PerProcess::default();
        Ok(Self { name, len, object: object.clone().unbind(), turn, opened_by })
    }
}

impl ReadStore for ObjectStore {
    fn len(&self) -> u64 {
        self.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.opened_by.is_some_and(|process| !process.is_here()) {
            let what = "it was opened in the process that this one was forked from; open it in this one";
            return Err(Error::io(Op::Read, self.name.clone(), std::io::Error::other(what)));
        }
        // Nobody waits for this lock with the interpreter held: all reading is done without it.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::try_attach(|py| -> PyResult<usize> {
            let object = self.object.bind(py);
            object.call_method1("seek", (offset,))?;
            let mut done = 0;
            while done < buf.len() {
                let bytes: PyBackedBytes = object.call_method1("read", (buf.len() - done,))?.extract()?;
                if bytes.is_empty() {
                    break;
                }
                let n = bytes.len().min(buf.len() - done);
                buf[done..done + n].copy_from_slice(&bytes[..n]);
                done += n;
            }
            Ok(done)
        });
        match read {
            Some(Ok(done)) if done == buf.len() => Ok(()),
            Some(Ok(_)) => Err(past_end(&self.name, buf.len() as u64, offset, self.len)),
            Some(Err(error)) => {
                Err(Error::io(Op::Read, self.name.clone(), std::io::Error::other(error.to_string())))
            }
            None => Err(Error::io(
                Op::Read,
                self.name.clone(),
                std::io::Error::other("the interpreter is going away"),
            )),
        }
    }
}

/// A Python object whose method `get_ranges(starts, ends)` gives a list of `bytes`, or `None` if they are of another version: an object of
/// an object store, read by a package of Python. It makes requests side by side by itself.
#[derive(Debug)]
pub(crate) struct RangesStore {
    name: String,
    len: u64,
    reader: Py<PyAny>,
}

impl RangesStore {
    pub(crate) fn new(name: String, len: u64, reader: Py<PyAny>) -> Self {
        Self { name, len, reader }
    }

    fn failed(&self, what: impl Into<String>) -> Error {
        Error::io(Op::Read, self.name.clone(), std::io::Error::other(what.into()))
    }
}

impl ReadStore for RangesStore {
    fn len(&self) -> u64 {
        self.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(buf.len() as u64);
        let parts = self.read_ranges(std::slice::from_ref(&(offset..end)))?;
        buf.copy_from_slice(&parts[0]);
        Ok(())
    }

    fn io_profile(&self) -> IoProfile {
        IoProfile::OBJECT
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(r) = ranges.iter().find(|r| r.end > self.len) {
            return Err(past_end(&self.name, r.end.saturating_sub(r.start), r.start, self.len));
        }
        let starts: Vec<u64> = ranges.iter().map(|r| r.start).collect();
        let ends: Vec<u64> = ranges.iter().map(|r| r.end).collect();
        // Copied while the interpreter is held: to drop Python's objects without it, pyo3 takes a lock, which a fork may leave locked.
        let read = Python::try_attach(|py| -> PyResult<Option<Vec<Bytes>>> {
            let parts = self.reader.bind(py).call_method1("get_ranges", (starts, ends))?;
            let parts: Option<Vec<PyBackedBytes>> = parts.extract()?;
            Ok(parts.map(|parts| parts.iter().map(|part| Bytes::copy_from_slice(part)).collect()))
        });
        let parts = match read {
            Some(Ok(Some(parts))) => parts,
            Some(Ok(None)) => return Err(Error::Changed { path: self.name.clone() }),
            Some(Err(error)) => return Err(self.failed(error.to_string())),
            None => return Err(self.failed("the interpreter is going away")),
        };
        let complete = parts.len() == ranges.len()
            && parts.iter().zip(ranges).all(|(p, r)| p.len() as u64 == r.end - r.start);
        if !complete {
            return Err(self.failed("the store returned other bytes than it was asked for"));
        }
        Ok(parts)
    }
}
