//! Chunks with access points: how much is decoded, and what damage does.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::super::testing::{DISTANT, Kind, Model, Profiled, TINY, TestContainer, VAR, engine};
use crate::codec::{CodecChain, Segments, filters};
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::layout::{Element, Order};
use crate::select::Hyperslab;
use crate::store::{IoProfile, MemoryStore, ReadStore};

const SHAPE: [u64; 3] = [6, 40, 50];

/// A store that counts rounds of requests, and their bytes.
#[derive(Debug)]
struct Rounds {
    bytes: MemoryStore,
    profile: IoProfile,
    rounds: AtomicU64,
    fetched: AtomicU64,
}

impl Rounds {
    /// The bytes of a container; it becomes the container's store.
    fn of(container: &mut TestContainer, profile: IoProfile) -> Arc<Self> {
        let bytes = MemoryStore::new("m", container.store.read_vec(0, container.store.len()).unwrap());
        let (rounds, fetched) = (AtomicU64::new(0), AtomicU64::new(0));
        let store = Arc::new(Rounds { bytes, profile, rounds, fetched });
        container.store = store.clone();
        store
    }

    /// The counts since the last call.
    fn take(&self) -> (u64, u64) {
        (self.rounds.swap(0, Ordering::SeqCst), self.fetched.swap(0, Ordering::SeqCst))
    }
}

impl ReadStore for Rounds {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn name(&self) -> &str {
        "far"
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.rounds.fetch_add(1, Ordering::SeqCst);
        self.fetched.fetch_add(buf.len() as u64, Ordering::SeqCst);
        self.bytes.read_at(buf, offset)
    }

    fn io_profile(&self) -> IoProfile {
        self.profile
    }

    fn read_each(
        &self,
        ranges: &[Range<u64>],
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        self.rounds.fetch_add(1, Ordering::SeqCst);
        for (i, range) in ranges.iter().enumerate() {
            self.fetched.fetch_add(range.end - range.start, Ordering::SeqCst);
            let bytes = self.bytes.read_vec(range.start, range.end - range.start).map_err(|e| (i, e))?;
            if !give(i, bytes.into()) {
                break;
            }
        }
        Ok(())
    }
}

/// Many requests at a time.
const FAR: IoProfile = IoProfile { in_flight: 32, ..DISTANT };

/// One chunk a slab, of 2000 elements in segments of 100.
fn slabs(checksum: bool) -> (TestContainer, Model) {
    slabs_with(checksum, Segments::Bytes(400))
}

fn slabs_with(checksum: bool, segments: Segments) -> (TestContainer, Model) {
    let last = if checksum { vec![filters::fletcher32()] } else { Vec::new() };
    let chain = [vec![filters::shuffle(4), filters::deflate(1)], last].concat();
    let chain = CodecChain::new(&chain, 4).unwrap().with_segments(segments);
    let element = Element { size: 4, order: Order::Swap(4), heap: false };
    let kind = Kind::Chunked(vec![1, 40, 50], chain);
    let mut model = Model::counting(&SHAPE, &[9; 4]);
    let mut container = TestContainer::new(&SHAPE, element, &[9; 4], &kind, false);
    container.fill_from(&mut model, |_| false);
    (container, model)
}

/// A series at a row and a column.
fn series(y: u64, x: u64) -> Hyperslab {
    Hyperslab::new(&[0, y, x], &[6, 1, 1])
}

#[test]
fn a_series_decodes_one_segment_of_each_chunk() {
    for checksum in [false, true] {
        let (container, model) = slabs(checksum);
        let engine = engine(2, 1 << 20);
        let mut out = vec![0; 24];
        engine.read_bytes(&container, VAR, &series(7, 13), &mut out).unwrap();
        assert_eq!(out, model.read(&series(7, 13)));
        assert_eq!(engine.stats().bytes_decoded, 6 * 400);
    }
}

