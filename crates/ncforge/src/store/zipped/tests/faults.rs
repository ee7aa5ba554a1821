//! Damaged bytes, full disks, and other processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::open::{newest, roots};
use super::super::{Reach, Resources, ZippedStore};
use super::basics::{image, memory, small};
use super::steps::{bytes, tight};
use crate::error::{Error, Result};
use crate::store::{BlockStore, FileStore, MemoryStore, Part, ReadStore, WriteStore};

/// A small file of several commits, with all parts of the format: windows, trees with and without pages,
/// all kinds of blocks; and its image.
fn sample() -> (Vec<u8>, Vec<u8>) {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    store.describe(&[
        Part { start: 0, width: 1, stride: 0 },
        Part { start: 300, width: 4, stride: 0 },
        Part { start: 33_068, width: 2, stride: 24 },
        Part { start: 33_074, width: 8, stride: 24 },
        Part { start: 33_090, width: 2, stride: 24 },
    ]);
    store.write_at(b"a header of some kind", 0).unwrap();
    let ramp: Vec<u8> = (0..5000u32).flat_map(|i| (i * 3).to_be_bytes()).collect();
    store.write_at(&ramp, 300).unwrap();
    store.write_at(&bytes(9000, 3), 33_068).unwrap();
    store.sync().unwrap();
    store.write_at(&bytes(9000, 1), 21_000).unwrap();
    assert!(store.insert(&[(300, 5000)]).unwrap());
    store.sync().unwrap();
    let want = image(&store);
    drop(store);
    (file.to_vec(), want)
}

