//! Errors for names that a file does not have, with the most similar name that it has.

use super::{Attribute, Dimension, GroupId, Schema};
use crate::error::{Error, nearest};

impl Schema {
    /// The error for a variable of `file` with this path that cannot be accessed: it is there, but damaged or of a kind that is
    /// not supported ([`Skipped`](super::Skipped)), or it is not there.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Format, Schema, Variable};
    /// let mut schema = Schema::new(Format::Netcdf4);
    /// schema.vars.push(Variable::new("temp", Atomic::Float, vec![]));
    /// let ncforge::Error::NotFound { nearest, .. } = schema.no_variable("tempp", "ocean.nc") else { panic!() };
    /// assert_eq!(nearest.as_deref(), Some("temp"));
    /// ```
    pub fn no_variable(&self, path: &str, file: &str) -> Error {
        if let Some(skipped) = self.find_skipped(path) {
            return skipped.error(file);
        }
        let wanted = path.trim_start_matches('/');
        let paths = || self.var_ids().map(|v| self.var_path(v).trim_start_matches('/').to_owned());
        // A variable of this name in a group is meant rather than one that is spelt differently.
        let below = paths().find(|p| p.rsplit_once('/').is_some_and(|(_, name)| name == wanted));
        Error::NotFound {
            kind: "variable",
            name: path.to_owned(),
            path: file.to_owned(),
            nearest: below.or_else(|| nearest(wanted, paths())),
        }
    }

    /// The error for a dimension that `file` does not have; `kind` is "dimension", or says what kind of one is needed.
    pub fn no_dimension(&self, kind: &'static str, name: &str, file: &str) -> Error {
        let can = |d: &&Dimension| d.name != name && (kind != "unlimited dimension" || d.unlimited);
        let known = self.dims.iter().filter(can).map(|d| &d.name);
        let (name, path) = (name.to_owned(), file.to_owned());
        Error::NotFound { kind, nearest: nearest(&name, known), name, path }
    }

    /// The error for a group that `file` does not have, or that cannot be accessed.
    pub fn no_group(&self, path: &str, file: &str) -> Error {
        if let Some(skipped) = self.find_skipped(path) {
            return skipped.error(file);
        }
        let paths =
            (1..self.groups.len()).map(|g| self.group_path(GroupId(g)).trim_start_matches('/').to_owned());
        let nearest = nearest(path.trim_matches('/'), paths);
        Error::NotFound { kind: "group", name: path.to_owned(), path: file.to_owned(), nearest }
    }
}

/// The error for an attribute that `owner` does not have.
pub(crate) fn no_attribute(name: &str, owner: String, attributes: &[Attribute]) -> Error {
    let known = attributes.iter().map(|a| &a.name);
    Error::NotFound { kind: "attribute", name: name.to_owned(), path: owner, nearest: nearest(name, known) }
}
