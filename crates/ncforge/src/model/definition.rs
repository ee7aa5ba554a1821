//! The parts of a schema one by one, for checks of new definitions.

use std::collections::HashSet;

use super::dtype::{UserKind, UserType};
use super::id::{DimId, GroupId, TypeId, VarId};
use super::name::check_name;
use super::schema::{Attribute, Schema};
use crate::error::{Error, Result};

/// A part of a schema that was just defined or renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Definition {
    /// A group.
    Group(GroupId),
    /// A dimension.
    Dimension(DimId),
    /// A user-defined type.
    Type(TypeId),
    /// A variable. Its attributes are definitions of their own.
    Variable(VarId),
    /// An attribute of a group, by its position in the group's list.
    GroupAttribute(GroupId, usize),
    /// An attribute of a variable, by its position in the variable's list.
    VariableAttribute(VarId, usize),
}

impl Definition {
    /// Its kind, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Definition::Group(_) => "group",
            Definition::Dimension(_) => "dimension",
            Definition::Type(_) => "type",
            Definition::Variable(_) => "variable",
            Definition::GroupAttribute(..) | Definition::VariableAttribute(..) => "attribute",
        }
    }

    /// Its name.
    pub fn name(self, schema: &Schema) -> &str {
        match self {
            Definition::Group(g) => &schema.group(g).name,
            Definition::Dimension(d) => &schema.dim(d).name,
            Definition::Type(t) => &schema.user_type(t).name,
            Definition::Variable(v) => &schema.var(v).name,
            Definition::GroupAttribute(g, at) => &schema.group(g).attrs[at].name,
            Definition::VariableAttribute(v, at) => &schema.var(v).attrs[at].name,
        }
    }

    /// The name, to be changed.
    pub(crate) fn name_mut(self, schema: &mut Schema) -> &mut String {
        match self {
            Definition::Group(g) => &mut schema.groups[g.0].name,
            Definition::Dimension(d) => &mut schema.dims[d.0].name,
            Definition::Type(t) => &mut schema.types[t.0].name,
            Definition::Variable(v) => &mut schema.vars[v.0].name,
            Definition::GroupAttribute(g, at) => &mut schema.groups[g.0].attrs[at].name,
            Definition::VariableAttribute(v, at) => &mut schema.vars[v.0].attrs[at].name,
        }
    }

    /// The attribute, if the definition is one.
    pub fn attribute(self, schema: &Schema) -> Option<&Attribute> {
        match self {
            Definition::GroupAttribute(g, at) => schema.group(g).attrs.get(at),
            Definition::VariableAttribute(v, at) => schema.var(v).attrs.get(at),
            _ => None,
        }
    }

    /// An error if netCDF does not allow its name, or those of its members, for new objects.
    pub fn check_name(self, schema: &Schema) -> Result<()> {
        check_name(self.kind(), self.name(schema))?;
        match self {
            Definition::Type(t) => check_members(schema.user_type(t)),
            _ => Ok(()),
        }
    }

    /// An error if it is a `_FillValue` that is not one value of its variable's type.
    pub fn check_fill(self, schema: &Schema) -> Result<()> {
        let (Definition::VariableAttribute(v, _), Some(a)) = (self, self.attribute(schema)) else {
            return Ok(());
        };
        let (var, n) = (schema.var(v), a.len(schema));
        if a.name != "_FillValue" || (a.dtype == var.dtype && n == 1) {
            return Ok(());
        }
        Err(Error::BadType(format!(
            "`_FillValue` of `{}` is one value of its type, {}, not {n} of type {}",
            schema.var_path(v),
            schema.type_name(var.dtype),
            schema.type_name(a.dtype)
        )))
    }
}

impl Schema {
    /// All definitions except the root group.
    pub fn definitions(&self) -> impl Iterator<Item = Definition> + '_ {
        let groups = (0..self.groups.len()).map(GroupId);
        let of_groups = groups
            .clone()
            .flat_map(|g| (0..self.group(g).attrs.len()).map(move |at| Definition::GroupAttribute(g, at)));
        let of_vars = self
            .var_ids()
            .flat_map(|v| (0..self.var(v).attrs.len()).map(move |at| Definition::VariableAttribute(v, at)));
        let groups = groups.skip(1).map(Definition::Group);
        let dims = (0..self.dims.len()).map(|d| Definition::Dimension(DimId(d)));
        let types = (0..self.types.len()).map(|t| Definition::Type(TypeId(t)));
        let vars = self.var_ids().map(Definition::Variable);
        groups.chain(dims).chain(types).chain(of_groups).chain(vars).chain(of_vars)
    }

    /// All names in the schema.
    pub fn names(&self) -> HashSet<&str> {
        self.definitions().map(|d| d.name(self)).collect()
    }

    /// An error if netCDF does not allow one of its names for new objects; names that are `known`, because they are already
    /// in a file, are not checked.
    pub fn check_names(&self, known: &HashSet<&str>) -> Result<()> {
        self.definitions().filter(|d| !known.contains(d.name(self))).try_for_each(|d| d.check_name(self))
    }
}

fn check_members(t: &UserType) -> Result<()> {
    let mut seen = HashSet::new();
    let mut check = |kind: &str, name: &'_ str| {
        check_name(kind, name)?;
        if seen.insert(name.to_owned()) {
            return Ok(());
        }
        Err(Error::BadType(format!("type `{}` has two {kind}s `{name}`", t.name)))
    };
    match &t.kind {
        UserKind::Compound { fields, .. } => fields.iter().try_for_each(|f| check("field", &f.name)),
        UserKind::Enum { members, .. } => members.iter().try_for_each(|(name, _)| check("member", name)),
        UserKind::Vlen { .. } | UserKind::Opaque { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::model::{Atomic, Dimension, Format, Variable};

    #[test]
    fn names_that_are_known_may_be_any() {
        let mut s = Schema::new(Format::Netcdf4);
        s.dims.push(Dimension::new(" x", 2, false));
        s.vars.push(Variable::new("v", Atomic::Int, vec![DimId(0)]));
        s.vars[0].attrs.push(Attribute::text("a/b", "text"));
        assert!(s.check_names(&HashSet::new()).is_err());
        assert!(s.check_names(&HashSet::from([" x"])).unwrap_err().to_string().contains("`a/b`"));
        assert!(s.check_names(&s.names()).is_ok());
    }
}
