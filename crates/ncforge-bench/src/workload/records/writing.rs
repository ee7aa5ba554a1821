//! Files of records of one value each.

use std::path::Path;

use ncforge::model::{DimId, VarId};
use ncforge::{Atomic, Attribute, CreateOptions, DatasetMut, Dimension, Engine, Hyperslab, Schema, Variable};

use super::Stored;
use crate::error::{Error, Result};

/// The description of a file with these float variables (name, units) of one unlimited dimension, and a time.
fn schema(stored: Stored, columns: &[(String, &str)], time_units: &str) -> Schema {
    let mut schema = Schema::new(stored.format());
    schema.dims.push(Dimension::new("time", 0, true));
    let mut add = |name: &str, atomic: Atomic, units: &str| {
        let mut var = Variable::new(name, atomic, vec![DimId(0)]);
        var.attrs.push(Attribute::text("units", units));
        var.storage = stored.storage(atomic);
        schema.vars.push(var);
    };
    if !time_units.is_empty() {
        add("time", Atomic::Int, time_units);
    }
    for (name, units) in columns {
        add(name, Atomic::Float, units);
    }
    schema
}

/// Makes an empty file.
pub(super) fn create(
    path: &Path,
    stored: Stored,
    columns: &[(String, &str)],
    time_units: &str,
    engine: &Engine,
) -> Result<()> {
    let options = CreateOptions {
        overwrite: true,
        engine: Some(engine.clone()),
        zipped: stored.zipped(),
        ..CreateOptions::default()
    };
    Ok(DatasetMut::create(path, schema(stored, columns, time_units), options)?.close()?)
}

/// Writes records of all variables from record 0 on, in batches.
pub(super) fn fill(
    path: &Path,
    columns: &[Vec<f32>],
    has_time: bool,
    batch: usize,
    engine: &Engine,
) -> Result<()> {
    let records = columns.first().map_or(0, Vec::len);
    let mut data = DatasetMut::open_with(path, engine)?;
    let mut first = 0;
    let mut bytes = Vec::new();
    while first < records {
        let n = batch.min(records - first);
        let slab = records_from(first, n);
        if has_time {
            let days: Vec<u8> = (first..first + n).flat_map(|r| (r as i32).to_ne_bytes()).collect();
            data.write_bytes(VarId(0), &slab, &days)?;
        }
        for (i, column) in columns.iter().enumerate() {
            bytes.clear();
            bytes.extend(column[first..first + n].iter().flat_map(|v| v.to_ne_bytes()));
            data.write_bytes(VarId(i + usize::from(has_time)), &slab, &bytes)?;
        }
        first += n;
    }
    Ok(data.close()?)
}

/// Writes single values: variable, record, value.
pub(super) fn correct(path: &Path, changes: &[(usize, usize, f32)], engine: &Engine) -> Result<()> {
    let mut data = DatasetMut::open_with(path, engine)?;
    for &(var, record, value) in changes {
        data.write_bytes(VarId(var), &records_from(record, 1), &value.to_ne_bytes())?;
    }
    Ok(data.close()?)
}

/// A run of records of a variable of one value a record.
pub(super) fn records_from(first: usize, n: usize) -> Hyperslab {
    Hyperslab { start: vec![first as u64], count: vec![n as u64], stride: vec![1] }
}

/// Bytes of a file.
pub(super) fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(|e| Error::io("measure", path, e))?.len())
}
