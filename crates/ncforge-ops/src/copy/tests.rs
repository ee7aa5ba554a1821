//! Copies of random datasets through every route, compared with a plain walk over the values.

mod random;
mod records;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::compare::{CompareOptions, compare};
use crate::progress::Silent;
use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Format, Schema, Storage, Value, Values, VarId, Variable,
};
use ncforge::{DatasetMut, EngineOptions, Hyperslab};

fn engine(memory: u64, threads: usize) -> Engine {
    Engine::new(EngineOptions { threads: Some(threads), memory: Some(memory) }).unwrap()
}

/// Values that differ from element to element, NaN among the floats.
fn values(schema: &Schema, v: VarId) -> Values {
    let n = schema.shape(v).iter().product::<u64>();
    match schema.var(v).dtype {
        DType::String => {
            Values::Heap((0..n).map(|i| Value::String(Some(format!("s{i}").into_bytes()))).collect())
        }
        t => {
            let size = schema.fixed_size(t).unwrap() as u64;
            let bytes: Vec<u8> = (0..n * size).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            Values::fixed(&bytes)
        }
    }
}

fn make(path: &Path, schema: &Schema, engine: &Engine) {
    let options = ncforge::CreateOptions { engine: Some(engine.clone()), ..Default::default() };
    let mut d = DatasetMut::create(path, schema.clone(), options).unwrap();
    for v in schema.var_ids() {
        let slab = Hyperslab::all(&schema.shape(v));
        if !slab.is_empty() {
            d.write(v, &slab, &values(schema, v)).unwrap();
        }
    }
    d.close().unwrap();
}

fn schema(
    format: Format,
    shape: &[u64],
    chunks: Option<&[u64]>,
    filters: &[ncforge::model::Filter],
) -> Schema {
    let mut s = Schema::new(format);
    for (i, &len) in shape.iter().enumerate() {
        s.dims.push(Dimension {
            name: format!("d{i}"),
            group: Schema::ROOT,
            len,
            unlimited: i == 0 && chunks.is_some(),
        });
    }
    let dims: Vec<DimId> = (0..shape.len()).map(DimId).collect();
    for (name, t) in [("f", Atomic::Float), ("s", Atomic::Short), ("d", Atomic::Double)] {
        let mut v = Variable::new(name, t, dims.clone());
        if let Some(c) = chunks.filter(|_| !dims.is_empty()) {
            v.storage = Storage::Chunked { chunks: c.to_vec(), filters: filters.to_vec() };
        }
        v.attrs.push(Attribute::text("units", "K"));
        s.vars.push(v);
    }
    s.vars.push(Variable::new("scalar", Atomic::Int, vec![]));
    s.groups[0].attrs.push(Attribute::text("history", "old"));
    s
}

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { dir: tempfile::tempdir().unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn assert_same(a: &Path, b: &Path, engine: &Engine) {
    let (a, b) = (Dataset::open_with(a, engine).unwrap(), Dataset::open_with(b, engine).unwrap());
    let found = compare(&a, &b, &CompareOptions::default(), &Silent).unwrap();
    assert!(found.is_same(), "{:?}", found.differences);
    // The comparison is tested against the plain reading of both.
    for v in a.schema().var_ids() {
        assert_eq!(a.read_all(v).unwrap(), b.read_all(v).unwrap());
    }
}

fn netcdf4(chunks: &str, codec: Codec) -> CopyOptions {
    let chunks = match chunks {
        "auto" => Chunks::Auto,
        "keep" => Chunks::Keep,
        spec => Chunks::Spec(ChunkSpec::parse(spec).unwrap()),
    };
    CopyOptions { format: Some(Format::Netcdf4), chunks, codec, verify: true, ..CopyOptions::default() }
}

#[test]
fn the_routes_are_taken_where_they_should_be() {
    let folder = Folder::new();
    let e = engine(64 << 20, 2);
    let deflate = vec![ncforge::codec::filters::deflate(1)];
    make(&folder.path("a.nc"), &schema(Format::Netcdf4, &[256, 40, 50], Some(&[1, 40, 50]), &deflate), &e);
    let source = Dataset::open_with(folder.path("a.nc"), &e).unwrap();
    let routes = |o: &CopyOptions, e: &Engine| -> Vec<&'static str> {
        plan(&source, o, e).unwrap().variables.iter().map(|v| v.route).collect()
    };
    assert_eq!(routes(&netcdf4("keep", Codec::Keep), &e), ["raw", "raw", "raw", "boxes"]);
    assert_eq!(routes(&netcdf4("auto", Codec::Zstd), &e), ["boxes"; 4]);
    let o = CopyOptions {
        values_of: Some(Names { vars: vec!["f".into()], groups: vec![] }),
        ..netcdf4("keep", Codec::Keep)
    };
    assert_eq!(routes(&o, &e), ["raw", "nothing", "nothing", "fill"]);
    // Slabs into columns with memory for a few: decoding again and again is worse than a temporary file.
    let small = engine(1 << 20, 2);
    assert!(routes(&netcdf4("d0/256,d1/2,d2/2", Codec::Deflate), &small).contains(&"spill"));
    // A copy can be taken up with other threads: memory and files decide, whatever the layouts.
    for lens in ["d0/256,d1/2,d2/2", "d0/64,d1/4,d2/4", "d0/16,d1/20,d2/50", "d0/4,d1/40,d2/5"] {
        for memory in [1 << 20, 2 << 20, 8 << 20] {
            let identity = |threads| {
                plan(&source, &netcdf4(lens, Codec::Deflate), &engine(memory, threads)).unwrap().identity()
            };
            let one = identity(1);
            assert!([2, 3, 8, 16].into_iter().all(|n| identity(n) == one), "{lens}, {memory} bytes");
        }
    }
}

