//! Random writes while the disk fails now and then: what a sync reports as written is in the file, and what is not is named
//! until it is written again.

mod random;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ncforge::model::{Atomic, DimId, Dimension, Format, Storage, VarId, Variable};
use ncforge::store::{MemoryStore, ReadStore, WriteStore, zipped};
use ncforge::{
    CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Error, Hyperslab, Op, Result, Schema,
};

use random::Random;

const HISTORIES: u64 = 60;
const STEPS: usize = 60;
/// A record is large enough that some of them do not fit into what waits in memory.
const X: u64 = 6000;
const RECORDS: u64 = 30;

/// A store that fails at every `n`-th change while `n` is not 0.
#[derive(Debug)]
struct Failing {
    inner: MemoryStore,
    every: AtomicU32,
    count: AtomicU32,
}

impl Failing {
    fn works(&self, what: Op) -> Result<()> {
        let every = self.every.load(Ordering::Relaxed);
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if every > 0 && count.is_multiple_of(every) {
            return Err(Error::io(what, "failing.nc", std::io::Error::from_raw_os_error(28)));
        }
        Ok(())
    }
}

impl ReadStore for Failing {
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn name(&self) -> &str {
        "failing.nc"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.inner.read_at(buf, offset)
    }
}

impl WriteStore for Failing {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        if let Err(e) = self.works(Op::Write) {
            // A part of it may be there.
            self.inner.write_at(&buf[..buf.len() / 2], offset)?;
            return Err(e);
        }
        self.inner.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.works(Op::Other("set the length of"))?;
        self.inner.set_len(len)
    }
    fn reserve(&self, _offset: u64, _len: u64) -> Result<()> {
        self.works(Op::Other("reserve space for"))
    }
    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        self.works(Op::Other("replace"))?;
        self.inner.replace(build)
    }
}

/// Records of one variable in small chunks, of one in chunks of a record, and (variable 2) numbers in one run.
fn schema(format: Format) -> Schema {
    let mut s = Schema::new(format);
    s.dims =
        vec![Dimension::new("t", 0, true), Dimension::new("x", X, false), Dimension::new("y", 500, false)];
    for (name, chunks, deflated) in [("small", vec![3, 700], true), ("rows", vec![1, X], false)] {
        let mut v = Variable::new(name, Atomic::Int, vec![DimId(0), DimId(1)]);
        if !format.is_classic() {
            let filters = if deflated { vec![ncforge::codec::filters::deflate(1)] } else { vec![] };
            v.storage = Storage::Chunked { chunks, filters };
        }
        s.vars.push(v);
    }
    s.vars.push(Variable::new("run", Atomic::Int, vec![DimId(2)]));
    s
}

/// The written values, element by element; `None`: by a write that failed.
struct Model {
    shapes: Vec<Vec<u64>>,
    values: Vec<Vec<Option<i32>>>,
    /// Records that a refused write would have made.
    refused: u64,
}

impl Model {
    fn new() -> Self {
        let unwritten = |n: u64| vec![Some(-2_147_483_647); n as usize];
        Model {
            shapes: vec![vec![0, X], vec![0, X], vec![500]],
            values: vec![Vec::new(), Vec::new(), unwritten(500)],
            refused: 0,
        }
    }

    fn grow(&mut self, records: u64) {
        for v in 0..2 {
            self.shapes[v][0] = self.shapes[v][0].max(records);
            let len = self.values[v].len().max((self.shapes[v][0] * X) as usize);
            self.values[v].resize(len, Some(-2_147_483_647));
        }
    }

    fn put(&mut self, var: usize, slab: &Hyperslab, values: &[i32], is_known: bool) {
        let row = if slab.rank() == 2 { X } else { 0 };
        let (width, mut from) = (*slab.count.last().unwrap() as usize, 0);
        for r in 0..if slab.rank() == 2 { slab.count[0] } else { 1 } {
            let first = if slab.rank() == 2 { slab.start[0] + r } else { 0 };
            let at = (first * row + slab.start.last().unwrap()) as usize;
            for (place, value) in self.values[var][at..at + width].iter_mut().zip(&values[from..]) {
                *place = is_known.then_some(*value);
            }
            from += width;
        }
    }
}

