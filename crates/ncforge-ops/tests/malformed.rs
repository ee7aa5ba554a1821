//! Damaged files: cut short at every kibibyte, and with one byte changed, ten thousand times each.
//!
//! Requirements for every one of them: no panic; no more than five seconds; no more memory than the file's size
//! and 64 MB; and each is either an error or a result. Everything that `info` shows is asked for, and everything
//! that fits is read; every 50th is also copied, and every 50th updated.
//!
//! `NCFORGE_MUTATIONS` sets another number of changed bytes. A failure names the file, the byte and its new value.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Filter, Group, GroupId, Storage, Variable, shape,
};
use ncforge::store::MemoryStore;
use ncforge::{
    CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Error, Format, Hyperslab, Schema, Value,
    Values,
};
use ncforge_ops::copy::{Chunks, Codec, CopyOptions, copy};
use ncforge_ops::describe::{CdlOptions, cdl, json, storage};
use ncforge_ops::progress::Silent;

/// Counts bytes in use and remembers the most.
struct Counting;
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(size: usize) {
    let used = USED.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: every call goes on to the system's allocator unchanged. (`realloc` is the trait's own: by these.)
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ALLOWED_MEMORY: usize = 64 << 20;
// A hang takes longer than that on the busiest machine.
const ALLOWED_TIME: Duration = Duration::from_secs(60);
/// The engine's memory: part of all that is allowed.
const BUDGET: u64 = 16 << 20;
/// A variable is read whole up to this size, else a corner of it.
const READ_WHOLE: u64 = 2 << 20;

/// One kind of damage after another on one file.
struct Shaker {
    name: String,
    whole: Vec<u8>,
    folder: PathBuf,
    engine: Engine,
    failures: Vec<String>,
    readable: usize,
}

impl Shaker {
    fn new(name: &str, whole: Vec<u8>, folder: &Path) -> Self {
        let engine = Engine::new(EngineOptions { threads: Some(1), memory: Some(BUDGET) }).unwrap();
        let mut shaker = Shaker {
            name: name.to_owned(),
            whole,
            folder: folder.to_owned(),
            engine,
            failures: Vec::new(),
            readable: 0,
        };
        let whole = shaker.whole.clone();
        shaker.judge("whole", whole, true, true);
        assert_eq!(shaker.readable, 1, "{name} is readable while it is whole");
        shaker
    }

    /// Everything that is done with one damaged file, judged.
    fn judge(&mut self, what: &str, bytes: Vec<u8>, copied: bool, updated: bool) {
        let allowed = USED.load(Ordering::Relaxed) + bytes.len() + ALLOWED_MEMORY;
        PEAK.store(0, Ordering::Relaxed);
        let began = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| {
            if copied || updated {
                let path = self.folder.join("damaged.nc");
                std::fs::write(&path, &bytes).unwrap();
                if copied {
                    copy_of(&path, &self.folder, &self.engine);
                }
                if updated {
                    let _ = update(&path);
                }
            }
            visit(&self.name, bytes, &self.engine)
        }));
        let (time, peak) = (began.elapsed(), PEAK.load(Ordering::Relaxed));
        match done {
            Ok(Ok(())) => self.readable += 1,
            Ok(Err(e)) => assert!(!e.to_string().is_empty()),
            Err(_) => self.failures.push(format!("{}, {what}: panic", self.name)),
        }
        if time > ALLOWED_TIME {
            self.failures.push(format!("{}, {what}: took {time:?}", self.name));
        }
        if peak > allowed {
            self.failures.push(format!("{}, {what}: {peak} bytes in use, {allowed} are allowed", self.name));
        }
    }

    fn truncate(&mut self) {
        for len in (0..self.whole.len()).step_by(1024) {
            let every = len % (16 << 10) == 0;
            self.judge(&format!("cut to {len} bytes"), self.whole[..len].to_vec(), every, every);
        }
    }

    fn mutate(&mut self, times: u64) {
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        for i in 0..times {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = (random >> 16) as usize % self.whole.len();
            let mut bytes = self.whole.clone();
            bytes[at] = match i % 4 {
                0 => 0xFF,
                1 => bytes[at] ^ 1 << (random & 7),
                2 => 0,
                _ => random as u8,
            };
            let what = format!("byte {at} is {}", bytes[at]);
            self.judge(&what, bytes, i % 50 == 7, i % 50 == 33);
        }
    }
}

/// The work of `info` and of a reader.
fn visit(name: &str, bytes: Vec<u8>, engine: &Engine) -> Result<(), Error> {
    let dataset = Dataset::from_store(Arc::new(MemoryStore::new(name, bytes)), engine)?;
    let schema = dataset.schema();
    cdl(dataset.container(), &CdlOptions { name: "x".into(), special: true });
    json(dataset.container());
    storage(dataset.container());
    let mut result = Ok(());
    for v in schema.var_ids() {
        let shape = schema.shape(v);
        let size = schema.memory_size(schema.var(v).dtype) as u64;
        let whole = shape::checked(&shape, size).is_some_and(|n| n <= READ_WHOLE);
        let count: Vec<u64> = shape.iter().map(|&n| if whole { n } else { n.min(3) }).collect();
        if let Err(e) = dataset.read(v, &Hyperslab::new(&vec![0; shape.len()], &count)) {
            result = Err(e);
        }
    }
    result
}

fn copy_of(path: &Path, folder: &Path, engine: &Engine) {
    let options = CopyOptions {
        format: Some(Format::Netcdf4),
        chunks: Chunks::Auto,
        codec: Codec::Deflate,
        overwrite: true,
        verify: true,
        ..CopyOptions::default()
    };
    let out = folder.join("copy.nc");
    if copy(path, &out, &options, engine, &Silent).is_ok() {
        std::fs::remove_file(&out).unwrap();
    }
}