#[test]
fn every_byte_changed_is_an_error_or_changes_nothing() {
    let (file, want) = sample();
    let mut refused = 0;
    for at in 0..file.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut bad = file.clone();
            bad[at] ^= flip;
            let bad = Arc::new(MemoryStore::new("bad.ncz", bad));
            let got = ZippedStore::open(bad, Resources::default()).and_then(|s| s.read_vec(0, s.len()));
            match got {
                Ok(got) => assert!(got == want, "byte {at} changed by {flip:#x}: a wrong value"),
                Err(e) => {
                    let text = e.to_string();
                    let named = ["block", "index page", "the map"].iter().any(|w| text.contains(w));
                    assert!(named, "byte {at}: {text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_or_the_same() {
    let (file, want) = sample();
    for len in 0..file.len() {
        let cut = Arc::new(MemoryStore::new("cut.ncz", file[..len].to_vec()));
        if let Ok(got) = ZippedStore::open(cut, Resources::default()).and_then(|s| s.read_vec(0, s.len())) {
            assert!(got == want, "cut to {len} bytes");
        }
    }
}

#[test]
fn damage_affects_its_block_only() {
    let (file, want) = sample();
    let whole = Arc::new(MemoryStore::new("a.ncz", file.clone()));
    let store = ZippedStore::open(whole, Resources::default()).unwrap();
    let survey = store.survey().unwrap();
    assert!(survey.total.blocks >= 6 && survey.total.constant >= 1 && survey.pages >= 1, "{survey:?}");
    // The slot of some block in the middle of the image.
    let entry = {
        let core = store.core();
        let piece = core.map.first_piece(10_000, 1, 12).unwrap();
        core.trees[piece.tree as usize]
            .get(piece.block, &super::super::read::Fetch { backing: &*store.backing })
            .unwrap()
    };
    let mut bad = file;
    bad[entry.offset() as usize + 5] ^= 4;
    let store = ZippedStore::open(Arc::new(MemoryStore::new("b.ncz", bad)), Resources::default()).unwrap();
    let damage = store.verify(&mut |_| Ok(())).unwrap();
    assert_eq!(damage.len(), 1, "{damage:?}");
    let Reach { from, to, every: None } = damage[0].image.unwrap() else { panic!("{damage:?}") };
    assert!((from..to).contains(&10_000) && to - from <= 4096);
    let e = store.read_vec(10_000, 1).unwrap_err();
    assert!(e.to_string().contains("of the image"), "{e}");
    assert_eq!(store.read_vec(0, from).unwrap(), want[..from as usize]);
    assert_eq!(store.read_vec(to, store.len() - to).unwrap(), want[to as usize..]);
}

/// A file after three commits: 9000 bytes, then the first one changed, twice. The third root is at byte 4096.
fn three_commits() -> Vec<u8> {
    commits(3)
}

fn commits(n: u8) -> Vec<u8> {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    store.write_at(&bytes(9000, 3), 0).unwrap();
    store.sync().unwrap();
    for k in 1..n {
        store.write_at(&[k], 0).unwrap();
        store.sync().unwrap();
    }
    drop(store);
    file.to_vec()
}

#[test]
fn a_newer_root_that_a_crash_left_is_read_while_a_writer_opens_the_file() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    store.write_at(&bytes(9000, 3), 0).unwrap();
    let mut second = Vec::new();
    for k in 1..=4 {
        store.write_at(&[k], 0).unwrap();
        store.sync().unwrap();
        if k == 2 {
            second = file.to_vec()[512..1024].to_vec();
        }
    }
    drop(store);
    // The second copy of commit 4 was not synced: commit 2's is there.
    let mut left = file.to_vec();
    left[512..1024].copy_from_slice(&second);
    for is_written in [true, false] {
        let file = MemoryStore::new("a.ncz", left.clone());
        let found = newest(&file, &roots(&file).unwrap(), is_written).unwrap();
        assert_eq!(found.root.sequence, 4);
    }
}

fn opened(file: &[u8]) -> Result<ZippedStore> {
    ZippedStore::open(Arc::new(MemoryStore::new("a.ncz", file.to_vec())), Resources::default())
}

#[test]
fn damage_that_two_commits_share_is_no_evidence_against_the_newer_one() {
    let whole = three_commits();
    // A block that only the first commit wrote.
    let store = opened(&whole).unwrap();
    let entry =
        store.core().trees[0].get(2, &super::super::read::Fetch { backing: &*store.backing }).unwrap();
    assert!(entry.extent().is_some());
    for copy in [4096, 4608] {
        let mut bad = whole.clone();
        bad[copy + 100] ^= 1;
        bad[entry.offset() as usize] ^= 1;
        let store = opened(&bad).unwrap();
        assert_eq!((store.commit_number(), store.read_vec(0, 1).unwrap()), (3, vec![2]));
        assert!(store.read_vec(8500, 1).unwrap_err().to_string().contains("block"));
    }
}

#[test]
fn a_place_without_copies_is_damage_and_is_not_written_over() {
    let whole = three_commits();
    assert_eq!(opened(&whole).unwrap().read_vec(0, 1).unwrap(), [2]);
    for place in [0, 4096] {
        let mut bad = whole.clone();
        bad[place..place + 1024].fill(0);
        let name = format!("lost{place}.ncz");
        let file = Arc::new(MemoryStore::new(&name, bad));
        let store = ZippedStore::open(file.clone(), Resources::default()).unwrap();
        let found = store.verify(&mut |_| Ok(())).unwrap();
        let says = |text: &str| text.contains(&format!("byte {place}")) && text.contains("may be lost");
        assert!(found.len() == 1 && says(&found[0].what), "{found:?}");
        assert!(
            crate::store::take_warnings()
                .iter()
                .any(|w| w.to_string().contains(&name) && says(&w.to_string()))
        );
        let e = ZippedStore::open_rw(file, Resources::default()).unwrap_err();
        assert!(says(&e.to_string()), "{e}");
    }
}

#[test]
fn a_second_commit_without_its_second_copy_is_no_damage() {
    for (n, copy, problems) in [(2, 512, 0), (2, 0, 1), (2, 4608, 1), (3, 512, 1), (4, 512, 1)] {
        let mut file = commits(n);
        file[copy..copy + 512].fill(0);
        let found = opened(&file).unwrap().verify(&mut |_| Ok(())).unwrap();
        assert_eq!(found.len(), problems, "after {n} commits, byte {copy}: {found:?}");
    }
}

#[test]
fn a_writer_restores_the_second_copy_of_a_root() {
    let whole = three_commits();
    for copy in [4096, 4608] {
        let mut bad = whole.clone();
        bad[copy..copy + 512].fill(0);
        let file = Arc::new(MemoryStore::new("a.ncz", bad));
        drop(ZippedStore::open_rw(file.clone(), Resources::default()).unwrap());
        assert_eq!(file.to_vec(), whole);
    }
}

/// A disk with a limited number of free bytes.
#[derive(Debug)]
struct Full {
    inner: MemoryStore,
    free: AtomicI64,
}

impl ReadStore for Full {
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

impl WriteStore for Full {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let left = self.free.fetch_sub(buf.len() as i64, Ordering::Relaxed);
        if left < buf.len() as i64 {
            self.free.store(0, Ordering::Relaxed);
            self.inner.write_at(&buf[..left.max(0) as usize], offset)?;
            return Err(Error::io(
                crate::error::Op::Write,
                self.name(),
                std::io::Error::from_raw_os_error(libc::ENOSPC),
            ));
        }
        self.inner.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
}

#[test]
fn a_disk_that_is_full_at_any_byte_leaves_the_old_state() {
    let (start, want) = sample();
    let mut failed = 0;
    for free in (0..60_000).step_by(97) {
        let file =
            Arc::new(Full { inner: MemoryStore::new("full.ncz", start.clone()), free: AtomicI64::new(free) });
        let store = ZippedStore::open_rw(file.clone(), tight()).unwrap();
        let mut model = want.clone();
        let mut work = || -> Result<()> {
            for i in 0..12u64 {
                let new = bytes(3000, 3 + i * 4);
                let at = (i * 7919 % 30_000) as usize;
                model[at..at + 3000].copy_from_slice(&new);
                store.write_at(&new, at as u64)?;
            }
            store.sync()
        };
        let done = work();
        let disk = || {
            let bytes = Arc::new(MemoryStore::new("after.ncz", file.inner.to_vec()));
            image(&ZippedStore::open(bytes, Resources::default()).unwrap())
        };
        match done {
            Ok(()) => assert!(disk() == model),
            Err(_) => {
                failed += 1;
                // While the root was being written: the old state or the new one, and the store accepts no more writes.
                let whole = disk() == want || (disk() == model && store.sync().is_err());
                assert!(whole, "space for {free} bytes: the old state is gone");
                let old = disk();
                // After space is freed, writes that were not refused are still there, and a commit of them succeeds (unless
                // the root itself was being written: then the store must be opened again).
                file.free.store(i64::MAX / 2, Ordering::Relaxed);
                let mine = image(&store);
                if store.sync().is_ok() {
                    assert!(disk() == mine);
                } else {
                    assert!(disk() == old);
                }
            }
        }
    }
    assert!(failed > 100, "{failed}");
}

#[test]
fn readers_see_their_state_while_a_writer_continues() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ncz");
    let create = Arc::new(FileStore::create(&path).unwrap());
    let writer = ZippedStore::create(create, &small(), tight()).unwrap();
    let second = || ZippedStore::open_rw(Arc::new(FileStore::open_rw(&path).unwrap()), Resources::default());
    let reader = || {
        let resources =
            Resources { cache: Arc::new(super::super::BlockCache::new(0)), ..Resources::default() };
        ZippedStore::open(Arc::new(FileStore::open(&path).unwrap()), resources).unwrap()
    };
    let mut readers: Vec<(ZippedStore, Vec<u8>)> = Vec::new();
    for round in 0..30u64 {
        for i in 0..10 {
            writer.write_at(&bytes(3000, 3 + 4 * (round * 10 + i)), i * 4000).unwrap();
        }
        writer.sync().unwrap();
        assert!(second().is_err(), "one writer at a time");
        if round % 3 == 0 {
            readers.push((reader(), image(&writer)));
        }
        for (reader, want) in &readers {
            assert!(image(reader) == *want, "round {round}");
        }
        if round == 15 {
            readers.drain(..4);
        }
    }
    let grown = std::fs::metadata(&path).unwrap().len();
    readers.clear();
    for round in 0..30u64 {
        writer.write_at(&bytes(3000, 3 + 4 * round), round % 10 * 4000).unwrap();
        writer.sync().unwrap();
    }
    drop(writer);
    assert!(second().is_ok());
    assert!(std::fs::metadata(&path).unwrap().len() <= grown, "space without readers is used again");
}

/// Space that a writer leaves free at the end of the file belongs to readers of older states, for the next writer too.
#[test]
fn readers_see_their_state_while_writers_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ncz");
    let create = Arc::new(FileStore::create(&path).unwrap());
    ZippedStore::create(create, &small(), tight()).unwrap().sync().unwrap();
    let write = |parts: &[(u64, Vec<u8>)]| {
        let file = Arc::new(FileStore::open_rw(&path).unwrap());
        let writer = ZippedStore::open_rw(file, Resources::default()).unwrap();
        parts.iter().for_each(|(at, bytes)| writer.write_at(bytes, *at).unwrap());
        writer.sync().unwrap();
        image(&writer)
    };
    let noise = |len, seed: u64| bytes(len, 3 + 4 * seed);
    const LONG: usize = 160_000;
    const SHORT: usize = 16_000;
    let behind = LONG as u64;
    write(&[(0, noise(LONG, 1)), (behind, vec![0; SHORT])]);
    // The short part is at the end of the file, and before it a hole.
    let want = write(&[(0, vec![0; LONG]), (behind, noise(SHORT, 2))]);
    let resources = Resources { cache: Arc::new(super::super::BlockCache::new(0)), ..Resources::default() };
    let reader = ZippedStore::open(Arc::new(FileStore::open(&path).unwrap()), resources).unwrap();
    // It moves into the hole; the reader's is behind the last extent that the file has now.
    write(&[(behind, noise(SHORT, 3))]);
    write(&[(0, noise(LONG, 4))]);
    assert!(image(&reader) == want);
}

#[test]
fn an_update_is_committed_now_and_then_but_never_halfway() {
    let file = memory();
    let resources = || Resources { commit_every: 10_000, ..tight() };
    let store = ZippedStore::create(file.clone(), &small(), resources()).unwrap();
    let seen = || ZippedStore::open(file.clone(), Resources::default()).map(|s| image(&s));
    store.write_at(&bytes(30_000, 3), 0).unwrap();
    assert!(seen().is_err(), "a new file belongs to its writer until it is synced");
    store.sync().unwrap();
    store.write_at(&bytes(12_000, 7), 0).unwrap();
    assert!(seen().unwrap() == image(&store), "committed unasked");
    let before = image(&store);
    assert!(store.insert(&[(100, 4096)]).unwrap());
    store.write_at(&bytes(20_000, 11), 500).unwrap();
    assert!(seen().unwrap() == before, "not while the image is being changed");
    store.sync().unwrap();
    assert!(seen().unwrap() == image(&store));
}