fn history(seed: u64, format: Format, is_zipped: bool) -> (usize, usize) {
    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let engine = Engine::new(EngineOptions { threads: Some(1), memory: Some(1 << 20) }).unwrap();
    let (every, count) = (AtomicU32::new(0), AtomicU32::new(0));
    let store = Arc::new(Failing { inner: MemoryStore::new("failing.nc", Vec::new()), every, count });
    let options = CreateOptions {
        engine: Some(engine.clone()),
        zipped: is_zipped.then(zipped::Options::default),
        ..CreateOptions::default()
    };
    let mut file = DatasetMut::create_in(store.clone(), schema(format), options).unwrap();
    let mut model = Model::new();
    let (mut good, mut bad) = (0, 0);
    for step in 0..=STEPS {
        let is_last = step == STEPS;
        match if is_last { 0 } else { r.below(8) } {
            0 => store.every.store(0, Ordering::Relaxed),
            1 => store.every.store(1 + r.below(4) as u32, Ordering::Relaxed),
            2 | 3 => match file.sync() {
                Ok(()) => {
                    check(&store, &engine, &model, seed, step);
                    good += 1;
                }
                Err(_) => bad += 1,
            },
            _ => {
                let var = r.below(3) as usize;
                let (start, width) = (r.below(400), 1 + r.below(99));
                let slab = match var {
                    2 => Hyperslab::new(&[start], &[width]),
                    _ if r.below(2) == 0 => Hyperslab::new(&[r.below(RECORDS), 0], &[1 + r.below(4), X]),
                    _ => Hyperslab::new(&[r.below(RECORDS), start], &[1 + r.below(4), width * 20]),
                };
                write(&mut file, &mut model, &mut r, var, &slab);
            }
        }
    }
    // There is space again: all that is lost is written again, and then everything is there.
    let missing = model.values.iter().flatten().any(Option::is_none);
    if missing || model.refused > 0 {
        let sync = file.sync();
        if is_zipped && sync.as_ref().is_err_and(is_over) {
            assert!(file.finish().is_err(), "seed {seed}");
            return (good, bad + 1);
        }
        assert!(missing || sync.is_err() || model.refused <= model.shapes[0][0], "seed {seed}");
        if missing {
            let lost = sync.unwrap_err();
            assert!(matches!(lost, Error::Lost { .. }), "seed {seed}: {lost}");
        }
        bad += 1;
        let records = model.refused.max(model.shapes[0][0]);
        for var in 0..3 {
            let all = if var < 2 { vec![records, X] } else { model.shapes[var].clone() };
            let slab = Hyperslab::all(&all);
            write(&mut file, &mut model, &mut r, var, &slab);
        }
    }
    match file.finish() {
        Err(e) if is_zipped && is_over(&e) => return (good, bad + 1),
        done => done.unwrap_or_else(|e| panic!("seed {seed}: {e}")),
    }
    check(&store, &engine, &model, seed, STEPS);
    (good, bad)
}

/// Whether nothing succeeds any more: of a zipped file it may be unknown what is on disk.
fn is_over(e: &Error) -> bool {
    e.to_string().contains("close it and open it again")
}

fn write(file: &mut DatasetMut, model: &mut Model, r: &mut Random, var: usize, slab: &Hyperslab) {
    let values: Vec<i32> = (0..slab.len()).map(|_| r.below(1 << 30) as i32).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let written = file.write_bytes(VarId(var), slab, &bytes);
    if var < 2 {
        model.grow(file.schema().dims[0].len);
    }
    if slab.is_empty() {
        return;
    }
    if var < 2 && model.shapes[var][0] < slab.end(0) {
        model.refused = model.refused.max(slab.end(0));
        return;
    }
    model.put(var, slab, &values, written.is_ok());
}

/// Reads the file as it is now.
fn check(store: &Failing, engine: &Engine, model: &Model, seed: u64, step: usize) {
    let bytes = store.read_vec(0, store.len()).unwrap();
    let found = Dataset::from_store(Arc::new(MemoryStore::new("found.nc", bytes)), engine).unwrap();
    for var in 0..3 {
        let read = found.read_all(VarId(var)).unwrap();
        let read: Vec<Option<i32>> = read
            .bytes()
            .unwrap()
            .chunks_exact(4)
            .map(|b| Some(i32::from_ne_bytes(b.try_into().unwrap())))
            .collect();
        assert_eq!(read.len(), model.values[var].len(), "seed {seed}, step {step}, variable {var}");
        let wrong = read.iter().zip(&model.values[var]).position(|(a, b)| a != b);
        let (a, b) = wrong.map_or((None, None), |i| (read[i], model.values[var][i]));
        assert_eq!(wrong, None, "seed {seed}, step {step}, variable {var}: {a:?} instead of {b:?}");
    }
}

#[test]
fn what_a_sync_reports_as_written_is_in_the_file() {
    for (format, is_zipped) in
        [(Format::Netcdf4, false), (Format::Cdf2, false), (Format::Cdf5, false), (Format::Cdf5, true)]
    {
        let (mut good, mut bad) = (0, 0);
        for seed in 1..=HISTORIES {
            let (one, other) = history(seed, format, is_zipped);
            (good, bad) = (good + one, bad + other);
        }
        assert!(good > 50 && bad > 50, "{format:?}: {good} syncs, {bad} failed");
    }
}
