//! What an existing file says in another way than netcdf-c would, kept as it is while nobody changes it.

use std::collections::{HashMap, HashSet};

use crate::hdf5::emit::Attribute;
use crate::model::{self, DimId, Schema, TypeId};

/// Facts about an existing file that the schema does not hold. Nothing, for a new one.
#[derive(Debug, Default)]
pub(super) struct FileFacts {
    /// By owner's path and name: an attribute's value as read, and its form in the file.
    attributes: HashMap<(String, String), (model::Attribute, Attribute)>,
    /// By owner's path: attributes that the schema does not show.
    hidden: HashMap<String, Vec<Attribute>>,
    /// Types that no committed datatype stands for.
    nameless: HashSet<TypeId>,
    /// Dimensions that no scale stands for, and the names that were made up for them.
    phony: HashMap<DimId, String>,
    /// How many variables the file had.
    vars: usize,
}

impl FileFacts {
    /// For a file with so many variables.
    pub(super) fn new(vars: usize) -> Self {
        FileFacts { vars, ..FileFacts::default() }
    }

    /// Keeps the form of an attribute.
    pub(super) fn insert(&mut self, owner: &str, value: model::Attribute, form: Attribute) {
        self.attributes.insert((owner.to_owned(), value.name.clone()), (value, form));
    }

    /// Keeps an attribute that the schema does not show.
    pub(super) fn insert_hidden(&mut self, owner: &str, form: Attribute) {
        self.hidden.entry(owner.to_owned()).or_default().push(form);
    }

    /// A type has no committed datatype.
    pub(super) fn insert_nameless(&mut self, id: TypeId) {
        self.nameless.insert(id);
    }

    /// A dimension has no scale.
    pub(super) fn insert_phony(&mut self, id: DimId, name: &str) {
        self.phony.insert(id, name.to_owned());
    }

    /// The form of an attribute, if it was kept and the attribute has not changed.
    pub(super) fn attribute(&self, owner: &str, value: &model::Attribute) -> Option<Attribute> {
        let (old, form) = self.attributes.get(&(owner.to_owned(), value.name.clone()))?;
        (old == value).then(|| form.clone())
    }

    /// Attributes that the schema does not show.
    pub(super) fn hidden(&self, owner: &str) -> &[Attribute] {
        self.hidden.get(owner).map_or(&[], Vec::as_slice)
    }

    /// Whether a type is not to be written as an object.
    pub(super) fn is_nameless(&self, id: TypeId) -> bool {
        self.nameless.contains(&id)
    }

    /// Which dimensions stay without a scale: made-up ones, unless they were given a name or a new variable
    /// uses them.
    pub(super) fn phony(&self, schema: &Schema) -> HashSet<DimId> {
        let mut out: HashSet<DimId> =
            self.phony.iter().filter(|(d, name)| schema.dim(**d).name == **name).map(|(d, _)| *d).collect();
        for var in schema.vars.iter().skip(self.vars) {
            for d in &var.dims {
                out.remove(d);
            }
        }
        out
    }

    /// Owners have new names, all at once (two may have exchanged theirs).
    pub(super) fn rename(&mut self, names: &HashMap<String, String>) {
        if names.is_empty() {
            return;
        }
        let renamed = |owner: String| names.get(&owner).cloned().unwrap_or(owner);
        let attributes = std::mem::take(&mut self.attributes);
        self.attributes = attributes.into_iter().map(|((o, a), v)| ((renamed(o), a), v)).collect();
        let hidden = std::mem::take(&mut self.hidden);
        self.hidden = hidden.into_iter().map(|(o, v)| (renamed(o), v)).collect();
    }
}
