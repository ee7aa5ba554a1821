//! The objects of a schema by their groups and names.
//!
//! A [`Schema`] is a list of each kind of object, and asking it for one by its name goes through the list. A caller that asks again and
//! again (a program that defines one thing after the other) has an index beside it, and tells the index what it changes.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use super::definition::Definition;
use super::id::{DimId, GroupId, TypeId, VarId};
use super::members::Members;
use super::schema::{Attribute, Schema};
use crate::error::{Error, Result};

/// The scope in which names are unique: the objects of one kind in one group, or the attributes of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The groups below a group.
    Groups(GroupId),
    /// The dimensions that a group defines.
    Dimensions(GroupId),
    /// The types that a group defines.
    Types(GroupId),
    /// The variables of a group.
    Variables(GroupId),
    /// The attributes of a group.
    GroupAttributes(GroupId),
    /// The attributes of a variable.
    VariableAttributes(VarId),
}

impl Scope {
    /// The definition at a position: of objects in the arena of their kind, of attributes in the list of their owner.
    fn definition(self, at: usize) -> Definition {
        match self {
            Scope::Groups(_) => Definition::Group(GroupId(at)),
            Scope::Dimensions(_) => Definition::Dimension(DimId(at)),
            Scope::Types(_) => Definition::Type(TypeId(at)),
            Scope::Variables(_) => Definition::Variable(VarId(at)),
            Scope::GroupAttributes(g) => Definition::GroupAttribute(g, at),
            Scope::VariableAttributes(v) => Definition::VariableAttribute(v, at),
        }
    }

    /// The attributes, if they are what has these names.
    fn attributes(self, schema: &Schema) -> Option<&[Attribute]> {
        match self {
            Scope::GroupAttributes(g) => Some(&schema.group(g).attrs),
            Scope::VariableAttributes(v) => Some(&schema.var(v).attrs),
            _ => None,
        }
    }
}

impl Definition {
    /// The scope of its name, and its position. The root group has no name.
    pub fn scope(self, schema: &Schema) -> Option<(Scope, usize)> {
        Some(match self {
            Definition::Group(g) => (Scope::Groups(schema.group(g).parent?), g.0),
            Definition::Dimension(d) => (Scope::Dimensions(schema.dim(d).group), d.0),
            Definition::Type(t) => (Scope::Types(schema.user_type(t).group), t.0),
            Definition::Variable(v) => (Scope::Variables(schema.var(v).group), v.0),
            Definition::GroupAttribute(g, at) => (Scope::GroupAttributes(g), at),
            Definition::VariableAttribute(v, at) => (Scope::VariableAttributes(v), at),
        })
    }

    /// An error if another object of the same kind has its name: for example, two dimensions or variables of a group.
    pub fn check_unique(self, schema: &Schema, names: &Names) -> Result<()> {
        if !names.is_taken(schema, self) {
            return Ok(());
        }
        let (kind, name) = (self.kind(), self.name(schema).to_owned());
        Err(Error::NameInUse { kind, name, holder: kind, group: String::new() })
    }
}

/// An index of a schema's names. It holds no names itself: every question comes with the schema.
///
/// ```
/// use ncforge::model::{Definition, DimId, Dimension, Format, Names, Schema, Scope};
/// let mut schema = Schema::new(Format::Netcdf4);
/// let mut names = Names::of(&schema);
/// schema.dims.push(Dimension::new("x", 3, false));
/// names.insert(&schema, Definition::Dimension(DimId(0)));
/// assert_eq!(names.find(&schema, Scope::Dimensions(Schema::ROOT), "x"), Some(0));
/// assert_eq!(names.find(&schema, Scope::Variables(Schema::ROOT), "x"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Names {
    hasher: RandomState,
    /// Scope, hash of the name, number: names of one hash stand side by side, the first one first. The number of an object is its
    /// position.
    hashes: BTreeSet<(Scope, u64, usize)>,
    /// Numbers of the attributes that are in the index (those of objects that have many), in the order of the attributes, which is rising.
    /// They stay when an attribute is removed, and positions change.
    listed: HashMap<Scope, Vec<usize>>,
    members: Members,
}

/// A linear search is faster than a look-up among up to this many attributes.
const FEW: usize = 16;

