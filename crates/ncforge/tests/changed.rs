//! A file that stays open for reading while a writer syncs: its values are those of the last sync (of numbers without filters also
//! newer ones), and never those of another chunk. (Space that a sync releases is used by the next one.)

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ncforge::codec::filters;
use ncforge::model::{
    Atomic, DType, DimId, Dimension, Format, Schema, Storage, Value, Values, VarId, Variable,
};
use ncforge::{CreateOptions, Dataset, DatasetMut, Error, Hyperslab};

const CHUNKS: u64 = 10;
const LEN: u64 = 100;
const V: VarId = VarId(0);

fn slab(chunk: u64) -> Hyperslab {
    Hyperslab::new(&[chunk * LEN], &[LEN])
}

/// The values that the writer puts into a chunk.
fn values(chunk: u64, generation: u64) -> Vec<u8> {
    (0..LEN).flat_map(|_| ((generation * CHUNKS + chunk) as f64).to_ne_bytes()).collect()
}

/// A file of ten chunks.
fn make(path: &Path, compressed: bool) {
    let mut schema = Schema::new(Format::Netcdf4);
    schema.dims = vec![Dimension::new("x", CHUNKS * LEN, false)];
    let mut v = Variable::new("v", Atomic::Double, vec![DimId(0)]);
    let filters = if compressed { vec![filters::deflate(1)] } else { Vec::new() };
    v.storage = Storage::Chunked { chunks: vec![LEN], filters };
    schema.vars.push(v);
    let mut new = DatasetMut::create(path, schema, CreateOptions::default()).unwrap();
    for chunk in 0..CHUNKS {
        new.write_bytes(V, &slab(chunk), &values(chunk, 0)).unwrap();
    }
    new.close().unwrap();
}

/// Of a chunk: the generation that all of its values are of. Anything else is no chunk of any state of the file.
fn generation(chunk: u64, bytes: &[u8]) -> u64 {
    let first = f64::from_ne_bytes(bytes[..8].try_into().unwrap()) as u64;
    assert_eq!(first % CHUNKS, chunk, "the values of another chunk");
    assert_eq!(bytes, values(chunk, first / CHUNKS), "values of several states");
    first / CHUNKS
}

