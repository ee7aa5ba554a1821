//! Prints everything that a netCDF-4 file holds as JSON: what the oracle tests compare with other readers. Values
//! are read twice, by the engine and one element at a time from layouts and chunk records, and must agree. `cargo run --example dump_json -- FILE…`
//!
//! Values of fixed size are hexadecimal bytes in native order; strings, ragged rows and compounds of them are
//! JSON.

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{DType, Schema, UserKind, Value, Values, VarId};
use ncforge::raw::{
    Absent, ChunkGrid, Container, NotFollowed, Order, Place, VarLayout, coordinates, netcdf4,
};
use ncforge::store::FileStore;
use ncforge::{Engine, Hyperslab, Result};
use serde_json::{Value as Json, json};

fn main() {
    for path in std::env::args().skip(1) {
        let out = match dump(Path::new(&path)) {
            Ok(json) => json,
            Err(e) => json!({ "error": e.to_string(), "kind": format!("{:?}", e.kind()) }),
        };
        println!("{out}");
    }
}

fn dump(path: &Path) -> Result<Json> {
    let file = netcdf4::open(Arc::new(FileStore::open(path)?))?;
    let s = file.schema();
    let dims: Vec<_> = s
        .dims
        .iter()
        .map(|d| json!({ "group": s.group_path(d.group), "name": d.name, "len": d.len, "unlimited": d.unlimited }))
        .collect();
    let types: Vec<_> = s
        .types
        .iter()
        .map(|t| json!({ "group": s.group_path(t.group), "name": t.name, "kind": kind(s, &t.kind) }))
        .collect();
    let groups: Vec<_> = s
        .groups
        .iter()
        .enumerate()
        .map(
            |(i, g)| json!({ "path": s.group_path(ncforge::model::GroupId(i)), "attrs": attrs(s, &g.attrs) }),
        )
        .collect();
    let mut vars = Vec::new();
    for v in s.var_ids() {
        let var = s.var(v);
        let values = match read(&*file, v) {
            Ok(values) => values,
            Err(e) => json!({ "error": e.to_string() }),
        };
        vars.push(json!({
            "group": s.group_path(var.group), "name": var.name, "dtype": dtype(s, var.dtype),
            "dims": var.dims.iter().map(|d| s.dim(*d).name.clone()).collect::<Vec<_>>(), "shape": s.shape(v),
            "attrs": attrs(s, &var.attrs), "storage": format!("{:?}", var.storage),
            "endian": format!("{:?}", var.endian), "fill": format!("{:?}", var.fill), "values": values,
        }));
    }
    let skipped: Vec<_> = s.skipped.iter().map(|k| json!([k.path, k.why])).collect();
    Ok(json!({
        "format": s.format.kind(), "provenance": s.provenance, "groups": groups, "dims": dims, "types": types,
        "vars": vars, "skipped": skipped, "notes": file.notes(), "metadata": file.metadata_bytes(),
    }))
}

fn dtype(s: &Schema, d: DType) -> Json {
    match d {
        DType::User(t) => json!({ "user": t.0, "name": s.user_type(t).name }),
        _ => json!(s.type_name(d)),
    }
}

fn kind(s: &Schema, k: &UserKind) -> Json {
    match k {
        UserKind::Compound { size, fields } => json!({ "compound": size, "fields": fields.iter().map(|f|
            json!({ "name": f.name, "offset": f.offset, "dtype": dtype(s, f.dtype), "shape": f.shape })).collect::<Vec<_>>() }),
        UserKind::Enum { base, members } => json!({ "enum": base.cdl_name(), "members": members.iter()
            .map(|(n, v)| json!([n, v.to_string()])).collect::<Vec<_>>() }),
        UserKind::Vlen { base } => json!({ "vlen": dtype(s, *base) }),
        UserKind::Opaque { size } => json!({ "opaque": size }),
    }
}

