//! What an existing file says in another way than netcdf-c would, kept as it is while nobody changes it.

use std::collections::HashMap;

use crate::hdf5::emit::Attribute;
use crate::model;

/// Attributes in the form in which the file holds them.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// By owner's path and name: the value as read, and the form in the file.
    attributes: HashMap<(String, String), (model::Attribute, Attribute)>,
}

impl Kept {
    /// Keeps the form of an attribute.
    pub(super) fn insert(&mut self, owner: &str, value: model::Attribute, form: Attribute) {
        self.attributes.insert((owner.to_owned(), value.name.clone()), (value, form));
    }

    /// The form of an attribute, if it was kept and the attribute has not changed.
    pub(super) fn attribute(&self, owner: &str, value: &model::Attribute) -> Option<Attribute> {
        let (old, form) = self.attributes.get(&(owner.to_owned(), value.name.clone()))?;
        (old == value).then(|| form.clone())
    }

    /// An owner has a new name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let moved: Vec<_> = self.attributes.keys().filter(|k| k.0 == from).cloned().collect();
        for key in moved {
            if let Some(v) = self.attributes.remove(&key) {
                self.attributes.insert((to.to_owned(), key.1), v);
            }
        }
    }
}
