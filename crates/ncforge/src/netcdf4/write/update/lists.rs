//! HDF5's dimension scales in an existing file, beyond those that netCDF makes.

use std::collections::HashMap;

use super::super::attached::usual;
use super::super::facts::{FileFacts, Rows, Target};
use super::super::scales::Scales;
use super::forms::form;
use crate::container::Container;
use crate::error::Result;
use crate::hdf5::attribute::Attribute as Stored;
use crate::hdf5::file::File;
use crate::model::{DimId, VarId, encode_name};
use crate::netcdf4::read::Netcdf4File;
use crate::netcdf4::read::attrs::text;
use crate::netcdf4::read::dims::attached;

/// The scales of a file, to find out what is attached to its variables.
pub(super) struct Lists<'a> {
    file: &'a File,
    container: &'a Netcdf4File,
    scales: Scales,
    targets: HashMap<u64, Target>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(file: &'a File, container: &'a Netcdf4File, facts: &FileFacts) -> Self {
        let (schema, objects) = (container.schema(), container.objects());
        let vars = objects.vars.iter().enumerate().map(|(i, at)| (*at, Target::Var(VarId(i))));
        let dims =
            objects.scales.iter().enumerate().filter_map(|(i, at)| Some(((*at)?, Target::Dim(DimId(i)))));
        // The dataset of a coordinate variable is that of its dimension.
        let targets = vars.chain(dims).collect();
        Lists { file, container, scales: Scales::of(schema, facts.phony(schema)), targets }
    }

    /// Records what netCDF would write differently of a variable with these attributes; or says why it cannot be written
    /// again.
    pub(super) fn keep(
        &self,
        id: VarId,
        stored: &[Stored],
        facts: &mut FileFacts,
    ) -> Result<std::result::Result<(), String>> {
        let schema = self.container.schema();
        if self.scales.scale_of[id.0].is_some() {
            let name = stored.iter().find(|a| a.name[..] == *b"NAME");
            if text(stored, b"NAME") != Some(encode_name(&schema.var(id).name)) {
                facts.scale_names.insert(id, name.map(|a| form(self.file, a)).transpose()?);
            }
        }
        if let Some(dims) = self.container.objects().misfits.get(&id) {
            facts.coordinates.insert(id, dims.clone());
        }
        let rows = match self.rows(id, stored) {
            Ok(rows) => rows,
            Err(why) => return Ok(Err(format!("`{}`, {why}", schema.var_path(id)))),
        };
        if rows != usual(schema, &self.scales, facts, id) {
            facts.attached.insert(id, rows);
        }
        Ok(Ok(()))
    }

    /// The scales that are attached to a variable.
    fn rows(&self, id: VarId, stored: &[Stored]) -> std::result::Result<Rows, String> {
        let Some(list) = stored.iter().find(|a| a.name[..] == *b"DIMENSION_LIST") else {
            return Ok(Rows::new());
        };
        let rank = self.container.dataset(id).space.dims().len();
        let rows = attached(self.file, list, rank).filter(|_| list.space.count() == Some(rank as u64));
        let rows = rows.ok_or("whose list of dimension scales (DIMENSION_LIST) cannot be read")?;
        let target = |at: u64| {
            self.targets
                .get(&at)
                .copied()
                .ok_or("to which a dimension scale is attached that has no name in the file")
        };
        let rows = rows.into_iter().map(|row| row.into_iter().map(target).collect());
        let rows: Rows = rows.collect::<std::result::Result<_, _>>()?;
        Ok(if rows.iter().all(Vec::is_empty) { Rows::new() } else { rows })
    }
}
