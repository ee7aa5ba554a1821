//! User-defined types of two descriptions, each of which numbers its own.

use ncforge::model::agreement::{self, Offsets};
use ncforge::model::{Attribute, DType, Schema, TypeId};

/// Whether the bytes of a value of one type are the same value of the other.
pub(super) fn same_type(a: (&Schema, DType), b: (&Schema, DType)) -> bool {
    agreement::same_type(a, b, Offsets::MustAgree)
}

/// The type of `whole` that is the same as one of another description, in the group of the same path.
pub(super) fn type_in(whole: &Schema, (other, id): (&Schema, TypeId)) -> Option<TypeId> {
    let own = other.types.get(id.0)?;
    let group = whole.find_group(&other.group_path(own.group))?;
    (0..whole.types.len()).map(TypeId).find(|&w| {
        whole.types[w.0].group == group && same_type((whole, DType::User(w)), (other, DType::User(id)))
    })
}

/// Attributes of another description with the numbers that their types have in `whole`; else the name of one whose type
/// `whole` lacks.
pub(super) fn attributes_in(
    whole: &Schema,
    (other, attrs): (&Schema, &[Attribute]),
) -> Result<Vec<Attribute>, String> {
    attrs
        .iter()
        .map(|attr| match attr.dtype {
            DType::User(id) => match type_in(whole, (other, id)) {
                Some(id) => Ok(Attribute { dtype: DType::User(id), ..attr.clone() }),
                None => Err(attr.name.clone()),
            },
            _ => Ok(attr.clone()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::agreement::same_attribute;
    use ncforge::model::{Atomic, Field, Format, UserKind, UserType, Values};

    /// A compound type with an enum, after `before` other types.
    fn schema(before: usize, land: i128) -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        let members = vec![("land".into(), land), ("sea".into(), 1 - land)];
        let mut add = |name: String, kind| s.types.push(UserType { name, group: Schema::ROOT, kind });
        (0..before).for_each(|i| add(format!("other{i}"), UserKind::Opaque { size: 3 }));
        add("kind".into(), UserKind::Enum { base: Atomic::Byte, members });
        let dtype = DType::User(TypeId(before));
        let fields = vec![Field { name: "k".into(), offset: 0, dtype, shape: vec![] }];
        add("obs".into(), UserKind::Compound { size: 1, fields });
        s
    }

    #[test]
    fn nested_types_are_compared_by_structure() {
        let (a, b, swapped) = (schema(0, 0), schema(2, 0), schema(0, 1));
        let obs = |at| DType::User(TypeId(at));
        assert!(same_type((&a, obs(1)), (&b, obs(3))));
        assert!(!same_type((&a, obs(1)), (&swapped, obs(1))));
        assert!(!same_type((&a, obs(1)), (&b, obs(9))));
        assert_eq!(type_in(&a, (&b, TypeId(3))), Some(TypeId(1)));
        assert_eq!(type_in(&a, (&b, TypeId(0))), None);
    }

    #[test]
    fn types_of_attributes_are_renumbered() {
        let (a, b) = (schema(0, 0), schema(2, 0));
        let attr = |at, name: &str| {
            let dtype = DType::User(TypeId(at));
            Attribute { name: name.into(), dtype, values: Values::fixed(&[1]) }
        };
        assert_eq!(attributes_in(&a, (&b, &[attr(2, "x")])), Ok(vec![attr(0, "x")]));
        assert_eq!(attributes_in(&a, (&b, &[attr(0, "x")])), Err("x".into()));
        assert!(same_attribute((&a, &attr(0, "x")), (&b, &attr(2, "x"))));
        assert!(!same_attribute((&a, &attr(0, "x")), (&b, &attr(0, "x"))));
    }
}
