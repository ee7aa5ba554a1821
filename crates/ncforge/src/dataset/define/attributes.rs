//! Attributes of groups and variables.

use super::objects::{NewVariable, check_type};
use super::{Definer, known};
use crate::codec::quantize::Quantize;
use crate::error::{Error, Late, Result};
use crate::model::{
    Attribute, Definition, GroupId, Names, Schema, Scope, VarId, no_attribute, normalized_name,
};

/// The owner of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A group; the root's are those of the dataset.
    Group(GroupId),
    /// A variable.
    Variable(VarId),
}

impl Owner {
    /// Its attributes.
    ///
    /// # Errors
    /// [`Error::NoSuchId`] if it is not there.
    pub fn attributes(self, schema: &Schema) -> Result<&Vec<Attribute>> {
        match self {
            Owner::Group(g) => known(&schema.groups, g.0, "group").map(|()| &schema.group(g).attrs),
            Owner::Variable(v) => known(&schema.vars, v.0, "variable").map(|()| &schema.var(v).attrs),
        }
    }

    /// Its attribute of this name.
    ///
    /// # Errors
    /// [`Error::NoSuchId`] if it is not there.
    pub fn named(self, schema: &Schema, names: &Names, name: &str) -> Result<Option<Attribute>> {
        let list = self.attributes(schema)?;
        Ok(names.find(schema, self.scope(), name).map(|at| list[at].clone()))
    }

    /// The attributes of an existing owner, to be changed.
    fn attributes_mut(self, schema: &mut Schema) -> &mut Vec<Attribute> {
        match self {
            Owner::Group(g) => &mut schema.groups[g.0].attrs,
            Owner::Variable(v) => &mut schema.vars[v.0].attrs,
        }
    }

    fn scope(self) -> Scope {
        match self {
            Owner::Group(g) => Scope::GroupAttributes(g),
            Owner::Variable(v) => Scope::VariableAttributes(v),
        }
    }

    fn definition(self, at: usize) -> Definition {
        match self {
            Owner::Group(g) => Definition::GroupAttribute(g, at),
            Owner::Variable(v) => Definition::VariableAttribute(v, at),
        }
    }

    fn path(self, schema: &Schema) -> String {
        match self {
            Owner::Group(g) => schema.group_path(g),
            Owner::Variable(v) => schema.var_path(v),
        }
    }
}

impl Definer {
    /// Sets an attribute, which is defined if it is not there and keeps its position if it is.
    ///
    /// # Errors
    /// [`Error::BadName`]; [`Error::NotRepresentable`] for a type that the format does not have; [`Error::Limit`] for too
    /// many. Of `_FillValue`: [`Error::BadType`] unless it is one value of its variable's type, [`Error::TooLate`] if the
    /// variable has values. In data mode of [`super::DefineMode::Explicit`], [`Error::NotInDefineMode`] for a new one, and for
    /// values that take more bytes.
    pub fn put_attribute(&mut self, owner: Owner, mut new: Attribute) -> Result<()> {
        let at = self.position(owner, &new.name)?;
        new.name = match at {
            Some(at) => owner.attributes(self.schema())?[at].name.clone(),
            None => normalized_name(&new.name).into_owned(),
        };
        check_type(self.schema(), new.dtype)?;
        let old = at.map(|at| &owner.attributes(self.schema()).expect("just seen")[at]);
        if old.is_none_or(|old| bytes(&new) > bytes(old)) {
            self.must_define("a new attribute, or a longer one,")?;
        }
        if let Owner::Variable(var) = owner {
            self.check_fill(var, &new)?;
        }
        self.change(|draft| {
            let list = owner.attributes_mut(draft.schema);
            match at {
                Some(at) => {
                    let old = std::mem::replace(&mut list[at], new);
                    draft.accept_change(owner.definition(at), |s| owner.attributes_mut(s)[at] = old)
                }
                None => {
                    let at = list.len();
                    list.push(new);
                    draft.accept(owner.definition(at), |s| owner.attributes_mut(s).truncate(at))
                }
            }
        })
    }

