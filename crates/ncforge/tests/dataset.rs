//! Datasets end to end: created, written in any order, closed, opened, read; in every format.

use std::path::Path;

use ncforge::codec::filters;
use ncforge::model::{
    Atomic, DType, DimId, Dimension, Format, Schema, Storage, Value, Values, VarId, Variable,
};
use ncforge::raw::Place;
use ncforge::store::partial_path;
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Error, Hyperslab};

const ALL_FORMATS: [Format; 5] =
    [Format::Cdf1, Format::Cdf2, Format::Cdf5, Format::Netcdf4, Format::Netcdf4Classic];

/// All formats, the classic ones also zipped: with the extension that says so.
fn kinds() -> impl Iterator<Item = (Format, &'static str)> {
    let zipped = ALL_FORMATS.into_iter().filter(|f| f.is_classic()).map(|f| (f, "ncz"));
    ALL_FORMATS.into_iter().map(|f| (f, "nc")).chain(zipped)
}

/// time (unlimited), y, x; a record variable, a fixed one, a scalar.
fn schema(format: Format) -> Schema {
    let mut s = Schema::new(format);
    s.dims =
        vec![Dimension::new("time", 0, true), Dimension::new("y", 30, false), Dimension::new("x", 40, false)];
    let mut t = Variable::new("t", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]);
    if !format.is_classic() {
        t.storage = Storage::Chunked {
            chunks: vec![4, 16, 16],
            filters: vec![filters::shuffle(4), filters::deflate(1)],
        };
    }
    s.vars.push(t);
    s.vars.push(Variable::new("orog", Atomic::Short, vec![DimId(1), DimId(2)]));
    s.vars.push(Variable::new("n", Atomic::Int, vec![]));
    s
}

fn engine(threads: usize) -> Engine {
    Engine::new(EngineOptions { threads: Some(threads), memory: Some(64 << 20) }).unwrap()
}

fn options(engine: &Engine) -> CreateOptions {
    CreateOptions { engine: Some(engine.clone()), ..CreateOptions::default() }
}

fn floats(range: std::ops::Range<usize>) -> Vec<u8> {
    range.flat_map(|i| (i as f32 * 0.25).to_ne_bytes()).collect()
}

fn write_all(path: &Path, format: Format, threads: usize) {
    let engine = engine(threads);
    let options = CreateOptions { durable: threads.is_multiple_of(2), ..options(&engine) };
    let mut new = DatasetMut::create(path, schema(format), options).unwrap();
    let plane = 30 * 40;
    for t in 0..10 {
        let slab = Hyperslab::new(&[t as u64, 0, 0], &[1, 30, 40]);
        new.write_bytes(VarId(0), &slab, &floats(t * plane..(t + 1) * plane)).unwrap();
    }
    let shorts: Vec<u8> = (0..1200i16).flat_map(i16::to_ne_bytes).collect();
    for row in (0..30).rev() {
        let slab = Hyperslab::new(&[row as u64, 0], &[1, 40]);
        new.write_bytes(VarId(1), &slab, &shorts[row * 80..][..80]).unwrap();
    }
    new.write_bytes(VarId(2), &Hyperslab::all(&[]), &7i32.to_ne_bytes()).unwrap();
    let back = new.read(VarId(0), &Hyperslab::new(&[9, 29, 39], &[1, 1, 1])).unwrap();
    assert_eq!(back.bytes().unwrap(), floats(11_999..12_000));
    new.close().unwrap();
}

