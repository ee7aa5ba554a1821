//! ncforge itself as a driver.

mod aggregated;
mod blocks;
mod compressed;
mod spec;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ncforge::codec::filter_name;
use ncforge::model::{DType, Storage};
use ncforge::{Dataset, Engine, EngineOptions, Hyperslab};

use super::{Access, Driver, FileSpec, Opened, Session, VarInfo};
use crate::error::{Error, Result};

/// Reads through ncforge's own engine. Sessions of a driver (and its clones) with the same memory share one, as in a program that has been
/// running for a while: threads are there, and memory. Nothing of a file stays when its session ends.
#[derive(Clone, Debug, Default)]
pub struct NcforgeDriver {
    options: EngineOptions,
    engines: Arc<Mutex<Engines>>,
}

/// Engines by their memory.
type Engines = Vec<(Option<u64>, Engine)>;

impl NcforgeDriver {
    /// A driver with this many threads and this memory budget (`None`: the library's defaults).
    pub fn new(threads: Option<usize>, memory: Option<u64>) -> Self {
        Self { options: EngineOptions { threads, memory }, engines: Arc::default() }
    }

    fn engine(&self, memory: Option<u64>) -> Result<Engine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, engine)) = engines.iter().find(|e| e.0 == memory) {
            return Ok(engine.clone());
        }
        let engine = Engine::new(EngineOptions { memory, ..self.options })?;
        engines.push((memory, engine.clone()));
        Ok(engine)
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
        let engine = self.engine(cache.or(self.options.memory))?;
        Ok(Box::new(NcforgeSession { dataset: Dataset::open_with(path, &engine)? }))
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        blocks::refuses(spec, access)
    }

    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        blocks::create(self.options, path, spec, access)
    }

    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        blocks::open(self.options, path, spec, access)
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
            .ok_or_else(|| Error::NotFound { kind: "variable", name: var.to_owned() })?;
        Ok(self.dataset.read_bytes(id, slab, out)?)
    }
}