/// A changed attribute, and a written value.
fn update(path: &Path) -> Result<(), Error> {
    let mut dataset = DatasetMut::open(path)?;
    let mut schema = dataset.schema().clone();
    schema.groups[0].attrs.push(Attribute::text("added", "text"));
    dataset.redefine(schema)?;
    for v in dataset.schema().var_ids().take(3) {
        let shape = dataset.schema().shape(v);
        if let (Some(size), false) =
            (dataset.schema().fixed_size(dataset.schema().var(v).dtype), shape.contains(&0))
        {
            let one = Hyperslab::new(&vec![0; shape.len()], &vec![1; shape.len()]);
            dataset.write(v, &one, &Values::fixed(&vec![1; size]))?;
        }
    }
    dataset.close()
}

/// A small file of each format that ncforge writes: records, fixed variables, attributes; in netCDF-4 also chunks,
/// filters, strings and a group.
fn ours(format: Format, folder: &Path) -> Vec<u8> {
    let path = folder.join("ours.nc");
    let mut schema = Schema::new(format);
    schema.groups[0].attrs = vec![Attribute::text("title", "a small file")];
    for (name, len, unlimited) in [("time", 3, true), ("y", 4, false), ("x", 5, false)] {
        schema.dims.push(Dimension::new(name, len, unlimited));
    }
    let dims = [DimId(0), DimId(1), DimId(2)];
    for (i, atomic) in Atomic::ALL.into_iter().enumerate().filter(|(i, _)| *i < 6 || format != Format::Cdf1) {
        if format == Format::Cdf2 && i >= 6 {
            continue;
        }
        let mut fixed = Variable::new(format!("fixed_{i}"), atomic, dims[1..].to_vec());
        fixed.attrs = vec![Attribute::text("units", "1")];
        let mut record = Variable::new(format!("record_{i}"), atomic, dims.to_vec());
        if !format.is_classic() {
            let filters = [(2u16, vec![atomic.size() as u32]), (1, vec![1]), (3, vec![])];
            let filters = filters.map(|(id, params)| Filter { id, params, optional: true }).to_vec();
            record.storage = Storage::Chunked { chunks: vec![2, 3, 3], filters };
        }
        schema.vars.extend([fixed, record]);
    }
    if !format.is_classic() {
        schema.groups.push(Group { name: "g".into(), parent: Some(GroupId(0)), attrs: Vec::new() });
        let mut text = Variable::new("text", DType::String, vec![DimId(2)]);
        text.group = GroupId(1);
        schema.vars.push(text);
    }
    let options = CreateOptions { header_room: Some(64), ..CreateOptions::default() };
    let mut file = DatasetMut::create(&path, schema, options).unwrap();
    for v in file.schema().var_ids() {
        let all = Hyperslab::all(&file.schema().shape(v));
        let values = match file.schema().fixed_size(file.schema().var(v).dtype) {
            Some(size) => Values::fixed(&(0..all.len() as usize * size).map(|b| b as u8).collect::<Vec<_>>()),
            None => {
                Values::Heap((0..all.len()).map(|i| Value::String(Some(vec![b'a'; i as usize]))).collect())
            }
        };
        file.write(v, &all, &values).unwrap();
    }
    file.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = [Format::Cdf1, Format::Cdf2, Format::Cdf5, Format::Netcdf4];
    let found = ["earliest.h5", "v108.h5", "v110.h5", "latest.h5", "links.h5"]
        .map(|n| root.join("fuzz/seeds/hdf5").join(n));
    made.into_iter()
        .map(|f| (format!("ours, {}", f.kind()), ours(f, folder)))
        .chain(
            found
                .iter()
                .chain([&root.join("data/uv300.nc")])
                .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(p).unwrap())),
        )
        .collect()
}

/// What a process of its own takes of the files: its number and how many there are. Memory is counted by process.
const SHARE: &str = "NCFORGE_MALFORMED_SHARE";

#[test]
fn damaged_files_are_errors_or_results() {
    match std::env::var(SHARE) {
        Ok(share) => {
            let (number, of) = share.split_once('/').unwrap();
            one_share(number.parse().unwrap(), of.parse().unwrap());
        }
        Err(_) => {
            let of = std::thread::available_parallelism().map_or(1, |n| n.get().min(5));
            let start = |number: usize| {
                let mut own = Command::new(std::env::current_exe().unwrap());
                own.args(["--exact", "damaged_files_are_errors_or_results", "--nocapture"]);
                own.env(SHARE, format!("{number}/{of}")).stdout(Stdio::piped()).stderr(Stdio::piped());
                own.spawn().unwrap()
            };
            let shares: Vec<_> = (0..of).map(start).collect();
            for share in shares {
                let done = share.wait_with_output().unwrap();
                let said = [done.stdout, done.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
                assert!(done.status.success(), "{}", said.concat());
                print!("{}", said[0]);
            }
        }
    }
}

fn one_share(number: usize, of: usize) {
    let folder = tempfile::tempdir().unwrap();
    let times = std::env::var("NCFORGE_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut failures = Vec::new();
    for (name, whole) in files(folder.path()).into_iter().skip(number).step_by(of) {
        let mut shaker = Shaker::new(&name, whole, folder.path());
        shaker.truncate();
        shaker.mutate(times);
        println!("{name}: {} readable", shaker.readable);
        failures.append(&mut shaker.failures);
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}
