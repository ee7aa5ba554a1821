//! Whether two descriptions agree: types, objects, and attributes, each with what depends on it.
//!
//! One table has the attributes on which something depends ([`Class`]). Each operation on several files says by a [`Policy`] what a
//! difference of a class is to it: an error, a note, or nothing.
//!
//! ```
//! use ncforge::model::agreement::{Class, differences};
//! use ncforge::model::{Atomic, Attribute, Format, Schema, VarId, Variable};
//!
//! let file = |units: &str| {
//!     let mut schema = Schema::new(Format::Netcdf4);
//!     let mut tas = Variable::new("tas", Atomic::Float, vec![]);
//!     tas.attrs = vec![Attribute::text("units", units), Attribute::text("long_name", "air temperature")];
//!     schema.vars.push(tas);
//!     schema
//! };
//! let (a, b) = (file("K"), file("degC"));
//! let found = differences((&a, VarId(0)), (&b, VarId(0)));
//! assert_eq!((found.len(), found[0].name, found[0].class), (1, "units", Class::Units));
//! ```

use super::calendar::Calendar;
use super::equality::Equality;
use super::{Attribute, DType, GroupId, Schema, UserKind, VarId};

/// What depends on an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The numbers that stored numbers stand for, and which of them are missing.
    Packing,
    /// The quantities that the numbers count.
    Units,
    /// The meaning of codes: flags, characters.
    Codes,
    /// The extent of the values, of which each part of an array has its own.
    Span,
    /// Nothing of the contents: it says how the file was made.
    Provenance(Origin),
    /// The variables that belong to this one.
    Links,
    /// How values were rounded or stored.
    Storage,
    /// Nothing that is known.
    Other,
}

/// The files between which what is said of their making differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Parts that one run wrote at one time.
    Run,
    /// Files that were made one after the other, and published.
    Series,
}

/// The attributes on which something depends. CF conventions 1.11, appendix A; netCDF User Guide, appendix A; those of provenance are
/// written by NCO, CDO, FMS, NEMO and the archives of CMIP.
const TABLE: [(&str, Class); 36] = [
    ("scale_factor", Class::Packing),
    ("add_offset", Class::Packing),
    ("_FillValue", Class::Packing),
    ("missing_value", Class::Packing),
    ("_Unsigned", Class::Packing),
    ("units", Class::Units),
    ("calendar", Class::Units),
    ("flag_values", Class::Codes),
    ("flag_masks", Class::Codes),
    ("flag_meanings", Class::Codes),
    ("_Encoding", Class::Codes),
    // The type that xarray makes of numbers: `bool`.
    ("dtype", Class::Codes),
    ("valid_min", Class::Span),
    ("valid_max", Class::Span),
    ("valid_range", Class::Span),
    ("actual_range", Class::Span),
    ("history", Class::Provenance(Origin::Run)),
    ("timeStamp", Class::Provenance(Origin::Run)),
    ("TimeStamp", Class::Provenance(Origin::Run)),
    ("NCO", Class::Provenance(Origin::Series)),
    ("CDO", Class::Provenance(Origin::Series)),
    ("creation_date", Class::Provenance(Origin::Series)),
    ("tracking_id", Class::Provenance(Origin::Series)),
    ("coordinates", Class::Links),
    ("bounds", Class::Links),
    ("climatology", Class::Links),
    ("grid_mapping", Class::Links),
    ("cell_measures", Class::Links),
    ("formula_terms", Class::Links),
    ("ancillary_variables", Class::Links),
    ("least_significant_digit", Class::Storage),
    ("_Storage", Class::Storage),
    ("_ChunkSizes", Class::Storage),
    ("_DeflateLevel", Class::Storage),
    ("_Shuffle", Class::Storage),
    ("_Endianness", Class::Storage),
];

impl Class {
    /// The class of an attribute of a variable.
    pub fn of_variable(name: &str) -> Class {
        match known(name) {
            Some(Class::Provenance(_)) | None => Class::Other,
            Some(class) => class,
        }
    }

