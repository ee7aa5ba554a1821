//! Records that are read while they are appended, by ncforge: an update in place that is synced, and readers that open the file again.

use std::path::{Path, PathBuf};

use ncforge::engine::Engine;
use ncforge::model::VarId;
use ncforge::store::packed;
use ncforge::{CreateOptions, Dataset, DatasetMut};

use super::blocks::schema;
use crate::driver::follow::{Consumer, Producer, RecordFile};
use crate::error::{Error, Result};

struct Appending {
    file: DatasetMut,
    of: RecordFile,
}

pub(super) fn producer(engine: &Engine, path: &Path, of: &RecordFile) -> Result<Box<dyn Producer>> {
    let options = CreateOptions {
        overwrite: true,
        engine: Some(engine.clone()),
        fill: false,
        packed: of.packed.then(packed::Options::default),
        ..CreateOptions::default()
    };
    DatasetMut::create(path, schema(&of.spec()), options)?.close()?;
    Ok(Box::new(Appending { file: DatasetMut::open_with(path, engine)?, of: of.clone() }))
}

impl Producer for Appending {
    fn append(&mut self, record: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.file.write_bytes(VarId(0), &self.of.slab(record, 1), bytes)?)
    }

    fn commit(&mut self) -> Result<()> {
        Ok(self.file.sync()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.file.close()?)
    }
}

struct Following {
    engine: Engine,
    path: PathBuf,
    of: RecordFile,
    /// As it was when it was last looked at.
    seen: Option<Dataset>,
}

pub(super) fn consumer(engine: Engine, path: &Path, of: &RecordFile) -> Box<dyn Consumer> {
    Box::new(Following { engine, path: path.to_owned(), of: of.clone(), seen: None })
}

impl Consumer for Following {
    fn records(&mut self) -> Result<u64> {
        // A dataset stays as it was opened: who wants to know more opens it again.
        let dataset = Dataset::open_with(&self.path, &self.engine)?;
        let records = dataset.schema().dims.first().map_or(0, |d| d.len);
        self.seen = Some(dataset);
        Ok(records)
    }

    fn read(&mut self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let dataset = self.seen.as_ref().ok_or_else(|| Error::Invalid("nobody has looked yet".into()))?;
        Ok(dataset.read_bytes(VarId(0), &self.of.slab(first, count), out)?)
    }
}
