//! Power cuts at any moment: the file is in the state of the last commit, or of the one that was in progress.
//!
//! After a crash, a disk contains everything that was written before the last sync that returned. For later writes, every
//! sector of 512 bytes has, independent of the others, its contents at any moment since then.
//! This covers every prefix, every order, every subset, and every torn write.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::super::{Resources, ZippedStore};
use super::basics::image;
use super::steps::{Step, apply, bytes, options, step, tight};
use crate::error::Result;
use crate::store::random::Random;
use crate::store::{MemoryStore, ReadStore, WriteStore};

const SECTOR: usize = 512;

#[derive(Clone, Debug)]
enum Event {
    Write(usize, Vec<u8>),
    Length(usize),
    Sync,
    /// The store reported that a commit is complete.
    Acknowledged,
}

/// A file that records the operations on it.
#[derive(Debug)]
struct Logged {
    inner: MemoryStore,
    log: Mutex<Vec<Event>>,
}

impl Logged {
    fn note(&self, e: Event) {
        self.log.lock().unwrap().push(e);
    }
}

impl ReadStore for Logged {
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.inner.read_at(buf, offset)
    }
}

impl WriteStore for Logged {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.note(Event::Write(offset as usize, buf.to_vec()));
        self.inner.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.note(Event::Length(len as usize));
        self.inner.set_len(len)
    }
    fn sync(&self) -> Result<()> {
        self.note(Event::Sync);
        Ok(())
    }
}

fn apply_event(state: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write(at, new) => {
            state.resize(state.len().max(at + new.len()), 0);
            state[*at..at + new.len()].copy_from_slice(new);
        }
        Event::Length(n) => state.resize(*n, 0),
        Event::Sync | Event::Acknowledged => {}
    }
}

/// A state of the disk: each sector as it was at one of the moments since the last sync.
fn mixed(moments: &[Vec<u8>], mut choose: impl FnMut(usize) -> usize) -> Vec<u8> {
    let len = moments[choose(moments.len())].len();
    let mut out = vec![0; len];
    for (i, sector) in out.chunks_mut(SECTOR).enumerate() {
        let from = &moments[choose(moments.len())];
        let part = from.get(i * SECTOR..).unwrap_or_default();
        let n = part.len().min(sector.len());
        sector[..n].copy_from_slice(&part[..n]);
    }
    out
}

/// Checks one state of the disk; `allowed` are images that it may show.
fn check(state: Vec<u8>, allowed: &[Vec<u8>], is_committed: bool) {
    let file = Arc::new(MemoryStore::new("crashed.ncz", state));
    let store = match ZippedStore::open_rw(file, Resources::default()) {
        Ok(store) => store,
        // Before the first commit there is no file yet.
        Err(_) if !is_committed => return,
        Err(e) => panic!("{e}"),
    };
    let found = image(&store);
    assert!(allowed.contains(&found), "neither the last state nor the next");
    assert_eq!(store.verify(&mut |_| Ok(())).unwrap().iter().filter(|d| d.image.is_some()).count(), 0);
    // And it can be written again.
    store.write_at(b"after", 3).unwrap();
    store.sync().unwrap();
    assert_eq!(store.read_vec(3, 5).unwrap(), b"after");
}

/// Runs steps and then crashes at every event. `images[k]` is the image of the k-th acknowledged commit.
fn crash_everywhere(log: &[Event], images: &[Vec<u8>], mixes: usize, seed: u64) -> usize {
    let mut random = Random(seed | 1);
    let mut choose = |n: usize| random.below(n as u64) as usize;
    let mut moments = vec![Vec::new()];
    let mut acknowledged = 0;
    let mut checked = 0;
    for event in log {
        match event {
            Event::Sync => moments = vec![moments.pop().unwrap()],
            Event::Acknowledged => acknowledged += 1,
            other => {
                let mut next = moments.last().unwrap().clone();
                apply_event(&mut next, other);
                moments.push(next);
            }
        }
        let from = acknowledged.max(1) - 1;
        let allowed = &images[from..images.len().min(acknowledged + 1)];
        check(moments.last().unwrap().clone(), allowed, acknowledged > 0);
        for _ in 0..mixes {
            check(mixed(&moments, &mut choose), allowed, acknowledged > 0);
        }
        checked += 1 + mixes;
    }
    checked
}