#[test]
fn series_after_series_decode_each_chunk_little_more_than_once() {
    let (container, model) = slabs(true);
    let engine = engine(2, 1 << 20);
    let mut out = vec![0; 24];
    for n in 0..2000 {
        // Places without a pattern.
        let (y, x) = (n * 7 % 40, n * 17 % 50);
        engine.read_bytes(&container, VAR, &series(y, x), &mut out).unwrap();
        assert_eq!(out, model.read(&series(y, x)));
    }
    let all = 6 * 8000;
    assert!(engine.stats().bytes_decoded <= 3 * all, "{:?}", engine.stats());
}

#[test]
fn what_was_decoded_of_a_closed_file_says_nothing_of_the_next_one() {
    let engine = engine(1, 1 << 20);
    let mut out = vec![0; 24];
    let (mut container, _) = slabs(false);
    let bytes = container.store.read_vec(0, container.store.len()).unwrap();
    for n in 1..100 {
        // Allocators like to give a store the address of one that was closed.
        container.store = Arc::new(MemoryStore::new("m", bytes.clone()));
        engine.read_bytes(&container, VAR, &series(n * 7 % 40, 13), &mut out).unwrap();
        assert_eq!(engine.stats().bytes_decoded, n * 6 * 400);
    }
}

#[test]
fn a_loop_of_series_is_soon_read_ahead() {
    let (container, model) = slabs(false);
    let engine = engine(1, 1 << 20);
    let mut out = vec![0; 24];
    for n in 0..2000 {
        let slab = series(n / 50, n % 50);
        engine.read_bytes(&container, VAR, &slab, &mut out).unwrap();
        assert_eq!(out, model.read(&slab));
    }
    let stats = engine.stats();
    assert!(stats.bytes_decoded <= 3 * 6 * 8000 && stats.ahead_hits > 1900, "{stats:?}");
}

/// The ends of the chunks come in one round, and the segments in the next; the ends are known from then on.
#[test]
fn of_a_far_store_little_is_fetched_in_two_rounds() {
    let (mut container, model) = slabs(true);
    let whole: u64 = container.index.0.lock().unwrap().values().map(|r| r.len).sum();
    let store = Rounds::of(&mut container, FAR);
    let engine = engine(2, 1 << 20);
    let mut fetched = Vec::new();
    for (n, (y, x)) in [(7, 13), (20, 40), (3, 3)].into_iter().enumerate() {
        let mut out = vec![0; 24];
        engine.read_bytes(&container, VAR, &series(y, x), &mut out).unwrap();
        assert_eq!(out, model.read(&series(y, x)));
        let (rounds, bytes) = store.take();
        assert_eq!(rounds, if n == 0 { 2 } else { 1 });
        fetched.push(bytes);
    }
    assert!(fetched[0] < whole / 2 && fetched[1] < fetched[0] / 2, "{fetched:?} of {whole}");
}

#[test]
fn far_chunks_without_points_are_asked_once() {
    let (mut container, model) = slabs_with(false, Segments::None);
    let store = Rounds::of(&mut container, FAR);
    let engine = engine(2, 1 << 20);
    // Then the chunks are there.
    for rounds in [2, 0] {
        let mut out = vec![0; 24];
        engine.read_bytes(&container, VAR, &series(7, 13), &mut out).unwrap();
        assert_eq!(out, model.read(&series(7, 13)));
        assert_eq!(store.take().0, rounds);
    }
}

/// Somebody has stored the first chunks anew, without access points: they are asked once, and the others' segments are read.
#[test]
fn chunks_with_points_and_without_are_read_together() {
    for profile in [TINY, FAR] {
        let (mut container, model) = slabs(false);
        let other = CodecChain::new(&[filters::shuffle(4), filters::deflate(1)], 4).unwrap();
        let other = other.with_segments(Segments::None);
        for t in 0..2 {
            let mut raw = model.read(&Hyperslab::new(&[t, 0, 0], &[1, 40, 50]));
            raw.as_chunks_mut::<4>().0.iter_mut().for_each(|n| n.reverse());
            let (encoded, mask) = other.encode(&raw).unwrap();
            container.place_chunk(VAR, &[t, 0, 0], &encoded, mask).unwrap();
        }
        let store = Rounds::of(&mut container, profile);
        let engine = engine(2, 1 << 20);
        let mut fetched = Vec::new();
        for (y, x) in [(7, 13), (20, 40), (30, 4)] {
            let mut out = vec![0; 24];
            engine.read_bytes(&container, VAR, &series(y, x), &mut out).unwrap();
            assert_eq!(out, model.read(&series(y, x)));
            fetched.push(store.take());
        }
        assert_eq!(engine.stats().bytes_decoded, 2 * 8000 + 3 * 4 * 400, "{fetched:?}");
        assert!(fetched[2].1 <= fetched[1].1 + 200 && fetched[1].1 < fetched[0].1 / 2, "{fetched:?}");
    }
}