#[test]
fn every_format_gives_back_what_was_written_and_threads_do_not_show() {
    let dir = tempfile::tempdir().unwrap();
    for (format, ext) in kinds() {
        let mut first: Option<Vec<u8>> = None;
        for threads in [1, 2, 3, 8] {
            let path = dir.path().join(format!("{}-{threads}.{ext}", format.kind().replace(' ', "-")));
            write_all(&path, format, threads);
            let data = Dataset::open_with(&path, &engine(threads)).unwrap();
            assert_eq!(data.schema().format, format);
            assert_eq!(data.read_all(VarId(0)).unwrap().bytes().unwrap(), floats(0..12_000));
            assert_eq!(data.read_all(VarId(2)).unwrap().bytes().unwrap(), 7i32.to_ne_bytes());
            let corner = Hyperslab::strided(&[1, 3, 5], &[3, 2, 4], &[3, 20, 9]);
            let got = data.read(VarId(0), &corner).unwrap();
            let want: Vec<u8> = (0..3usize)
                .flat_map(|a| (0..2usize).flat_map(move |b| (0..4usize).map(move |c| (a, b, c))))
                .flat_map(|(a, b, c)| {
                    let at = ((1 + 3 * a) * 30 + 3 + 20 * b) * 40 + 5 + 9 * c;
                    floats(at..at + 1)
                })
                .collect();
            assert_eq!(got.bytes().unwrap(), want);
            let bytes = std::fs::read(&path).unwrap();
            assert!(first.get_or_insert_with(|| bytes.clone()) == &bytes, "{format:?}, {threads} threads");
        }
    }
}

#[test]
fn unwritten_values_read_as_fill() {
    let dir = tempfile::tempdir().unwrap();
    for (format, ext) in kinds() {
        let path = dir.path().join(format!("f.{ext}"));
        let options = CreateOptions { overwrite: true, ..options(&engine(2)) };
        let mut new = DatasetMut::create(&path, schema(format), options).unwrap();
        new.write_bytes(VarId(0), &Hyperslab::new(&[2, 0, 0], &[1, 1, 1]), &1f32.to_ne_bytes()).unwrap();
        new.close().unwrap();
        let data = Dataset::open(&path).unwrap();
        assert_eq!(data.schema().shape(VarId(0)), [3, 30, 40]);
        let got = data.read_all(VarId(0)).unwrap();
        let fill = Atomic::Float.default_fill();
        let values: Vec<&[u8]> = got.bytes().unwrap().chunks(4).collect();
        assert_eq!(values[2400], 1f32.to_ne_bytes(), "{format:?}");
        assert!(values.iter().enumerate().all(|(i, v)| i == 2400 || *v == &fill[..]), "{format:?}");
        let orog = data.read_all(VarId(1)).unwrap();
        assert!(orog.bytes().unwrap().chunks(2).all(|v| v == Atomic::Short.default_fill()), "{format:?}");
    }
}

#[test]
fn strings_are_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.nc");
    let mut s = Schema::new(Format::Netcdf4);
    s.dims.push(Dimension::new("x", 5, false));
    s.vars.push(Variable::new("plain", DType::String, vec![DimId(0)]));
    let mut chunked = Variable::new("chunked", DType::String, vec![DimId(0)]);
    chunked.storage = Storage::Chunked { chunks: vec![2], filters: vec![] };
    s.vars.push(chunked);
    let text = |i: usize| Value::String(Some(format!("station {i}").into_bytes()));
    let mut new = DatasetMut::create(&path, s, options(&engine(2))).unwrap();
    for v in [VarId(0), VarId(1)] {
        new.write(v, &Hyperslab::new(&[0], &[3]), &Values::Heap((0..3).map(text).collect())).unwrap();
        new.write(v, &Hyperslab::new(&[3], &[2]), &Values::Heap((3..5).map(text).collect())).unwrap();
        assert!(new.write_bytes(v, &Hyperslab::new(&[0], &[1]), &[0; 16]).is_err());
        assert!(new.write(v, &Hyperslab::new(&[0], &[2]), &Values::Heap(vec![text(0)])).is_err());
    }
    new.close().unwrap();
    let data = Dataset::open(&path).unwrap();
    for v in [VarId(0), VarId(1)] {
        assert_eq!(data.read_all(v).unwrap(), Values::Heap((0..5).map(text).collect()));
        let some = data.read(v, &Hyperslab::strided(&[0], &[3], &[2])).unwrap();
        assert_eq!(some, Values::Heap(vec![text(0), text(2), text(4)]));
    }
}

#[test]
fn files_appear_whole_or_not_at_all() {
    for name in ["a.nc", "a.ncz"] {
        appears_whole_or_not_at_all(name);
    }
}

