//! The attributes of aggregation variables.

use std::collections::HashMap;

use crate::model::{DimId, GroupId, Schema, VarId};

/// The attributes that make an aggregation variable.
pub(super) const ATTRIBUTES: [&str; 2] = ["aggregated_dimensions", "aggregated_data"];

/// What the attributes of an aggregation variable say.
#[derive(Clone, Debug)]
pub(super) struct Instructions {
    /// The aggregated dimensions.
    pub(super) dims: Vec<DimId>,
    /// The sizes of fragments along each of them.
    pub(super) map: VarId,
    pub(super) fragments: Named,
}

/// The fragments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    /// Variables of other files.
    Files { uris: VarId, identifiers: VarId },
    /// One value each.
    Values(VarId),
}

impl Instructions {
    /// The variables that say where fragments are.
    pub(super) fn others(&self) -> Vec<VarId> {
        match self.fragments {
            Named::Files { uris, identifiers } => vec![self.map, uris, identifiers],
            Named::Values(values) => vec![self.map, values],
        }
    }

    /// Whether fragments are in other files.
    pub(super) fn leads_away(&self) -> bool {
        matches!(self.fragments, Named::Files { .. })
    }

    /// The same where variables have other numbers.
    pub(super) fn renumbered(self, new: &impl Fn(VarId) -> VarId) -> Self {
        let fragments = match self.fragments {
            Named::Files { uris, identifiers } => {
                Named::Files { uris: new(uris), identifiers: new(identifiers) }
            }
            Named::Values(values) => Named::Values(new(values)),
        };
        Self { map: new(self.map), fragments, ..self }
    }
}

/// The aggregation variables of a file, or why one of them cannot be understood.
pub(super) fn find(schema: &Schema) -> HashMap<VarId, Result<Instructions, String>> {
    schema.var_ids().filter(|v| is_aggregation(schema, *v)).map(|v| (v, of(schema, v))).collect()
}

fn is_aggregation(schema: &Schema, v: VarId) -> bool {
    let var = schema.var(v);
    var.dims.is_empty() && ATTRIBUTES.iter().all(|a| var.attr(a).is_some())
}

fn of(schema: &Schema, id: VarId) -> Result<Instructions, String> {
    let var = schema.var(id);
    let text = |name: &str| {
        let attr = var.attr(name).filter(|a| a.len(schema) > 0 || a.as_text() == Some(""));
        let text = attr.and_then(|a| a.as_text());
        text.ok_or_else(|| format!("an aggregation variable whose attribute `{name}` is no text"))
    };
    let mut dims = Vec::new();
    for name in text(ATTRIBUTES[0])?.split_whitespace() {
        let dim = find_dim(schema, var.group, name);
        dims.push(dim.ok_or_else(|| {
            format!("an aggregation variable of a dimension `{name}`, which is not there,")
        })?);
    }
    let mut features: HashMap<&str, VarId> = HashMap::new();
    let text = text(ATTRIBUTES[1])?;
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let (feature, rest) = word.split_once(':').ok_or_else(|| unclear(text))?;
        let name = if rest.is_empty() { words.next().ok_or_else(|| unclear(text))? } else { rest };
        let wrong = |why| Err(format!("an aggregation variable whose `{feature}` is `{name}`, {why},"));
        let found = match find_var(schema, var.group, name) {
            Some(found) if is_aggregation(schema, found) => {
                return wrong("which is an aggregation variable itself");
            }
            Some(found) => found,
            None => return wrong("which is not there"),
        };
        if features.insert(feature, found).is_some() {
            return Err(unclear(text));
        }
    }
    let get = |name: &str| features.get(name).copied();
    let (map, fragments) =
        match (features.len(), get("map"), get("uris").zip(get("identifiers")), get("unique_values")) {
            (3, Some(map), Some((uris, identifiers)), None) => (map, Named::Files { uris, identifiers }),
            (2, Some(map), None, Some(values)) => (map, Named::Values(values)),
            _ => return Err(unclear(text)),
        };
    Ok(Instructions { dims, map, fragments })
}

fn unclear(text: &str) -> String {
    format!("an aggregation variable whose attribute `aggregated_data` is `{text}`")
}

/// The dimension of a name, as it is seen from a group, or of a path.
fn find_dim(schema: &Schema, from: GroupId, name: &str) -> Option<DimId> {
    match name.rsplit_once('/') {
        None => schema.find_dim(from, name),
        Some((group, name)) => {
            let group = schema.find_group(group)?;
            schema.dims_in(group).find(|d| schema.dim(*d).name == name)
        }
    }
}

/// The variable of a name, in a group or in those that contain it, or of a path.
fn find_var(schema: &Schema, from: GroupId, name: &str) -> Option<VarId> {
    if name.contains('/') {
        return schema.find_var(name);
    }
    let mut at = Some(from);
    while let Some(group) = at {
        if let Some(found) = schema.vars_in(group).find(|v| schema.var(*v).name == name) {
            return Some(found);
        }
        at = schema.group(group).parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Attribute, DType, Dimension, Format, Variable};

    fn file(dims: &str, data: &str) -> Schema {
        let mut schema = Schema::new(Format::Netcdf4);
        for name in ["time", "x"] {
            let (name, group) = (name.into(), Schema::ROOT);
            schema.dims.push(Dimension { name, group, len: 3, unlimited: false });
        }
        let mut var = Variable::new("v", Atomic::Float, vec![]);
        var.attrs = vec![Attribute::text(ATTRIBUTES[0], dims), Attribute::strings(ATTRIBUTES[1], [data])];
        schema.vars = vec![var];
        schema.vars.extend(["m", "u", "i"].map(|n| Variable::new(n, DType::String, vec![])));
        schema
    }

    #[test]
    fn instructions_are_read() {
        let all = find(&file("time x", "uris: u map: m\n identifiers:i"));
        let one = all[&VarId(0)].as_ref().unwrap();
        assert_eq!(
            (&one.dims[..], one.others()),
            (&[DimId(0), DimId(1)][..], vec![VarId(1), VarId(2), VarId(3)])
        );
        let mut two = file("x", "map: m uris: v identifiers: i");
        two.vars.push(Variable { name: "w".into(), ..two.vars[0].clone() });
        let found = find(&two);
        // Of itself, and of another one.
        for v in [0, 4] {
            assert!(found[&VarId(v)].as_ref().is_err_and(|why| why.contains("itself")), "{found:?}");
        }
        let constant = find(&file("", "map: m unique_values: u"));
        assert!(!constant[&VarId(0)].as_ref().unwrap().leads_away());
        for (dims, data) in [
            ("time", "map: m uris: u"),
            ("time", "map: m uris: u identifiers: nowhere"),
            ("time y", "map: m uris: u identifiers: i"),
            ("time", "map: m unique_values: u identifiers: i"),
            ("time", "map m"),
            ("time", ""),
            ("time", "map: v unique_values: u"),
        ] {
            assert!(find(&file(dims, data))[&VarId(0)].is_err(), "{data}");
        }
        let mut array = file("time", "map: m unique_values: u");
        array.vars[0].dims = vec![DimId(0)];
        assert!(find(&array).is_empty());
    }
}
