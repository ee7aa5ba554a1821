//! Whether two types are the same, by structure: the schemas they belong to number their types differently.

use ncforge::model::{DType, Schema, UserKind};

/// Whether values of the two types mean the same: kind, names of fields and members, offsets excepted (they are
/// a matter of storage when both hold the same fields in the same order).
pub(crate) fn same_type(sa: &Schema, a: DType, sb: &Schema, b: DType) -> bool {
    match (a, b) {
        (DType::Atomic(x), DType::Atomic(y)) => x == y,
        (DType::String, DType::String) => true,
        (DType::User(x), DType::User(y)) => {
            let (x, y) = (sa.user_type(x), sb.user_type(y));
            x.name == y.name && same_kind(sa, &x.kind, sb, &y.kind)
        }
        _ => false,
    }
}

fn same_kind(sa: &Schema, a: &UserKind, sb: &Schema, b: &UserKind) -> bool {
    match (a, b) {
        (UserKind::Compound { fields: x, .. }, UserKind::Compound { fields: y, .. }) => {
            x.len() == y.len()
                && x.iter().zip(y).all(|(f, g)| {
                    f.name == g.name && f.shape == g.shape && same_type(sa, f.dtype, sb, g.dtype)
                })
        }
        (UserKind::Enum { base: x, members: m }, UserKind::Enum { base: y, members: n }) => x == y && m == n,
        (UserKind::Vlen { base: x }, UserKind::Vlen { base: y }) => same_type(sa, *x, sb, *y),
        (UserKind::Opaque { size: x }, UserKind::Opaque { size: y }) => x == y,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Field, Format, TypeId, UserType};

    fn compound(name: &str, field: Atomic) -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        let fields = vec![Field { name: "x".into(), offset: 0, dtype: field.into(), shape: vec![2] }];
        let kind = UserKind::Compound { size: 2 * field.size(), fields };
        s.types.push(UserType { name: name.into(), group: Schema::ROOT, kind });
        s
    }

    #[test]
    fn structure_and_names_decide() {
        let (a, b) = (compound("t", Atomic::Int), compound("t", Atomic::Int));
        let t = DType::User(TypeId(0));
        assert!(same_type(&a, t, &b, t));
        assert!(!same_type(&a, t, &compound("t", Atomic::Float), t));
        assert!(!same_type(&a, t, &compound("u", Atomic::Int), t));
        assert!(!same_type(&a, t, &b, DType::Atomic(Atomic::Int)));
    }
}
