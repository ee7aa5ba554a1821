//! netCDF's dimension scales: the object that represents each dimension, and the stored names of all objects.
//!
//! A dimension is the dataset of its coordinate variable (same name, same group, first dimension), or else a
//! dataset of its own without data. Names follow netcdf-c (libhdf5/nc4hdf.c, hdf5var.c): a variable that is named
//! like a dimension of its group without being its coordinate is stored under a prefixed name.

use std::collections::HashSet;

use super::facts::FileFacts;
use crate::error::{Error, Result};
use crate::model::{DimId, GroupId, Members, Schema, TypeId, VarId, encode_name};

/// The prefix of the name of a variable that is named like a dimension but is not its coordinate.
pub(super) const NON_COORDINATE: &str = "_nc4_non_coord_";

/// The coordinate variable of each dimension.
pub(super) struct Scales {
    /// Per dimension.
    pub(super) coordinate: Vec<Option<VarId>>,
    /// Per variable: the dimension it is the coordinate of.
    pub(super) scale_of: Vec<Option<DimId>>,
    /// Dimensions that no dataset represents.
    pub(super) phony: HashSet<DimId>,
    /// Per variable: whether it is named like a dimension of its group without being its coordinate.
    clashes: Vec<bool>,
    pub(super) members: Members,
}

/// A dimension or a variable, in the order in which netcdf-c would create their datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Dim(DimId),
    Var(VarId),
}

impl Scales {
    pub(super) fn of(schema: &Schema, phony: HashSet<DimId>) -> Self {
        let mut coordinate = vec![None; schema.dims.len()];
        let mut scale_of = vec![None; schema.vars.len()];
        for id in schema.var_ids() {
            let var = schema.var(id);
            let Some(&first) = var.dims.first() else { continue };
            let dim = schema.dim(first);
            let coordinates = dim.group == var.group && dim.name == var.name && !phony.contains(&first);
            if coordinates && coordinate[first.0].is_none() {
                coordinate[first.0] = Some(id);
                scale_of[id.0] = Some(first);
            }
        }
        let real = schema.dims.iter().enumerate().filter(|(i, _)| !phony.contains(&DimId(*i)));
        let real: HashSet<(GroupId, &str)> = real.map(|(_, d)| (d.group, d.name.as_str())).collect();
        let vars = schema.vars.iter().zip(&scale_of);
        let clashes = vars.map(|(v, scale)| scale.is_none() && real.contains(&(v.group, &v.name))).collect();
        Scales { coordinate, scale_of, phony, clashes, members: Members::of(schema) }
    }

    /// The dimensions and variables of a group: dimensions without a variable come before the next coordinate
    /// variable of a later dimension, so that readers that number dimensions by creation order get the same numbers.
    pub(super) fn datasets(&self, group: GroupId) -> Vec<Member> {
        let mut out = Vec::new();
        let mut written = HashSet::new();
        let dims = self.members.dimensions(group).iter().copied();
        let mut dims = dims.filter(|d| !self.phony.contains(d));
        let mut vars = self.members.variables(group).iter().copied();
        loop {
            let mut wait = None;
            for d in dims.by_ref() {
                match self.coordinate[d.0] {
                    None => out.push(Member::Dim(d)),
                    Some(v) => {
                        wait = Some(v);
                        break;
                    }
                }
            }
            let done = wait.is_none();
            // A coordinate that is already in the list (defined before an earlier one) is skipped.
            if wait.is_some_and(|v| written.contains(&v)) {
                continue;
            }
            for v in vars.by_ref() {
                out.push(Member::Var(v));
                if self.scale_of[v.0].is_some() {
                    written.insert(v);
                }
                if Some(v) == wait {
                    break;
                }
            }
            if done {
                return out;
            }
        }
    }

    /// The name under which a variable is stored.
    pub(super) fn stored_name(&self, schema: &Schema, id: VarId) -> Vec<u8> {
        let name = &schema.var(id).name;
        if self.clashes[id.0] { encode_name(&format!("{NON_COORDINATE}{name}")) } else { encode_name(name) }
    }
}

/// The names and targets of a group's links: types, groups, then dimensions and variables.
pub(super) fn links(
    schema: &Schema,
    group: GroupId,
    scales: &Scales,
    facts: &FileFacts,
) -> Vec<(Vec<u8>, Lead)> {
    let types = scales.members.types(group).iter().copied().filter(|t| !facts.nameless.contains(t));
    let types = types.map(|t| (encode_name(&schema.user_type(t).name), Lead::Type(t)));
    let groups =
        scales.members.groups(group).iter().map(|g| (encode_name(&schema.group(*g).name), Lead::Group(*g)));
    let members = scales.datasets(group).into_iter().map(|m| match m {
        Member::Dim(d) => (encode_name(&schema.dim(d).name), Lead::Member(m)),
        Member::Var(v) => (scales.stored_name(schema, v), Lead::Member(m)),
    });
    types.chain(groups).chain(members).collect()
}

/// The target of a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lead {
    Type(TypeId),
    Group(GroupId),
    Member(Member),
}

/// An error when two objects of a group would have the same name, or a name cannot be stored.
pub(super) fn check_links(schema: &Schema, facts: &FileFacts) -> Result<()> {
    let scales = Scales::of(schema, facts.phony(schema));
    let refuse = |what: String| Err(Error::NotRepresentable { format: "netCDF-4", what });
    for g in (0..schema.groups.len()).map(GroupId) {
        let mut seen = HashSet::new();
        for (name, _) in links(schema, g, &scales, facts) {
            if name.is_empty() || name.contains(&b'/') || name.contains(&0) || name == b"." {
                return refuse(format!("the name `{}`", String::from_utf8_lossy(&name)));
            }
            if let Some(name) = seen.replace(name) {
                let (name, group) = (String::from_utf8_lossy(&name), schema.group_path(g));
                return refuse(format!("two objects named `{name}` in group `{group}`"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Dimension, Format, Variable};

    #[test]
    fn members_preserve_both_orders() {
        let mut s = Schema::new(Format::Netcdf4);
        for name in ["a", "b", "c", "d"] {
            s.dims.push(Dimension::new(name, 2, false));
        }
        let mut var = |name: &str, dim: usize| {
            s.vars.push(Variable::new(name, Atomic::Int, vec![DimId(dim)]));
        };
        var("d", 3);
        var("x", 0);
        var("b", 1);
        var("a", 1);
        let scales = Scales::of(&s, HashSet::new());
        assert_eq!(scales.coordinate, [None, Some(VarId(2)), None, Some(VarId(0))]);
        let members = scales.datasets(Schema::ROOT);
        let (d, v) = (|i| Member::Dim(DimId(i)), |i| Member::Var(VarId(i)));
        assert_eq!(members, [d(0), v(0), v(1), v(2), d(2), v(3)]);
        assert_eq!(scales.stored_name(&s, VarId(3)), b"_nc4_non_coord_a");
        assert_eq!(scales.stored_name(&s, VarId(0)), b"d");
    }
}
