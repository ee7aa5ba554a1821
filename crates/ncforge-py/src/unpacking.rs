//! The meaning of stored numbers, in Python's words.

use ncforge::codec::unpack::{Missing, Scaling, Unpacking, Width};
use ncforge::model::Atomic;
use ncforge::{Buffer, Result, Values};
use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::describe::code;
use crate::errors::{invalid, outside};
use crate::memory::to_array;

/// The rules of one variable. Values are bytes of the stored type, in native order.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rules {
    /// NumPy's code of the stored type.
    stored: String,
    missing: Vec<PyBackedBytes>,
    low: Option<PyBackedBytes>,
    high: Option<PyBackedBytes>,
    /// Whether missing ones become NaN; else they are marked in a mask.
    nan: bool,
    /// "single", "widened" or "double"; `None`: nothing is scaled.
    width: Option<String>,
    factor: Option<f64>,
    offset: Option<f64>,
}

impl Rules {
    /// The rules in the library's terms.
    pub(crate) fn unpacking(&self) -> Result<Unpacking> {
        let stored = Atomic::ALL.into_iter().find(|&a| code(a) == self.stored);
        let width = match self.width.as_deref() {
            None => None,
            Some("single") => Some(Width::Single),
            Some("widened") => Some(Width::Widened),
            Some("double") => Some(Width::Double),
            Some(other) => return Err(invalid(format!("no width `{other}`"))),
        };
        let bytes = |b: &PyBackedBytes| b.to_vec();
        let rules = Unpacking {
            stored: stored.ok_or_else(|| invalid(format!("no type `{}`", self.stored)))?,
            missing: self.missing.iter().map(bytes).collect(),
            low: self.low.as_ref().map(bytes),
            high: self.high.as_ref().map(bytes),
            becomes: if self.nan { Missing::Nan } else { Missing::Marked },
            scaling: width.map(|width| Scaling { width, factor: self.factor, offset: self.offset }),
        };
        rules.check()?;
        Ok(rules)
    }
}

/// Results, and with a byte for each which are missing; `None` if none is.
pub(crate) type Unpacked = (Buffer, Option<Buffer>);

/// Unpacked values and their mask as arrays of bytes.
pub(crate) type UnpackedArrays<'py> = (Bound<'py, PyArray1<u8>>, Option<Bound<'py, PyArray1<u8>>>);

pub(crate) fn to_arrays(py: Python<'_>, (values, mask): Unpacked) -> PyResult<UnpackedArrays<'_>> {
    Ok((to_array(py, Values::Fixed(values))?, mask.map(|m| to_array(py, Values::Fixed(m))).transpose()?))
}

/// Unpacks values that are in memory: results into `out`, which are missing into `mask`; whether any is.
#[pyfunction]
pub(crate) fn unpack(
    py: Python<'_>,
    stored: PyReadonlyArray1<'_, u8>,
    rules: Rules,
    mut out: PyReadwriteArray1<'_, u8>,
    mut mask: Option<PyReadwriteArray1<'_, u8>>,
) -> PyResult<bool> {
    let (stored, out) = (stored.as_slice()?, out.as_slice_mut()?);
    let mask = mask.as_mut().map(|m| m.as_slice_mut()).transpose()?;
    outside(py, || Ok(rules.unpacking()?.unpack(stored, out, mask)?))
}
