//! Writes: a new file with one variable.

use std::path::Path;

use ncforge::model::{DimId, Filter, Storage, VarId};
use ncforge::{Atomic, CreateOptions, DatasetMut, Dimension, Format, Hyperslab, Schema, Variable};

use crate::answer::{Answer, Clock, unreadable};
use crate::fields::Fields;
use crate::worker::Worker;
use ncforge_bench::{Error, Result};

/// Numbers of HDF5's filters.
const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;

impl Worker {
    /// `write`: create a file with one variable, write all of it, close. The values are those of the file
    /// `source`, loaded before. With `durable=1` the file is on disk at the end; without, as with the peers,
    /// in the hands of the system. With `records=1` the first dimension is unlimited, and they are written record by
    /// record.
    pub(crate) fn write(&mut self, request: &Fields<'_>) -> Result<Answer> {
        self.load(request.text("source")?)?;
        let values = self.source.as_ref().map_or(&[][..], |(_, values)| values);
        let schema = schema(request)?;
        let path = Path::new(request.text("path")?);
        let shape = request.numbers("shape")?;
        let records = request.flag("records").then(|| shape.first().copied().unwrap_or(0));
        let slab = Hyperslab::all(&shape);
        let options = CreateOptions {
            overwrite: true,
            engine: Some(self.engine.clone()),
            fill: request.flag("fill"),
            durable: request.flag("durable"),
            ..CreateOptions::default()
        };
        let clock = Clock::start();
        let mut new = DatasetMut::create(path, schema, options)?;
        let var = new.schema().var_ids().next().ok_or_else(|| Error::Invalid("no variable".to_owned()))?;
        match records {
            None => new.write_bytes(var, &slab, values)?,
            Some(records) => write_records(&mut new, var, &slab, records, values)?,
        }
        new.close()?;
        Ok(Answer { bytes: values.len() as u64, reads: records.unwrap_or(1), ..clock.stop() })
    }

    fn load(&mut self, source: &str) -> Result<()> {
        if self.source.as_ref().is_none_or(|(name, _)| name != source) {
            self.source = None;
            let values = std::fs::read(source).map_err(|e| unreadable(source, e))?;
            self.source = Some((source.to_owned(), values));
        }
        Ok(())
    }
}

/// One record after the other, as a program does that gets them one by one.
fn write_records(
    new: &mut DatasetMut,
    var: VarId,
    all: &Hyperslab,
    records: u64,
    values: &[u8],
) -> Result<()> {
    let size = values.len() / records.max(1) as usize;
    let mut slab = all.clone();
    if let Some(count) = slab.count.first_mut() {
        *count = 1;
    }
    for (t, record) in (0..records).zip(values.chunks(size.max(1))) {
        slab.start[0] = t;
        new.write_bytes(var, &slab, record)?;
    }
    Ok(())
}

fn schema(request: &Fields<'_>) -> Result<Schema> {
    let format = match request.text("format")? {
        "cdf5" => Format::Cdf5,
        "netcdf4" => Format::Netcdf4,
        other => return Err(Error::Invalid(format!("no format `{other}`"))),
    };
    let atomic = match request.text("type")? {
        "f4" => Atomic::Float,
        "f8" => Atomic::Double,
        "i2" => Atomic::Short,
        other => return Err(Error::Invalid(format!("no type `{other}`"))),
    };
    let mut schema = Schema::new(format);
    for (i, len) in request.numbers("shape")?.into_iter().enumerate() {
        let unlimited = i == 0 && request.flag("records");
        let len = if unlimited { 0 } else { len };
        schema.dims.push(Dimension::new(format!("d{i}"), len, unlimited));
    }
    let mut var = Variable::new(request.text("var")?, atomic, (0..schema.dims.len()).map(DimId).collect());
    let chunks = request.numbers("chunks")?;
    if !chunks.is_empty() {
        let filter = |id, params| Filter { id, params, optional: true };
        let mut filters = Vec::new();
        if request.flag("shuffle") {
            filters.push(filter(SHUFFLE, vec![atomic.size() as u32]));
        }
        match request.number("deflate", 0u32)? {
            0 => {}
            level => filters.push(filter(DEFLATE, vec![level])),
        }
        var.storage = Storage::Chunked { chunks, filters };
    }
    schema.vars.push(var);
    Ok(schema)
}