#[test]
fn an_unlimited_dimension_beside_one_of_no_length_keeps_its_chunks() {
    let folder = Folder::new();
    let e = engine(64 << 20, 1);
    for (i, shape) in [[0, 0, 4], [3, 0, 4], [3, 5, 0]].iter().enumerate() {
        let a = folder.path(&format!("a{i}.nc"));
        make(&a, &schema(Format::Netcdf4, shape, Some(&[1, 1, 1]), &[]), &e);
        for chunks in ["keep", "auto", "d0/2"] {
            let b = folder.path(&format!("b{i}{}.nc", chunks.replace('/', "-")));
            copy(&a, &b, &netcdf4(chunks, Codec::Keep), &e, &Silent).unwrap();
            assert_same(&a, &b, &e);
        }
    }
}

#[test]
fn slabs_become_columns_through_a_temporary_file() {
    let folder = Folder::new();
    let (e, small) = (engine(64 << 20, 2), engine(1 << 20, 2));
    let deflate = vec![ncforge::codec::filters::deflate(1)];
    make(&folder.path("a.nc"), &schema(Format::Netcdf4, &[256, 40, 50], Some(&[1, 40, 50]), &deflate), &e);
    let options = netcdf4("d0/256,d1/2,d2/2", Codec::Deflate);
    let r = copy(&folder.path("a.nc"), &folder.path("b.nc"), &options, &small, &Silent).unwrap();
    assert!(r.spilled_variables > 0 && r.verified);
    assert_same(&folder.path("a.nc"), &folder.path("b.nc"), &e);
    assert_eq!(folder.files(), ["a.nc", "b.nc"]);
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let folder = Folder::new();
    let e = engine(64 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[30, 40, 50], None, &[]), &e);
    for (name, threads) in [("1.nc", 1), ("3.nc", 3)] {
        let o = netcdf4("d0/7,d1/7,d2/11", Codec::Deflate);
        copy(&folder.path("a.nc"), &folder.path(name), &o, &engine(2 << 20, threads), &Silent).unwrap();
    }
    assert_eq!(std::fs::read(folder.path("1.nc")).unwrap(), std::fs::read(folder.path("3.nc")).unwrap());
}

/// Asks to stop after some bytes.
struct StopAt(AtomicU64, u64);

impl Progress for StopAt {
    fn begin(&self, _stage: &str, _total: u64) {
        self.0.store(0, Ordering::Relaxed);
    }
    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

/// Lists what it hears.
struct Heard(std::sync::Mutex<Vec<u64>>);

impl Progress for Heard {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, bytes: u64) {
        self.0.lock().unwrap().push(bytes);
    }
}

#[test]
fn progress_moves_within_a_box_and_counts_every_byte_once() {
    let folder = Folder::new();
    let e = engine(64 << 20, 1);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[64, 40, 50], None, &[]), &e);
    let heard = Heard(std::sync::Mutex::default());
    let options = CopyOptions { verify: false, ..netcdf4("d0/8,d1/10,d2/10", Codec::Deflate) };
    copy(&folder.path("a.nc"), &folder.path("b.nc"), &options, &e, &heard).unwrap();
    let heard: Vec<u64> = heard.0.into_inner().unwrap().into_iter().filter(|&n| n > 0).collect();
    // Three variables, each one box, of 14 bytes an element together; and one scalar.
    assert_eq!(heard.iter().sum::<u64>(), 64 * 40 * 50 * 14 + 4);
    assert!(heard.len() > 20, "{heard:?}");
}

