//! Heap values (strings, ragged rows, compounds of them) as plain Python objects, and back.
//!
//! A fixed leaf is `bytes`, a string is `bytes` or `None`, a row of fixed elements is `bytes`, a row of heap
//! values is a `list`, a compound is a `tuple`. NumPy types are put on by `python/ncforge/_dataset/values.py`, except where every
//! element would take a call of Python: arrays of strings, and of rows of numbers, are made here ([`to_objects`]).

use ncforge::model::{Atomic, DType, Schema, UserKind, Value};
use ncforge::{Error, Result, Values, Variable};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::errors::{invalid, to_python};

/// Values as Python data: `bytes` for fixed-size types, else a list.
pub(crate) fn to_python_values<'py>(py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyAny>> {
    match values {
        Values::Fixed(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Values::Heap(list) => Ok(to_list(py, list)?.into_any()),
    }
}

fn to_list<'py>(py: Python<'py>, values: &[Value]) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for value in values {
        out.append(to_object(py, value)?)?;
    }
    Ok(out)
}

fn to_object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Fixed(bytes) | Value::Row(bytes) | Value::String(Some(bytes)) => {
            PyBytes::new(py, bytes).into_any()
        }
        Value::String(None) => py.None().into_bound(py),
        Value::HeapRow(list) => to_list(py, list)?.into_any(),
        Value::Compound(fields) => {
            let fields = fields.iter().map(|f| to_object(py, f)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, fields)?.into_any()
        }
    })
}

/// An array of objects from strings, or from rows of numbers of an atomic type; values of other types as
/// [`to_python_values`] has them.
pub(crate) fn to_objects<'py>(
    py: Python<'py>,
    of: Option<Atomic>,
    values: &Values,
) -> PyResult<Bound<'py, PyAny>> {
    let object = |value: &Value| match (value, of) {
        (Value::String(Some(bytes)), None) => exact_text(py, bytes).map(Bound::unbind),
        (Value::String(None), None) => Ok(PyString::new(py, "").into_any().unbind()),
        (Value::Row(bytes), Some(atomic)) => Ok(row(py, atomic, bytes).unbind()),
        _ => Err(to_python(py, &invalid("values of another type than the variable's"))),
    };
    match values {
        Values::Heap(list) if of.is_some() || matches!(list.first(), Some(Value::String(_))) => {
            let objects = list.iter().map(object).collect::<PyResult<Vec<Py<PyAny>>>>()?;
            Ok(PyArray1::from_vec(py, objects).into_any())
        }
        _ => to_python_values(py, values),
    }
}

/// The type of the numbers of a variable's rows; `None` where its values are no rows of plain numbers.
pub(crate) fn row_type(schema: &Schema, var: usize) -> Result<Option<Atomic>> {
    let DType::User(t) = variable(schema, var)?.dtype else { return Ok(None) };
    Ok(match schema.user_type(t).kind {
        UserKind::Vlen { base: DType::Atomic(atomic) } if atomic != Atomic::Char => Some(atomic),
        _ => None,
    })
}

/// Evaluates an expression in which the type of this name is that of an atomic type's numbers.
macro_rules! with_type {
    ($atomic:expr, $t:ident => $body:expr) => {
        match $atomic {
            Atomic::Byte => with_type!(@ i8, $t => $body),
            Atomic::Char | Atomic::UByte => with_type!(@ u8, $t => $body),
            Atomic::Short => with_type!(@ i16, $t => $body),
            Atomic::UShort => with_type!(@ u16, $t => $body),
            Atomic::Int => with_type!(@ i32, $t => $body),
            Atomic::UInt => with_type!(@ u32, $t => $body),
            Atomic::Int64 => with_type!(@ i64, $t => $body),
            Atomic::UInt64 => with_type!(@ u64, $t => $body),
            Atomic::Float => with_type!(@ f32, $t => $body),
            Atomic::Double => with_type!(@ f64, $t => $body),
        }
    };
    (@ $type:ty, $t:ident => $body:expr) => {{
        type $t = $type;
        $body
    }};
}
pub(crate) use with_type;

