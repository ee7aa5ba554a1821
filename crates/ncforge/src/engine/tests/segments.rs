//! Chunks with access points: how much is decoded, and what damage does.

use super::super::testing::{Kind, Model, TestContainer, VAR, engine};
use crate::codec::{CodecChain, Segments, filters};
use crate::error::Error;
use crate::layout::{Element, Order};
use crate::select::Hyperslab;

const SHAPE: [u64; 3] = [6, 40, 50];

/// One chunk a slab, of 2000 elements in segments of 100.
fn slabs(checksum: bool) -> (TestContainer, Model) {
    let last = if checksum { vec![filters::fletcher32()] } else { Vec::new() };
    let chain = [vec![filters::shuffle(4), filters::deflate(1)], last].concat();
    let chain = CodecChain::new(&chain, 4).unwrap().with_segments(Segments::Bytes(400));
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

/// A segment that is damaged is never read: the whole chunk is, and says so if it is damaged, too.
#[test]
fn a_damaged_segment_is_an_error_or_the_value() {
    let (container, model) = slabs(false);
    let clean = container.store.read_vec(0, container.store.len()).unwrap();
    let (mut errors, mut values) = (0, 0);
    for at in (100..clean.len()).step_by(7) {
        container.sink.write_at(&[clean[at] ^ 0x10], at as u64).unwrap();
        let mut out = vec![0; 24];
        match engine(1, 0).read_bytes(&container, VAR, &series(7, 13), &mut out) {
            Ok(()) => {
                assert_eq!(out, model.read(&series(7, 13)), "byte {at}");
                values += 1;
            }
            Err(Error::Corrupt { .. }) => errors += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
        container.sink.write_at(&clean[at..=at], at as u64).unwrap();
    }
    assert!(errors > 0 && values > 0, "{errors} {values}");
}