#[test]
fn an_interrupted_copy_resumes_to_the_same_bytes() {
    for (target, chunks) in [(Format::Netcdf4, "d0/8,d1/9,d2/10"), (Format::Cdf5, "keep")] {
        let folder = Folder::new();
        let e = engine(1 << 20, 2);
        let deflate = vec![ncforge::codec::filters::deflate(1)];
        let mut s = schema(Format::Netcdf4, &[64, 40, 50], Some(&[4, 40, 50]), &deflate);
        if target == Format::Netcdf4 {
            s.vars.insert(2, Variable::new("names", DType::String, vec![DimId(1)]));
            s.vars.push(Variable::new("late", Atomic::Double, vec![DimId(1), DimId(2)]));
        }
        make(&folder.path("a.nc"), &s, &e);
        // Chunks are counted one by one, so that a copy with some stops within a box: what is done of that is lost, and of those
        // before since the last checkpoint. Without chunks it stops between boxes, and loses nothing.
        let (checkpoint, one_box) = match target {
            Format::Netcdf4 => (std::time::Duration::ZERO, 600_000),
            _ => (CopyOptions::default().checkpoint, 400_000),
        };
        let options = |resume| CopyOptions {
            format: Some(target),
            resume,
            history: Some("first".into()),
            checkpoint,
            ..netcdf4(chunks, Codec::Deflate)
        };
        copy(&folder.path("a.nc"), &folder.path("whole.nc"), &options(false), &e, &Silent).unwrap();
        for stop in [1, 400_000, 700_000, 1_200_000, 1_700_000] {
            let out = folder.path("b.nc");
            let stopped =
                copy(&folder.path("a.nc"), &out, &options(false), &e, &StopAt(AtomicU64::new(0), stop));
            assert!(matches!(stopped, Err(Error::Interrupted(_))), "{stop}: {stopped:?}");
            assert!(!out.exists());
            let later = CopyOptions { history: Some("second".into()), ..options(true) };
            let r = copy(&folder.path("a.nc"), &out, &later, &e, &Silent).unwrap();
            assert!(stop < one_box || r.resumed_steps > 0, "{stop}");
            assert_eq!(
                std::fs::read(&out).unwrap(),
                std::fs::read(folder.path("whole.nc")).unwrap(),
                "{stop}"
            );
            std::fs::remove_file(out).unwrap();
        }
        assert_eq!(folder.files(), ["a.nc", "whole.nc"]);
    }
}

/// Asks to stop when it was asked this many times: in the midst of boxes too.
struct StopAfter(std::sync::atomic::AtomicUsize);

impl Progress for StopAfter {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn stop(&self) -> bool {
        use std::sync::atomic::Ordering;
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn a_copy_stopped_within_a_box_resumes_to_the_same_bytes() {
    for (target, chunks) in
        [(Format::Netcdf4, "d0/8,d1/9,d2/10"), (Format::Netcdf4, "keep"), (Format::Cdf5, "keep")]
    {
        let folder = Folder::new();
        let e = engine(1 << 20, 2);
        let deflate = vec![ncforge::codec::filters::deflate(1)];
        make(&folder.path("a.nc"), &schema(Format::Netcdf4, &[64, 40, 50], Some(&[4, 40, 50]), &deflate), &e);
        let options = |resume| CopyOptions {
            format: Some(target),
            resume,
            checkpoint: std::time::Duration::ZERO,
            ..netcdf4(chunks, Codec::Deflate)
        };
        copy(&folder.path("a.nc"), &folder.path("whole.nc"), &options(false), &e, &Silent).unwrap();
        let out = folder.path("b.nc");
        let mut polls = 0;
        loop {
            let progress = StopAfter(polls.into());
            match copy(&folder.path("a.nc"), &out, &options(false), &e, &progress) {
                Ok(_) => break,
                Err(Error::Interrupted(what)) => assert!(what.contains("b.nc"), "{what}"),
                Err(e) => panic!("{e}"),
            }
            assert!(!out.exists());
            copy(&folder.path("a.nc"), &out, &options(true), &e, &Silent).unwrap();
            assert_eq!(
                std::fs::read(&out).unwrap(),
                std::fs::read(folder.path("whole.nc")).unwrap(),
                "{polls}"
            );
            std::fs::remove_file(&out).unwrap();
            polls = polls * 3 / 2 + 1;
        }
        assert!(polls > 20, "boxes are asked about within: {polls}");
    }
}

#[test]
fn resuming_asks_for_the_same_source_and_options() {
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[64, 40, 50], None, &[]), &e);
    let (a, b) = (folder.path("a.nc"), folder.path("b.nc"));
    let begin = || {
        let stop = StopAt(AtomicU64::new(0), 400_000);
        assert!(copy(&a, &b, &netcdf4("auto", Codec::Zstd), &e, &stop).is_err());
    };
    begin();
    let other = CopyOptions { resume: true, ..netcdf4("auto", Codec::Deflate) };
    assert!(copy(&a, &b, &other, &e, &Silent).unwrap_err().to_string().contains("other options"));
    // Without being asked to resume, it begins anew.
    copy(&a, &b, &netcdf4("auto", Codec::Deflate), &e, &Silent).unwrap();
    assert_same(&a, &b, &e);
    // And what is complete need not be done again.
    assert!(copy(&a, &b, &other, &e, &Silent).unwrap().was_complete);
    std::fs::remove_file(&b).unwrap();
    begin();
    std::fs::remove_file(&a).unwrap();
    make(&a, &schema(Format::Cdf2, &[64, 40, 51], None, &[]), &e);
    let same = CopyOptions { resume: true, ..netcdf4("auto", Codec::Zstd) };
    assert!(copy(&a, &b, &same, &e, &Silent).is_err());
}

