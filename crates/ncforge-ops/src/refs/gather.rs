//! The groups and variables of a dataset, described in Zarr's terms.

use super::attributes;
use super::kinds::Kind;
use super::options::{MOST_INLINED, RefsOptions};
use super::source::Source;
use ncforge::Result;
use ncforge::model::{Attribute, GroupId, Schema, VarId, shape};

/// What is wanted of a dataset.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Groups by path, with attributes.
    pub(super) groups: Vec<(String, Vec<(String, String)>)>,
    pub(super) vars: Vec<Var>,
    pub(super) notes: Vec<String>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) id: VarId,
    /// Its path without a leading slash.
    pub(super) path: String,
    pub(super) dims: Vec<String>,
    pub(super) shape: Vec<u64>,
    /// Its type; a reason if Zarr has no such type.
    pub(super) kind: Result<Kind, String>,
    /// Attributes other than `_FillValue`, as JSON text.
    pub(super) attrs: Vec<(String, String)>,
    /// `_FillValue` in the type of the variable: one element in native order.
    pub(super) own_fill: Option<Vec<u8>>,
    /// The own fill value as JSON text.
    pub(super) own_fill_text: Option<String>,
    /// The reason why `_FillValue` cannot be in that type.
    pub(super) unmasked: Option<String>,
    /// The value of elements that were never written, in native order.
    pub(super) fill: Vec<u8>,
}

impl Var {
    /// Bytes of all values; 0 for strings.
    pub(super) fn bytes(&self) -> u64 {
        let size = self.kind.as_ref().map_or(0, |k| k.size() as u64);
        shape::bytes(&self.shape, size)
    }

    /// Whether its values are few enough to be stored, wherever they are.
    pub(super) fn is_small(&self, options: &RefsOptions) -> bool {
        let is_fixed = self.kind.as_ref().is_ok_and(|kind| *kind != Kind::Strings);
        self.shape.contains(&0) || (is_fixed && self.bytes() <= options.inline.min(MOST_INLINED))
    }
}

/// Gathers what is wanted.
pub(super) fn gather(source: &Source, options: &RefsOptions) -> Result<Gathered> {
    let schema = source.dataset.schema();
    let mut notes = source.notes.clone();
    let mut groups = Vec::new();
    for (i, group) in schema.groups.iter().enumerate() {
        let path = schema.group_path(GroupId(i));
        let attrs = converted(schema, &group.attrs, &path, &mut notes);
        groups.push((path.trim_start_matches('/').to_owned(), attrs));
    }
    let wanted: Vec<VarId> = match &options.vars {
        None => schema.var_ids().collect(),
        Some(names) => {
            let named: Vec<VarId> =
                names.iter().map(|name| source.dataset.var(name)).collect::<Result<_>>()?;
            schema.var_ids().filter(|v| named.contains(v)).collect()
        }
    };
    let vars = wanted.into_iter().map(|id| variable(source, id, &mut notes)).collect::<Result<_>>()?;
    Ok(Gathered { groups, vars, notes })
}

fn converted(
    schema: &Schema,
    attrs: &[Attribute],
    of: &str,
    notes: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for attr in attrs {
        match attributes::text(schema, attr) {
            Some(text) => out.push((attr.name.clone(), text)),
            None => notes.push(format!(
                "the attribute `{}` of `{of}` was left out: JSON has no values of type `{}`",
                attr.name,
                schema.type_name(attr.dtype)
            )),
        }
    }
    out
}

/// Gathers a variable.
fn variable(source: &Source, id: VarId, notes: &mut Vec<String>) -> Result<Var> {
    let schema = source.dataset.schema();
    let layout = source.dataset.layout(id)?;
    let var = schema.var(id);
    let path = schema.var_path(id).trim_start_matches('/').to_owned();
    let kind = match layout.place.unsupported() {
        Some(what) => Err(format!("{what} is not supported")),
        None => Kind::of(schema, var.dtype, &layout.element),
    };
    let mut exact = var.clone();
    let unmasked = match schema.exact_fill(var) {
        Some(Ok(fill)) => {
            fill.put(&mut exact);
            None
        }
        Some(Err(why)) => Some(why),
        None => None,
    };
    let (own, attrs): (Vec<_>, Vec<_>) = exact.attrs.into_iter().partition(|a| a.name == "_FillValue");
    let own = own.first().filter(|_| unmasked.is_none());
    Ok(Var {
        id,
        dims: var.dims.iter().map(|d| schema.dim(*d).name.clone()).collect(),
        shape: schema.shape(id),
        attrs: converted(schema, &attrs, &path, notes),
        own_fill: own.and_then(|a| a.values.bytes()).map(<[u8]>::to_vec),
        own_fill_text: own.and_then(|a| attributes::text(schema, a)),
        unmasked,
        fill: layout.unwritten(),
        path,
        kind,
    })
}