impl Names {
    /// The names of a schema.
    pub fn of(schema: &Schema) -> Self {
        let mut names = Names::default();
        for d in schema.definitions() {
            match d.scope(schema) {
                Some((scope, at)) if scope.attributes(schema).is_some() => {
                    if at == FEW {
                        names.list(schema, scope);
                    }
                }
                _ => names.insert(schema, d),
            }
        }
        names
    }

    /// The objects of each group.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The first one of this name, by its position.
    pub fn find(&self, schema: &Schema, scope: Scope, name: &str) -> Option<usize> {
        self.find_but(schema, scope, name, None)
    }

    /// Whether another one than this has the name of a definition.
    pub fn is_taken(&self, schema: &Schema, definition: Definition) -> bool {
        let Some((scope, own)) = definition.scope(schema) else { return false };
        self.find_but(schema, scope, definition.name(schema), Some(own)).is_some()
    }

    fn find_but(&self, schema: &Schema, scope: Scope, name: &str, but: Option<usize>) -> Option<usize> {
        let is_other = |at: &usize| Some(*at) != but;
        let numbers = self.listed.get(&scope);
        if let Some(list) = scope.attributes(schema).filter(|_| numbers.is_none()) {
            let mut named = list.iter().enumerate().filter(|(_, a)| a.name == name);
            return named.find_map(|(at, _)| Some(at).filter(is_other));
        }
        let hash = self.hasher.hash_one(name);
        let same = self.hashes.range((scope, hash, 0)..=(scope, hash, usize::MAX));
        let mut same = same.filter_map(|(.., number)| match numbers {
            Some(numbers) => numbers.binary_search(number).ok(),
            None => Some(*number),
        });
        same.find(|at| is_other(at) && scope.definition(*at).name(schema) == name)
    }

    /// The dimension of this name that is visible from a group: its own, else its ancestors'.
    pub fn visible_dimension(&self, schema: &Schema, from: GroupId, name: &str) -> Option<DimId> {
        let mut at = Some(from);
        while let Some(g) = at {
            if let Some(found) = self.find(schema, Scope::Dimensions(g), name) {
                return Some(DimId(found));
            }
            at = schema.group(g).parent;
        }
        None
    }

    /// Records what was just defined, the last one of its scope.
    pub fn insert(&mut self, schema: &Schema, new: Definition) {
        let Some((scope, at)) = new.scope(schema) else { return };
        let mut number = at;
        if scope.attributes(schema).is_some() {
            let Some(numbers) = self.listed.get_mut(&scope) else {
                if at >= FEW {
                    self.list(schema, scope);
                }
                return;
            };
            number = numbers.last().map_or(0, |last| last + 1);
            numbers.push(number);
        }
        self.hashes.insert((scope, self.hasher.hash_one(new.name(schema)), number));
        self.members.insert(schema, new);
    }

    /// Records another name; `old` is the one before.
    pub fn rename(&mut self, schema: &Schema, of: Definition, old: &str) {
        let Some((scope, at)) = of.scope(schema) else { return };
        let number = self.listed.get(&scope).map_or(at, |numbers| numbers[at]);
        if self.hashes.remove(&(scope, self.hasher.hash_one(old), number)) {
            self.hashes.insert((scope, self.hasher.hash_one(of.name(schema)), number));
        }
    }

    /// Records that the attribute at this position was removed; `old` was its name.
    pub fn remove_attribute(&mut self, scope: Scope, at: usize, old: &str) {
        if let Some(numbers) = self.listed.get_mut(&scope) {
            let number = numbers.remove(at);
            self.hashes.remove(&(scope, self.hasher.hash_one(old), number));
        }
    }

