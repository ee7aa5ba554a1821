//! Results do not depend on the number of threads: files are the same bytes for 1, 2, 3 and 8 of them, with every
//! codec that is written; and many threads read many files at once, each as it was written.

mod random;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ncforge::codec::filters::{bitshuffle, blosc, bzip2, deflate, fletcher32, lz4, lzf, shuffle, zstd};
use ncforge::model::{Atomic, Attribute, DimId, Dimension, Endian, Filter, Format, Storage, Variable};
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Hyperslab, Schema};

use random::Random;

const SHAPE: [u64; 3] = [20, 37, 41];
const CHUNK: [u64; 3] = [6, 16, 16];
const VALUES: usize = (SHAPE[0] * SHAPE[1] * SHAPE[2]) as usize;
const CHUNK_BYTES: usize = 4 * (CHUNK[0] * CHUNK[1] * CHUNK[2]) as usize;

/// Chains of filters over 4-byte values: every codec that can be written, alone and as it is used.
fn chains() -> Vec<(&'static str, Vec<Filter>)> {
    vec![
        ("raw", vec![]),
        ("deflate", vec![deflate(4)]),
        ("shuffled", vec![shuffle(4), deflate(1)]),
        ("checked", vec![shuffle(4), deflate(6), fletcher32()]),
        ("zstd", vec![shuffle(4), zstd(3)]),
        ("bzip2", vec![bzip2(5)]),
        ("lzf", vec![shuffle(4), lzf(CHUNK_BYTES)]),
        ("lz4", vec![lz4(0)]),
        ("blosclz", vec![blosc(4, CHUNK_BYTES, 5, 1, 0)]),
        ("blosc_zstd", vec![blosc(4, CHUNK_BYTES, 5, 2, 5)]),
        ("bits_lz4", vec![bitshuffle(4, 2, 0)]),
        ("bits_zstd", vec![bitshuffle(4, 3, 2)]),
    ]
}

/// Values of a variable: smooth ones, noise, or mostly zero.
fn values(seed: usize) -> Vec<u8> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_add(seed as u64));
    let mut random = || (random.bits() >> 40) as f32 / (1 << 24) as f32;
    let one = |i: usize| match seed % 3 {
        0 => (i as f32 / 900.0).sin() * 20.0 + random() * 0.01,
        1 => random(),
        _ => (random() - 0.9).max(0.0),
    };
    (0..VALUES).map(one).flat_map(f32::to_ne_bytes).collect()
}

fn schema(format: Format, chains: &[(&str, Vec<Filter>)], seed: usize) -> Schema {
    let mut s = Schema::new(format);
    for (name, len) in ["t", "y", "x"].iter().zip(SHAPE) {
        let unlimited = *name == "t";
        let len = if unlimited { 0 } else { len };
        s.dims.push(Dimension::new(*name, len, unlimited));
    }
    s.groups[0].attrs.push(Attribute::text("title", &format!("file {seed}")));
    for (name, filters) in chains {
        let mut v = Variable::new(*name, Atomic::Float, (0..3).map(DimId).collect());
        v.attrs.push(Attribute::text("long_name", &format!("{name} of file {seed}")));
        if !format.is_classic() {
            v.storage = Storage::Chunked { chunks: CHUNK.to_vec(), filters: filters.clone() };
            v.endian = if seed % 2 == 1 { Endian::Big } else { Endian::Native };
        }
        s.vars.push(v);
    }
    s
}

/// Writes a file, in slabs that do not fit the chunks, each variable in turn.
fn write(path: &Path, schema: Schema, seed: usize, engine: &Engine) {
    let options = CreateOptions { engine: Some(engine.clone()), overwrite: true, ..CreateOptions::default() };
    let mut file = DatasetMut::create(path, schema, options).unwrap();
    let row = 4 * (SHAPE[1] * SHAPE[2]) as usize;
    let all: Vec<Vec<u8>> = file.schema().var_ids().map(|v| values(seed + v.0)).collect();
    for from in (0..SHAPE[0]).step_by(7) {
        let n = 7.min(SHAPE[0] - from);
        let slab =
            Hyperslab { start: vec![from, 0, 0], count: vec![n, SHAPE[1], SHAPE[2]], stride: vec![1; 3] };
        for v in file.schema().var_ids() {
            file.write_bytes(v, &slab, &all[v.0][from as usize * row..(from + n) as usize * row]).unwrap();
        }
    }
    file.close().unwrap();
}

fn engine(threads: usize, memory: u64) -> Engine {
    Engine::new(EngineOptions { threads: Some(threads), memory: Some(memory) }).unwrap()
}

