use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::*;
use crate::store::random::Random;
use crate::store::requests::EVEN;

const MIB: u64 = 1 << 20;

/// Bytes that follow from their place, with latency; writes down its requests, round by round.
#[derive(Debug)]
struct Far {
    len: u64,
    rounds: Mutex<Vec<Vec<Range<u64>>>>,
    /// The byte whose requests fail.
    bad: Mutex<Option<u64>>,
    slow: AtomicBool,
}

impl Far {
    fn new(len: u64) -> Arc<Self> {
        Arc::new(Far { len, rounds: Mutex::default(), bad: Mutex::new(None), slow: AtomicBool::new(false) })
    }

    fn over(self: &Arc<Self>, page: u64) -> Arc<dyn ReadStore> {
        NeighbourStore::over(self.clone(), page, ROOM)
    }

    /// Rounds, requests and bytes since the last call.
    fn take(&self) -> (usize, usize, u64) {
        let rounds = std::mem::take(&mut *self.rounds.lock().unwrap_or_else(PoisonError::into_inner));
        let all: Vec<&Range<u64>> = rounds.iter().flatten().collect();
        (rounds.len(), all.len(), all.iter().map(|r| r.end - r.start).sum())
    }
}

fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

impl ReadStore for Far {
    fn len(&self) -> u64 {
        self.len
    }
    fn name(&self) -> &str {
        "far"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let got = self.read_ranges(std::slice::from_ref(&(offset..offset + buf.len() as u64)))?;
        buf.copy_from_slice(&got[0]);
        Ok(())
    }
    fn io_profile(&self) -> IoProfile {
        IoProfile::OBJECT
    }
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        assert!(ranges.len() <= IoProfile::OBJECT.in_flight && ranges.iter().all(|r| r.start < r.end));
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner).push(ranges.to_vec());
        if self.slow.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        let bad = *self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(r) = ranges.iter().find(|r| bad.is_some_and(|bad| r.contains(&bad))) {
            return Err(Error::corrupt("far", r.start, "fails"));
        }
        Ok(ranges.iter().map(|r| (r.start..r.end).map(byte).collect::<Vec<_>>().into()).collect())
    }
}

fn assert_read(store: &dyn ReadStore, from: u64, len: u64) {
    let bytes = store.read_vec(from, len).unwrap();
    assert!(bytes.iter().zip(from..).all(|(&b, at)| b == byte(at)), "{len} bytes at {from}");
}

#[test]
fn neighbours_come_along_with_reads_that_go_forward() {
    let far = Far::new(20 * MIB);
    let store = far.over(1);
    let step = 20 * MIB / 200;
    for i in 0..200 {
        assert_read(&*store, i * step + 100, step - 100);
    }
    let (rounds, requests, bytes) = far.take();
    assert!(rounds <= 10 && requests <= 40 && bytes <= 20 * MIB, "{rounds} rounds, {requests}, {bytes}");
    // All of it is there now.
    assert_read(&*store, 7 * MIB, 5 * MIB);
    assert_eq!(far.take(), (0, 0, 0));
}

#[test]
fn single_reads_bring_what_they_ask_for() {
    let far = Far::new(1 << 40);
    let store = far.over(1);
    for i in 0..50u64 {
        assert_read(&*store, i * i * 10 * MIB, 1000);
    }
    assert_eq!(far.take(), (50, 50, 50 * 1000));
    // Two that follow each other, a hundred times: what was ventured for nothing is bounded.
    for i in 0..100 {
        assert_read(&*store, (1 << 39) + i * 100 * MIB, 1000);
        assert_read(&*store, (1 << 39) + i * 100 * MIB + 1000, 1000);
    }
    let (_, _, bytes) = far.take();
    assert!(bytes <= 2 * 200 * 1000 + EVEN + IoProfile::OBJECT.read_gap, "{bytes}");
}

