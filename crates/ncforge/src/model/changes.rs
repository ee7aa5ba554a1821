//! Changes of a description since another one was made from it.

use std::collections::BTreeSet;

use super::definition::Definition;
use super::id::{GroupId, VarId};
use super::names::Scope;
use super::schema::{Attribute, Schema};

/// The parts of a schema that are new in it, or not as they were: what is carried over costs no more than what was changed,
/// however much there is.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    parts: BTreeSet<Definition>,
    /// Attributes that are to be taken over as a list: one of them was removed.
    lists: BTreeSet<Scope>,
}

impl Changes {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.lists.is_empty()
    }

    /// Records a part that is new, or has another name or other values.
    pub fn insert(&mut self, part: Definition) {
        self.parts.insert(part);
    }

    /// Records that attributes were removed from an object.
    pub fn insert_list(&mut self, attributes: Scope) {
        self.lists.insert(attributes);
    }

    /// The parts that are new or different.
    pub fn parts(&self) -> impl Iterator<Item = Definition> + '_ {
        self.parts.iter().copied()
    }

    /// The objects whose attributes are not those that they were, and one is gone.
    pub fn lists(&self) -> impl Iterator<Item = Scope> + '_ {
        self.lists.iter().copied()
    }

    /// Whether variables that `old` has shall be stored in another way, or filled with another value: that may depend on whether
    /// they have values.
    pub fn touch_storage(&self, new: &Schema, old: &Schema) -> bool {
        const FILL: &str = "_FillValue";
        let is_there = |v: &VarId| v.0 < old.vars.len();
        let is_fill = |a: Option<&Attribute>| a.is_some_and(|a| a.name == FILL);
        self.parts().any(|part| match part {
            Definition::Variable(v) if is_there(&v) => {
                let (a, b) = (old.var(v), new.var(v));
                a.storage != b.storage || a.endian != b.endian || a.fill != b.fill
            }
            Definition::VariableAttribute(v, at) if is_there(&v) => {
                is_fill(old.var(v).attrs.get(at)) || is_fill(new.var(v).attrs.get(at))
            }
            _ => false,
        }) || self.lists().any(|list| match list {
            Scope::VariableAttributes(v) if is_there(&v) => old.var(v).attr(FILL) != new.var(v).attr(FILL),
            _ => false,
        })
    }

    /// Makes `old` as `new` is, which continues it.
    pub fn apply(&self, new: &Schema, old: &mut Schema) {
        // A new object comes whole, with its attributes.
        let (groups, vars) = (old.groups.len(), old.vars.len());
        append(&mut old.groups, &new.groups);
        append(&mut old.dims, &new.dims);
        append(&mut old.types, &new.types);
        append(&mut old.vars, &new.vars);
        for part in self.parts() {
            match part {
                Definition::Group(g) => old.groups[g.0].name.clone_from(&new.group(g).name),
                Definition::Dimension(d) => old.dims[d.0].name.clone_from(&new.dim(d).name),
                Definition::Type(t) => old.types[t.0].name.clone_from(&new.user_type(t).name),
                Definition::Variable(v) if v.0 < vars => {
                    let (to, from) = (&mut old.vars[v.0], new.var(v));
                    to.name.clone_from(&from.name);
                    to.storage.clone_from(&from.storage);
                    to.fill.clone_from(&from.fill);
                    to.endian = from.endian;
                }
                Definition::GroupAttribute(GroupId(g), at) if g < groups => {
                    one(&mut old.groups[g].attrs, &new.groups[g].attrs, at);
                }
                Definition::VariableAttribute(VarId(v), at) if v < vars => {
                    one(&mut old.vars[v].attrs, &new.vars[v].attrs, at);
                }
                _ => {}
            }
        }
        for list in self.lists() {
            match list {
                Scope::GroupAttributes(g) => old.groups[g.0].attrs.clone_from(&new.group(g).attrs),
                Scope::VariableAttributes(v) => old.vars[v.0].attrs.clone_from(&new.var(v).attrs),
                _ => {}
            }
        }
    }
}

fn append<T: Clone>(old: &mut Vec<T>, new: &[T]) {
    old.extend_from_slice(new.get(old.len()..).unwrap_or_default());
}

/// Positions come in order: one that is not there is the next one. (One beyond the end of the new list was removed since.)
fn one(old: &mut Vec<Attribute>, new: &[Attribute], at: usize) {
    match (old.get_mut(at), new.get(at)) {
        (Some(old), Some(new)) => old.clone_from(new),
        (None, Some(new)) => old.push(new.clone()),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Format, Group, Variable};

    #[test]
    fn what_was_changed_is_carried_over() {
        let mut old = Schema::new(Format::Netcdf4);
        old.vars.push(Variable::new("a", Atomic::Int, vec![]));
        old.groups[0].attrs = ["x", "y"].map(|n| Attribute::text(n, "")).to_vec();
        let (mut new, mut changes) = (old.clone(), Changes::default());
        new.groups.push(Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: Vec::new() });
        new.vars[0].name = "b".into();
        new.vars[0].attrs = ["p", "q"].map(|n| Attribute::text(n, "")).to_vec();
        new.vars.push(Variable::new("c", Atomic::Int, vec![]));
        new.vars[1].attrs.push(Attribute::text("r", ""));
        new.groups[0].attrs.remove(0);
        for part in
            [Definition::Group(GroupId(1)), Definition::Variable(VarId(0)), Definition::Variable(VarId(1))]
        {
            changes.insert(part);
        }
        for (v, at) in [(0, 1), (0, 0), (1, 0)] {
            changes.insert(Definition::VariableAttribute(VarId(v), at));
        }
        changes.insert_list(Scope::GroupAttributes(Schema::ROOT));
        changes.apply(&new, &mut old);
        assert_eq!(old, new);
    }
}
