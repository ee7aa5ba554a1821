//! The cost of opening netCDF-4 files in a store with latency, and of reading their chunk indexes: rounds of requests, requests, bytes.
//! Everything is compared with a local file. One line of JSON for each file.
//!
//! ```text
//! cargo run --example latency -- FILE...
//! ```

// Tests also make it fail.
#[allow(dead_code)]
#[path = "../tests/latency/throttled.rs"]
mod throttled;

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{VarId, shape};
use ncforge::raw::{ChunkRecord, Container, Place, netcdf4};
use ncforge::store::MemoryStore;
use ncforge::{Engine, Hyperslab, Result};
use serde_json::{Value as Json, json};

use throttled::{Asked, Throttled};

/// Values of variables up to this many elements are compared.
const COMPARED: u64 = 1 << 20;

fn main() -> Result<()> {
    for path in std::env::args().skip(1) {
        println!("{}", measure(Path::new(&path))?);
    }
    Ok(())
}

fn measure(path: &Path) -> Result<Json> {
    let bytes = std::fs::read(path)
        .map_err(|e| ncforge::Error::io(ncforge::Op::Read, path.display().to_string(), e))?;
    let len = bytes.len();
    let local = netcdf4::open(Arc::new(MemoryStore::new("far.nc", bytes.clone())))?;
    let store = Arc::new(Throttled::far(bytes));
    let file = netcdf4::open(store.clone())?;
    let open = store.take();
    let mut same = local.schema() == file.schema()
        && local.notes() == file.notes()
        && local.metadata_bytes() == file.metadata_bytes();
    let mut indexes = serde_json::Map::new();
    for var in file.schema().var_ids() {
        if let (Some(here), Some(there)) = (index(&*local, var)?, index(&*file, var)?) {
            let asked = store.take();
            same &= here == there;
            let name = file.schema().var_path(var);
            indexes.insert(name, json!({ "chunks": there.len(), "asked": asked_json(asked) }));
        }
    }
    for var in file.schema().var_ids() {
        let shape = file.schema().shape(var);
        if shape::checked(&shape, 1).is_some_and(|n| n <= COMPARED) {
            let all = Hyperslab::all(&shape);
            let read = |c: &dyn Container| Engine::global().read(c, var, &all).map_err(|e| e.to_string());
            same &= read(&*local) == read(&*file);
        }
    }
    let vars = file.schema().vars.len();
    Ok(json!({ "bytes": len, "vars": vars, "open": asked_json(open), "indexes": indexes, "same": same }))
}

/// Chunks with their grid coordinates.
type Chunks = Vec<(Vec<u64>, ChunkRecord)>;

/// The chunks of a variable.
fn index(file: &dyn Container, var: VarId) -> Result<Option<Chunks>> {
    match &file.layout(var)?.place {
        Place::Chunked { index, .. } => index.list().map(Some),
        _ => Ok(None),
    }
}

fn asked_json(asked: Asked) -> Json {
    json!({ "rounds": asked.rounds, "requests": asked.requests, "bytes": asked.bytes })
}