    /// The class of an attribute of the whole file.
    pub fn of_file(name: &str) -> Class {
        match known(name) {
            Some(class @ Class::Provenance(_)) => class,
            _ => Class::Other,
        }
    }

    /// Whether values mean something else if it differs.
    pub fn is_meaning(self) -> bool {
        matches!(self, Class::Packing | Class::Units | Class::Codes)
    }

    /// Whether files may differ in it because they were made apart.
    pub fn may_differ(self, between: Origin) -> bool {
        matches!(self, Class::Provenance(origin) if origin == Origin::Run || origin == between)
    }

    /// The attributes of this class.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        TABLE.iter().filter(move |(_, class)| *class == self).map(|(name, _)| *name)
    }
}

fn known(name: &str) -> Option<Class> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
}

/// What becomes of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The files do not go together.
    Refuse,
    /// The whole gets what holds for both.
    Join,
    /// The user is told, and the first file's holds.
    Note,
    /// The first file's holds.
    Ignore,
}

/// What differences are to an operation on several files.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Values mean something else.
    pub meaning: Verdict,
    /// The extents of values differ.
    pub span: Verdict,
    /// The files that may have been made differently.
    pub origin: Origin,
    /// Everything else.
    pub other: Verdict,
}

impl Policy {
    /// What becomes of a difference of a class.
    pub fn verdict(&self, class: Class) -> Verdict {
        match class {
            class if class.is_meaning() => self.meaning,
            Class::Span => self.span,
            class if class.may_differ(self.origin) => Verdict::Ignore,
            _ => self.other,
        }
    }
}

/// An attribute that differs.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// Its name.
    pub name: &'a str,
    /// What depends on the difference: nothing where both mean the same in other words (names of one calendar).
    pub class: Class,
    /// The first file's; `None` if it has none.
    pub first: Option<&'a Attribute>,
    /// The other file's.
    pub other: Option<&'a Attribute>,
}

/// The attributes in which two variables differ.
pub fn differences<'a>(first: (&'a Schema, VarId), other: (&'a Schema, VarId)) -> Vec<Difference<'a>> {
    let attrs = |(schema, v): (&'a Schema, VarId)| (schema, &schema.var(v).attrs[..]);
    unlike(attrs(first), attrs(other), Class::of_variable)
}

/// The attributes in which two groups differ; those of the root speak of the file.
pub fn group_differences<'a>(
    first: (&'a Schema, GroupId),
    other: (&'a Schema, GroupId),
) -> Vec<Difference<'a>> {
    let attrs = |(schema, g): (&'a Schema, GroupId)| (schema, &schema.group(g).attrs[..]);
    let class = if first.1 == Schema::ROOT { Class::of_file } else { |_: &str| Class::Other };
    unlike(attrs(first), attrs(other), class)
}

fn unlike<'a>(
    (sa, a): (&Schema, &'a [Attribute]),
    (sb, b): (&Schema, &'a [Attribute]),
    class: fn(&str) -> Class,
) -> Vec<Difference<'a>> {
    let same = |x: &Attribute, y: &Attribute| same_attribute((sa, x), (sb, y));
    // Mostly they stand in the same places.
    if a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y)) {
        return Vec::new();
    }
    let find = |list: &'a [Attribute], name: &str| list.iter().find(|x| x.name == name);
    let mut found: Vec<Difference<'a>> = Vec::new();
    for x in a.iter().chain(b) {
        let (first, other) = (find(a, &x.name), find(b, &x.name));
        let agree = first.zip(other).is_some_and(|(x, y)| same(x, y));
        if !agree && found.iter().all(|d| d.name != x.name) {
            let class = if same_meaning(&x.name, first, other) { Class::Other } else { class(&x.name) };
            found.push(Difference { name: &x.name, class, first, other });
        }
    }
    found
}

/// Whether two attributes of one name, or one and none, mean the same in other words: nothing depends on which of them holds.
fn same_meaning(name: &str, first: Option<&Attribute>, other: Option<&Attribute>) -> bool {
    let text = |a: Option<&'_ Attribute>| a.map_or(Some(String::new()), |a| a.as_text().map(Into::into));
    text(first).zip(text(other)).is_some_and(|(a, b)| same_words(name, &a, &b))
}

/// Whether two texts of an attribute of this name, of which an empty one is none, mean the same.
pub fn same_words(name: &str, a: &str, b: &str) -> bool {
    a == b || name == "calendar" && Calendar::same(Some(a), Some(b))
}

/// Whether two attributes of one name say the same.
pub fn same_attribute((sa, a): (&Schema, &Attribute), (sb, b): (&Schema, &Attribute)) -> bool {
    let (of_a, of_b) = ((sa, a.dtype), (sb, b.dtype));
    a.name == b.name
        && same_type(of_a, of_b, Offsets::MustAgree)
        && Equality::new(of_a, of_b, None).same_values(&a.values, &b.values)
}

/// Whether the bytes of values must be the same, too, or only what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// Offsets of fields are a matter of storage, where both types have the same fields in the same order.
    MayDiffer,
    /// Bytes of one are read as values of the other.
    MustAgree,
}