/// Executes the steps; returns the log and the image of each commit.
fn run(steps: &[Step], codec: usize) -> (Vec<Event>, Vec<Vec<u8>>) {
    let file = Arc::new(Logged { inner: MemoryStore::new("logged.ncz", Vec::new()), log: Mutex::default() });
    let mut store = ZippedStore::create(file.clone(), &options(codec), tight()).unwrap();
    let (mut model, mut images) = (Vec::new(), Vec::new());
    for step in steps {
        if apply(step, &store, &mut model) {
            file.note(Event::Acknowledged);
            images.push(model.clone());
        }
        if matches!(step, Step::Drop) && !images.is_empty() {
            drop(store);
            model.clone_from(images.last().unwrap());
            store = ZippedStore::open_rw(file.clone(), tight()).unwrap();
        }
    }
    drop(store);
    let log = file.log.lock().unwrap().clone();
    (log, images)
}

/// Create, fill, random update, append, redefine, compact: each a commit or several.
#[test]
fn every_moment_of_ordinary_work() {
    let mut steps =
        vec![Step::Describe(vec![(500, 4, 0), (20_500, 4, 40)]), Step::Write(0, 300, 2), Step::Sync];
    steps.extend((0..6).map(|i| Step::Write(500 + i * 4096, 4096, 2 + i * 4)));
    steps.push(Step::Sync);
    for round in 0..3 {
        steps.extend((0..5).map(|i| Step::Write((i * 7919 + round * 131) % 24_000, 37, 3 + i * 4)));
        steps.push(Step::Sync);
    }
    for i in 0..4 {
        steps.extend([Step::Write(25_000 + i * 160, 160, 6 + i * 4), Step::Sync]);
    }
    steps.extend([Step::Drop, Step::Insert(500, 4096), Step::Write(0, 900, 7), Step::Sync]);
    steps.extend([Step::Replace(200, true, false), Step::SetLen(9000), Step::Sync]);
    // Records in columns: filled, appended to, made wider.
    steps.extend([Step::SetLen(0), Step::Records(299, vec![4, 8, 2, 6]), Step::Write(0, 250, 2), Step::Sync]);
    steps.extend(
        (0..4).flat_map(|c| [Step::Column(0, c, 1200, 2 + c as u64 * 4), Step::Column(1200, c, 40, 3)]),
    );
    steps.extend([Step::Sync, Step::Widen(2, 4, 9), Step::Column(7, 2, 30, 3), Step::Sync]);
    steps.extend([Step::Write(20_000, 500, 3), Step::Sync, Step::Drop, Step::Widen(9, 3, 0), Step::Sync]);
    let (log, images) = run(&steps, 0);
    let checked = crash_everywhere(&log, &images, 12, 1);
    assert!(checked > 500 && images.len() > 10, "{checked} states, {} commits", images.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn every_moment_of_random_work(
        steps in prop::collection::vec(step(), 1..24), codec in 0..3usize, seed: u64
    ) {
        let (log, images) = run(&steps, codec);
        crash_everywhere(&log, &images, 3, seed);
    }
}

/// Without the sync between new blocks and the root that refers to them, the test above would fail.
#[test]
fn the_test_itself_finds_a_missing_sync() {
    let steps = [Step::Write(0, 9000, 3), Step::Sync, Step::Write(100, 9000, 7), Step::Sync];
    let (log, images) = run(&steps, 0);
    let careless: Vec<Event> = log.into_iter().filter(|e| !matches!(e, Event::Sync)).collect();
    let caught = std::panic::catch_unwind(|| crash_everywhere(&careless, &images, 50, 9));
    assert!(caught.is_err());
    assert_eq!(bytes(4, 4), [0; 4]);
}
