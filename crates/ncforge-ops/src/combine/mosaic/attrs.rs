//! Attributes in several tiles: some must agree, some span, the rest is the first tile's.

use super::types::same_attribute;
use crate::describe::attribute_words;
use crate::same::unlike_names;
use ncforge::model::{Attribute, DType, GroupId, Number, Schema, VarId};

/// Characters of a value that messages show.
const SHOWN: usize = 60;

/// What the values mean depends on these.
const MEANING: [&str; 9] = [
    "_FillValue",
    "missing_value",
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_Unsigned",
    "flag_values",
    "flag_masks",
];

/// Where the attributes of a tile's variables say otherwise than the first tile's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflicts {
    /// The meaning differs: variable and attribute.
    pub(crate) meaning: Option<(String, String)>,
    /// `valid_min`, `valid_max`, `valid_range` or `actual_range` of the first tile's variable, to be widened.
    pub(crate) ranges: Vec<(VarId, Attribute)>,
    /// Others.
    pub(crate) others: Vec<Unlike>,
}

/// An attribute that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unlike {
    /// The attribute's name.
    pub(crate) name: String,
    /// "global attribute `title`", "attribute `tas:long_name`".
    pub(crate) what: String,
    /// Its value in the first file; `None` where it has no such attribute.
    pub(crate) first: Option<String>,
    /// In the other file.
    pub(crate) other: Option<String>,
}

impl Unlike {
    fn new(
        name: &str,
        what: String,
        (first, a): (&Schema, Option<&Attribute>),
        (other, b): (&Schema, Option<&Attribute>),
    ) -> Unlike {
        let shown =
            |schema: &Schema, attr: Option<&Attribute>| attr.map(|a| shortened(&attribute_words(schema, a)));
        Unlike { name: name.to_owned(), what, first: shown(first, a), other: shown(other, b) }
    }

    /// An attribute of a variable, and what the other file has.
    pub(super) fn of_var(
        (first, v): (&Schema, VarId),
        name: &str,
        other: (&Schema, Option<&Attribute>),
    ) -> Unlike {
        let path = first.var_path(v);
        let what = format!("attribute `{}:{name}`", path.trim_start_matches('/'));
        Unlike::new(name, what, (first, first.var(v).attr(name)), other)
    }

    /// What two files have.
    pub(crate) fn values(&self, first: &str, other: &str) -> String {
        let said = |value: &Option<String>, file: &str| match value {
            Some(value) => format!("{value} in {file}"),
            None => format!("none in {file}"),
        };
        format!("the {} differs: {}, {}", self.what, said(&self.first, first), said(&self.other, other))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Compares the attributes of the groups that both have, but for those of the whole file that `may_differ`.
pub(crate) fn compare_global_attributes(
    first: &Schema,
    tile: &Schema,
    may_differ: impl Fn(&str) -> bool,
) -> Vec<Unlike> {
    let mut found = Vec::new();
    for g in 0..first.groups.len() {
        let path = first.group_path(GroupId(g));
        let other = if g == 0 { Some(GroupId(0)) } else { tile.find_group(&path) };
        let Some(other) = other else { continue };
        let (a, b) = (&first.groups[g].attrs, &tile.groups[other.0].attrs);
        for name in unlike_names(a, b, |x, y| same_attribute((first, x), (tile, y))) {
            if g == 0 && may_differ(name) {
                continue;
            }
            let what = match g {
                0 => format!("global attribute `{name}`"),
                _ => format!("attribute `{path}:{name}`"),
            };
            let find = |list: &[Attribute]| list.iter().find(|x| x.name == name).cloned();
            found.push(Unlike::new(name, what, (first, find(a).as_ref()), (tile, find(b).as_ref())));
        }
    }
    found
}

/// Compares the attributes of the variables that both have. `same`: variables have the same numbers.
pub(crate) fn compare_attributes(first: &Schema, tile: &Schema, same: bool) -> Conflicts {
    let mut found = Conflicts::default();
    for v in first.var_ids() {
        let other = if same { Some(v) } else { tile.find_var(&first.var_path(v)) };
        if let Some(other) = other {
            compare_one((first, v), (tile, other), &mut found);
        }
    }
    found
}

/// Compares the attributes of one variable.
pub(super) fn compare_one(
    (first, v): (&Schema, VarId),
    (tile, other): (&Schema, VarId),
    found: &mut Conflicts,
) {
    let (a, b) = (first.var(v), tile.var(other));
    for name in unlike_names(&a.attrs, &b.attrs, |x, y| same_attribute((first, x), (tile, y))) {
        let (x, y) = (a.attr(name), b.attr(name));
        let spans = ["valid_min", "valid_max", "valid_range", "actual_range"].contains(&name);
        match y {
            _ if MEANING.contains(&name) => {
                found.meaning.get_or_insert((first.var_path(v), name.to_owned()));
            }
            Some(y) if spans && x.is_some_and(|x| x.dtype == y.dtype) => found.ranges.push((v, y.clone())),
            _ => found.others.push(Unlike::of_var((first, v), name, (tile, y))),
        }
    }
}

/// Widens the range that an attribute tells by another tile's.
pub(crate) fn widen(own: &mut Attribute, other: &Attribute) {
    let (DType::Atomic(kind), true) = (own.dtype, own.dtype == other.dtype) else { return };
    let (Some(a), Some(b)) = (own.values.bytes(), other.values.bytes()) else { return };
    let size = kind.size();
    let low_first = own.name.ends_with("range");
    let pick = |i: usize, x: &[u8], y: &[u8]| -> Vec<u8> {
        let low = own.name == "valid_min" || (low_first && i == 0);
        let (p, q) = (Number::read_f64(kind, x), Number::read_f64(kind, y));
        let other_wins = if low { q < p } else { q > p };
        if other_wins { y.to_vec() } else { x.to_vec() }
    };
    let joined: Vec<u8> = a
        .chunks_exact(size)
        .zip(b.chunks_exact(size))
        .enumerate()
        .flat_map(|(i, (x, y))| pick(i, x, y))
        .collect();
    if joined.len() == a.len() {
        own.values = ncforge::model::Values::fixed(&joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, Values};

    fn attr(name: &str, values: &[f32]) -> Attribute {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        Attribute { name: name.into(), dtype: Atomic::Float.into(), values: Values::fixed(&bytes) }
    }

    #[test]
    fn ranges_are_widened() {
        let widened = |name: &str, a: &[f32], b: &[f32]| {
            let mut own = attr(name, a);
            widen(&mut own, &attr(name, b));
            own
        };
        assert_eq!(widened("valid_min", &[1.0], &[-2.0]), attr("valid_min", &[-2.0]));
        assert_eq!(widened("valid_max", &[1.0], &[-2.0]), attr("valid_max", &[1.0]));
        assert_eq!(widened("actual_range", &[1.0, 3.0], &[0.0, 2.0]), attr("actual_range", &[0.0, 3.0]));
    }
}
