//! The power is cut at any point: the file is in the state of the last sync, or of the one that was going on.

use std::sync::Arc;

use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Format, Storage, Value, Values, VarId, Variable,
};
use ncforge::raw::{Writer, netcdf4};
use ncforge::store::{MemoryStore, WriteStore};
use ncforge::{Dataset, DatasetMut, Hyperslab, Schema};

use crate::logged::{LoggedStore, crashes, engine};
use crate::random::Random;

/// Everything in a file, as text; `None` if it cannot be opened or read.
fn state(bytes: &[u8]) -> Option<String> {
    let store = Arc::new(MemoryStore::new("after.nc", bytes.to_vec()));
    let d = Dataset::from_store(store, &engine()).ok()?;
    let mut out = format!("{:?}\n", d.schema());
    for v in d.schema().var_ids() {
        out += &match d.read_all(v).ok()? {
            Values::Fixed(bytes) => format!("{:?}\n", &bytes[..]),
            list => format!("{list:?}\n"),
        };
    }
    Some(out)
}

fn ints(n: i32, count: usize) -> Vec<u8> {
    (0..count as i32).flat_map(|i| (n + i).to_ne_bytes()).collect()
}

fn schema() -> Schema {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 5, false)];
    let mut v = Variable::new("a", Atomic::Int, vec![DimId(0), DimId(1)]);
    v.storage = Storage::Chunked {
        chunks: vec![1, 3],
        filters: vec![ncforge::codec::filters::shuffle(4), ncforge::codec::filters::deflate(1)],
    };
    s.vars.push(v);
    let mut v = Variable::new("s", DType::String, vec![DimId(0)]);
    v.storage = Storage::Chunked { chunks: vec![2], filters: vec![] };
    s.vars.push(v);
    s
}

type Step = Box<dyn Fn(&mut Writer)>;

/// One step of work after another; each ends in a sync.
fn steps() -> Vec<Step> {
    let record = |w: &mut Writer, t: u64, n: i32| {
        w.write_bytes(VarId(0), &Hyperslab::new(&[t, 0], &[1, 5]), &ints(n, 5)).unwrap();
        let text = Value::String(Some(format!("record {n}").into_bytes()));
        w.write(VarId(1), &Hyperslab::new(&[t], &[1]), &Values::Heap(vec![text])).unwrap();
    };
    vec![
        Box::new(move |w| (0..3).for_each(|t| record(w, t, t as i32 * 10))),
        Box::new(move |w| record(w, 3, 30)),
        Box::new(move |w| record(w, 1, 1000)),
        Box::new(move |w| {
            let mut s = w.schema().clone();
            s.groups[0].attrs.push(Attribute::text("history", &"made ".repeat(100)));
            s.vars.push(Variable::new("late", Atomic::Short, vec![DimId(1)]));
            w.redefine(s).unwrap();
            w.write_bytes(VarId(2), &Hyperslab::new(&[1], &[2]), &[1, 0, 2, 0]).unwrap();
        }),
        Box::new(move |w| (4..9).for_each(|t| record(w, t, t as i32 * 10))),
        Box::new(move |w| {
            let mut s = w.schema().clone();
            s.vars[0].name = "renamed".into();
            s.groups[0].attrs.clear();
            w.redefine(s).unwrap();
        }),
        Box::new(move |w| record(w, 0, 7)),
    ]
}

fn run(store: &Arc<LoggedStore>, mut w: Writer, steps: &[Step], mut old: Option<String>, start: Vec<u8>) {
    let mut before = start;
    let mut r = Random(0x9E37_79B9_7F4A_7C15);
    for (i, step) in steps.iter().enumerate() {
        step(&mut w);
        w.sync().unwrap();
        let after = store.bytes();
        let new = state(&after);
        assert!(new.is_some(), "step {i} gives a file");
        let mut seen = (0, 0);
        for crashed in crashes(&before, &store.take_log(), |n| r.below(n as u64) as usize) {
            let got = state(&crashed);
            if got == new {
                seen.1 += 1;
            } else {
                assert_eq!(got, old, "step {i}: neither the old state nor the new one");
                seen.0 += 1;
            }
        }
        assert!(seen.0 > 0 && seen.1 > 0, "both states are met in step {i}: {seen:?}");
        (old, before) = (new, after);
    }
}

#[test]
fn a_crash_while_a_file_is_made_leaves_the_last_sync() {
    let (store, w) = LoggedStore::created(schema());
    run(&store, w, &steps(), None, Vec::new());
}

#[test]
fn a_crash_while_a_file_is_changed_leaves_the_last_sync() {
    let bytes = {
        let (store, mut w) = LoggedStore::created(schema());
        steps()[0](&mut w);
        w.finish().unwrap();
        store.bytes()
    };
    let store = Arc::new(LoggedStore::new(bytes.clone()));
    let container = netcdf4::open_mut(Arc::clone(&store) as Arc<dyn WriteStore>).unwrap();
    let old = state(&bytes);
    run(&store, Writer::new(engine(), container), &steps()[1..], old, bytes);
}

