//! Whether two descriptions, each of which numbers its own types, have the same types, and the same objects.

use ncforge::model::{Attribute, DType, Schema, UserKind};

/// Whether the bytes of values must be the same, too, or only what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offsets {
    /// Offsets of fields are a matter of storage, where both types have the same fields in the same order.
    MayDiffer,
    /// Bytes of one are read as values of the other.
    MustAgree,
}

/// Whether two types are the same: kind, names, fields and members.
pub(crate) fn same_type((sa, a): (&Schema, DType), (sb, b): (&Schema, DType), offsets: Offsets) -> bool {
    let (DType::User(x), DType::User(y)) = (a, b) else { return a == b };
    let (Some(x), Some(y)) = (sa.types.get(x.0), sb.types.get(y.0)) else { return false };
    let agree = |a, b| offsets == Offsets::MayDiffer || a == b;
    let same = |a, b| same_type((sa, a), (sb, b), offsets);
    x.name == y.name
        && match (&x.kind, &y.kind) {
            (UserKind::Compound { size: m, fields: f }, UserKind::Compound { size: n, fields: g }) => {
                agree(*m, *n)
                    && f.len() == g.len()
                    && f.iter().zip(g).all(|(f, g)| {
                        (&f.name, &f.shape) == (&g.name, &g.shape)
                            && agree(f.offset, g.offset)
                            && same(f.dtype, g.dtype)
                    })
            }
            (UserKind::Vlen { base: x }, UserKind::Vlen { base: y }) => same(*x, *y),
            // Enums and blobs refer to no other type.
            (x, y) => x == y,
        }
}

/// Whether two descriptions have the same objects in the same order, whatever lengths, attributes and storage are.
pub(crate) fn same_objects(a: &Schema, b: &Schema) -> bool {
    fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
    }
    a.format == b.format
        && a.types == b.types
        && all(&a.groups, &b.groups, |a, b| a.name == b.name && a.parent == b.parent)
        && all(&a.dims, &b.dims, |a, b| a.name == b.name && a.group == b.group && a.unlimited == b.unlimited)
        && all(&a.vars, &b.vars, |a, b| {
            a.name == b.name && a.group == b.group && a.dtype == b.dtype && a.dims == b.dims
        })
}

/// Names of the attributes in which two lists differ, in order; `same` compares two of one name.
pub(crate) fn unlike_names<'a>(
    a: &'a [Attribute],
    b: &'a [Attribute],
    same: impl Fn(&Attribute, &Attribute) -> bool,
) -> Vec<&'a str> {
    // Mostly they stand in the same places.
    if a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.name == y.name && same(x, y)) {
        return Vec::new();
    }
    let find = |list: &'a [Attribute], name: &str| list.iter().find(|x| x.name == name);
    let agree = |name: &str| match (find(a, name), find(b, name)) {
        (Some(x), Some(y)) => same(x, y),
        (x, y) => x.is_none() && y.is_none(),
    };
    let mut names: Vec<&str> = Vec::new();
    for x in a.iter().chain(b) {
        if !names.contains(&x.name.as_str()) && !agree(&x.name) {
            names.push(&x.name);
        }
    }
    names
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
        let same = |a: &Schema, t, b: &Schema, u| same_type((a, t), (b, u), Offsets::MayDiffer);
        assert!(same(&a, t, &b, t));
        assert!(!same(&a, t, &compound("t", Atomic::Float), t));
        assert!(!same(&a, t, &compound("u", Atomic::Int), t));
        assert!(!same(&a, t, &b, DType::Atomic(Atomic::Int)));
    }
}
