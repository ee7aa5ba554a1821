//! Random durable updates in place, and the power is cut at any moment of them: every reader finds the last sync's state, or
//! that of the one that was going on.
//!
//! One thing is promised less: numbers that are stored without filters, in one run or in chunks, are overwritten where they are, so
//! each of them is the old one or the new one.

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Format, Storage, Value, Values, VarId, Variable,
};
use ncforge::raw::{Writer, netcdf4, put_attribute};
use ncforge::store::{MemoryStore, WriteStore};
use ncforge::{Dataset, Error, Hyperslab, Schema};

use crate::logged::{Event, LoggedStore, crashes, engine};
use crate::peers;
use crate::random::Random;

/// Histories, and the syncs of each.
const HISTORIES: u64 = 24;
const SYNCS: usize = 10;
/// States of each history that the other libraries read, too.
const JUDGED: usize = 12;

const X: u64 = 40;
/// The variables: compressed records, text records, text in one run, and numbers in one run or in chunks without filters.
const RECORDS: VarId = VarId(0);
const WORDS: VarId = VarId(1);
const NAMES: VarId = VarId(2);
const NUMBERS: VarId = VarId(3);

fn text(r: &mut Random, most: u64) -> Vec<u8> {
    let n = r.below(most);
    (0..n).map(|_| b'a' + r.below(26) as u8).collect()
}

fn schema(numbers: Storage) -> Schema {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", X, false)];
    let mut v = Variable::new("records", Atomic::Int, vec![DimId(0), DimId(1)]);
    v.storage = Storage::Chunked { chunks: vec![2, 16], filters: vec![ncforge::codec::filters::deflate(1)] };
    s.vars.push(v);
    let mut v = Variable::new("words", DType::String, vec![DimId(0)]);
    v.storage = Storage::Chunked { chunks: vec![3], filters: vec![] };
    s.vars.push(v);
    s.vars.push(Variable::new("names", DType::String, vec![DimId(1)]));
    let mut v = Variable::new("numbers", Atomic::Int, vec![DimId(1)]);
    v.storage = numbers;
    s.vars.push(v);
    s
}

/// One change, not made durable; the first after a sync may be of the numbers, so that each has one old value.
fn change(w: &mut Writer, r: &mut Random, is_first: bool) {
    let records = w.schema().dims[0].len;
    match if is_first { r.below(8) } else { 1 + r.below(7) } {
        1 | 2 => {
            let t = if r.below(3) == 0 { r.below(records + 1) } else { records };
            let rows: Vec<u8> = (0..X).flat_map(|_| (r.below(1 << 20) as i32).to_ne_bytes()).collect();
            w.write_bytes(RECORDS, &Hyperslab::new(&[t, 0], &[1, X]), &rows).unwrap();
        }
        3 => {
            let t = r.below(records + 2);
            let text = Values::Heap(vec![Value::String(Some(text(r, 300)))]);
            w.write(WORDS, &Hyperslab::new(&[t], &[1]), &text).unwrap();
        }
        4 => {
            let (from, n) = (r.below(X / 2), 1 + r.below(X / 2));
            let texts = (0..n).map(|_| Value::String(Some(text(r, 60)))).collect();
            w.write(NAMES, &Hyperslab::new(&[from], &[n]), &Values::Heap(texts)).unwrap();
        }
        0 => {
            let (from, n) = (r.below(X / 2), 1 + r.below(X / 2));
            let numbers: Vec<u8> = (0..n).flat_map(|_| (r.below(1 << 30) as i32).to_ne_bytes()).collect();
            w.write_bytes(NUMBERS, &Hyperslab::new(&[from], &[n]), &numbers).unwrap();
        }
        5 => {
            let mut s = w.schema().clone();
            let (name, text) = (format!("a{}", r.below(3)), text(r, 4000));
            let text = Attribute::text(name, std::str::from_utf8(&text).unwrap());
            put_attribute(&mut s.groups[0].attrs, text);
            w.redefine(s).unwrap();
        }
        6 => {
            let mut s = w.schema().clone();
            let n = r.below(3) as usize;
            s.groups[0].attrs.truncate(n);
            let var = r.below(4) as usize;
            s.vars[var].name = format!("v{var}_{}", r.below(1 << 20));
            w.redefine(s).unwrap();
        }
        _ => {
            let mut s = w.schema().clone();
            s.vars.push(Variable::new(format!("new{}", s.vars.len()), Atomic::Short, vec![DimId(1)]));
            let new = VarId(s.vars.len() - 1);
            w.redefine(s).unwrap();
            if r.below(2) == 0 {
                let ones: Vec<u8> = (0..X).flat_map(|_| 1i16.to_ne_bytes()).collect();
                w.write_bytes(new, &Hyperslab::all(&[X]), &ones).unwrap();
            }
        }
    }
}

