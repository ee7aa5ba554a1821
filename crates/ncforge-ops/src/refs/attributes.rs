//! Attributes as JSON text.
//!
//! As kerchunk and xarray write them: a single value is a number or a text, several are a list. Python's `json` writes and
//! reads `NaN` and `Infinity`, which strict JSON does not have; readers of Zarr's attributes do the same.

use ncforge::model::{Atomic, Attribute, DType, Number, Schema, Value, Values};

/// The value of an attribute; `None` for user-defined types other than enums, which JSON does not have.
pub(super) fn text(schema: &Schema, attr: &Attribute) -> Option<String> {
    match (attr.dtype, &attr.values) {
        (DType::Atomic(Atomic::Char), Values::Fixed(bytes)) => Some(characters(bytes)),
        (dtype, Values::Fixed(bytes)) => {
            let kind = schema.number_of(dtype)?;
            Some(list(bytes.chunks_exact(kind.size()).map(|b| number(kind, b))))
        }
        (DType::String, Values::Heap(values)) => Some(list(values.iter().map(|value| match value {
            Value::String(Some(bytes)) => quoted(&String::from_utf8_lossy(bytes)),
            _ => quoted(""),
        }))),
        _ => None,
    }
}

/// Text without its trailing NULs.
fn characters(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
    quoted(&String::from_utf8_lossy(&bytes[..end]))
}

/// Text in quotes.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    match &values[..] {
        [one] => one.clone(),
        _ => format!("[{}]", values.join(",")),
    }
}

fn number(kind: Atomic, bytes: &[u8]) -> String {
    match Number::read(kind, bytes) {
        Some(Number::Integer(n)) => n.to_string(),
        Some(number) => match number.to_f64() {
            x if x.is_nan() => "NaN".into(),
            f64::INFINITY => "Infinity".into(),
            f64::NEG_INFINITY => "-Infinity".into(),
            x => serde_json::Value::from(x).to_string(),
        },
        None => "null".into(),
    }
}

/// Attributes as one JSON object.
pub(super) fn object(attrs: &[(String, String)]) -> String {
    let members: Vec<String> =
        attrs.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", members.join(","))
}