    /// Indexes the attributes of an object.
    fn list(&mut self, schema: &Schema, scope: Scope) {
        let attributes = scope.attributes(schema).unwrap_or_default();
        for (at, a) in attributes.iter().enumerate() {
            self.hashes.insert((scope, self.hasher.hash_one(&a.name), at));
        }
        self.listed.insert(scope, (0..attributes.len()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Attribute, Format, Group, Variable};

    #[test]
    fn it_knows_what_was_defined_renamed_and_removed() {
        let mut s = Schema::new(Format::Netcdf4);
        for name in ["a", "b", "a"] {
            s.vars.push(Variable::new(name, Atomic::Int, vec![]));
        }
        s.groups.push(Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: Vec::new() });
        s.vars[1].group = GroupId(1);
        let mut names = Names::of(&s);
        let (root, below) = (Scope::Variables(Schema::ROOT), Scope::Variables(GroupId(1)));
        assert_eq!((names.find(&s, root, "a"), names.find(&s, below, "b")), (Some(0), Some(1)));
        assert_eq!((names.find(&s, root, "b"), names.find(&s, below, "a")), (None, None));
        assert!(names.is_taken(&s, Definition::Variable(VarId(2))));
        assert!(!names.is_taken(&s, Definition::Variable(VarId(1))));
        assert_eq!(names.members().variables(Schema::ROOT), [VarId(0), VarId(2)]);
        assert_eq!(names.members().variables(GroupId(1)), [VarId(1)]);
        let old = std::mem::replace(&mut s.vars[2].name, "c".into());
        names.rename(&s, Definition::Variable(VarId(2)), &old);
        assert_eq!((names.find(&s, root, "a"), names.find(&s, root, "c")), (Some(0), Some(2)));
        assert!(!names.is_taken(&s, Definition::Variable(VarId(0))));
    }

    #[test]
    fn many_attributes_are_found_as_few_are() {
        let mut s = Schema::new(Format::Netcdf4);
        let scope = Scope::GroupAttributes(Schema::ROOT);
        let mut names = Names::of(&s);
        for i in 0..3 * FEW {
            s.groups[0].attrs.push(Attribute::text(format!("a{i}"), ""));
            let new = Definition::GroupAttribute(Schema::ROOT, i);
            assert!(!names.is_taken(&s, new));
            names.insert(&s, new);
            assert_eq!(names.find(&s, scope, &format!("a{}", i / 2)), Some(i / 2));
            assert_eq!(Names::of(&s).find(&s, scope, &format!("a{i}")), Some(i));
        }
        s.groups[0].attrs.remove(20);
        let before = names.hashes.clone();
        names.remove_attribute(scope, 20, "a20");
        assert_eq!(before.symmetric_difference(&names.hashes).count(), 1, "the others stay as they are");
        assert_eq!((names.find(&s, scope, "a20"), names.find(&s, scope, "a40")), (None, Some(39)));
        s.groups[0].attrs.push(Attribute::text("a3", ""));
        assert!(names.is_taken(&s, Definition::GroupAttribute(Schema::ROOT, 3 * FEW - 1)));
    }

    /// Removing all attributes in any order, with others defined and renamed in between.
    #[test]
    fn removed_attributes_are_those_of_a_new_index() {
        let mut s = Schema::new(Format::Netcdf4);
        let scope = Scope::GroupAttributes(Schema::ROOT);
        let mut names = Names::of(&s);
        let mut made = 0;
        for turn in 0..400usize {
            let len = s.groups[0].attrs.len();
            match turn * 7 % 5 {
                // More are defined than removed in the first half, and fewer in the second.
                0 | 1 if turn < 200 || len == 0 => {
                    s.groups[0].attrs.push(Attribute::text(format!("a{made}"), ""));
                    names.insert(&s, Definition::GroupAttribute(Schema::ROOT, len));
                    made += 1;
                }
                2 if len > 0 => {
                    let at = turn * 13 % len;
                    let new = format!("b{turn}");
                    let old = std::mem::replace(&mut s.groups[0].attrs[at].name, new);
                    names.rename(&s, Definition::GroupAttribute(Schema::ROOT, at), &old);
                }
                _ if len > 0 && (turn >= 200 || turn % 3 == 0) => {
                    let at = turn * 11 % len;
                    let old = s.groups[0].attrs.remove(at);
                    names.remove_attribute(scope, at, &old.name);
                    assert_eq!(names.find(&s, scope, &old.name), None);
                }
                _ => {}
            }
            for (at, a) in s.groups[0].attrs.iter().enumerate() {
                assert_eq!(names.find(&s, scope, &a.name), Some(at), "turn {turn}");
            }
        }
        assert!(made > 2 * FEW && s.groups[0].attrs.len() < FEW && names.listed.contains_key(&scope));
    }

    #[test]
    fn two_of_a_kind() {
        let mut s = Schema::new(Format::Netcdf4);
        s.vars.push(Variable::new("v", Atomic::Int, vec![]));
        s.vars.push(Variable::new("v", Atomic::Int, vec![]));
        s.vars.push(Variable::new("w", Atomic::Int, vec![]));
        let names = Names::of(&s);
        assert!(Definition::Variable(VarId(1)).check_unique(&s, &names).is_err());
        assert!(Definition::Variable(VarId(2)).check_unique(&s, &names).is_ok());
    }
}