/// The state that a reader finds; `None` if it is no file.
#[derive(Clone, Debug, PartialEq)]
struct State {
    all_but_numbers: String,
    numbers: Vec<i32>,
}

fn state(bytes: &[u8]) -> Option<State> {
    let store = Arc::new(MemoryStore::new("after.nc", bytes.to_vec()));
    let d = Dataset::from_store(store, &engine()).ok()?;
    let mut all_but_numbers = format!("{:?}\n", d.schema());
    for v in d.schema().var_ids().filter(|&v| v != NUMBERS) {
        all_but_numbers += &format!("{:?}\n", d.read_all(v).ok()?);
    }
    let numbers = d.read_all(NUMBERS).ok()?;
    let numbers = numbers.bytes()?.chunks(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect();
    Some(State { all_but_numbers, numbers })
}

impl State {
    /// Whether this is one of the two, with numbers of either.
    fn is_of(&self, old: Option<&State>, new: &State) -> bool {
        let alike = [old, Some(new)].into_iter().flatten().any(|s| s.all_but_numbers == self.all_but_numbers);
        let of_either = |(i, n): (usize, &i32)| {
            [old, Some(new)].into_iter().flatten().any(|s| s.numbers.get(i) == Some(n))
        };
        alike && self.numbers.iter().enumerate().all(of_either)
    }
}

/// The values as the other libraries shall find them, a line for a variable.
fn expected(bytes: &[u8]) -> String {
    let store = Arc::new(MemoryStore::new("after.nc", bytes.to_vec()));
    let d = Dataset::from_store(store, &engine()).unwrap();
    let mut out = String::new();
    for v in d.schema().var_ids() {
        let values: Vec<String> = match d.read_all(v).unwrap() {
            Values::Heap(list) => list
                .into_iter()
                .map(|v| match v {
                    Value::String(Some(text)) => String::from_utf8(text).unwrap(),
                    _ => String::new(),
                })
                .collect(),
            Values::Fixed(bytes) if d.schema().var(v).dtype == DType::Atomic(Atomic::Short) => {
                bytes.chunks(2).map(|b| i16::from_ne_bytes(b.try_into().unwrap()).to_string()).collect()
            }
            Values::Fixed(bytes) => {
                bytes.chunks(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap()).to_string()).collect()
            }
        };
        out += &format!("{}\t{}\n", d.schema().var(v).name, values.join(","));
    }
    out
}