#[test]
fn written_files_are_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    const BOTH: &[u64] = &[8 << 20, 256 << 20];
    let plain = [Format::Netcdf4, Format::Cdf1, Format::Cdf2, Format::Cdf5].map(|f| (f, "nc", BOTH));
    // How much of a zipped file is held back depends on the memory, and what lies where on that.
    let zipped = [(Format::Cdf2, "ncz", &BOTH[..1]), (Format::Cdf5, "ncz", &BOTH[1..])];
    for (format, ext, memories) in plain.into_iter().chain(zipped) {
        let mut first: Option<Vec<u8>> = None;
        for threads in [1, 2, 3, 8] {
            for &memory in memories {
                let path = dir.path().join(format!("{threads}.{ext}"));
                let engine = engine(threads, memory);
                write(&path, schema(format, &chains(), 3), 3, &engine);
                let bytes = std::fs::read(&path).unwrap();
                let data = Dataset::open_with(&path, &engine).unwrap();
                for v in data.schema().var_ids() {
                    let found = data.read_all(v).unwrap();
                    assert!(found.bytes() == Some(&values(3 + v.0)[..]), "{}", data.schema().var_path(v));
                }
                let first = first.get_or_insert_with(|| bytes.clone());
                assert!(*first == bytes, "{format:?} with {threads} threads and {memory} bytes");
            }
        }
    }
}

/// A selection, and which values it means.
fn selection(random: &mut impl FnMut(u64) -> u64) -> (Hyperslab, Vec<usize>) {
    let (mut start, mut count, mut stride) = (vec![0; 3], SHAPE.to_vec(), vec![1; 3]);
    match random(6) {
        0 => {}
        1 => (start[0], count[0]) = (random(SHAPE[0]), 1),
        2 => {
            for d in 1..3 {
                (start[d], count[d]) = (random(SHAPE[d]), 1);
            }
        }
        3 => {
            for d in 0..3 {
                (start[d], count[d]) = (random(SHAPE[d]), 1);
            }
        }
        4 => {
            for d in 0..3 {
                stride[d] = 1 + random(4);
                start[d] = random(SHAPE[d]);
                count[d] = 1 + random((SHAPE[d] - start[d]).div_ceil(stride[d]));
            }
        }
        _ => {
            for d in 0..3 {
                start[d] = random(SHAPE[d]);
                count[d] = 1 + random(SHAPE[d] - start[d]);
            }
        }
    }
    let mut picked = Vec::new();
    for t in 0..count[0] {
        for y in 0..count[1] {
            for x in 0..count[2] {
                let at = |d: usize, i: u64| start[d] + i * stride[d];
                picked.push(((at(0, t) * SHAPE[1] + at(1, y)) * SHAPE[2] + at(2, x)) as usize);
            }
        }
    }
    (Hyperslab { start, count, stride }, picked)
}

struct File {
    path: PathBuf,
    arrays: Vec<Vec<u8>>,
    data: Dataset,
}

/// Sixteen threads read fifty files; some open files of their own.
#[test]
fn many_threads_read_many_files() {
    const READS: usize = 150;
    let dir = tempfile::tempdir().unwrap();
    let shared = engine(3, 16 << 20);
    let formats = [Format::Netcdf4, Format::Cdf1, Format::Cdf2, Format::Cdf5, Format::Netcdf4Classic];
    let files: Vec<File> = (0..50)
        .map(|i| {
            let path = dir.path().join(format!("{i}.nc"));
            let four: Vec<_> = chains().into_iter().cycle().skip(i).take(4).collect();
            write(&path, schema(formats[i % formats.len()], &four, i), i, &shared);
            let data = Dataset::open_with(&path, &shared).unwrap();
            File { path, arrays: (0..4).map(|v| values(i + v)).collect(), data }
        })
        .collect();
    let done = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for thread in 0..16u64 {
            let (files, done, shared) = (&files, &done, &shared);
            s.spawn(move || {
                let mut random = Random(0x2545_F491_4F6C_DD1D_u64.wrapping_mul(thread + 1));
                let mut random = move |n: u64| (random.bits() >> 20) % n.max(1);
                for _ in 0..READS {
                    let file = &files[random(50) as usize];
                    let own = (thread % 4 == 0).then(|| Dataset::open_with(&file.path, shared).unwrap());
                    let data = own.as_ref().unwrap_or(&file.data);
                    let var = ncforge::model::VarId(random(4) as usize);
                    let name = data.schema().var_path(var);
                    let said = data.schema().var(var).attr("long_name").and_then(Attribute::as_text);
                    assert!(said.is_some_and(|t| t.starts_with(&name)), "{name}: {said:?}");
                    let (slab, picked) = selection(&mut random);
                    let found = data.read(var, &slab).unwrap();
                    let expected: Vec<u8> =
                        picked.iter().flat_map(|&i| file.arrays[var.0][4 * i..4 * i + 4].to_vec()).collect();
                    assert!(
                        found.bytes() == Some(&expected[..]),
                        "{}: `{name}`, {slab:?}",
                        file.path.display()
                    );
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 16 * READS);
}
