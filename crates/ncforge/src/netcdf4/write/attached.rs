//! Which dimension scales are attached to which variables: `DIMENSION_LIST`, and `REFERENCE_LIST` on the scales.
//!
//! netCDF attaches one scale to each dimension of a variable that is no scale itself. HDF5 programs attach several, some of
//! another length, or none at all; an existing file keeps what it has.

use std::collections::HashMap;

use super::facts::{FileFacts, Rows, Target};
use super::scales::Scales;
use crate::hdf5::emit::ObjectId;
use crate::model::{DimId, Schema, VarId};

/// The scales that a commit attaches to a variable.
pub(super) fn rows(schema: &Schema, scales: &Scales, facts: &FileFacts, id: VarId) -> Rows {
    let Some(stored) = facts.attached.get(&id) else { return usual(schema, scales, facts, id) };
    let dims = &schema.var(id).dims;
    let (own, mut rows) = (scales.scale_of[id.0], stored.clone());
    if own.is_none() && dims.iter().any(|d| facts.phony.contains_key(d) && !scales.phony.contains(d)) {
        rows.resize(dims.len(), Vec::new());
        for (row, d) in rows.iter_mut().zip(dims).filter(|(row, _)| row.is_empty()) {
            row.extend((!scales.phony.contains(d)).then_some(Target::Dim(*d)));
        }
    }
    // A scale is not attached to itself.
    rows.iter_mut().for_each(|row| row.retain(|t| own.is_none_or(|d| *t != Target::Dim(d))));
    if rows.iter().all(Vec::is_empty) { Rows::new() } else { rows }
}

/// The scales that netCDF attaches to a variable.
pub(super) fn usual(schema: &Schema, scales: &Scales, facts: &FileFacts, id: VarId) -> Rows {
    let dims = &schema.var(id).dims;
    let is_real = |d: &DimId| !scales.phony.contains(d);
    if scales.scale_of[id.0].is_some()
        || !dims.iter().any(is_real)
        || is_found_by_length(dims, scales, facts, id)
    {
        return Rows::new();
    }
    dims.iter().map(|d| is_real(d).then_some(Target::Dim(*d)).into_iter().collect()).collect()
}

/// Whether readers find a variable's dimensions by their lengths: the file never named them, and not all of them
/// have scales. netCDF-C rejects a list that names only some.
fn is_found_by_length(dims: &[DimId], scales: &Scales, facts: &FileFacts, id: VarId) -> bool {
    facts.unattached.contains(&id) && dims.iter().any(|d| scales.phony.contains(d))
}

/// Every use of a scale: the dataset and the position of the dimension.
#[derive(Debug, Default)]
pub(super) struct Users(HashMap<ObjectId, Vec<(ObjectId, u32)>>);

impl Users {
    /// Adds what is attached to a dataset.
    pub(super) fn add(&mut self, user: ObjectId, rows: &[Vec<ObjectId>]) {
        for (i, row) in rows.iter().enumerate() {
            for scale in row {
                let uses = self.0.entry(*scale).or_default();
                if uses.last() != Some(&(user, i as u32)) {
                    uses.push((user, i as u32));
                }
            }
        }
    }

    /// The uses of a scale.
    pub(super) fn of(&self, scale: ObjectId) -> &[(ObjectId, u32)] {
        self.0.get(&scale).map_or(&[], Vec::as_slice)
    }
}