/// Lives one history; puts some of the states that a cut leaves into `folder`. How many were looked at.
fn history(seed: u64, folder: &Path) -> usize {
    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let numbers = match seed % 2 {
        0 => Storage::Contiguous,
        _ => Storage::Chunked { chunks: vec![16], filters: vec![] },
    };
    let (store, mut w) = LoggedStore::created(schema(numbers));
    let (mut before, mut old, mut looked_at, mut judged) = (Vec::new(), None, 0, 0);
    for sync in 0..SYNCS {
        for i in 0..=r.below(4) {
            change(&mut w, &mut r, i == 0);
        }
        w.sync().unwrap();
        let after = store.bytes();
        let new = state(&after).expect("a sync leaves a file");
        let log = store.take_log();
        for crashed in crashes(&before, &log, |n| r.below(n as u64) as usize) {
            let Some(got) = state(&crashed) else {
                assert!(old.is_none(), "seed {seed}, sync {sync}: a file that cannot be read");
                continue;
            };
            assert!(got.is_of(old.as_ref(), &new), "seed {seed}, sync {sync}: neither old nor new");
            looked_at += 1;
            if judged < JUDGED && looked_at % 17 == 0 {
                let name = format!("{seed}_{judged}");
                std::fs::write(folder.join(format!("{name}.txt")), expected(&crashed)).unwrap();
                std::fs::write(folder.join(format!("{name}.nc")), crashed).unwrap();
                judged += 1;
            }
        }
        (old, before) = (Some(new), after);
        if r.below(3) == 0 {
            let container = netcdf4::open_mut(Arc::clone(&store) as Arc<dyn WriteStore>).unwrap();
            w = Writer::new(engine(), container);
        }
    }
    looked_at
}

#[test]
fn a_power_cut_leaves_the_old_state_or_the_new_for_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let looked_at: usize = (1..=HISTORIES).map(|seed| history(seed, dir.path())).sum();
    assert!(looked_at > 1000, "{looked_at} states");
    peers::check("power", dir.path());
}

/// Reads all of a file.
fn read_all(bytes: &[u8]) -> ncforge::Result<()> {
    let store = Arc::new(MemoryStore::new("after.nc", bytes.to_vec()));
    let d = Dataset::from_store(store, &engine())?;
    d.schema().var_ids().try_for_each(|v| d.read_all(v).map(drop))
}

/// Updates that are not durable promise nothing for a power cut, but what it leaves is read, or an error says what is wrong.
#[test]
fn without_the_waits_what_a_power_cut_leaves_is_read_or_an_error() {
    let (mut read, mut refused) = (0, 0);
    for seed in 1..=HISTORIES {
        let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (store, mut w) = LoggedStore::created(schema(Storage::Contiguous));
        let (mut on_disk, mut log) = (Vec::new(), Vec::new());
        for sync in 0..SYNCS {
            for i in 0..=r.below(4) {
                change(&mut w, &mut r, i == 0);
            }
            w.sync().unwrap();
            log.extend(store.take_log().into_iter().filter(|e| !matches!(e, Event::Sync)));
            log.push(Event::Sync);
            for crashed in crashes(&on_disk, &log, |n| r.below(n as u64) as usize) {
                match read_all(&crashed) {
                    Ok(()) => read += 1,
                    Err(Error::Corrupt { .. } | Error::NotNetcdf { .. } | Error::Unsupported { .. }) => {
                        refused += 1;
                    }
                    Err(e) => panic!("seed {seed}, sync {sync}: {e}"),
                }
            }
            log.pop();
            if r.below(3) == 0 {
                // The system has brought everything to disk.
                on_disk = store.bytes();
                log.clear();
            }
        }
    }
    assert!(read > 1000 && refused > 100, "{read} and {refused} states");
}

/// Without the syncs around the superblock the test above would fail: it is no formality.
#[test]
fn the_test_finds_a_missing_sync() {
    let (store, mut w) = LoggedStore::created(schema(Storage::Contiguous));
    let mut r = Random(5);
    w.write_bytes(RECORDS, &Hyperslab::new(&[0, 0], &[1, X]), &[1; 160]).unwrap();
    w.sync().unwrap();
    let before = store.bytes();
    store.take_log();
    let old = state(&before).unwrap();
    w.write_bytes(RECORDS, &Hyperslab::new(&[0, 0], &[5, X]), &[2; 800]).unwrap();
    w.sync().unwrap();
    let after = store.bytes();
    let new = state(&after).unwrap();
    let mut careless: Vec<_> = store.take_log().into_iter().filter(|e| !matches!(e, Event::Sync)).collect();
    careless.push(Event::Sync);
    let fine = (0..50).all(|_| {
        crashes(&before, &careless, |n| r.below(n as u64) as usize)
            .iter()
            .all(|c| state(c).is_some_and(|s| s.is_of(Some(&old), &new)))
    });
    assert!(!fine);
}
