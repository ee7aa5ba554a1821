//! A requirement of readers with HDF5 on an output's description: no enum in the byte order of other machines.

use ncforge::model::{DType, Endian, Schema, UserKind};

/// Sets the byte order of all numbers, but of no enum to that of other machines: HDF5 makes -1 of numbers that are no members (those of
/// elements that nobody wrote, mostly) where it converts them.
pub(super) fn order_bytes(schema: &mut Schema, endian: Endian, notes: &mut Vec<String>) {
    let native = is_big(Endian::Native);
    for v in schema.var_ids().collect::<Vec<_>>() {
        let var = schema.var(v);
        if is_big(endian) == native || !holds_enum(schema, var.dtype) {
            schema.vars[v.0].endian = endian;
        } else if is_big(var.endian) != is_big(endian) {
            notes.push(format!(
                "`{}` keeps its byte order: HDF5 converts no enum whose numbers are not all members",
                schema.var_path(v)
            ));
        }
    }
}

/// Whether the byte with the largest digits comes first.
pub(super) fn is_big(order: Endian) -> bool {
    match order {
        Endian::Native => cfg!(target_endian = "big"),
        Endian::Big => true,
        Endian::Little => false,
    }
}

/// Whether numbers of a type are members of an enum.
fn holds_enum(schema: &Schema, dtype: DType) -> bool {
    let DType::User(t) = dtype else { return false };
    match &schema.user_type(t).kind {
        UserKind::Enum { .. } => true,
        UserKind::Compound { fields, .. } => fields.iter().any(|f| holds_enum(schema, f.dtype)),
        UserKind::Vlen { base } => holds_enum(schema, *base),
        UserKind::Opaque { .. } => false,
    }
}
