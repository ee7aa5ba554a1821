//! Choices of ncforge, end to end: codecs that lose nothing and are equal in every run; shapes for arrays of any
//! kind, through `copy` and through `tune`.

#[path = "choosing/codecs.rs"]
mod codecs;
#[path = "choosing/reading.rs"]
mod reading;
#[path = "choosing/shapes.rs"]
mod shapes;

use std::path::Path;

use ncforge::model::{Atomic, Dimension, Format, Schema, Storage, VarId, Variable};
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Hyperslab};
use ncforge_ops::copy::{Chunks, Codec, CopyOptions};
use ncforge_tune::Machine;
use ncforge_tune::codec::Goal;

fn engine(threads: usize) -> Engine {
    Engine::new(EngineOptions { threads: Some(threads), memory: Some(32 << 20) }).unwrap()
}

/// One variable `v` along dimensions of these lengths, unlimited where that is said.
fn array(format: Format, dims: &[(u64, bool)], dtype: Atomic) -> Schema {
    let mut schema = Schema::new(format);
    for (i, &(len, unlimited)) in dims.iter().enumerate() {
        schema.dims.push(Dimension::new(format!("d{i}"), len, unlimited));
    }
    let ids = (0..dims.len()).map(ncforge::model::DimId).collect();
    let mut v = Variable::new("v", dtype, ids);
    if !format.is_classic() && dims.iter().any(|d| d.1) {
        v.storage = Storage::Chunked { chunks: vec![1; dims.len()], filters: vec![] };
    }
    schema.vars.push(v);
    schema
}

/// Makes a file of `schema` and writes `bytes` to its first variable, unless there are none.
fn make(path: &Path, schema: &Schema, bytes: &[u8]) {
    let options = CreateOptions { engine: Some(engine(1)), ..CreateOptions::default() };
    let mut new = DatasetMut::create(path, schema.clone(), options).unwrap();
    if !bytes.is_empty() {
        new.write_bytes(VarId(0), &Hyperslab::all(&schema.shape(VarId(0))), bytes).unwrap();
    }
    new.close().unwrap();
}

/// Everything chosen, for the machine that ncforge comes with.
fn chosen(goal: Goal, zstd: bool) -> CopyOptions {
    let mut options = CopyOptions {
        format: Some(Format::Netcdf4),
        chunks: Chunks::Auto,
        codec: Codec::Auto { goal, zstd },
        overwrite: true,
        ..CopyOptions::default()
    };
    options.choosing.machine = Machine::default();
    options
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let data = Dataset::open_with(path, &engine(1)).unwrap();
    let schema = data.schema();
    let shape = schema.shape(VarId(0));
    let size = schema.fixed_size(schema.var(VarId(0)).dtype).unwrap();
    let mut out = vec![0; shape.iter().product::<u64>() as usize * size];
    data.read_bytes(VarId(0), &Hyperslab::all(&shape), &mut out).unwrap();
    out
}
