//! The values in the holes of a variable.

use super::super::options::Holes;
use super::types::same_type;
use ncforge::model::{Atomic, DType, Number, Schema, UserKind, Value, Values, VarId};

/// One element in native order: `_FillValue`, else `missing_value`, at the variable's own precision, else what the type has by
/// default or zeros; or zeros in any case. `None` for heap types.
pub(crate) fn fill_of(schema: &Schema, v: VarId, holes: Holes) -> Option<Vec<u8>> {
    let var = schema.var(v);
    let size = schema.fixed_size(var.dtype)?;
    if holes == Holes::Zero {
        return Some(vec![0; size]);
    }
    for name in ["_FillValue", "missing_value"] {
        let Some(a) = var.attr(name) else { continue };
        let Some(bytes) = a.values.bytes() else { continue };
        if same_type((schema, a.dtype), (schema, var.dtype)) && bytes.len() >= size {
            return Some(bytes[..size].to_vec());
        }
        if let (Some(from), Some(to)) = (schema.number_of(a.dtype), schema.number_of(var.dtype))
            && let Some(one) = bytes.get(..from.size())
            && let Some(same) = converted(from, one, to)
        {
            return Some(same);
        }
    }
    match holes {
        Holes::Missing => Some(vec![0; size]),
        _ => schema.default_fill(var.dtype),
    }
}

/// The value in the holes of a variable of a heap type: `_FillValue`, else netCDF's value where nothing was written, which is empty text,
/// and rows of no elements.
pub(crate) fn heap_fill_of(schema: &Schema, v: VarId) -> Value {
    let var = schema.var(v);
    match var.attr("_FillValue").filter(|a| a.dtype == var.dtype).map(|a| &a.values) {
        Some(Values::Heap(values)) if values.len() == 1 => values[0].clone(),
        _ => empty(schema, var.dtype),
    }
}

/// Empty text, a row of no elements, zeros.
fn empty(schema: &Schema, dtype: DType) -> Value {
    if let Some(size) = schema.fixed_size(dtype) {
        return Value::Fixed(vec![0; size]);
    }
    let DType::User(id) = dtype else { return Value::String(Some(Vec::new())) };
    match &schema.user_type(id).kind {
        UserKind::Vlen { base } if schema.is_heap(*base) => Value::HeapRow(Vec::new()),
        UserKind::Compound { fields, .. } => {
            let entries = fields.iter().flat_map(|f| {
                let count: usize = f.shape.iter().map(|&n| n as usize).product();
                std::iter::repeat_n(empty(schema, f.dtype), count)
            });
            Value::Compound(entries.collect())
        }
        _ => Value::Row(Vec::new()),
    }
}

/// The element of another type that says the same; the nearest float for a double that is meant for floats.
fn converted(from: Atomic, bytes: &[u8], to: Atomic) -> Option<Vec<u8>> {
    let x = Number::read_f64(from, bytes);
    let y = Number::nearest(to, x);
    let back = Number::read_f64(to, &y);
    (back == x || (to == Atomic::Float && (x.is_nan() || back.is_finite()))).then_some(y)
}

/// Fills bytes with an element.
pub(crate) fn fill_all(out: &mut [u8], element: &[u8]) {
    let first = element.first().copied().unwrap_or(0);
    if element.iter().all(|&b| b == first) {
        out.fill(first);
        return;
    }
    out.chunks_exact_mut(element.len()).for_each(|e| e.copy_from_slice(element));
}
