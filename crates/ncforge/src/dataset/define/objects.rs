//! Dimensions, groups, types and variables, and their names.

use super::storage::{NewStorage, layout};
use super::{Definer, known};
use crate::error::{Error, Result};
use crate::model::{
    DType, Definition, DimId, Dimension, Fill, Group, GroupId, Schema, Scope, TypeId, UserKind, UserType,
    VarId, Variable, normalized_name,
};

/// A variable that shall be defined.
#[derive(Clone, Debug, PartialEq)]
pub struct NewVariable<'a> {
    /// The group that shall hold it.
    pub group: GroupId,
    /// Its name.
    pub name: &'a str,
    /// Type of its values.
    pub dtype: DType,
    /// Its dimensions, slowest first.
    pub dims: &'a [DimId],
    /// Its storage.
    pub storage: NewStorage,
}

impl<'a> NewVariable<'a> {
    /// A variable of the root group, stored as the format stores variables if nothing else is asked for.
    pub fn new(name: &'a str, dtype: impl Into<DType>, dims: &'a [DimId]) -> Self {
        NewVariable { group: Schema::ROOT, name, dtype: dtype.into(), dims, storage: NewStorage::default() }
    }
}

impl Definer {
    /// Defines a dimension; without a length it is unlimited.
    ///
    /// # Errors
    /// [`Error::NameInUse`], [`Error::BadName`]; [`Error::Limit`] for a second unlimited dimension where there is one at
    /// most, or a length that the format does not have; [`Error::NoSuchId`] for the group.
    pub fn dimension(&mut self, group: GroupId, name: &str, len: Option<u64>) -> Result<DimId> {
        self.must_define("a new dimension")?;
        self.change(|draft| {
            known(&draft.schema.groups, group.0, "group")?;
            let id = DimId(draft.schema.dims.len());
            let (len, unlimited) = (len.unwrap_or(0), len.is_none());
            draft.schema.dims.push(Dimension { name: own(name), group, len, unlimited });
            draft.accept(Definition::Dimension(id), |s| s.dims.truncate(id.0))?;
            draft.unlimited.extend(unlimited.then_some(id));
            Ok(id)
        })
    }

    /// Defines a group.
    ///
    /// # Errors
    /// [`Error::NameInUse`], [`Error::BadName`]; [`Error::NotRepresentable`] where the format has no groups.
    pub fn group(&mut self, parent: GroupId, name: &str) -> Result<GroupId> {
        self.must_define("a new group")?;
        self.change(|draft| {
            known(&draft.schema.groups, parent.0, "group")?;
            let id = GroupId(draft.schema.groups.len());
            draft.schema.groups.push(Group { name: own(name), parent: Some(parent), attrs: Vec::new() });
            draft.accept(Definition::Group(id), |s| s.groups.truncate(id.0))?;
            Ok(id)
        })
    }

    /// The group of this name, which is defined if it is not there.
    ///
    /// # Errors
    /// As [`Definer::group`].
    pub fn require_group(&mut self, parent: GroupId, name: &str) -> Result<GroupId> {
        let (schema, names) = self.named();
        known(&schema.groups, parent.0, "group")?;
        let named = |name: &str| names.find(schema, Scope::Groups(parent), name).map(GroupId);
        let found = named(name).or_else(|| named(&normalized_name(name)));
        found.map_or_else(|| self.group(parent, name), Ok)
    }

    /// Defines a type.
    ///
    /// # Errors
    /// [`Error::NameInUse`], [`Error::BadName`]; [`Error::BadType`] for members that cannot be; [`Error::NotRepresentable`]
    /// where the format has no such types.
    pub fn user_type(&mut self, group: GroupId, name: &str, kind: UserKind) -> Result<TypeId> {
        self.must_define("a new type")?;
        self.change(|draft| {
            known(&draft.schema.groups, group.0, "group")?;
            check_members(draft.schema, &kind)?;
            let id = TypeId(draft.schema.types.len());
            draft.schema.types.push(UserType { name: own(name), group, kind });
            draft.accept(Definition::Type(id), |s| s.types.truncate(id.0))?;
            Ok(id)
        })
    }

