//! Of which variables values are printed, and where they come from.

use ncforge::model::{Schema, VarId};
use ncforge::{Dataset, Result};

/// Of which variables [`dump`](super::dump) prints values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DumpedValues {
    /// All.
    #[default]
    All,
    /// None, as `ncdump -h`.
    None,
    /// Coordinate variables, as `ncdump -c`.
    Coordinates,
    /// These, as `ncdump -v`: a name, in whichever groups; or a path.
    Of(Vec<String>),
}

/// Where values come from, and text goes to.
pub(super) struct Sink<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) chosen: Chosen,
    pub(super) take: &'a mut dyn FnMut(&[u8]) -> bool,
    /// Whether it still takes text.
    pub(super) is_open: bool,
}

/// Variables whose values are printed.
pub(super) enum Chosen {
    All,
    Coordinates,
    Of(Vec<VarId>),
}

impl Chosen {
    /// `None`: of no variable. An error for a name that no group has.
    pub(super) fn of(dataset: &Dataset, values: &DumpedValues) -> Result<Option<Self>> {
        let schema = dataset.schema();
        Ok(match values {
            DumpedValues::None => None,
            DumpedValues::All => Some(Chosen::All),
            DumpedValues::Coordinates => Some(Chosen::Coordinates),
            DumpedValues::Of(names) => {
                let mut all = Vec::new();
                for name in names {
                    let found: Vec<VarId> =
                        schema.var_ids().filter(|v| is_called(schema, *v, name)).collect();
                    match found.is_empty() {
                        // Which may be a path, too; else the error.
                        true => all.push(dataset.var(name)?),
                        false => all.extend(found),
                    }
                }
                Some(Chosen::Of(all))
            }
        })
    }

    pub(super) fn has(&self, schema: &Schema, v: VarId) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Coordinates => is_coordinate(schema, v),
            Chosen::Of(list) => list.contains(&v),
        }
    }
}

/// Whether a name of `-v` means a variable: its own name, or that behind the end of its group's path.
fn is_called(schema: &Schema, v: VarId, name: &str) -> bool {
    let var = schema.var(v);
    match name.rsplit_once('/') {
        None => var.name == name,
        Some((group, own)) => {
            let path = schema.group_path(var.group);
            own == var.name
                && match name.starts_with('/') {
                    true => path.trim_end_matches('/') == group,
                    false => path.ends_with(group),
                }
        }
    }
}

/// Whether it has one dimension, and the name of one that its group sees.
fn is_coordinate(schema: &Schema, v: VarId) -> bool {
    let var = schema.var(v);
    var.dims.len() == 1 && schema.find_dim(var.group, &var.name).is_some()
}