/// Sessions that each add a little must not leave a dead description behind.
#[test]
fn many_small_sessions_leave_no_holes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mut s = schema();
    s.vars.truncate(1);
    for i in 0..20 {
        s.groups[0].attrs.push(Attribute::text(format!("a{i}"), &"x".repeat(200)));
    }
    DatasetMut::create(&path, s, ncforge::CreateOptions::default()).unwrap().close().unwrap();
    for t in 0..100u64 {
        let mut d = DatasetMut::open(&path).unwrap();
        d.write_bytes(VarId(0), &Hyperslab::new(&[t, 0], &[1, 5]), &ints(t as i32, 5)).unwrap();
        d.close().unwrap();
    }
    let d = Dataset::open(&path).unwrap();
    let values = d.read_all(VarId(0)).unwrap();
    let want: Vec<u8> = (0..100).flat_map(|t| ints(t, 5)).collect();
    assert_eq!(values.bytes(), Some(&want[..]));
    let len = std::fs::metadata(&path).unwrap().len();
    // 200 chunks of some 20 bytes, their index (five nodes of 2616 bytes), and 6 KiB of descriptions: the live
    // one, and room that it left.
    assert!(len < 60_000, "{len} bytes");
}

/// A schema of `count` variables along `t`, and one without a fill value, which must never be shorter than `t`.
fn many(count: usize) -> Schema {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 4, false)];
    for i in 0..count {
        let mut v = Variable::new(format!("v{i}"), Atomic::Int, vec![DimId(0), DimId(1)]);
        v.storage = Storage::Chunked { chunks: vec![1, 4], filters: vec![] };
        if i == 1 {
            v.fill = ncforge::model::Fill::None;
        }
        s.vars.push(v);
    }
    s
}

fn one_record(w: &mut Writer, var: usize, t: u64) {
    w.write_bytes(VarId(var), &Hyperslab::new(&[t, 0], &[1, 4]), &ints(t as i32 * 10 + var as i32, 4))
        .unwrap();
}

#[test]
fn a_sync_writes_what_was_changed() {
    let written = |variables: usize| {
        let (store, mut w) = LoggedStore::created(many(variables));
        (0..variables).for_each(|v| one_record(&mut w, v, 0));
        w.sync().unwrap();
        let mut bytes = 0;
        for t in 1..20 {
            one_record(&mut w, 0, t);
            store.take_log();
            w.sync().unwrap();
            bytes = store.take_log().iter().map(crate::logged::Event::bytes).sum();
        }
        bytes
    };
    let (few, many) = (written(10), written(100));
    // A node of an index, and the users of `t`, which are part of its description: 16 bytes each.
    assert!(few < 12_000 && many < few + 200 * 16, "{few} and {many} bytes");
}

#[test]
fn a_crash_between_small_syncs_leaves_the_last_one() {
    let (store, w) = LoggedStore::created(many(5));
    let mut steps: Vec<Step> = Vec::new();
    for t in 0..8 {
        // The index of one variable outgrows its room again and again.
        let first = t * t * 4;
        steps.push(Box::new(move |w| (first..first + 40).for_each(|t| one_record(w, 0, t))));
        steps.push(Box::new(move |w| one_record(w, 1 + t as usize % 4, first / 2)));
        steps.push(Box::new(move |w| one_record(w, 2, first + 1)));
    }
    steps.push(Box::new(move |w| {
        let mut s = w.schema().clone();
        s.groups[0].attrs.push(Attribute::text("late", "text"));
        w.redefine(s).unwrap();
    }));
    steps.extend((300..304).map(|t| -> Step { Box::new(move |w| one_record(w, 3, t)) }));
    run(&store, w, &steps, None, Vec::new());
}

/// A file written in many syncs is, once closed, the file that one sync would have made.
#[test]
fn a_closed_file_has_its_metadata_once() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, syncs: bool| {
        let path = dir.path().join(name);
        let mut d = DatasetMut::create(&path, many(20), ncforge::CreateOptions::default()).unwrap();
        for t in 0..50 {
            let data = ints(t as i32, 4);
            d.write_bytes(VarId(0), &Hyperslab::new(&[t, 0], &[1, 4]), &data).unwrap();
            if syncs {
                d.sync().unwrap();
            }
        }
        d.close().unwrap();
        std::fs::read(path).unwrap()
    };
    let (once, often) = (make("once.nc", false), make("often.nc", true));
    assert_eq!(state(&once), state(&often));
    assert!(often.len() < once.len() + 60_000, "{} and {} bytes", once.len(), often.len());
}
