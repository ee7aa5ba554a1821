//! Attributes as Python values: text as `str`, one number as a NumPy scalar, several as an array. A `_FillValue` of
//! characters is `bytes`.

use ncforge::model::{Atomic, Attribute, DType, Schema};
use ncforge::{Value, Values};
use numpy::npyffi::PY_ARRAY_API;
use numpy::{Element, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::describe;
use crate::values::{self, row, to_python_values, with_type};

/// All attributes of an object, by name in the order of the file; and the names of those that need the file's
/// types to be understood: for these, type and plain values.
pub(crate) fn all<'py>(py: Python<'py>, attrs: &[Attribute]) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
    let (values, mut odd) = (PyDict::new(py), Vec::new());
    for a in attrs {
        let value = match (&a.values, a.dtype) {
            (Values::Fixed(bytes), DType::Atomic(Atomic::Char)) if a.name == "_FillValue" => {
                PyBytes::new(py, bytes).into_any()
            }
            (Values::Fixed(bytes), DType::Atomic(Atomic::Char)) => text(py, bytes),
            (Values::Fixed(bytes), DType::Atomic(atomic)) => numbers(py, atomic, bytes)?,
            (Values::Heap(list), DType::String) => strings(py, list)?,
            _ => {
                odd.push(a.name.clone());
                typed(py, a)?.into_pyobject(py)?.into_any()
            }
        };
        // Names come again with every variable: one object each, whose hash Python knows.
        values.set_item(PyString::intern(py, &a.name), value)?;
    }
    Ok((values, odd))
}

/// An attribute's type and plain values.
pub(crate) type Typed<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

pub(crate) fn typed<'py>(py: Python<'py>, attribute: &Attribute) -> PyResult<Typed<'py>> {
    Ok((describe::dtype(py, attribute.dtype)?, to_python_values(py, &attribute.values)?))
}

/// An attribute of a type, from a Python value.
pub(crate) fn from_python(
    types: &Schema,
    name: &str,
    dtype: DType,
    value: &Bound<'_, PyAny>,
) -> PyResult<Attribute> {
    Ok(Attribute { name: name.into(), dtype, values: values::from_python(types, dtype, value)? })
}

/// Text to print and to compare, as netCDF4-python gives it: without NULs, and with question marks for bytes that are no
/// UTF-8. Who wants the bytes asks for the type and the plain values.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { PyString::new(py, &text.replace('\0', "")) } else { PyString::new(py, &text) }
        .into_any()
}

fn strings<'py>(py: Python<'py>, list: &[Value]) -> PyResult<Bound<'py, PyAny>> {
    let one = |v: &Value| match v {
        Value::String(Some(bytes)) => text(py, bytes),
        _ => PyString::new(py, "").into_any(),
    };
    match list {
        [single] => Ok(one(single)),
        _ => Ok(PyList::new(py, list.iter().map(one))?.into_any()),
    }
}

fn numbers<'py>(py: Python<'py>, atomic: Atomic, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    with_type!(atomic, T => match bytes.as_chunks().0 {
        [one] => scalar(py, T::from_ne_bytes(*one)),
        _ => Ok(row(py, atomic, bytes)),
    })
}

/// A NumPy scalar. Made as such, it takes a third of the time that an array and its only element take.
fn scalar<T: Element>(py: Python<'_>, number: T) -> PyResult<Bound<'_, PyAny>> {
    let descr = T::get_dtype(py);
    let data = (&raw const number).cast_mut().cast();
    // SAFETY: `data` is a number of the type that `descr` describes, and NumPy copies it before it returns; it borrows
    // both. It gives a new reference, or null with an exception set.
    unsafe {
        let made = PY_ARRAY_API.PyArray_Scalar(py, data, descr.as_dtype_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, made)
    }
}
