//! Properties of an existing file that netcdf-c would store differently; they are preserved unless they are changed.

use std::collections::{HashMap, HashSet};

use crate::hdf5::datatype::Datatype;
use crate::hdf5::emit::Attribute;
use crate::model::{self, DimId, GroupId, Schema, TypeId, VarId};

/// An attached scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The dataset of a dimension.
    Dim(DimId),
    /// A dataset that is no dimension, such as a scale without a shape.
    Var(VarId),
}

/// The owner of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Group(GroupId),
    Var(VarId),
}

/// The scales of each dimension of a variable. Empty if there are none at all.
pub(super) type Rows = Vec<Vec<Target>>;

/// Properties of an existing file that are not in the schema. Empty for a new one.
#[derive(Debug, Default)]
pub(super) struct FileFacts {
    /// Attributes by owner and name: the value as read, and its stored form.
    attributes: HashMap<Owner, HashMap<String, (model::Attribute, Attribute)>>,
    /// Attributes that are not in the schema, by owner.
    hidden: HashMap<Owner, Vec<Attribute>>,
    /// Types without a committed datatype.
    pub(super) nameless: HashSet<TypeId>,
    /// Committed datatypes in their stored form.
    pub(super) committed: HashMap<TypeId, Datatype>,
    /// Dimensions without a scale, and the names that were invented for them.
    pub(super) phony: HashMap<DimId, String>,
    /// Variables whose dimensions the file does not name: they were found by their lengths.
    pub(super) unattached: HashSet<VarId>,
    /// Variables with other scales than netCDF would attach.
    pub(super) attached: HashMap<VarId, Rows>,
    /// Variables for which the file names dimensions of other lengths: those that it numbers.
    pub(super) coordinates: HashMap<VarId, Vec<DimId>>,
    /// The numbers of the dimensions that it had then, if each has its own.
    numbers: Vec<i32>,
    /// Variables that are scales with another `NAME` than netCDF gives them, or none.
    pub(super) scale_names: HashMap<VarId, Option<Attribute>>,
    /// The number of variables in the file when it was opened.
    vars: usize,
    /// The names of its dimensions then.
    dims: Vec<String>,
}

impl FileFacts {
    /// The facts of a file with this description.
    pub(super) fn new(schema: &Schema) -> Self {
        let dims = schema.dims.iter().map(|d| d.name.clone()).collect();
        FileFacts { vars: schema.vars.len(), dims, ..FileFacts::default() }
    }

    /// Records the stored form of an attribute.
    pub(super) fn insert(&mut self, owner: Owner, value: model::Attribute, form: Attribute) {
        self.attributes.entry(owner).or_default().insert(value.name.clone(), (value, form));
    }

    /// Records an attribute that is not in the schema.
    pub(super) fn insert_hidden(&mut self, owner: Owner, form: Attribute) {
        self.hidden.entry(owner).or_default().push(form);
    }

    /// Records the numbers of the dimensions. They are kept: netCDF-C names the dimensions that it invents after the next one.
    pub(super) fn insert_numbers(&mut self, numbers: &[i64]) {
        let numbers: Option<Vec<i32>> = numbers.iter().map(|n| i32::try_from(*n).ok()).collect();
        // Dimensions are sorted by their numbers.
        let numbers = numbers.filter(|all| all.windows(2).all(|pair| pair[0] < pair[1]));
        self.numbers = numbers.unwrap_or_default();
    }

    /// The number of a dimension: the one that it has, and higher ones for those that are new.
    pub(super) fn number(&self, id: DimId) -> i32 {
        match (self.numbers.get(id.0), self.numbers.last()) {
            (Some(number), _) => *number,
            (None, Some(last)) => last.saturating_add((id.0 - self.numbers.len()) as i32 + 1),
            (None, None) => id.0 as i32,
        }
    }

    /// The stored form of an attribute, if it was recorded and the attribute has not changed.
    pub(super) fn attribute(&self, owner: Owner, value: &model::Attribute) -> Option<Attribute> {
        let (old, form) = self.attributes.get(&owner)?.get(&value.name)?;
        (old == value).then(|| form.clone())
    }

    /// Attributes that are not in the schema.
    pub(super) fn hidden(&self, owner: Owner) -> &[Attribute] {
        self.hidden.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Dimensions that stay without a scale: those with invented names, unless they were renamed or a new variable
    /// uses them; or the dimensions changed and a variable that is found by its lengths could get others.
    pub(super) fn phony(&self, schema: &Schema) -> HashSet<DimId> {
        let mut out: HashSet<DimId> =
            self.phony.iter().filter(|(d, name)| schema.dim(**d).name == **name).map(|(d, _)| *d).collect();
        for var in schema.vars.iter().skip(self.vars) {
            for d in &var.dims {
                out.remove(d);
            }
        }
        let same = schema.dims.iter().map(|d| &d.name).eq(&self.dims);
        for var in self.unattached.iter().map(|v| schema.var(*v)).filter(|_| !same) {
            if !var.dims.iter().all(|d| out.contains(d)) {
                var.dims.iter().for_each(|d| _ = out.remove(d));
            }
        }
        // Readers number what has no scale anew, and would give one of those a name that a dimension now really has.
        let is_taken = |(d, name): (&DimId, &String)| !out.contains(d) && schema.dim(*d).name == *name;
        if self.phony.iter().any(is_taken) { HashSet::new() } else { out }
    }
}
