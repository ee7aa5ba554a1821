//! Reading HDF5: real files, files after a user block, files cut short, files with a changed byte.
//!
//! `tests/test_read_hdf5.py` compares with other libraries' reads of these files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncforge::model::{
    Atomic, DType, DimId, Dimension, Field, Format, GroupId, Schema, Storage, TypeId, UserKind, UserType,
    Value, Values, Variable, shape,
};
use ncforge::raw::{Container, Place, netcdf4};
use ncforge::store::{FileStore, MemoryStore};
use ncforge::{Attribute, CreateOptions, Dataset, DatasetMut, Engine, Error, Hyperslab, Result};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

fn open_bytes(bytes: Vec<u8>) -> Result<Box<dyn Container>> {
    netcdf4::open(Arc::new(MemoryStore::new("memory", bytes)))
}

/// A small file with groups, all kinds of types, strings, rows, chunks and unlimited dimensions.
fn small_file() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.nc");
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 5, false)];
    s.groups[0].attrs =
        vec![Attribute::text("title", "small"), Attribute::strings("words", ["a", "", "longer"])];
    let user = |name: &str, kind| UserType { name: name.into(), group: Schema::ROOT, kind };
    let field = |name: &str, offset, dtype, shape: &[u32]| Field {
        name: name.into(),
        offset,
        dtype,
        shape: shape.to_vec(),
    };
    s.types = vec![
        user(
            "pair",
            UserKind::Compound {
                size: 24,
                fields: vec![
                    field("a", 0, Atomic::Int.into(), &[]),
                    field("b", 8, Atomic::Double.into(), &[2]),
                ],
            },
        ),
        user("row", UserKind::Vlen { base: Atomic::Short.into() }),
        user(
            "colour",
            UserKind::Enum { base: Atomic::UByte, members: vec![("red".into(), 0), ("blue".into(), 7)] },
        ),
    ];
    let (t, x) = (DimId(0), DimId(1));
    let mut v = Variable::new("v", Atomic::Float, vec![t, x]);
    v.storage = Storage::Chunked { chunks: vec![2, 3], filters: vec![ncforge::codec::filters::deflate(1)] };
    s.vars.push(v);
    s.vars.push(Variable::new("x", Atomic::Double, vec![x]));
    s.vars.push(Variable::new("s", DType::String, vec![x]));
    s.vars.push(Variable::new("pairs", DType::User(TypeId(0)), vec![x]));
    s.vars.push(Variable::new("rows", DType::User(TypeId(1)), vec![x]));
    s.groups.push(ncforge::Group {
        name: "g".into(),
        parent: Some(GroupId(0)),
        attrs: vec![Attribute::text("a", "b")],
    });
    let mut c = Variable::new("c", DType::User(TypeId(2)), vec![x]);
    c.group = GroupId(1);
    s.vars.push(c);
    let ids: Vec<_> = s.var_ids().collect();

    let mut file = DatasetMut::create(&path, s, CreateOptions::default()).unwrap();
    let floats: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_ne_bytes()).collect();
    file.write_bytes(ids[0], &Hyperslab::new(&[0, 0], &[3, 5]), &floats).unwrap();
    let doubles: Vec<u8> = (0..5).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
    file.write_bytes(ids[1], &Hyperslab::all(&[5]), &doubles).unwrap();
    let strings = (0..5).map(|i| Value::String(Some(vec![b'a' + i; 3 * usize::from(i)]))).collect();
    file.write(ids[2], &Hyperslab::all(&[5]), &Values::Heap(strings)).unwrap();
    file.write_bytes(ids[3], &Hyperslab::all(&[5]), &[7; 120]).unwrap();
    let rows = (0..5).map(|i| Value::Row(vec![1; 2 * i])).collect();
    file.write(ids[4], &Hyperslab::all(&[5]), &Values::Heap(rows)).unwrap();
    file.write_bytes(ids[5], &Hyperslab::all(&[5]), &[0, 7, 0, 7, 0]).unwrap();
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

/// Everything in a file: what must not panic, hang or eat memory.
fn read_all(file: &dyn Container) -> Result<()> {
    for v in file.schema().var_ids() {
        let shape = file.schema().shape(v);
        if shape::checked(&shape, 1).is_some_and(|n| n <= 1 << 16) {
            Engine::global().read(file, v, &Hyperslab::all(&shape))?;
        }
        if let Place::Chunked { index, .. } = &file.layout(v)?.place {
            index.list()?;
        }
    }
    Ok(())
}

#[test]
fn real_files_are_what_they_are() {
    let file = netcdf4::open(Arc::new(FileStore::open(&data("binned_GSHHS_c.nc")).unwrap())).unwrap();
    let s = file.schema();
    assert!(s.skipped.is_empty());
    assert_eq!(s.groups.len(), 1);
    assert!(file.metadata_bytes().is_some_and(|n| n > 0));
    read_all(&*file).unwrap();
    let file = netcdf4::open(Arc::new(FileStore::open(&data("nc4uvt.nc")).unwrap())).unwrap();
    let v = file.schema().find_var("u").or_else(|| file.schema().find_var("U")).expect("a wind component");
    assert!(file.schema().shape(v).len() >= 2);
    let layout = file.layout(v).unwrap();
    assert_eq!(layout.shape, file.schema().shape(v));
}

