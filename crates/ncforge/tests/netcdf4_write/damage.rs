//! Damaged files opened for changes: an error or a change, never a panic; and wrong requests.

use std::sync::Arc;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Storage, VarId, Variable};
use ncforge::raw::{netcdf4, put_attribute};
use ncforge::store::{MemoryStore, WriteStore};
use ncforge::{Error, Schema};

use crate::make;
use crate::random::Random;

fn try_change(bytes: Vec<u8>) -> ncforge::Result<()> {
    let store: Arc<dyn WriteStore> = Arc::new(MemoryStore::new("damaged.nc", bytes));
    let mut f = netcdf4::open_mut(Arc::clone(&store))?;
    let mut s = f.schema().clone();
    put_attribute(&mut s.groups[0].attrs, Attribute::text("added", "later"));
    f.redefine(s)?;
    f.sync()?;
    netcdf4::open(store)?;
    Ok(())
}

#[test]
fn damage_is_an_error_or_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.nc");
    make::all(&path);
    let good = std::fs::read(&path).unwrap();
    try_change(good.clone()).unwrap();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for _ in 0..400 {
        let mut bytes = good.clone();
        // Checksums guard the headers; the heap and the chunk indexes have none.
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.below(256) as u8;
        let _ = try_change(bytes);
    }
    for keep in (0..good.len()).step_by(1024) {
        assert!(try_change(good[..keep].to_vec()).is_err(), "{keep} bytes");
    }
}

fn create(s: Schema) -> ncforge::Result<Box<dyn ncforge::raw::ContainerMut>> {
    netcdf4::create(Arc::new(MemoryStore::new("a.nc", Vec::new())), s, &netcdf4::CreateOptions::default())
}

fn message(s: Schema) -> String {
    match create(s).and_then(|mut f| f.sync()) {
        Ok(()) => "fine".into(),
        Err(e) if e.kind() == ncforge::ErrorKind::Request || matches!(e, Error::NotRepresentable { .. }) => {
            e.to_string()
        }
        Err(e) => panic!("{e}"),
    }
}

/// A change of a schema, and a word of the answer.
type Case<'a> = (&'a dyn Fn(&mut Schema), &'a str);

#[test]
fn what_cannot_be_is_said() {
    let base = || {
        let mut s = Schema::new(Format::Netcdf4);
        s.dims = vec![Dimension::new("t", 2, true), Dimension::new("x", 3, false)];
        s
    };
    let with = |f: &dyn Fn(&mut Schema)| {
        let mut s = base();
        f(&mut s);
        message(s)
    };
    let chunks = |chunks: &[u64]| Storage::Chunked { chunks: chunks.to_vec(), filters: vec![] };
    let var = |storage: Storage, dims: &[usize]| {
        let mut v = Variable::new("v", Atomic::Int, dims.iter().map(|&d| DimId(d)).collect());
        v.storage = storage;
        v
    };
    let cases: [Case<'_>; 11] = [
        (&|_| {}, "fine"),
        (&|s| s.vars.push(var(Storage::Contiguous, &[0])), "has an unlimited dimension"),
        (&|s| s.vars.push(var(chunks(&[4]), &[1])), "chunk length of 4 along `x`, whose length is 3"),
        (&|s| s.vars.push(var(chunks(&[1]), &[0, 1])), "2 dimensions, its chunk shape has 1"),
        (&|s| s.vars.push(var(chunks(&[]), &[])), "a scalar"),
        (&|s| s.vars.push(var(chunks(&[0]), &[1])), "chunk length of 0"),
        (&|s| s.vars.push(var(chunks(&[1 << 31]), &[0])), "4 GiB"),
        (
            &|s| {
                s.dims.push(Dimension::new("big", 20_000, false));
                s.vars.push(var(Storage::Compact, &[2]));
            },
            "compact storage",
        ),
        (&|s| s.vars.extend([var(chunks(&[1]), &[0]), var(chunks(&[1]), &[0])]), "two objects named `v`"),
        (
            &|s| {
                let mut v = var(chunks(&[1]), &[0]);
                v.attrs.push(Attribute::text("CLASS", "x"));
                s.vars.push(v);
            },
            "belongs to the format",
        ),
        (&|s| s.dims.push(Dimension::new("a/b", 1, false)), "`a/b` cannot be the name"),
    ];
    for (change, word) in cases {
        let got = with(change);
        assert!(got.contains(word), "{got} / {word}");
    }
    let mut s = base();
    s.vars.push(var(chunks(&[1, 3]), &[0, 1]));
    let mut f = create(s).unwrap();
    assert!(f.place_chunk(VarId(0), &[2, 0], &[0; 12], 0).is_err(), "past the end");
    assert!(f.place_chunk(VarId(0), &[0, 0], &[0; 11], 0).is_err(), "not a whole chunk");
    assert!(f.place_chunk(VarId(1), &[0], &[0; 12], 0).is_err(), "no such variable");
    assert!(f.grow(DimId(1), 4).is_err(), "a fixed dimension");
    assert!(f.place_inline(VarId(0), &[]).is_err(), "not compact");
    let mut s = f.schema().clone();
    s.vars.push(var(Storage::Contiguous, &[1]));
    let error = f.redefine(s).unwrap_err().to_string();
    assert!(error.contains("two objects named"), "{error}");
    assert_eq!(f.schema().vars.len(), 1, "nothing has changed");
    f.sync().unwrap();
}