fn attrs(s: &Schema, attrs: &[ncforge::Attribute]) -> Vec<Json> {
    attrs
        .iter()
        .map(|a| {
            let values = match &a.values {
                Values::Fixed(b) => json!({ "hex": hex(b) }),
                Values::Heap(v) => json!({ "heap": v.iter().map(value).collect::<Vec<_>>() }),
            };
            json!({ "name": a.name, "dtype": dtype(s, a.dtype), "values": values })
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn value(v: &Value) -> Json {
    match v {
        Value::Fixed(b) => json!({ "hex": hex(b) }),
        Value::Row(b) => json!({ "row": hex(b) }),
        Value::String(None) => Json::Null,
        Value::String(Some(b)) => json!(String::from_utf8_lossy(b)),
        Value::HeapRow(v) | Value::Compound(v) => json!(v.iter().map(value).collect::<Vec<_>>()),
    }
}

/// All of a variable, by the engine.
fn read(file: &dyn Container, v: VarId) -> Result<Json> {
    let all = Hyperslab::all(&file.schema().shape(v));
    let json = match Engine::global().read(file, v, &all)? {
        Values::Fixed(b) => json!({ "hex": hex(&b) }),
        Values::Heap(v) => json!({ "heap": v.iter().map(value).collect::<Vec<_>>() }),
    };
    assert_eq!(json, read_plainly(file, v)?, "{}", file.schema().var_path(v));
    Ok(json)
}

/// All of a variable, the plain way: one element at a time.
fn read_plainly(file: &dyn Container, v: VarId) -> Result<Json> {
    let layout = file.layout(v)?;
    let stored = stored(file, &layout, &file.schema().shape(v))?;
    if layout.element.heap {
        return Ok(json!({ "heap": file.decode_heap(v, &stored)?.iter().map(value).collect::<Vec<_>>() }));
    }
    let mut bytes = stored;
    let size = layout.element.size;
    for one in bytes.chunks_exact_mut(size) {
        match &layout.element.order {
            Order::Keep => {}
            Order::Swap(_) => one.reverse(),
            Order::Fields(fields) => {
                for f in fields {
                    one[f.offset..f.offset + f.unit * f.count]
                        .chunks_exact_mut(f.unit)
                        .for_each(<[u8]>::reverse);
                }
            }
        }
    }
    Ok(json!({ "hex": hex(&bytes) }))
}

fn stored(file: &dyn Container, layout: &VarLayout, shape: &[u64]) -> Result<Vec<u8>> {
    let size = layout.element.size;
    let count = shape.iter().product::<u64>() as usize;
    let (inside, beyond) = match &layout.absent {
        Absent::As(one) => (one, one),
        Absent::Split { inside, beyond } => (inside, beyond),
        Absent::Several => unreachable!("one file has one value"),
    };
    let mut out = beyond.repeat(count);
    let mut put = |at: &[u64], one: &[u8]| {
        if at.iter().zip(shape).all(|(i, n)| i < n) {
            let i = at.iter().zip(shape).fold(0, |a, (&i, &n)| a * n + i) as usize;
            out[i * size..][..size].copy_from_slice(one);
        }
    };
    let all: Vec<_> = layout.shape.iter().map(|&n| 0..n).collect();
    coordinates(&all).for_each(|at| put(&at, inside));
    let linear = match &layout.place {
        Place::Nowhere => None,
        Place::Inline(bytes) => Some(bytes.to_vec()),
        Place::Contiguous { offset } => {
            let n = layout.shape.iter().product::<u64>() * size as u64;
            Some(file.store().read_vec(*offset, n)?)
        }
        Place::Chunked { chunk, codecs, index } => {
            let grid = ChunkGrid::new(&layout.shape, chunk);
            let mut raw = vec![0; grid.chunk_len() as usize * size];
            for (at, record) in index.list()? {
                assert_eq!(index.get(&at)?, Some(record));
                let encoded = file.store().read_vec(record.offset, record.len)?;
                codecs.decode(&encoded, record.mask, &mut raw)?;
                let (start, _) = grid.region(&at);
                let inside: Vec<_> = chunk.iter().map(|&n| 0..n).collect();
                for (one, c) in raw.chunks_exact(size).zip(coordinates(&inside)) {
                    let at: Vec<u64> = start.iter().zip(&c).map(|(a, b)| a + b).collect();
                    if at.iter().zip(&layout.shape).all(|(i, n)| i < n) {
                        put(&at, one);
                    }
                }
            }
            None
        }
        Place::Records { .. } => None,
        Place::Parts(_) => {
            return Err(ncforge::Error::Unsupported {
                path: layout.name.clone(),
                what: "a virtual dataset".into(),
            });
        }
        Place::Unsupported(what) | Place::NotFollowed(NotFollowed { why: what, .. }) => {
            return Err(ncforge::Error::Unsupported { path: layout.name.clone(), what: what.clone() });
        }
    };
    if let Some(bytes) = linear {
        for (one, at) in bytes.chunks_exact(size).zip(coordinates(&all)) {
            put(&at, one);
        }
    }
    Ok(out)
}