#[test]
fn what_was_written_is_read() {
    let file = open_bytes(small_file()).unwrap();
    let s = file.schema();
    assert_eq!(
        s.dims.iter().map(|d| (d.name.as_str(), d.len, d.unlimited)).collect::<Vec<_>>(),
        [("t", 3, true), ("x", 5, false)]
    );
    assert_eq!(s.types.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["pair", "row", "colour"]);
    let rows = Engine::global().read(&*file, s.find_var("rows").unwrap(), &Hyperslab::all(&[5])).unwrap();
    assert_eq!(rows, Values::Heap((0..5).map(|i| Value::Row(vec![1; 2 * i])).collect()));
    assert_eq!(s.var(s.find_var("g/c").unwrap()).dtype, DType::User(TypeId(2)));
}

#[test]
fn a_user_block_in_front_changes_nothing() {
    let bytes = small_file();
    let plain = open_bytes(bytes.clone()).unwrap();
    for block in [512, 1024, 4096] {
        let moved = open_bytes([vec![b'#'; block], bytes.clone()].concat()).unwrap();
        assert_eq!(moved.schema(), plain.schema());
        for v in plain.schema().var_ids() {
            let all = Hyperslab::all(&plain.schema().shape(v));
            let read = |file: &dyn Container| Engine::global().read(file, v, &all).unwrap();
            assert_eq!(read(&*moved), read(&*plain));
        }
    }
}

#[test]
fn files_cut_short_say_so() {
    let bytes = std::fs::read(data("binned_GSHHS_c.nc")).unwrap();
    for len in (0..bytes.len()).step_by(1024) {
        let error = open_bytes(bytes[..len].to_vec()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. } | Error::NotNetcdf { .. }), "{len}: {error}");
        assert_eq!(error.kind(), ncforge::ErrorKind::Input);
    }
}

#[test]
fn a_changed_byte_gives_a_result_or_an_error() {
    let bytes = small_file();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for i in 0..2000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (random >> 33) as usize % bytes.len();
        let mut copy = bytes.clone();
        copy[at] = if i % 2 == 0 { copy[at] ^ 1 << (random >> 20 & 7) } else { (random >> 24) as u8 };
        let start = Instant::now();
        if let Ok(file) = open_bytes(copy) {
            let _ = read_all(&*file);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "byte {at} in copy {i}");
    }
}

#[test]
fn what_is_no_hdf5_is_named() {
    let error = open_bytes(b"CDF\x01 and more".to_vec()).unwrap_err();
    assert!(matches!(error, Error::NotNetcdf { .. }), "{error}");
    assert!(open_bytes(Vec::new()).is_err());
}

/// Every byte of the metadata of three variables is damaged in turn. Whatever happens to the file, it is never that a
/// variable is silently gone: it is read right, or asking for it says what is damaged; and damage in one
/// variable's header leaves the others readable.
#[test]
fn damage_in_one_header_leaves_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("three.nc");
    let mut s = Schema::new(Format::Netcdf4);
    s.dims.push(Dimension::new("x", 4, false));
    for name in ["first", "second", "third"] {
        let mut v = Variable::new(name, Atomic::Int, vec![DimId(0)]);
        v.attrs = vec![Attribute::text("units", "m"), Attribute::strings("who", ["me", "you"])];
        s.vars.push(v);
    }
    let mut file = DatasetMut::create(&path, s, CreateOptions::default()).unwrap();
    let values: Vec<u8> = (0..4i32).flat_map(i32::to_ne_bytes).collect();
    for v in file.schema().var_ids() {
        file.write_bytes(v, &Hyperslab::all(&[4]), &values).unwrap();
    }
    file.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let engine = Engine::global();
    let (mut isolated, mut damaged_files) = ([0; 3], 0);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let Ok(data) = Dataset::from_store(Arc::new(MemoryStore::new("three.nc", bytes)), &engine) else {
            damaged_files += 1;
            continue;
        };
        let found = ["first", "second", "third"].map(|name| data.var(name).and_then(|v| data.read_all(v)));
        let good = found.iter().filter(|v| v.is_ok()).count();
        for (i, v) in found.iter().enumerate() {
            if let Err(e) = v {
                let text = e.to_string();
                assert!(matches!(e, Error::Corrupt { offset: Some(_), .. }), "byte {at}: {text}");
                assert!(
                    text.contains("three.nc") && text.contains(["first", "second", "third"][i]),
                    "{text}"
                );
                isolated[i] += usize::from(good == 2);
            }
        }
    }
    assert!(isolated.iter().all(|&n| n > 100), "bytes that took one variable only: {isolated:?}");
    assert!(damaged_files < whole.len() / 2, "{damaged_files} of {} bytes took the file", whole.len());
}
