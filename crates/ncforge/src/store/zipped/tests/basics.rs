//! Basic cases.

use std::sync::Arc;

use super::super::{Codec, Options, Resources, ZippedStore};
use crate::store::{BlockStore, MemoryStore, Part, ReadStore, WriteStore};

pub(super) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new("m.ncz", Vec::new()))
}

pub(super) fn small() -> Options {
    Options { block: 4096, codec: Codec::Zstd(1) }
}

pub(super) fn image(store: &dyn ReadStore) -> Vec<u8> {
    store.read_vec(0, store.len()).unwrap()
}

#[test]
fn written_bytes_are_read_before_and_after_a_commit() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    let mut want = vec![0u8; 50_000];
    for i in 0..40usize {
        let (at, n) = (i * 1237 % 45_000, 1 + i * 97 % 5000);
        let bytes: Vec<u8> = (0..n).map(|k| (k * i) as u8).collect();
        store.write_at(&bytes, at as u64).unwrap();
        want[at..at + n].copy_from_slice(&bytes);
    }
    store.set_len(50_000).unwrap();
    assert_eq!(image(&store), want);
    store.sync().unwrap();
    assert_eq!(image(&store), want);
    drop(store);
    let store = ZippedStore::open(file.clone(), Resources::default()).unwrap();
    assert_eq!(image(&store), want);
    assert!(store.write_at(&[1], 0).is_err());
    let store = ZippedStore::open_rw(file, Resources::default()).unwrap();
    store.set_len(20_000).unwrap();
    store.set_len(30_000).unwrap();
    want.truncate(20_000);
    want.resize(30_000, 0);
    assert_eq!(image(&store), want);
}

#[test]
fn a_file_begins_with_its_magic_number_from_the_first_commit_on() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    for n in 0..4u8 {
        store.write_at(&[n + 1; 100], 0).unwrap();
        store.sync().unwrap();
        let first = file.read_vec(0, 8).unwrap();
        assert!(super::super::detect(&first.try_into().unwrap()), "after commit {n}");
        assert_eq!(
            image(&*ZippedStore::open(file.clone(), Resources::default()).map(Arc::new).unwrap()),
            [n + 1; 100]
        );
    }
}

#[test]
fn insertions_move_nothing() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    let mut want: Vec<u8> = (0..300_000u32).flat_map(|i| (i.wrapping_mul(i)).to_be_bytes()).collect();
    store.write_at(&want, 0).unwrap();
    store.sync().unwrap();
    let before = file.len();
    for at in [5000, 123, 600_000, 0] {
        assert!(store.insert(&[(at, 10_000)]).unwrap());
        want.splice(at as usize..at as usize, vec![0; 10_000]);
        store.write_at(b"new", at + 10).unwrap();
        want[at as usize + 10..][..3].copy_from_slice(b"new");
    }
    assert_eq!(image(&store), want);
    store.sync().unwrap();
    assert!(file.len() - before < 20_000, "{} bytes for four insertions", file.len() - before);
    drop(store);
    assert_eq!(image(&ZippedStore::open(file, Resources::default()).unwrap()), want);
}

#[test]
fn parts_have_their_own_blocks() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    let part = |start, width, stride| Part { start, width, stride };
    store.describe(&[part(0, 1, 0), part(100, 4, 0), part(100_100, 8, 0), part(200_100, 4, 64)]);
    let floats: Vec<u8> = (0..25_000u32).flat_map(|i| (i as f32).sqrt().to_be_bytes()).collect();
    let doubles: Vec<u8> = (0..12_500u32).flat_map(|i| f64::from(i).sqrt().to_be_bytes()).collect();
    let column = |r: u32, c: u32| c as f32 * 100.0 + (r as f32 / (5.0 + c as f32)).sin() * 3.0;
    let records: Vec<u8> =
        (0..1250).flat_map(|r| (0..16).flat_map(move |c| column(r, c).to_be_bytes())).collect();
    store.write_at(b"header", 0).unwrap();
    store.write_at(&floats, 100).unwrap();
    store.write_at(&doubles, 100_100).unwrap();
    store.write_at(&records, 200_100).unwrap();
    store.sync().unwrap();
    let survey = store.survey().unwrap();
    let widths: Vec<(u64, u64, u16)> = survey.stretches.iter().map(|s| (s.0, s.1, s.2)).collect();
    assert_eq!(
        widths,
        [(0, 100, 1), (100, 100_100, 4), (100_100, 200_100, 8), (200_100, 280_100, widths[3].2)]
    );
    assert!(widths[3].2 > 1);
    assert_eq!(store.survey_range(0, 100).unwrap().blocks, 1);
    assert_eq!((store.together(0, 50), store.together(90, 5000)), (50, 10));
    assert!(store.verify(&mut |_| Ok(())).unwrap().is_empty());
    store.touch_all().unwrap();
}

#[test]
fn replacing_is_one_step() {
    let file = memory();
    let store = ZippedStore::create(file.clone(), &small(), Resources::default()).unwrap();
    let old: Vec<u8> = (0..30_000u32).flat_map(u32::to_le_bytes).collect();
    store.write_at(&old, 0).unwrap();
    store.sync().unwrap();
    let failed = store.replace(&mut |to| {
        to.write_at(b"half", 1000)?;
        Err(crate::Error::Interrupted("stop".into()))
    });
    assert!(failed.is_err());
    assert_eq!(image(&store), old);
    store
        .replace(&mut |to| {
            assert_eq!(to.len(), 0);
            to.write_at(b"new", 0)?;
            to.write_at(&store.read_vec(100, 50_000)?, 3)
        })
        .unwrap();
    let want = [b"new", &old[100..50_100]].concat();
    assert_eq!(image(&store), want);
    drop(store);
    let back = ZippedStore::open_rw(file.clone(), Resources::default()).unwrap();
    assert_eq!(image(&back), want);
}