/// Numbers as an array. (Characters would be numbers: NumPy's type of them is put on in Python.)
pub(crate) fn row<'py>(py: Python<'py>, atomic: Atomic, bytes: &[u8]) -> Bound<'py, PyAny> {
    with_type!(atomic, T => {
        let numbers = bytes.as_chunks().0.iter().map(|b| T::from_ne_bytes(*b)).collect::<Vec<_>>();
        PyArray1::from_vec(py, numbers).into_any()
    })
}

/// Text of which every byte comes back when it is written again: those that are no UTF-8 become surrogates.
fn exact_text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// The bytes of a string: of `bytes`, `str` or `None`.
fn string(data: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    let bytes = match data.cast::<PyString>().map(|text| (text, text.to_cow())) {
        Err(_) => data.extract::<Option<&[u8]>>()?.map(<[u8]>::to_vec),
        Ok((_, Ok(text))) => Some(text.into_owned().into_bytes()),
        Ok((text, Err(_))) => Some(text.call_method1("encode", ("utf-8", "surrogateescape"))?.extract()?),
    };
    // A string ends at its first NUL: so it is read from the file, by every library.
    Ok(bytes.map(|mut bytes| {
        bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
        bytes
    }))
}

/// Values of a type from Python data in the same form; a string may be `str`.
pub(crate) fn from_python(schema: &Schema, dtype: DType, data: &Bound<'_, PyAny>) -> PyResult<Values> {
    let py = data.py();
    if let Some(size) = schema.fixed_size(dtype) {
        let bytes: &[u8] = data.extract()?;
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return Err(to_python(
                py,
                &invalid(format!("{} bytes are no values of {size} bytes", bytes.len())),
            ));
        }
        return Ok(Values::fixed(bytes));
    }
    Ok(Values::Heap(from_list(schema, dtype, data)?))
}

fn from_list(schema: &Schema, dtype: DType, data: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    data.try_iter()?.map(|item| from_object(schema, dtype, &item?)).collect()
}

fn from_object(schema: &Schema, dtype: DType, data: &Bound<'_, PyAny>) -> PyResult<Value> {
    let wrong = |what: String| to_python(data.py(), &invalid(what));
    if let Some(size) = schema.fixed_size(dtype) {
        let bytes: &[u8] = data.extract()?;
        if bytes.len() != size {
            return Err(wrong(format!("{} bytes for a value of {size}", bytes.len())));
        }
        return Ok(Value::Fixed(bytes.to_vec()));
    }
    match dtype {
        DType::String => Ok(Value::String(string(data)?)),
        DType::Atomic(_) => Err(wrong("an atomic type has a fixed size".into())),
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Vlen { base } => match schema.fixed_size(*base) {
                Some(_) => match from_python(schema, *base, data)? {
                    Values::Fixed(bytes) => Ok(Value::Row(bytes.to_vec())),
                    Values::Heap(_) => Err(wrong("a row of fixed-size values is bytes".into())),
                },
                None => Ok(Value::HeapRow(from_list(schema, *base, data)?)),
            },
            UserKind::Compound { fields, .. } => {
                let items = data.cast::<PyTuple>()?;
                let types: Vec<DType> =
                    fields.iter().flat_map(|f| std::iter::repeat_n(f.dtype, f.count())).collect();
                if items.len() != types.len() {
                    return Err(wrong(format!("{} fields for a compound of {}", items.len(), types.len())));
                }
                let values = types.iter().zip(items.iter()).map(|(&t, item)| from_object(schema, t, &item));
                Ok(Value::Compound(values.collect::<PyResult<_>>()?))
            }
            UserKind::Enum { .. } | UserKind::Opaque { .. } => {
                Err(wrong("enums and opaque values have a fixed size".into()))
            }
        },
    }
}

/// An error for positions that came from Python and do not exist.
pub(crate) fn checked<T>(list: &[T], id: usize, kind: &'static str) -> Result<()> {
    if id < list.len() { Ok(()) } else { Err(Error::NoSuchId { kind, id }) }
}

/// A schema with the types of another, and nothing else: what conversions need.
pub(crate) fn types_only(schema: &Schema) -> Schema {
    let mut out = Schema::new(schema.format);
    out.types.clone_from(&schema.types);
    out
}

/// A variable by its position, which came from Python.
pub(crate) fn variable(schema: &Schema, id: usize) -> Result<&Variable> {
    schema.vars.get(id).ok_or(Error::NoSuchId { kind: "variable", id })
}