#[test]
fn a_damaged_journal_is_told_and_nothing_is_taken_up() {
    use std::io::Write;
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[64, 40, 50], None, &[]), &e);
    let (a, b) = (folder.path("a.nc"), folder.path("b.nc"));
    let options = |resume| CopyOptions { resume, ..netcdf4("auto", Codec::Deflate) };
    for step in [r#"{"var":99,"at":0,"bytes":0}"#, r#"{"var":0,"at":18446744073709551615,"bytes":0}"#] {
        let stop = StopAt(AtomicU64::new(0), 400_000);
        assert!(copy(&a, &b, &options(false), &e, &stop).is_err());
        let mut journal = std::fs::File::options()
            .append(true)
            .open(ncforge::store::companion_path(&b, "journal"))
            .unwrap();
        writeln!(journal, "{step}").unwrap();
        let found = copy(&a, &b, &options(true), &e, &Silent);
        assert!(matches!(&found, Err(Error::Corrupt { .. })), "{step}: {found:?}");
        assert!(!b.exists());
    }
    copy(&a, &b, &options(false), &e, &Silent).unwrap();
    assert_same(&a, &b, &e);
}

#[test]
fn filters_and_names_that_make_no_sense_are_the_callers_mistake() {
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[6, 40, 50], None, &[]), &e);
    let asked = |filters: &str| CopyOptions {
        filters: vec![FilterSpec::parse(filters).unwrap()],
        ..netcdf4("auto", Codec::Keep)
    };
    let fails =
        |options| copy(&folder.path("a.nc"), &folder.path("b.nc"), &options, &e, &Silent).unwrap_err();
    let found = fails(asked("f,szip,1,2"));
    assert!(
        matches!(&found, Error::BadFilter(what) if what.contains("`f`") || what.contains("`/f`")),
        "{found}"
    );
    let found = fails(asked("nothing,deflate,1"));
    assert!(found.to_string().contains("a.nc"), "{found}");
    assert_eq!(folder.files(), ["a.nc"]);
}

#[test]
fn variables_that_say_they_are_endless_have_a_plan() {
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    let mut s = schema(Format::Netcdf4, &[1 << 60], Some(&[1 << 10]), &[]);
    for name in ["again", "and again"] {
        s.vars.push(Variable { name: name.into(), ..s.vars[2].clone() });
    }
    DatasetMut::create(folder.path("a.nc"), s, Default::default()).unwrap().close().unwrap();
    let source = Dataset::open_with(folder.path("a.nc"), &e).unwrap();
    let found = plan(&source, &netcdf4("keep", Codec::Keep), &e).unwrap();
    assert_eq!(found.totals.values_bytes, u64::MAX);
}