/// The generation that a reader finds in a chunk; `None` if it says that the file has changed.
fn read(data: &Dataset, chunk: u64) -> Option<u64> {
    match data.read(V, &slab(chunk)) {
        Ok(found) => Some(generation(chunk, found.bytes().unwrap())),
        Err(Error::Changed { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

fn a_reader_follows(compressed: bool, index_is_loaded: bool, recent: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.nc");
    make(&path, compressed);
    if !recent {
        let then = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }
    let reader = Dataset::open(&path).unwrap();
    if index_is_loaded {
        assert_eq!(read(&reader, 9), Some(0));
    }
    let mut writer = DatasetMut::open(&path).unwrap();
    for generation in 1..=5 {
        for chunk in [generation % 3, 3 + generation % 3] {
            writer.write_bytes(V, &slab(chunk), &values(chunk, generation)).unwrap();
        }
        writer.sync().unwrap();
    }
    let found: Vec<Option<u64>> = (0..CHUNKS).map(|chunk| read(&reader, chunk)).collect();
    let latest = [3, 4, 5, 3, 4, 5, 0, 0, 0, 0].map(Some);
    assert_eq!(found, latest, "compressed: {compressed}, index: {index_is_loaded}, recent: {recent}");
    let all = reader.read(V, &Hyperslab::new(&[0], &[6 * LEN])).unwrap();
    let chunks = all.bytes().unwrap().chunks(LEN as usize * 8).zip(0..);
    assert_eq!(chunks.map(|(bytes, chunk)| Some(generation(chunk, bytes))).collect::<Vec<_>>(), latest[..6]);
    // A copy of encoded chunks takes them from one state.
    if index_is_loaded {
        let newest = Dataset::open(&path).unwrap();
        let raw = |data: &Dataset, chunk| data.engine().raw_chunk(data.container(), V, &[chunk]);
        let mut moved = 0;
        for chunk in 0..6 {
            match raw(&reader, chunk) {
                // Space is used again: a chunk may be back where it was.
                Ok(found) => assert_eq!(found, raw(&newest, chunk).unwrap()),
                Err(Error::Changed { .. }) => moved += 1,
                Err(other) => panic!("{other}"),
            }
        }
        // Numbers without filters are overwritten where they are.
        assert_eq!(moved > 0, compressed, "recent: {recent}");
    }
    let again = Dataset::open(&path).unwrap();
    assert_eq!((0..CHUNKS).map(|c| read(&again, c)).collect::<Vec<_>>(), latest);
}

#[test]
fn a_reader_finds_chunks_that_were_written() {
    for n in 0..8 {
        a_reader_follows(n & 1 > 0, n & 2 > 0, n & 4 > 0);
    }
}

#[test]
fn who_writes_all_the_time_disturbs_nobody_who_opens() {
    for compressed in [true, false] {
        somebody_writes_all_the_time(compressed);
    }
}

fn somebody_writes_all_the_time(compressed: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = &dir.path().join("v.nc");
    make(path, compressed);
    let done = &AtomicBool::new(false);
    let (mut opened, mut changed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut writer = DatasetMut::open(path).unwrap();
            for generation in 1..=300 {
                let chunk = generation * 7 % CHUNKS;
                writer.write_bytes(V, &slab(chunk), &values(chunk, generation)).unwrap();
                writer.sync().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut last = [0; CHUNKS as usize];
        while !done.load(Ordering::Relaxed) {
            let reader = match Dataset::open(path) {
                Ok(reader) => reader,
                // On a machine that has something else to do, somebody may write during each attempt.
                Err(Error::Changed { .. }) => continue,
                Err(other) => panic!("{other}"),
            };
            opened += 1;
            for chunk in 0..CHUNKS {
                if !compressed {
                    // They are overwritten while they are read: each number is of some state, and of its chunk.
                    let found = reader.read(V, &slab(chunk)).unwrap();
                    let mut numbers = found.bytes().unwrap().chunks(8);
                    assert!(
                        numbers.all(|x| f64::from_ne_bytes(x.try_into().unwrap()) as u64 % CHUNKS == chunk)
                    );
                    continue;
                }
                match read(&reader, chunk) {
                    Some(generation) => {
                        let last = &mut last[chunk as usize];
                        assert!(generation >= *last, "chunk {chunk} of {generation} after one of {last}");
                        *last = generation;
                    }
                    None => changed += 1,
                }
            }
        }
    });
    println!("opened {opened} times, {changed} chunks had changed");
    assert!(opened > 0);
    let reader = Dataset::open(path).unwrap();
    assert!((0..CHUNKS).all(|chunk| read(&reader, chunk).is_some_and(|g| g > 290)));
}

/// Texts of one generation, longer ones in every other.
fn texts(generation: u64) -> Vec<Value> {
    let text =
        |i: u64| format!("text {i} of generation {generation}{}", "!".repeat((generation % 2 * 40) as usize));
    (0..5).map(|i| Value::String(Some(text(i).into()))).collect()
}

#[test]
fn a_reader_finds_strings_that_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.nc");
    let mut schema = Schema::new(Format::Netcdf4);
    schema.dims = vec![Dimension::new("x", 5, false)];
    schema.vars.push(Variable::new("v", DType::String, vec![DimId(0)]));
    let all = Hyperslab::all(&[5]);
    let mut new = DatasetMut::create(&path, schema, CreateOptions::default()).unwrap();
    new.write(V, &all, &Values::Heap(texts(0))).unwrap();
    new.close().unwrap();
    let reader = Dataset::open(&path).unwrap();
    assert_eq!(reader.read(V, &all).unwrap(), Values::Heap(texts(0)));
    let mut writer = DatasetMut::open(&path).unwrap();
    for generation in 1..=20 {
        writer.write(V, &all, &Values::Heap(texts(generation))).unwrap();
        writer.sync().unwrap();
        assert_eq!(reader.read(V, &all).unwrap(), Values::Heap(texts(generation)), "generation {generation}");
        let again = Dataset::open(&path).unwrap();
        assert_eq!(again.read(V, &all).unwrap(), Values::Heap(texts(generation)));
    }
}
