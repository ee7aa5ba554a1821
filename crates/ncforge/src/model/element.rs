//! The stored element of a type of a schema.

use ncforge_codec::{Atomic, Element, Endian, Order, SwapField, is_swapped};

use super::{DType, Schema, UserKind};

/// The element of a fixed-size type that is stored with the same size and offsets as in memory, in byte
/// order `endian`; `None` for heap types.
pub fn element_of(schema: &Schema, dtype: DType, endian: Endian) -> Option<Element> {
    let size = schema.fixed_size(dtype)?;
    let mut fields = Vec::new();
    if is_swapped(endian) {
        collect_swaps(schema, dtype, 0, 1, &mut fields);
    }
    let order = match fields.as_slice() {
        [] => Order::Keep,
        [one] if one.offset == 0 && one.count == 1 && one.unit == size => Order::Swap(size),
        _ => Order::Fields(fields),
    };
    Some(Element { size, order, heap: false })
}

fn collect_swaps(schema: &Schema, dtype: DType, offset: usize, count: usize, out: &mut Vec<SwapField>) {
    let number = |a: Atomic| (a.size() > 1).then_some(SwapField { offset, unit: a.size(), count });
    match dtype {
        DType::Atomic(a) => out.extend(number(a)),
        DType::String => {}
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { base, .. } => out.extend(number(*base)),
            UserKind::Opaque { .. } | UserKind::Vlen { .. } => {}
            UserKind::Compound { size, fields } => {
                for i in 0..count {
                    for f in fields {
                        collect_swaps(schema, f.dtype, offset + i * size + f.offset, f.count(), out);
                    }
                }
            }
        },
    }
}