#[test]
fn any_reads_in_any_order_give_the_bytes_and_bring_no_more_than_twice_as_many() {
    let mut random = Random(0x0123_4567_89AB_CDEF);
    let mut next = move |below: u64| random.below(below);
    for round in 0..16 {
        let len = [3000, 100_000, MIB, 6 * MIB][round % 4];
        let far = Far::new(len);
        let page = if round % 3 == 0 { 4096 } else { 1 };
        // Much is dropped and asked for again.
        let store = NeighbourStore::new(far.clone(), page, LEAST_ROOM);
        let (mut asked, mut at) = (0, 0);
        for _ in 0..30 {
            let ranges: Vec<Range<u64>> = (0..1 + next(4))
                .map(|_| {
                    let from = if next(3) == 0 { next(len) } else { at };
                    let longest = 1 + next(len / 50);
                    let to = (from + next(longest)).min(len);
                    at = if to >= len { 0 } else { (to + next(500)).min(len) };
                    from..to
                })
                .collect();
            for (r, bytes) in ranges.iter().zip(store.read_ranges(&ranges).unwrap()) {
                assert_eq!(bytes.len() as u64, r.end - r.start);
                assert!(bytes.iter().zip(r.start..).all(|(&b, at)| b == byte(at)), "{r:?}");
                asked += r.end - r.start + 2 * page;
            }
        }
        let (_, _, bytes) = far.take();
        assert!(bytes <= 2 * asked + 2 * EVEN, "{bytes} for {asked}");
    }
}

#[test]
fn a_neighbour_that_cannot_be_had_is_no_error() {
    let far = Far::new(40 * MIB);
    let store = far.over(1);
    *far.bad.lock().unwrap() = Some(10 * MIB);
    for i in 0..100 {
        assert_read(&*store, i * 100_000, 100_000);
    }
    let e = store.read_vec(10 * MIB - 5, 100).unwrap_err();
    assert!(matches!(e, Error::Corrupt { .. }), "{e}");
    *far.bad.lock().unwrap() = None;
    assert_read(&*store, 10 * MIB - 5, 100);
    assert!(store.read_vec(40 * MIB - 5, 6).is_err());
}

#[test]
fn threads_wait_for_what_another_brings() {
    let far = Far::new(20 * MIB);
    far.slow.store(true, Ordering::Relaxed);
    let store = far.over(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..80).for_each(|i| assert_read(&*store, i * 100_000, 100_000)));
        }
    });
    let (_, _, bytes) = far.take();
    assert!(bytes <= 20 * MIB, "{bytes}: no byte is fetched twice");
}

#[test]
fn who_wants_no_more_leaves_nothing_behind() {
    let far = Far::new(20 * MIB);
    let store = far.over(1);
    let ranges: Vec<Range<u64>> = (0..64).map(|i| i * 100_000..(i + 1) * 100_000).collect();
    let mut given = 0;
    let give = &mut |_: usize, _: Bytes| {
        given += 1;
        given < 3
    };
    store.read_each(&ranges, give).unwrap();
    assert_eq!(given, 3);
    assert_read(&*store, 0, 20 * MIB);
}

#[test]
fn what_is_held_is_bounded() {
    let far = Far::new(1 << 40);
    let store = NeighbourStore::new(far.clone(), MIB, LEAST_ROOM);
    for page in 0..12 {
        assert_read(&store, page * 3 * MIB + 4, 8);
    }
    let (_, _, bytes) = far.take();
    assert!(bytes == 12 * MIB && store.pieces.bytes() <= LEAST_ROOM);
}

#[test]
fn reads_across_pages_and_at_the_end() {
    let far = Far::new(3 * MIB + 100);
    let store = far.over(MIB);
    for (offset, len) in [(0, 10), (MIB - 3, 7), (MIB / 2, 2 * MIB), (3 * MIB + 90, 10), (5, 0)] {
        assert_read(&*store, offset, len);
    }
    let (_, requests, bytes) = far.take();
    assert!(requests <= 4 && bytes == 3 * MIB + 100, "a page is fetched once");
    assert!(store.read_at(&mut [0; 11], 3 * MIB + 90).is_err());
}