/// Whether two types, each of a description that numbers its own, are the same: kind, names, fields and members.
pub fn same_type((sa, a): (&Schema, DType), (sb, b): (&Schema, DType), offsets: Offsets) -> bool {
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
pub fn same_objects(a: &Schema, b: &Schema) -> bool {
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

#[cfg(test)]
mod tests {
    use super::super::{Atomic, Field, Format, TypeId, UserType, Variable};
    use super::*;

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

    #[test]
    fn no_attribute_is_in_the_table_twice() {
        for (i, (name, _)) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|(other, _)| other != name), "{name}");
        }
        assert_eq!(Class::Units.names().collect::<Vec<_>>(), ["units", "calendar"]);
    }

    #[test]
    fn what_differs_is_found_once_and_in_order() {
        let schema = |attrs: &[(&str, &str)]| {
            let mut s = Schema::new(Format::Netcdf4);
            let mut v = Variable::new("v", Atomic::Int, vec![]);
            v.attrs = attrs.iter().map(|(name, text)| Attribute::text(*name, text)).collect();
            s.groups[0].attrs.clone_from(&v.attrs);
            s.vars.push(v);
            s
        };
        let a = schema(&[("history", "x"), ("units", "K"), ("title", "t"), ("valid_min", "0")]);
        let b = schema(&[("title", "t"), ("history", "y"), ("valid_max", "1"), ("units", "m")]);
        let seen = |found: Vec<Difference<'_>>| -> Vec<(String, Class)> {
            found.iter().map(|d| (d.name.to_owned(), d.class)).collect()
        };
        let of_vars = seen(differences((&a, VarId(0)), (&b, VarId(0))));
        let expected = [
            ("history", Class::Other),
            ("units", Class::Units),
            ("valid_min", Class::Span),
            ("valid_max", Class::Span),
        ];
        assert_eq!(of_vars, expected.map(|(name, class)| (name.to_owned(), class)));
        let of_groups = seen(group_differences((&a, Schema::ROOT), (&b, Schema::ROOT)));
        assert_eq!(of_groups[0].1, Class::Provenance(Origin::Run));
        assert_eq!(of_groups[1], ("units".to_owned(), Class::Other));
        assert!(differences((&a, VarId(0)), (&a, VarId(0))).is_empty());
    }

    #[test]
    fn a_policy_decides_by_class() {
        let policy = Policy {
            meaning: Verdict::Refuse,
            span: Verdict::Join,
            origin: Origin::Run,
            other: Verdict::Note,
        };
        assert_eq!(policy.verdict(Class::of_variable("_FillValue")), Verdict::Refuse);
        assert_eq!(policy.verdict(Class::of_variable("actual_range")), Verdict::Join);
        assert_eq!(policy.verdict(Class::of_variable("history")), Verdict::Note);
        assert_eq!(policy.verdict(Class::of_file("history")), Verdict::Ignore);
        assert_eq!(policy.verdict(Class::of_file("tracking_id")), Verdict::Note);
        let published = Policy { origin: Origin::Series, ..policy };
        assert_eq!(published.verdict(Class::of_file("tracking_id")), Verdict::Ignore);
    }
}
