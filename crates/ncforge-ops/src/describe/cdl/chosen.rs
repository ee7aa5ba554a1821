//! Of which variables values are printed, and where they come from.

use ncforge::model::{GroupId, Schema, VarId};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Result};

/// The kind of variables of which [`dump`](super::dump) prints values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DumpedValues {
    /// All.
    #[default]
    All,
    /// None, as `ncdump -h`.
    None,
    /// Those of coordinate variables, as `ncdump -c`.
    Coordinates,
}

/// The source of values and the receiver of text.
pub(super) struct Sink<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) chosen: Chosen,
    /// The groups whose values are printed; `None`: all.
    pub(super) groups: Option<Vec<GroupId>>,
    pub(super) take: &'a mut dyn FnMut(&[u8]) -> bool,
    /// True while text is taken.
    pub(super) is_open: bool,
}

impl Sink<'_> {
    /// Whether values of a group are printed.
    pub(super) fn has(&self, group: GroupId) -> bool {
        self.groups.as_ref().is_none_or(|list| list.contains(&group))
    }
}

/// The groups that names mean: a name, wherever it is, or a path. `None` for no names; an error for a name that means none.
pub(super) fn groups(dataset: &Dataset, names: &[String]) -> Result<Option<Vec<GroupId>>> {
    let schema = dataset.schema();
    let mut all = Vec::new();
    for name in names {
        let before = all.len();
        all.extend((0..schema.groups.len()).map(GroupId).filter(|g| is_at(&schema.group_path(*g), name)));
        if all.len() == before {
            return Err(schema.no_group(name, &shown_path(dataset.path())));
        }
    }
    Ok((!names.is_empty()).then_some(all))
}

/// Whether the path of a group is one that a name means: an absolute one, or the end of it.
fn is_at(path: &str, name: &str) -> bool {
    match name.strip_prefix('/') {
        Some(rest) => path.trim_matches('/') == rest.trim_end_matches('/'),
        None => path.strip_suffix(name).is_some_and(|above| above.ends_with('/')),
    }
}

/// Variables whose values are printed.
pub(super) struct Chosen {
    values: DumpedValues,
    /// `None`: no names choose.
    named: Option<Vec<VarId>>,
}

impl Chosen {
    /// An error for a name that no group has.
    pub(super) fn of(dataset: &Dataset, values: DumpedValues, names: &[String]) -> Result<Self> {
        let schema = dataset.schema();
        let mut named = Vec::new();
        for name in names {
            let before = named.len();
            named.extend(schema.var_ids().filter(|v| is_called(schema, *v, name)));
            if named.len() == before {
                // Which may be a path, too; else the error.
                named.push(dataset.var(name)?);
            }
        }
        Ok(Chosen { values, named: (!names.is_empty()).then_some(named) })
    }

    pub(super) fn has(&self, schema: &Schema, v: VarId) -> bool {
        let is_kind = match self.values {
            DumpedValues::All => true,
            DumpedValues::None => false,
            DumpedValues::Coordinates => is_coordinate(schema, v),
        };
        is_kind && self.named.as_ref().is_none_or(|list| list.contains(&v))
    }
}

/// Whether a name of `-v` means a variable: its own name, or that behind the end of its group's path.
fn is_called(schema: &Schema, v: VarId, name: &str) -> bool {
    let var = schema.var(v);
    match name.rsplit_once('/') {
        None => var.name == name,
        Some((group, own)) => {
            let group = if group.is_empty() { "/" } else { group };
            own == var.name && is_at(&schema.group_path(var.group), group)
        }
    }
}

/// True if the variable has one dimension, and the name of one that its group sees.
fn is_coordinate(schema: &Schema, v: VarId) -> bool {
    let var = schema.var(v);
    var.dims.len() == 1 && schema.find_dim(var.group, &var.name).is_some()
}
