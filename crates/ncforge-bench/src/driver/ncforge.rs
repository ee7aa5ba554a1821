//! ncforge itself as a driver.

mod aggregated;
mod blocks;
mod compressed;
mod definitions;
mod follow;

use std::path::Path;

use ncforge::codec::filter_name;
use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::{DType, Storage};
use ncforge::{Dataset, Hyperslab};

use super::{
    Access, BlockFile, Consumer, Definitions, Driver, FileSpec, Inquired, Producer, RecordFile, Session,
    StepTimes, VarInfo,
};
use crate::error::{Error, Result};

/// Reads through ncforge's own engine; each session has an engine of its own, hence empty caches.
#[derive(Clone, Debug, Default)]
pub struct NcforgeDriver {
    options: EngineOptions,
}

impl NcforgeDriver {
    /// A driver with this many threads and this memory budget (`None`: the library's defaults).
    pub fn new(threads: Option<usize>, memory: Option<u64>) -> Self {
        Self { options: EngineOptions { threads, memory } }
    }
}

impl Driver for NcforgeDriver {
    fn name(&self) -> &str {
        "ncforge"
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>> {
        let engine = Engine::new(EngineOptions { memory: cache.or(self.options.memory), ..self.options })?;
        Ok(Box::new(NcforgeSession { dataset: Dataset::open_with(path, &engine)? }))
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        blocks::refuses(spec, access)
    }

    fn create<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        blocks::create(self.options, path, spec, access)
    }

    fn open_blocks<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        blocks::open(self.options, path, spec, access)
    }

    fn refuses_update(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        blocks::refuses_update(spec, access)
    }

    fn update<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        blocks::update(self.options, path, spec, access)
    }

    fn refuses_definitions(&self, spec: &Definitions) -> Option<String> {
        spec.impossible()
    }

    fn define(&self, path: &Path, spec: &Definitions) -> Result<StepTimes> {
        definitions::define(self.options, path, spec)
    }

    fn inquire(&self, path: &Path) -> Result<(StepTimes, Inquired)> {
        definitions::inquire(self.options, path)
    }

    fn refuses_following(&self, file: &RecordFile) -> Option<String> {
        file.illegal().or_else(|| file.spec().representable())
    }

    fn producer(&self, path: &Path, file: &RecordFile) -> Result<Box<dyn Producer>> {
        follow::producer(&Engine::new(self.options)?, path, file)
    }

    fn consumer(&self, path: &Path, file: &RecordFile) -> Result<Box<dyn Consumer>> {
        Ok(follow::consumer(Engine::new(self.options)?, path, file))
    }
}

struct NcforgeSession {
    dataset: Dataset,
}

impl Session for NcforgeSession {
    fn format(&self) -> String {
        self.dataset.schema().format.kind().to_owned()
    }

    fn variables(&self) -> Vec<VarInfo> {
        let schema = self.dataset.schema();
        schema
            .var_ids()
            .filter_map(|id| {
                let var = schema.var(id);
                let DType::Atomic(atomic) = var.dtype else { return None };
                let (chunks, filters) = match &var.storage {
                    Storage::Chunked { chunks, filters } => {
                        (Some(chunks.clone()), filters.iter().map(|f| filter_name(f.id).to_owned()).collect())
                    }
                    Storage::Contiguous | Storage::Compact => (None, Vec::new()),
                };
                Some(VarInfo {
                    name: schema.var_path(id),
                    shape: schema.shape(id),
                    size: atomic.size(),
                    chunks,
                    filters,
                })
            })
            .collect()
    }

    fn read(&mut self, var: &str, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let id = self
            .dataset
            .schema()
            .find_var(var)
            .ok_or_else(|| Error::Invalid(format!("no variable `{var}`")))?;
        Ok(self.dataset.read_bytes(id, slab, out)?)
    }
}
