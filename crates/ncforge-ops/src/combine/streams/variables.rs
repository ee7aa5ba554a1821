//! Which variables of a stream get files of their own, and which come along.
//!
//! A variable along the dimension has a file of its own, but for what says where or when others are: the coordinate, bounds, what the
//! attribute `coordinates` names, labels (text of at most two dimensions); and where fields have more dimensions, what lies along this one
//! alone (`date`, `nsteph`, `co2vmr`). A file has its variable, what [belongs](with_companions) to it, those that lie along the
//! dimension alone, and every variable without the dimension.

use std::collections::BTreeSet;

use super::axis::is_along_alone;
use crate::copy::{Names, with_companions};
use crate::series::{is_coordinate, lies_along};
use ncforge::model::{Atomic, DType, Schema, VarId};
use ncforge::{Error, Result};

/// Attributes that name variables which have no files of their own.
const PLACES: [&str; 3] = ["bounds", "climatology", "coordinates"];

/// The variables of a stream.
#[derive(Debug)]
pub(super) struct Variables {
    /// Those with files of their own.
    pub(super) own: Vec<VarId>,
    /// Those along the dimension that are in every file.
    along: Vec<VarId>,
    /// Those without the dimension.
    fixed: Vec<VarId>,
}

impl Variables {
    /// The variables of files that follow each other along `dim`; of the `wanted` ones, those that are there.
    ///
    /// # Errors
    /// [`Error::BadOption`] where a wanted variable does not lie along the dimension.
    pub(super) fn of(schema: &Schema, dim: &str, wanted: Option<&[String]>) -> Result<Variables> {
        let (along, fixed): (Vec<VarId>, Vec<VarId>) =
            schema.var_ids().partition(|v| lies_along(schema, *v, dim));
        let places = places(schema);
        let is_place = |v: &VarId| is_coordinate(schema, *v, dim) || places.contains(v);
        let is_text = |v: &VarId| matches!(schema.var(*v).dtype, DType::Atomic(Atomic::Char) | DType::String);
        let (labels, others): (Vec<VarId>, Vec<VarId>) =
            along.iter().copied().partition(|v| is_text(v) && schema.var(*v).dims.len() <= 2);
        let (alone, fields): (Vec<VarId>, Vec<VarId>) =
            others.into_iter().filter(|v| !is_place(v)).partition(|v| is_along_alone(schema, *v, dim));
        let has_fields = !fields.is_empty();
        let is_in_every = |v: &VarId| {
            labels.contains(v) || is_coordinate(schema, *v, dim) || (has_fields && alone.contains(v))
        };
        let own = match wanted {
            Some(names) => named(schema, dim, names)?,
            None if has_fields => fields,
            None if !alone.is_empty() => alone.clone(),
            None => labels.iter().copied().filter(|v| !is_place(v)).collect(),
        };
        let along = along.into_iter().filter(is_in_every).collect();
        Ok(Variables { own, along, fixed })
    }

    /// The variables of the file of one.
    pub(super) fn of_file(&self, schema: &Schema, v: VarId) -> BTreeSet<VarId> {
        let mut all = with_companions(schema, self.along.iter().copied().chain([v]));
        all.extend(&self.fixed);
        all
    }

    /// The variables of all files.
    pub(super) fn of_files(&self, schema: &Schema) -> BTreeSet<VarId> {
        let mut all = with_companions(schema, self.along.iter().chain(&self.own).copied());
        all.extend(&self.fixed);
        all
    }

    /// The paths of those with files of their own.
    pub(super) fn paths(&self, schema: &Schema) -> Vec<String> {
        self.own.iter().map(|v| schema.var_path(*v)).collect()
    }
}

/// The names of these variables.
pub(super) fn names(schema: &Schema, vars: &BTreeSet<VarId>) -> Names {
    Names { vars: vars.iter().map(|v| schema.var_path(*v)).collect(), groups: Vec::new() }
}

/// The variables that say where others are.
fn places(schema: &Schema) -> BTreeSet<VarId> {
    schema.var_ids().flat_map(|v| PLACES.iter().flat_map(move |name| schema.named_by(v, name))).collect()
}

