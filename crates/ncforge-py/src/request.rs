//! Requests from keyword arguments: one conversion for all of them. The options, their values, and the rules on what goes
//! together are in `ncforge_ops`; here Python's values become plain data, and refusals become exceptions.

use ncforge::Error;
use ncforge_ops::request::{Front, RequestError, from_options};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyRange, PySlice, PyString, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::errors::to_python;

/// A request that a dictionary of keyword arguments is. `None` is an argument that was not given, and the underscore of a
/// name that would be a keyword (`for_`) is left out.
pub(crate) struct Asked<T>(pub(crate) T);

impl<'a, 'py, T: Default + Serialize + DeserializeOwned> FromPyObject<'a, 'py> for Asked<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let mut options = Map::new();
        for (name, value) in object.cast::<PyDict>()?.iter() {
            if !value.is_none() {
                let name: String = name.extract()?;
                options.insert(name.trim_end_matches('_').to_owned(), plain(&name, &value)?);
            }
        }
        from_options(options).map(Asked).map_err(|e| raised(object.py(), e))
    }
}

/// The exception of a request that cannot be met: `TypeError` for an option that there is not, as Python has it.
pub(crate) fn raised(py: Python<'_>, error: RequestError) -> PyErr {
    match error {
        e @ RequestError::Unknown { .. } => {
            let hint = e.hint(&Keywords).map_or(String::new(), |hint| format!("; {hint}"));
            PyTypeError::new_err(e.message(&Keywords) + &hint)
        }
        e => to_python(py, &invalid(e)),
    }
}

/// The error of wrong options, in the terms of keyword arguments.
pub(crate) fn invalid(error: RequestError) -> Error {
    match error {
        RequestError::Other(e) => e,
        e => {
            let hint = e.hint(&Keywords).map_or(String::new(), |hint| format!(" (hint: {hint})"));
            Error::Invalid(e.message(&Keywords) + &hint)
        }
    }
}

/// Options as keyword arguments.
struct Keywords;

impl Front for Keywords {
    fn option(&self, name: &str) -> String {
        // A keyword of the language.
        if name == "for" { "`for_`".to_owned() } else { format!("`{name}`") }
    }

    fn setting(&self, name: &str, value: &str) -> String {
        format!("{}={value:?}", self.option(name).trim_matches('`'))
    }
}

/// A value as plain data: texts, numbers, paths, slices, and anything that can be iterated over.
fn plain(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return text(value);
    }
    if let Ok(map) = value.cast::<PyDict>() {
        let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let value = if name == "select" { pick(name, &value)? } else { plain(name, &value)? };
            Ok((key.str()?.extract::<String>()?, value))
        };
        return map.iter().map(one).collect::<PyResult<Map<String, Value>>>().map(Value::Object);
    }
    if let Some(date) = date(value)? {
        return Ok(Value::String(date));
    }
    // NumPy's values become Python's.
    if value.hasattr("tolist")? {
        return plain(name, &value.call_method0("tolist")?);
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        // Plain data have no infinity: as `null` it would be an argument that was not given.
        return Ok(if number.is_finite() { Value::from(number) } else { Value::from(number.to_string()) });
    }
    // A range is a slice whose ends are given.
    if value.is_instance_of::<PySlice>() || value.is_instance_of::<PyRange>() {
        let part = |of| plain(name, &value.getattr(of)?);
        return Ok(Value::Array(vec![part("start")?, part("stop")?, part("step")?]));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        return number(name, value);
    }
    if value.hasattr("__fspath__")? {
        return plain(name, &value.call_method0("__fspath__")?);
    }
    if value.hasattr("__float__")? && !value.hasattr("__len__")? {
        return plain(name, &value.call_method0("__float__")?);
    }
    match value.try_iter() {
        Ok(items) => items.map(|item| plain(name, &item?)).collect::<PyResult<Vec<_>>>().map(Value::Array),
        Err(_) => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("`{name}` cannot be of type {kind}")))
        }
    }
}

/// What is wanted along a dimension: of Python's sequences, a slice has indices from one to another, a tuple the ends of a range of values,
/// and any other (a list, an array, a range) indices one by one.
fn pick(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let kind = if value.is_instance_of::<PySlice>() { "slice" } else { "indices" };
    let given = match value.is_instance_of::<PyRange>() {
        true => value.py().get_type::<PyList>().call1((value,))?,
        false => value.clone(),
    };
    Ok(match plain(name, &given)? {
        list @ Value::Array(_) if !value.is_instance_of::<PyTuple>() => {
            Value::Object(Map::from_iter([(kind.to_owned(), list)]))
        }
        other => other,
    })
}

/// A date of the standard library, cftime, pandas or NumPy as text; a moment to the microsecond, so that it is no longer span.
fn date(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    if value.hasattr("isoformat")? {
        let times = PyDict::new(py);
        if value.hasattr("hour")? {
            times.set_item("timespec", "microseconds")?;
        }
        return value.call_method("isoformat", (), Some(&times))?.extract().map(Some);
    }
    match value.get_type().name()?.extract::<String>()?.as_str() {
        "datetime64" => value.str()?.extract().map(Some),
        _ => Ok(None),
    }
}

/// A text; a path that is none (undecodable bytes) as its bytes.
fn text(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    match value.extract::<String>() {
        Ok(text) => Ok(Value::String(text)),
        Err(e) if e.is_instance_of::<PyUnicodeEncodeError>(value.py()) => {
            let bytes: Vec<u8> = value.py().import("os")?.call_method1("fsencode", (value,))?.extract()?;
            Ok(Value::from(bytes))
        }
        Err(e) => Err(e),
    }
}

/// A whole number of 64 bits.
fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(n) = value.extract::<u64>() {
        return Ok(Value::from(n));
    }
    value
        .extract::<i64>()
        .map(Value::from)
        .map_err(|_| PyTypeError::new_err(format!("`{name}` is a whole number of at most 64 bits")))
}
