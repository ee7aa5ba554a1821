//! Bytes that Python holds, as stores: `bytes`, and objects with `read` and `seek`.

use std::sync::{Mutex, PoisonError};

use ncforge::store::ReadStore;
use ncforge::{Error, Result};
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
            .ok_or_else(|| past_end(&self.name, buf.len(), offset, self.len()))?;
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
    object: Mutex<Py<PyAny>>,
}

impl ObjectStore {
    /// Asks the object for its length.
    pub(crate) fn new(name: String, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let before: u64 = object.call_method0("tell")?.extract()?;
        let len: u64 = object.call_method1("seek", (0, 2))?.extract()?;
        object.call_method1("seek", (before,))?;
        Ok(Self { name, len, object: Mutex::new(object.clone().unbind()) })
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
        // Nobody waits for this lock with the interpreter held: all reading is done without it.
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        let read = Python::try_attach(|py| -> PyResult<usize> {
            let object = object.bind(py);
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
            Some(Ok(_)) => Err(past_end(&self.name, buf.len(), offset, self.len)),
            Some(Err(error)) => {
                Err(Error::io("read", self.name.clone(), std::io::Error::other(error.to_string())))
            }
            None => Err(Error::io(
                "read",
                self.name.clone(),
                std::io::Error::other("the interpreter is going away"),
            )),
        }
    }
}

fn past_end(name: &str, len: usize, offset: u64, end: u64) -> Error {
    Error::corrupt(name, offset, format!("{len} bytes are needed here, the file ends at byte {end}"))
}