#[test]
fn what_was_chosen_outlives_an_interruption() {
    use ncforge_tune::codec::{Goal, Method};
    use ncforge_tune::{Limits, Machine, StorageKind};
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    let mut s = schema(Format::Netcdf4, &[64, 40, 50], None, &[]);
    s.vars.insert(1, Variable::new("names", DType::String, vec![DimId(1)]));
    make(&folder.path("a.nc"), &s, &e);
    let (a, b) = (folder.path("a.nc"), folder.path("b.nc"));
    let with = |goal, storage, resume| {
        let mut options = CopyOptions { resume, ..netcdf4("auto", Codec::Auto { goal, zstd: true }) };
        options.choosing.machine = Machine::default().on(storage);
        options.choosing.limits = Limits::for_one_reader();
        options
    };
    let of = |o: &CopyOptions| {
        let source = Dataset::open_with(&a, &e).unwrap();
        plan(&source, o, &e).unwrap().chosen
    };
    for (first, then) in [(Goal::Small, Goal::FastRead), (Goal::FastRead, Goal::Small)] {
        // Resumed for another goal, and by a machine that was calibrated anew: both would choose otherwise.
        let begun = with(first, StorageKind::Local, false);
        let resumed = with(then, StorageKind::Object, true);
        let (wanted, other) = (of(&begun), of(&resumed));
        assert_ne!(wanted.codecs, other.codecs);
        assert_ne!(wanted.chunks, other.chunks);
        assert_eq!(wanted.codecs["f"] == Method::None, first == Goal::FastRead);
        copy(&a, &folder.path("whole.nc"), &CopyOptions { overwrite: true, ..begun.clone() }, &e, &Silent)
            .unwrap();
        for stop in [1, 300_000, 500_000, 900_000, 1_700_000] {
            let stopped = copy(&a, &b, &begun, &e, &StopAt(AtomicU64::new(0), stop));
            assert!(matches!(stopped, Err(Error::Interrupted(_))), "{stop}: {stopped:?}");
            copy(&a, &b, &resumed, &e, &Silent).unwrap();
            let whole = std::fs::read(folder.path("whole.nc")).unwrap();
            assert_eq!(std::fs::read(&b).unwrap(), whole, "{first:?} {stop}");
            std::fs::remove_file(&b).unwrap();
        }
        assert_same(&a, &folder.path("whole.nc"), &e);
    }
}

#[test]
fn a_file_can_be_copied_onto_itself() {
    let folder = Folder::new();
    let e = engine(8 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[30, 40, 50], None, &[]), &e);
    std::fs::copy(folder.path("a.nc"), folder.path("old.nc")).unwrap();
    let options = netcdf4("auto", Codec::Deflate);
    let refused = copy(&folder.path("a.nc"), &folder.path("a.nc"), &options, &e, &Silent);
    assert!(matches!(refused, Err(Error::Exists(_))));
    let options = CopyOptions { overwrite: true, ..options };
    copy(&folder.path("a.nc"), &folder.path("a.nc"), &options, &e, &Silent).unwrap();
    assert_same(&folder.path("old.nc"), &folder.path("a.nc"), &e);
    assert_eq!(Dataset::open(folder.path("a.nc")).unwrap().schema().format, Format::Netcdf4);
}

#[test]
fn damage_is_found_by_verifying() {
    let folder = Folder::new();
    let e = engine(8 << 20, 2);
    make(&folder.path("a.nc"), &schema(Format::Cdf2, &[30, 40, 50], None, &[]), &e);
    let source = Dataset::open_with(folder.path("a.nc"), &e).unwrap();
    let plan = plan(&source, &netcdf4("auto", Codec::None), &e).unwrap();
    let mut claim = OutputFile::create(&folder.path("b.nc"), false).unwrap();
    let memory = Memory::of(8 << 20);
    let of_source = Identity::of(&folder.path("a.nc")).unwrap();
    let chosen = Default::default();
    let header = Header { journal: VERSION, source: of_source, plan: 0, history: None, chosen };
    let task = run::Task {
        source: &source,
        plan: &plan,
        engine: &e,
        memory,
        progress: &Silent,
        header,
        checkpoint: std::time::Duration::MAX,
        lasting: Lasting::Durable,
        header_room: None,
        zipped: None,
        elsewhere: None,
    };
    run::run(task, &mut claim, vec![]).unwrap();
    verify::verify(&source, &plan, &claim, &e, memory, &Silent).unwrap();
    let mut bytes = std::fs::read(claim.partial()).unwrap();
    let at = bytes.len() - 1000;
    bytes[at] ^= 1;
    std::fs::write(claim.partial(), bytes).unwrap();
    let found = verify::verify(&source, &plan, &claim, &e, memory, &Silent);
    assert!(matches!(found, Err(Error::Verify(_))), "{found:?}");
}
