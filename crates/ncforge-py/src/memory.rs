//! Large results as NumPy arrays, without a copy.

use ncforge::{Buffer, Values};
use numpy::PyArray1;
use numpy::ndarray::ArrayView1;
use pyo3::prelude::*;

use crate::errors::{invalid, to_python};

/// Keeps the memory of a result alive for the array made of it. When the array goes, the memory goes back to
/// the engine, which uses it for the next result.
#[pyclass(frozen, module = "ncforge._core")]
struct Memory {
    /// Only held: its bytes are the array's.
    _buffer: Buffer,
}

/// Loads what makes arrays. On first use it imports modules of NumPy: the exception of a signal that came in the midst of that would be a panic.
#[pyfunction]
pub(crate) fn load_numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy")?;
    py.check_signals()?;
    PyArray1::<u8>::zeros(py, 0, false);
    Ok(())
}

/// The bytes of a result, as an array that owns them.
pub(crate) fn to_array(py: Python<'_>, values: Values) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let Values::Fixed(mut buffer) = values else {
        return Err(to_python(py, &invalid("these values have no fixed size")));
    };
    let (bytes, len) = (buffer.as_mut_ptr(), buffer.len());
    let owner = Bound::new(py, Memory { _buffer: buffer })?;
    // SAFETY: a buffer's bytes are initialised and do not move with it; `owner`, which the array keeps alive,
    // holds them and shows them to no one else.
    unsafe {
        let view = ArrayView1::from_shape_ptr(len, bytes);
        Ok(PyArray1::borrow_from_array(&view, owner.into_any()))
    }
}