/// The variables of these names that are there.
fn named(schema: &Schema, dim: &str, names: &[String]) -> Result<Vec<VarId>> {
    let found: BTreeSet<VarId> = names.iter().filter_map(|name| schema.find_var(name)).collect();
    match found.iter().find(|v| !lies_along(schema, **v, dim)) {
        None => Ok(found.into_iter().collect()),
        Some(v) => {
            let name = schema.var_path(*v);
            let name = name.trim_start_matches('/');
            Err(Error::bad_option(
                "vars",
                format!("`{name}` does not lie along `{dim}`: it is in every output"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Attribute, DimId, Dimension, Format, Variable};

    /// A file as CAM writes it.
    fn schema() -> Schema {
        let mut s = Schema::new(Format::Cdf2);
        for (name, len, unlimited) in
            [("time", 1, true), ("lev", 3, false), ("lat", 4, false), ("two", 2, false)]
        {
            s.dims.push(Dimension::new(name, len, unlimited));
        }
        let mut add = |name: &str, kind: Atomic, dims: &[usize], attrs: &[(&str, &str)]| {
            let mut var = Variable::new(name, kind, dims.iter().map(|d| DimId(*d)).collect());
            var.attrs.extend(attrs.iter().map(|(name, text)| Attribute::text(*name, text)));
            s.vars.push(var);
        };
        add("time", Atomic::Double, &[0], &[("bounds", "time_bnds")]);
        add("time_bnds", Atomic::Double, &[0, 3], &[]);
        add("date", Atomic::Int, &[0], &[]);
        add("date_written", Atomic::Char, &[0, 3], &[]);
        add("lev", Atomic::Double, &[1], &[("formula_terms", "a: hyam ps: PS")]);
        add("hyam", Atomic::Double, &[1], &[]);
        add("area", Atomic::Double, &[2], &[]);
        add("PS", Atomic::Float, &[0, 2], &[]);
        add("T", Atomic::Float, &[0, 1, 2], &[]);
        s
    }

    #[test]
    fn fields_have_files_and_take_along_what_belongs_to_them() {
        let s = schema();
        let vars = Variables::of(&s, "time", None).unwrap();
        let names =
            |all: &mut dyn Iterator<Item = &VarId>| all.map(|v| s.var(*v).name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(&mut vars.own.iter()), ["PS", "T"]);
        let of = |name: &str| names(&mut vars.of_file(&s, s.find_var(name).unwrap()).iter()).join(" ");
        assert_eq!(of("PS"), "time time_bnds date date_written lev hyam area PS");
        assert_eq!(of("T"), "time time_bnds date date_written lev hyam area PS T");
    }

    #[test]
    fn variables_are_those_that_were_named() {
        let s = schema();
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            Variables::of(&s, "time", Some(&names)).map(|vars| vars.own)
        };
        assert_eq!(of(&["date", "none"]).unwrap(), [s.find_var("date").unwrap()]);
        assert!(of(&["hyam"]).unwrap_err().to_string().contains("does not lie along `time`"));
    }

    #[test]
    fn text_of_more_dimensions_is_a_field_and_labels_alone_have_files() {
        let mut s = schema();
        s.vars.push(Variable::new("flag", Atomic::Char, [0, 2, 3].map(DimId).to_vec()));
        let flag = s.find_var("flag").unwrap();
        assert!(Variables::of(&s, "time", None).unwrap().own.contains(&flag));
        s.vars.retain(|v| ["time", "flag"].contains(&v.name.as_str()));
        assert_eq!(Variables::of(&s, "time", None).unwrap().own, [VarId(1)]);
        s.vars[1].dims.remove(1);
        assert_eq!(Variables::of(&s, "time", None).unwrap().own, [VarId(1)], "no other variable");
    }

    #[test]
    fn without_fields_each_series_of_numbers_has_a_file() {
        let mut s = schema();
        s.vars.truncate(4);
        let vars = Variables::of(&s, "time", None).unwrap();
        assert_eq!(vars.own, [VarId(2)]);
    }
}
