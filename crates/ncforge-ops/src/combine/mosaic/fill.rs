//! What stands in the holes of a variable.

use super::super::options::Holes;
use ncforge::model::{Atomic, DType, Number, Schema, VarId};

/// One element in native order: `_FillValue`, else `missing_value`, else what the type has by default, at the
/// variable's own precision; or zeros. `None` for heap types.
pub(crate) fn fill_of(schema: &Schema, v: VarId, holes: Holes) -> Option<Vec<u8>> {
    let var = schema.var(v);
    let size = schema.fixed_size(var.dtype)?;
    if holes == Holes::Zero {
        return Some(vec![0; size]);
    }
    for name in ["_FillValue", "missing_value"] {
        let Some(a) = var.attr(name) else { continue };
        let (Some(bytes), DType::Atomic(from)) = (a.values.bytes(), a.dtype) else { continue };
        if a.dtype == var.dtype && bytes.len() >= size {
            return Some(bytes[..size].to_vec());
        }
        if let DType::Atomic(to) = var.dtype
            && let Some(one) = bytes.get(..from.size())
            && let Some(same) = converted(from, one, to)
        {
            return Some(same);
        }
    }
    schema.default_fill(var.dtype)
}

/// The element of another type that says the same; the nearest float for a double that is meant for floats.
fn converted(from: Atomic, bytes: &[u8], to: Atomic) -> Option<Vec<u8>> {
    if from == Atomic::Char || to == Atomic::Char {
        return None;
    }
    let x = Number::read_f64(from, bytes);
    let y = Number::nearest(to, x);
    let back = Number::read_f64(to, &y);
    (back == x || (to == Atomic::Float && (x.is_nan() || back.is_finite()))).then_some(y)
}
