//! Which objects a group has.

use super::definition::Definition;
use super::id::{DimId, GroupId, TypeId, VarId};
use super::schema::Schema;

/// The objects of every group of a schema, in the order of their definition. Asking [`Schema::vars_in`] and its like for one
/// group after the other goes through all objects for each.
#[derive(Clone, Debug, Default)]
pub struct Members(Vec<OfGroup>);

#[derive(Clone, Debug, Default)]
struct OfGroup {
    groups: Vec<GroupId>,
    dims: Vec<DimId>,
    types: Vec<TypeId>,
    vars: Vec<VarId>,
}

impl Members {
    /// The members of a schema's groups.
    pub fn of(schema: &Schema) -> Self {
        let mut members = Members(vec![OfGroup::default(); schema.groups.len()]);
        let groups = (1..schema.groups.len()).map(|g| Definition::Group(GroupId(g)));
        let dims = (0..schema.dims.len()).map(|d| Definition::Dimension(DimId(d)));
        let types = (0..schema.types.len()).map(|t| Definition::Type(TypeId(t)));
        let vars = schema.var_ids().map(Definition::Variable);
        groups.chain(dims).chain(types).chain(vars).for_each(|d| members.insert(schema, d));
        members
    }

    /// The groups below a group.
    pub fn groups(&self, of: GroupId) -> &[GroupId] {
        self.0.get(of.0).map_or(&[], |g| &g.groups)
    }

    /// The dimensions that a group defines.
    pub fn dimensions(&self, of: GroupId) -> &[DimId] {
        self.0.get(of.0).map_or(&[], |g| &g.dims)
    }

    /// The types that a group defines.
    pub fn types(&self, of: GroupId) -> &[TypeId] {
        self.0.get(of.0).map_or(&[], |g| &g.types)
    }

    /// The variables of a group.
    pub fn variables(&self, of: GroupId) -> &[VarId] {
        self.0.get(of.0).map_or(&[], |g| &g.vars)
    }

    /// Records what was just defined, the last one of its kind.
    pub(super) fn insert(&mut self, schema: &Schema, new: Definition) {
        self.0.resize_with(schema.groups.len().max(self.0.len()), OfGroup::default);
        match new {
            Definition::Group(g) => {
                if let Some(parent) = schema.group(g).parent {
                    self.0[parent.0].groups.push(g);
                }
            }
            Definition::Dimension(d) => self.0[schema.dim(d).group.0].dims.push(d),
            Definition::Type(t) => self.0[schema.user_type(t).group.0].types.push(t),
            Definition::Variable(v) => self.0[schema.var(v).group.0].vars.push(v),
            Definition::GroupAttribute(..) | Definition::VariableAttribute(..) => {}
        }
    }
}
