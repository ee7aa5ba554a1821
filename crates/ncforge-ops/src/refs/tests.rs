use std::path::{Path, PathBuf};

use super::make::location;
use super::*;
use crate::progress::Silent;
use ncforge::model::{
    Atomic, Attribute, DimId, Dimension, Endian, Filter, Format, Schema, Storage, VarId, Variable,
};
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, Error, Hyperslab, Result};
use serde_json::Value;

/// A file of `time` steps of 3 values.
fn make(path: &Path, format: Format, time: u64, storage: Storage, change: impl FnOnce(&mut Schema)) {
    let mut schema = Schema::new(format);
    let grows = format.is_classic() || !matches!(storage, Storage::Contiguous);
    schema.dims =
        vec![Dimension::new("time", if grows { 0 } else { time }, grows), Dimension::new("x", 3, false)];
    let mut v = Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1)]);
    (v.storage, v.endian) = (storage, Endian::Little);
    v.attrs.push(Attribute::text("units", "K"));
    schema.vars.push(v);
    change(&mut schema);
    let mut new = DatasetMut::create(path, schema, CreateOptions::default()).unwrap();
    let bytes: Vec<u8> = (0..time * 3).flat_map(|i| (i as f32).to_ne_bytes()).collect();
    new.write_bytes(VarId(0), &Hyperslab::all(&[time, 3]), &bytes).unwrap();
    new.close().unwrap();
}

fn chunked(len: u64, filters: Vec<Filter>) -> Storage {
    Storage::Chunked { chunks: vec![len, 3], filters }
}

fn of(paths: &[PathBuf]) -> Result<References> {
    let options = RefsOptions { inline: 0, ..RefsOptions::default() };
    references(paths, &options, &Engine::global(), &Silent)
}

fn several(dir: &Path, lens: &[u64], format: Format, storage: impl Fn(usize) -> Storage) -> Vec<PathBuf> {
    let one = |(i, len): (usize, &u64)| {
        let path = dir.join(format!("{i}.nc"));
        make(&path, format, *len, storage(i), |_| {});
        path
    };
    lens.iter().enumerate().map(one).collect()
}

#[test]
fn records_follow_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let paths = several(dir.path(), &[2, 3], Format::Cdf2, |_| Storage::Contiguous);
    let made = of(&paths).unwrap();
    let v = &made.arrays[0];
    assert_eq!((made.along.as_deref(), &v.shape[..], &v.dtype[..]), (Some("time"), &[5, 3][..], ">f4"));
    // The only record variable: its records are one piece, cut where both files are.
    assert_eq!(v.chunks, [1, 3]);
    let files: Vec<usize> = v
        .stored
        .iter()
        .map(|(_, c)| match c {
            Chunk::Range { file, len: 12, .. } => *file,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(files, [0, 0, 1, 1, 1]);
    assert_eq!(v.stored[3].0, [3, 0]);
}

#[test]
fn pieces_of_contiguous_variables_divide_all_files() {
    let dir = tempfile::tempdir().unwrap();
    let paths = several(dir.path(), &[4, 6, 10], Format::Netcdf4, |_| Storage::Contiguous);
    let v = of(&paths).unwrap().arrays.remove(0);
    assert_eq!((&v.shape[..], &v.chunks[..], v.stored.len()), (&[20, 3][..], &[2, 3][..], 10));
    let alone = of(&paths[..1]).unwrap().arrays.remove(0);
    assert_eq!((&alone.chunks[..], alone.stored.len()), (&[4, 3][..], 1));
}

#[test]
fn chunks_fill_all_files_but_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let deflate = vec![ncforge::codec::filters::shuffle(4), ncforge::codec::filters::deflate(1)];
    let paths = several(dir.path(), &[4, 5], Format::Netcdf4, |_| chunked(2, deflate.clone()));
    let v = of(&paths).unwrap().arrays.remove(0);
    assert_eq!((v.stored.len(), &v.stored[4].0[..]), (5, &[4, 0][..]));
    assert_eq!(v.filters[1], serde_json::json!({ "id": "zlib", "level": 1 }));
    // The other way round, values are few enough to be stored in the document.
    let turned: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    let v = of(&turned).unwrap().arrays.remove(0);
    assert!(matches!(&v.stored[..], [(at, Chunk::Inline(_))] if at == &[0, 0]));
    assert_eq!(v.shape, [9, 3]);
}

#[test]
fn files_that_differ_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.nc"), dir.path().join("b.nc"));
    make(&a, Format::Cdf2, 2, Storage::Contiguous, |_| {});
    make(&b, Format::Cdf2, 2, Storage::Contiguous, |s| s.vars[0].attrs[0] = Attribute::text("units", "degC"));
    let e = of(&[a.clone(), b]).unwrap_err().to_string();
    assert!(
        e.contains(
            "b.nc` do not go together: the attribute `v:units` differs: \"K\" in the first, \"degC\" in the"
        ),
        "{e}"
    );
    let e = references(
        &[&a, &a],
        &RefsOptions { along: Some("t".into()), ..RefsOptions::default() },
        &Engine::global(),
        &Silent,
    );
    assert!(matches!(e, Err(Error::NotFound { kind: "dimension", .. })));
}

#[test]
fn what_was_never_written_reads_as_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    make(&path, Format::Netcdf4, 2, chunked(1, Vec::new()), |s| {
        let mut empty = Variable::new("empty", Atomic::Short, vec![DimId(1)]);
        empty.storage = Storage::Chunked { chunks: vec![2], filters: Vec::new() };
        s.vars.push(empty);
    });
    let made = of(std::slice::from_ref(&path)).unwrap();
    let empty = &made.arrays[1];
    // There is no `_FillValue` that readers could mask.
    assert_eq!(empty.fill, Value::Null);
    assert!(empty.stored.iter().all(|(_, c)| matches!(c, Chunk::Inline(_))));
    let options = RefsOptions { inline: 0, fills: Fills::Stored, ..RefsOptions::default() };
    let dataset = Dataset::open(&path).unwrap();
    let made = references_of(&dataset, "file:///a.nc", &options).unwrap();
    assert_eq!((made.arrays[1].stored.len(), &made.arrays[1].fill), (0, &Value::from(-32767)));
    assert_eq!(made.files, ["file:///a.nc"]);
}

#[test]
fn places_of_files() {
    let place = |path: &str, base: Option<&str>| location(Path::new(path), base).unwrap();
    assert_eq!(place("/a/b.nc", None), "/a/b.nc");
    assert_eq!(place("s3://bucket/b.nc", None), "s3://bucket/b.nc");
    assert_eq!(place("a/b.nc", Some("s3://bucket/")), "s3://bucket/b.nc");
    assert!(place("b.nc", None).starts_with('/'));
}