    /// Renames an attribute, which keeps its position.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NameInUse`], [`Error::BadName`].
    pub fn rename_attribute(&mut self, owner: Owner, name: &str, to: &str) -> Result<()> {
        let at = self.find_attribute(owner, name)?;
        self.rename(owner.definition(at), to)
    }

    /// Renames a variable. The attributes `quantization` that name it follow.
    ///
    /// # Errors
    /// As [`Definer::rename_dimension`].
    pub fn rename_variable(&mut self, var: VarId, name: &str) -> Result<()> {
        known(&self.schema().vars, var.0, "variable")?;
        let quantized = self.schema().quantized_with(var);
        self.rename(Definition::Variable(var), name)?;
        for (v, above) in quantized {
            let text = Attribute::text("quantization", &format!("{above}{}", normalized_name(name)));
            self.put_attribute(Owner::Variable(v), text)?;
        }
        Ok(())
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn delete_attribute(&mut self, owner: Owner, name: &str) -> Result<()> {
        let at = self.find_attribute(owner, name)?;
        self.must_define("to delete an attribute")?;
        self.change(|draft| {
            let old = owner.attributes_mut(draft.schema).remove(at);
            draft.names.remove_attribute(owner.scope(), at, &old.name);
            draft.changes.insert_list(owner.scope());
            Ok(())
        })
    }

    fn find_attribute(&mut self, owner: Owner, name: &str) -> Result<usize> {
        if let Some(at) = self.position(owner, name)? {
            return Ok(at);
        }
        let schema = self.schema();
        Err(no_attribute(name, owner.path(schema), owner.attributes(schema)?))
    }

    /// The position of the attribute of this name.
    fn position(&mut self, owner: Owner, name: &str) -> Result<Option<usize>> {
        let (schema, names) = self.named();
        owner.attributes(schema)?;
        let named = |name: &str| names.find(schema, owner.scope(), name);
        Ok(named(name).or_else(|| named(&normalized_name(name))))
    }

    /// An error for a fill value that comes too late: what a variable was filled with stays in the file.
    fn check_fill(&mut self, var: VarId, new: &Attribute) -> Result<()> {
        if new.name != "_FillValue"
            || !self.is_in_file(var)
            || self.schema().var(var).attr("_FillValue") == Some(new)
        {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if file.is_untouched(var)? {
            return Ok(());
        }
        Err(Error::TooLate { variable: file.schema().var_path(var), what: Late::Fill })
    }

    /// Values that are written to a variable lose bits from now on. Attributes of the variable say so, that of netCDF-C and those of
    /// the CF conventions, which ask for a container variable; see [`crate::Schema::claim_quantization`].
    ///
    /// # Errors
    /// [`Error::BadType`] for other types than float and double, [`Error::BadOption`] for numbers of digits or bits that mean
    /// nothing for the type.
    pub fn quantize(&mut self, var: VarId, how: Quantize) -> Result<()> {
        known(&self.schema().vars, var.0, "variable")?;
        how.check(self.schema().var(var).dtype)?;
        let claim = self.schema().new_claim(var, how);
        if let Some(container) = claim.container {
            let made = self.variable(NewVariable::new(&container.name, container.dtype, &[]))?;
            container.attrs.into_iter().try_for_each(|a| self.put_attribute(Owner::Variable(made), a))?;
        }
        claim.attrs.into_iter().try_for_each(|a| self.put_attribute(Owner::Variable(var), a))?;
        self.quantized.push((var, how));
        Ok(())
    }
}

/// Bytes that an attribute's values take in a classic file; of other values, their number.
fn bytes(a: &Attribute) -> usize {
    match &a.values {
        crate::model::Values::Fixed(bytes) => bytes.len(),
        crate::model::Values::Heap(list) => list.len(),
    }
}
