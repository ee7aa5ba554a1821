//! Opening netCDF-4 files in a store with latency: how many requests that takes, and that damage is met as it is in a
//! local file. Files of other libraries are tested in `tests/test_latency_open.py`.

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Format, Schema, Storage, Value, Values, Variable, shape,
};
use ncforge::raw::{Container, Place, netcdf4};
use ncforge::store::MemoryStore;
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, Error, Hyperslab, Result};

use crate::random::Random;
use crate::throttled::{Asked, Throttled};

/// Elements (f8) of each variable of [`written`].
const LONG: u64 = 1 << 15;

/// A file of ncforge: variables with ten attributes each, strings among them, larger than the first request.
fn written(vars: usize) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("written.nc");
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("x", LONG, false), Dimension::new("n", 5, false)];
    for i in 0..vars {
        let mut v = Variable::new(format!("v{i}"), Atomic::Double, vec![DimId(0)]);
        v.attrs = (0..9).map(|a| Attribute::text(format!("a{a}"), &format!("text {a} of {i}"))).collect();
        v.attrs.push(Attribute::strings("words", ["some", "words", ""]));
        if i % 2 == 1 {
            v.storage = Storage::Chunked { chunks: vec![LONG / 64], filters: vec![] };
        }
        s.vars.push(v);
    }
    s.vars.push(Variable::new("s", DType::String, vec![DimId(1)]));
    let ids: Vec<_> = s.var_ids().collect();
    let mut file = DatasetMut::create(&path, s, CreateOptions::default()).unwrap();
    let bytes: Vec<u8> = (0..LONG).flat_map(|i| (i as f64).to_ne_bytes()).collect();
    for &v in &ids[..vars] {
        file.write_bytes(v, &Hyperslab::all(&[LONG]), &bytes).unwrap();
    }
    let strings = (0..5).map(|i| Value::String(Some(vec![b'a' + i; 3 * usize::from(i)]))).collect();
    file.write(ids[vars], &Hyperslab::all(&[5]), &Values::Heap(strings)).unwrap();
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)).unwrap()
}

/// Everything that a file says, with the values of small variables; errors as text.
fn everything(file: &dyn Container) -> Vec<String> {
    let mut out = vec![format!("{:?}", file.schema()), format!("{:?}", file.notes())];
    for v in file.schema().var_ids() {
        let shape = file.schema().shape(v);
        if shape::checked(&shape, 1).is_some_and(|n| n <= 1 << 16) {
            out.push(format!("{:?}", Engine::global().read(file, v, &Hyperslab::all(&shape))));
        }
        match file.layout(v) {
            Ok(layout) => {
                if let Place::Chunked { index, .. } = &layout.place {
                    out.push(format!("{:?}", index.list()));
                }
            }
            Err(e) => out.push(e.to_string()),
        }
    }
    out
}

fn open(bytes: Vec<u8>) -> (Arc<Throttled>, Result<Box<dyn Container>>) {
    let store = Arc::new(Throttled::far(bytes));
    (store.clone(), netcdf4::open(store))
}

#[test]
fn metadata_in_front_takes_one_request() {
    let bytes = written(40);
    assert!(bytes.len() > 8 << 20);
    let (store, file) = open(bytes.clone());
    let asked = store.take();
    assert_eq!((asked.rounds, asked.requests), (1, 1), "{asked:?}");
    assert!(asked.bytes <= 4 << 20, "{asked:?}");
    let local = netcdf4::open(Arc::new(MemoryStore::new("far.nc", bytes.clone()))).unwrap();
    let file = file.unwrap();
    for v in file.schema().var_ids() {
        if let Place::Chunked { index, .. } = &file.layout(v).unwrap().place {
            assert_eq!(index.list().unwrap().len(), 64);
        }
    }
    assert_eq!(store.take(), Asked::default(), "chunk indexes stand in front, too");
    assert_eq!(everything(&*file), everything(&*local));
    assert_eq!(file.metadata_bytes(), local.metadata_bytes());

    // A dataset finds out first which format it is.
    let store = Arc::new(Throttled::far(bytes));
    Dataset::from_store(store.clone(), &Engine::global()).unwrap();
    let asked = store.take();
    assert!(asked.requests <= 2, "{asked:?}");
}

#[test]
fn variables_read_in_turn_take_few_rounds() {
    let bytes = written(40);
    let len = bytes.len() as u64;
    let store = Arc::new(Throttled::far(bytes));
    let data = Dataset::from_store(store.clone(), &Engine::global()).unwrap();
    for v in data.schema().var_ids() {
        data.read(v, &Hyperslab::all(&data.schema().shape(v))).unwrap();
    }
    let asked = store.take();
    assert!(asked.rounds <= 12 && asked.bytes <= len + (64 << 10), "{asked:?} of {len}");
}

#[test]
fn small_files_are_fetched_whole() {
    let bytes = data("binned_GSHHS_c.nc");
    let len = bytes.len() as u64;
    let (store, file) = open(bytes);
    assert_eq!(store.take(), Asked { rounds: 1, requests: 1, bytes: len });
    let file = file.unwrap();
    for v in file.schema().var_ids() {
        if let Place::Chunked { index, .. } = &file.layout(v).unwrap().place {
            index.list().unwrap();
        }
    }
    assert_eq!(store.take(), Asked::default());
}

#[test]
fn a_user_block_is_passed_over() {
    let bytes = written(3);
    for block in [512, 4 << 20] {
        let moved = [vec![b'#'; block], bytes.clone()].concat();
        let (store, file) = open(moved);
        let asked = store.take();
        assert!(asked.rounds <= 6, "{asked:?}");
        assert_eq!(file.unwrap().schema().vars.len(), 4);
    }
}

#[test]
fn what_is_no_hdf5_file_takes_few_requests() {
    let (store, file) = open(vec![7; 64 << 20]);
    assert!(matches!(file, Err(Error::NotNetcdf { .. })));
    let asked = store.take();
    assert!(asked.requests <= 10, "{asked:?}");
}

/// One changed byte, in the metadata most of the time: a remote file is what the local file is, damage included, and no
/// damage leads to endless requests.
#[test]
fn damage_is_met_as_in_a_local_file() {
    let small = {
        // Metadata behind the first request and in two pages at least: the front is a user block.
        let bytes = written(2);
        [vec![b'#'; 4 << 20], bytes].concat()
    };
    let nested = data("nc4uvt.nc");
    let mut numbers = Random(0x2545_F491_4F6C_DD1D);
    for (whole, from, len, times) in [(&small, 4 << 20, 64 << 10, 300), (&nested, 0, nested.len(), 300)] {
        for i in 0..times {
            let random = numbers.bits();
            let at = from + (random >> 16) as usize % len;
            let mut bytes = whole.clone();
            bytes[at] = match i % 4 {
                0 => 0xFF,
                1 => bytes[at] ^ 1 << (random & 7),
                2 => 0,
                _ => random as u8,
            };
            let local = netcdf4::open(Arc::new(MemoryStore::new("far.nc", bytes.clone())));
            let value = bytes[at];
            let (store, remote) = open(bytes);
            let asked = store.take();
            let what = format!("byte {at} is {value}: {asked:?}");
            match (local, remote) {
                (Ok(local), Ok(remote)) => assert_eq!(everything(&*remote), everything(&*local), "{what}"),
                (Err(local), Err(remote)) => assert_eq!(remote.to_string(), local.to_string(), "{what}"),
                (local, remote) => panic!("{what}: {:?} and {:?}", local.err(), remote.err()),
            }
            assert!(asked.requests < 100 && asked.bytes <= 2 * whole.len() as u64, "{what}");
        }
    }
}
