//! Types that a copy changes: what it makes of them for the other file's format is no difference.

use std::collections::HashMap;

use crate::conversion::Conversion;
use ncforge::Dataset;
use ncforge::model::{DType, Schema, VarId};

/// Both files as a copy of each in the other's format has them, where the other has just the types of such a copy; and what of the
/// first one and of the second changes for that. Global attributes count where `whole` files are compared.
pub(super) fn in_both_formats(
    (a, b): (&Dataset, &Dataset),
    pairs: &[(VarId, VarId)],
    whole: bool,
) -> (Dataset, Dataset, Vec<String>) {
    let mut notes = Vec::new();
    let mut held = |own: &Dataset, other: &Dataset, partners: HashMap<VarId, VarId>, which: &str| {
        let there = |v: Option<VarId>, attr: Option<&str>| match v {
            Some(v) => type_of(other.schema(), Some(*partners.get(&v)?), attr),
            None => type_of(other.schema(), None, attr).filter(|_| whole),
        };
        let wanted = |v: Option<VarId>, attr: Option<&str>, to| there(v, attr) == Some(to);
        let Some(conversion) = Conversion::to(other.format(), own.schema(), wanted) else {
            return own.clone();
        };
        notes.extend(conversion.notes().iter().map(|r| format!("in the {which} file, {r}")));
        own.view(conversion.view())
    };
    let first = held(a, b, pairs.iter().copied().collect(), "first");
    let second = held(b, a, pairs.iter().map(|&(v, w)| (w, v)).collect(), "second");
    (first, second, notes)
}

/// The type of a variable, or of an attribute of one or of the file.
fn type_of(schema: &Schema, v: Option<VarId>, attr: Option<&str>) -> Option<DType> {
    let attrs = v.map_or(&schema.group(Schema::ROOT).attrs, |v| &schema.var(v).attrs);
    match (v, attr) {
        (_, Some(name)) => attrs.iter().find(|a| a.name == name).map(|a| a.dtype),
        (v, None) => v.map(|v| schema.var(v).dtype),
    }
}