fn appears_whole_or_not_at_all(name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let new = DatasetMut::create(&path, schema(Format::Cdf2), CreateOptions::default()).unwrap();
    assert!(!path.exists() && partial_path(&path).exists());
    drop(new);
    assert!(!path.exists() && !partial_path(&path).exists());
    write_all(&path, Format::Cdf2, 1);
    let again = DatasetMut::create(&path, schema(Format::Cdf2), CreateOptions::default());
    assert!(matches!(again, Err(Error::Exists(_))));
    // A description that the format cannot hold leaves nothing behind.
    let mut wrong = Schema::new(Format::Cdf1);
    wrong.vars.push(Variable::new("s", DType::String, vec![]));
    assert!(DatasetMut::create(dir.path().join("b.nc"), wrong, CreateOptions::default()).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn updates_in_place_append_and_overwrite() {
    let dir = tempfile::tempdir().unwrap();
    for (format, ext) in kinds() {
        let path = dir.path().join(format!("{}.{ext}", format.kind().replace(' ', "-")));
        write_all(&path, format, 1);
        let mut old = DatasetMut::open_with(&path, &engine(2)).unwrap();
        let more = Hyperslab::new(&[10, 0, 0], &[2, 30, 40]);
        old.write_bytes(VarId(0), &more, &floats(12_000..14_400)).unwrap();
        old.write_bytes(VarId(0), &Hyperslab::new(&[3, 4, 5], &[1, 1, 1]), &floats(0..1)).unwrap();
        old.close().unwrap();
        let data = Dataset::open(&path).unwrap();
        let mut want = floats(0..14_400);
        let at = 4 * ((3 * 30 + 4) * 40 + 5);
        want[at..at + 4].copy_from_slice(&floats(0..1));
        assert_eq!(data.read_all(VarId(0)).unwrap().bytes().unwrap(), want, "{format:?}");
    }
}

#[test]
fn mapped_and_plain_reading_agree() {
    let dir = tempfile::tempdir().unwrap();
    for (format, ext) in [(Format::Cdf5, "nc"), (Format::Cdf5, "ncz"), (Format::Netcdf4, "nc")] {
        let path = dir.path().join(format!("{}.{ext}", format.kind()));
        write_all(&path, format, 1);
        let options = ncforge::OpenOptions { engine: Some(engine(2)), map: true, ..Default::default() };
        let mapped = Dataset::open_options(&path, &options).unwrap();
        assert_eq!(mapped.read_all(VarId(0)).unwrap().bytes().unwrap(), floats(0..12_000));
        assert_eq!(mapped.id(), Dataset::open(&path).unwrap().id());
    }
}

/// Of the whole file: the offset of its only variable's bytes, or of each of its chunks.
fn places(path: &Path) -> Vec<u64> {
    let data = Dataset::open(path).unwrap();
    match &data.container().layout(VarId(0)).unwrap().place {
        Place::Contiguous { offset } => vec![*offset],
        Place::Chunked { index, .. } => index.list().unwrap().iter().map(|(_, r)| r.offset).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn large_plain_data_lie_on_pages_and_reserve_no_more_than_they_need() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let chunked = |filters| Storage::Chunked { chunks: vec![1 << 16], filters };
    for (storage, paged) in [
        (Storage::Contiguous, true),
        (chunked(vec![]), true),
        (chunked(vec![filters::shuffle(4), filters::deflate(1)]), false),
    ] {
        let n = 20 << 16;
        let mut s = Schema::new(Format::Netcdf4);
        s.dims = vec![Dimension::new("x", n, false)];
        s.vars.push(Variable { storage, ..Variable::new("v", Atomic::Float, vec![DimId(0)]) });
        let bytes = floats(0..n as usize);
        let mut new =
            DatasetMut::create(&path, s, CreateOptions { overwrite: true, ..options(&engine(2)) }).unwrap();
        // The second time over what is there already: nothing new is needed.
        for _ in 0..2 {
            new.write_bytes(VarId(0), &Hyperslab::all(&[n]), &bytes).unwrap();
        }
        new.close().unwrap();
        assert!(!paged || places(&path).iter().all(|o| o % 4096 == 0));
        let meta = std::fs::metadata(&path).unwrap();
        assert!(meta.blocks() * 512 <= meta.len() + (128 << 10), "{} {}", meta.blocks(), meta.len());
        let data = Dataset::open(&path).unwrap();
        assert!(data.read(VarId(0), &Hyperslab::all(&[n])).unwrap().bytes() == Some(&bytes[..]));
    }
}