/// A round costs more than these chunks: they are fetched whole, and nobody asks whether they have access points.
#[test]
fn few_bytes_are_not_worth_another_round() {
    let (mut container, model) = slabs(false);
    let far = IoProfile { latency: Duration::from_secs(1), ..FAR };
    let store = Rounds::of(&mut container, far);
    let mut out = vec![0; 24];
    engine(2, 1 << 20).read_bytes(&container, VAR, &series(7, 13), &mut out).unwrap();
    assert_eq!(out, model.read(&series(7, 13)));
    assert_eq!(store.take().0, 1);
}

/// Nearby, a table is read once, and what lies close together in one request.
#[test]
fn a_table_is_read_once() {
    let (mut container, model) = slabs(false);
    let store = Rounds::of(&mut container, TINY);
    let engine = engine(1, 1 << 20);
    let mut requests = Vec::new();
    for (y, x) in [(7, 13), (20, 40), (7, 13)] {
        let mut out = vec![0; 24];
        engine.read_bytes(&container, VAR, &series(y, x), &mut out).unwrap();
        assert_eq!(out, model.read(&series(y, x)));
        requests.push(store.take());
    }
    // The first read has the ends, too; a chunk's header and planes lie close together.
    assert!(requests[0].0 > requests[2].0 && requests[0].1 > requests[2].1, "{requests:?}");
    assert!(requests[1].0 <= 6 && requests[2].0 <= 6, "one request a chunk: {requests:?}");
}

/// A segment that is damaged is never read: the whole chunk is, and says so if it is damaged, too.
#[test]
fn a_damaged_segment_is_an_error_or_the_value() {
    let (mut container, model) = slabs(false);
    let clean = container.store.read_vec(0, container.store.len()).unwrap();
    let (mut errors, mut values) = (0, 0);
    for (i, at) in (100..clean.len()).step_by(7).enumerate() {
        let mut bytes = clean.clone();
        bytes[at] ^= 0x10;
        container.store = Arc::new(Profiled::new(bytes, if i % 2 == 0 { TINY } else { DISTANT }));
        let mut out = vec![0; 24];
        match engine(1, 0).read_bytes(&container, VAR, &series(7, 13), &mut out) {
            Ok(()) => {
                assert_eq!(out, model.read(&series(7, 13)), "byte {at}");
                values += 1;
            }
            Err(Error::Corrupt { .. }) => errors += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(errors > 0 && values > 0, "{errors} {values}");
}

/// Elements that lie across the ends of segments, too.
#[test]
fn chunks_that_are_not_shuffled_are_read_in_segments() {
    let chain = CodecChain::new(&[filters::deflate(1)], 4).unwrap().with_segments(Segments::Bytes(402));
    let element = Element { size: 4, order: Order::Swap(4), heap: false };
    let mut model = Model::counting(&SHAPE, &[9; 4]);
    let kind = Kind::Chunked(vec![1, 40, 50], chain);
    let mut container = TestContainer::new(&SHAPE, element, &[9; 4], &kind, false);
    container.fill_from(&mut model, |_| false);
    for x in 0..50 {
        let engine = engine(2, 1 << 20);
        let mut out = vec![0; 24];
        engine.read_bytes(&container, VAR, &series(4, x), &mut out).unwrap();
        assert_eq!(out, model.read(&series(4, x)));
        let decoded = engine.stats().bytes_decoded;
        assert!(decoded == 6 * 402 || decoded == 6 * 804, "{decoded}");
    }
}