    /// Defines a variable.
    ///
    /// # Errors
    /// [`Error::NameInUse`], [`Error::BadName`]; [`Error::NoSuchId`] for its group, type or dimensions;
    /// [`Error::BadChunks`], [`Error::BadStorage`], [`Error::BadFilter`] for a storage that it cannot have; [`Error::Limit`]
    /// for an unlimited dimension that is not the first where it must be, and for what is too large;
    /// [`Error::NotRepresentable`] for a type that the format does not have.
    #[allow(clippy::needless_pass_by_value, reason = "made for this call")]
    pub fn variable(&mut self, new: NewVariable<'_>) -> Result<VarId> {
        self.must_define("a new variable")?;
        self.change(|draft| {
            let schema = &*draft.schema;
            known(&schema.groups, new.group.0, "group")?;
            new.dims.iter().try_for_each(|d| known(&schema.dims, d.0, "dimension"))?;
            check_type(schema, new.dtype)?;
            let mut var = Variable::new(own(new.name), new.dtype, new.dims.to_vec());
            var.group = new.group;
            var.endian = new.storage.endian;
            var.access_points = new.storage.access_points;
            var.fill = if new.storage.fill { Fill::Default } else { Fill::None };
            var.storage = layout(schema, &var, &new.storage, draft.choose)?;
            let id = VarId(schema.vars.len());
            draft.schema.vars.push(var);
            draft.accept(Definition::Variable(id), |s| s.vars.truncate(id.0))?;
            Ok(id)
        })
    }

    /// Renames a dimension.
    ///
    /// # Errors
    /// [`Error::NameInUse`], [`Error::BadName`], [`Error::NoSuchId`]. In data mode of [`super::DefineMode::Explicit`],
    /// [`Error::NotInDefineMode`] for a longer name.
    pub fn rename_dimension(&mut self, dim: DimId, name: &str) -> Result<()> {
        known(&self.schema().dims, dim.0, "dimension")?;
        self.rename(Definition::Dimension(dim), name)
    }

    /// Renames a group.
    ///
    /// # Errors
    /// As [`Definer::rename_dimension`]; [`Error::WrongKind`] for the root, which has no name.
    pub fn rename_group(&mut self, group: GroupId, name: &str) -> Result<()> {
        known(&self.schema().groups, group.0, "group")?;
        if self.schema().group(group).parent.is_none() {
            return Err(Error::wrong_kind("/", "is the root group, which has no name"));
        }
        self.rename(Definition::Group(group), name)
    }

    pub(super) fn rename(&mut self, of: Definition, name: &str) -> Result<()> {
        let name = own(name);
        let old = of.name(self.schema());
        if old == name {
            return Ok(());
        }
        if name.len() > old.len() {
            self.must_define("a longer name")?;
        }
        self.change(|draft| {
            let old = std::mem::replace(of.name_mut(draft.schema), name);
            draft.accept_name(of, old)
        })
    }
}

/// The name that a new object gets.
fn own(name: &str) -> String {
    normalized_name(name).into_owned()
}

/// An error unless a type is there.
pub(super) fn check_type(schema: &Schema, dtype: DType) -> Result<()> {
    match dtype {
        DType::User(t) => known(&schema.types, t.0, "type"),
        DType::Atomic(_) | DType::String => Ok(()),
    }
}

/// An error unless the types that a type is made of are there and can be its parts.
fn check_members(schema: &Schema, kind: &UserKind) -> Result<()> {
    match kind {
        UserKind::Compound { fields, .. } => fields.iter().try_for_each(|f| check_type(schema, f.dtype)),
        UserKind::Vlen { base } => check_type(schema, *base),
        UserKind::Enum { base, .. } if !base.is_integer() => {
            Err(Error::BadType("the base of an enum is an integer type".into()))
        }
        UserKind::Enum { .. } | UserKind::Opaque { .. } => Ok(()),
    }
}
