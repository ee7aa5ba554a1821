//! The engine against a plain array, over variables of every place.

mod ahead;
mod between;
mod parts;
mod picks;
mod segments;

use std::sync::Arc;

use proptest::prelude::*;

use super::Writer;
use super::testing::{DISTANT, Kind, Model, Profiled, TINY, TestContainer, VAR, engine};
use crate::codec::{CodecChain, Segments, filters};
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::layout::{Element, Order, Place, SwapField};
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// A variable to test with.
#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    element: Element,
    fill: Vec<u8>,
    kind: Kind,
}

impl Case {
    fn container(&self, unlimited: bool) -> TestContainer {
        TestContainer::new(&self.shape, self.element.clone(), &self.fill, &self.kind, unlimited)
    }
}

fn element() -> impl Strategy<Value = Element> {
    let fields = vec![SwapField { offset: 0, unit: 4, count: 1 }, SwapField { offset: 6, unit: 2, count: 2 }];
    prop_oneof![
        Just((1, Order::Keep)),
        Just((2, Order::Swap(2))),
        Just((4, Order::Keep)),
        Just((4, Order::Swap(4))),
        Just((8, Order::Swap(8))),
        Just((3, Order::Keep)),
        Just((12, Order::Fields(fields))),
    ]
    .prop_map(|(size, order)| Element { size, order, heap: false })
}

fn kind(rank: usize, size: usize) -> BoxedStrategy<Kind> {
    let chains = vec![
        vec![],
        vec![filters::deflate(1)],
        vec![filters::shuffle(size), filters::deflate(4)],
        vec![filters::shuffle(size), filters::deflate(1), filters::fletcher32()],
    ];
    let segments = prop_oneof![Just(Segments::None), (1usize..50).prop_map(Segments::Bytes)];
    let chunked = (prop::collection::vec(1u64..6, rank), prop::sample::select(chains), segments).prop_map(
        move |(chunk, f, segments)| {
            Kind::Chunked(chunk, CodecChain::new(&f, size).unwrap().with_segments(segments))
        },
    );
    if rank == 0 {
        return prop_oneof![Just(Kind::Inline), Just(Kind::Contiguous), chunked].boxed();
    }
    prop_oneof![1 => Just(Kind::Inline), 1 => Just(Kind::Contiguous), 1 => Just(Kind::Records), 4 => chunked]
        .boxed()
}

fn case() -> impl Strategy<Value = Case> {
    (prop::collection::vec(1u64..12, 0..4), element()).prop_flat_map(|(shape, element)| {
        let fill: Vec<u8> = (0..element.size).map(|b| 200 + b as u8).collect();
        kind(shape.len(), element.size).prop_map(move |kind| Case {
            shape: shape.clone(),
            element: element.clone(),
            fill: fill.clone(),
            kind,
        })
    })
}

/// A selection of an array, made of numbers that may be anything.
fn slab(shape: &[u64], seeds: &[(u64, u64, u64)]) -> Hyperslab {
    let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
    for (&n, &(a, b, c)) in shape.iter().zip(seeds) {
        let (s, step) = (a % n, if c % 3 == 0 { c % n + 1 } else { 1 });
        let most = (n - 1 - s) / step + 1;
        start.push(s);
        stride.push(step);
        count.push(if b % 4 == 0 { most } else { b % (most + 1) });
    }
    Hyperslab::strided(&start, &count, &stride)
}

fn seeds() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((0u64..1000, 0u64..1000, 0u64..1000), 4)
}

/// A store that is one slice, as a mapped file is.
#[derive(Debug)]
struct Slice(Vec<u8>);

impl ReadStore for Slice {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn name(&self) -> &str {
        "slice"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        buf.copy_from_slice(&self.0[offset as usize..][..buf.len()]);
        Ok(())
    }
    fn as_slice(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

fn bytes_of(store: &dyn ReadStore) -> Vec<u8> {
    store.read_vec(0, store.len()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn reads_equal_the_array(
        case in case(), picks in prop::collection::vec(seeds(), 1..8), skip in 0u64..5,
        memory in prop::sample::select(vec![0u64, 300, 1 << 20]), beyond in 0u64..5, store in 0..3,
    ) {
        let mut model = Model::counting(&case.shape, &case.fill);
        let mut container = case.container(true);
        container.fill_from(&mut model, |at| skip > 0 && at.iter().sum::<u64>() % (skip + 1) == 0);
        match store {
            1 => container.store = Arc::new(Slice(bytes_of(&*container.store))),
            2 => container.store = Arc::new(Profiled::new(bytes_of(&*container.store), DISTANT)),
            _ => {}
        }
        // The variable's dimension may be longer than what the file holds of it.
        let mut shape = case.shape.clone();
        if let Some(first) = shape.first_mut() {
            *first += beyond;
            container.schema.dims[0].len += beyond;
        }
        for threads in [1, 3] {
            let engine = engine(threads, memory);
            for seeds in &picks {
                let slab = slab(&shape, seeds);
                let got = engine.read(&container, VAR, &slab).unwrap();
                prop_assert_eq!(got.bytes().unwrap(), &model.read(&slab)[..], "{:?}", slab);
            }
        }
    }

    #[test]
    fn writes_equal_the_array_for_any_threads_and_budget(
        case in case(), picks in prop::collection::vec((seeds(), 0u64..4), 1..10),
        unlimited: bool, peek in 0usize..10,
    ) {
        let unlimited = unlimited && matches!(case.kind, Kind::Records | Kind::Chunked(..)) && !case.shape.is_empty();
        for memory in [0u64, 700, 1 << 20] {
            let mut first: Option<Vec<u8>> = None;
            for threads in [1, 2, 3, 8] {
                let mut model = Model::new(&case.shape, &case.fill);
                let container = case.container(unlimited);
                let store = container.store.clone();
                let mut writer = Writer::new(engine(threads, memory), Box::new(container));
                for (i, (seeds, more)) in picks.iter().enumerate() {
                    let mut shape = model.shape.clone();
                    if unlimited {
                        shape[0] += more;
                    }
                    let slab = slab(&shape, seeds);
                    let n = slab.len() as usize * case.element.size;
                    let bytes: Vec<u8> = (0..n).map(|b| (b * 13 + i * 101) as u8).collect();
                    writer.write_bytes(VAR, &slab, &bytes).unwrap();
                    model.write(&slab, &bytes);
                    if i == peek {
                        let all = Hyperslab::all(&model.shape);
                        let got = writer.read(VAR, &all).unwrap();
                        prop_assert_eq!(got.bytes().unwrap(), &model.read(&all)[..]);
                    }
                }
                writer.sync().unwrap();
                let all = Hyperslab::all(&model.shape);
                prop_assert_eq!(&writer.schema().shape(VAR), &model.shape);
                let got = writer.engine().read(writer.container(), VAR, &all).unwrap();
                prop_assert_eq!(got.bytes().unwrap(), &model.read(&all)[..]);
                let bytes = bytes_of(&*store);
                match &first {
                    Some(first) => prop_assert!(*first == bytes, "{} threads", threads),
                    None => first = Some(bytes),
                }
            }
        }
    }
}

fn deflated(shape: &[u64], chunk: &[u64]) -> (TestContainer, Model) {
    let element = Element { size: 4, order: Order::Swap(4), heap: false };
    let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(1)], 4).unwrap();
    let mut model = Model::counting(shape, &[9, 9, 9, 9]);
    let kind = Kind::Chunked(chunk.to_vec(), chain);
    let mut container = TestContainer::new(shape, element, &[9; 4], &kind, false);
    container.fill_from(&mut model, |_| false);
    (container, model)
}

#[test]
fn chunks_are_decoded_once_and_whole_reads_leave_nothing() {
    let (container, model) = deflated(&[20, 30], &[5, 10]);
    let engine = engine(2, 1 << 20);
    let all = Hyperslab::all(&[20, 30]);
    engine.read(&container, VAR, &all).unwrap();
    let stats = engine.stats();
    assert_eq!((stats.misses, stats.hits, stats.bytes_decoded, stats.bytes_kept), (12, 0, 2400, 0));
    // A series, then another: the second finds the chunks of the first.
    for x in [3, 7] {
        let series = Hyperslab::new(&[0, x], &[20, 1]);
        assert_eq!(engine.read(&container, VAR, &series).unwrap().bytes().unwrap(), model.read(&series));
    }
    let stats = engine.stats();
    assert_eq!((stats.misses, stats.hits), (16, 4));
    assert!(stats.bytes_kept > 0 && stats.bytes_delivered == 2400 + 160);
    // A stride that steps over chunks does not touch them.
    let before = engine.stats().misses;
    engine.read(&container, VAR, &Hyperslab::strided(&[0, 0], &[2, 2], &[15, 20])).unwrap();
    assert_eq!(engine.stats().misses - before, 2, "four chunks, two of them kept");
    engine.clear_cache();
    assert_eq!(engine.stats().bytes_kept, 0);
}

/// As of programs that read a variable again for each value: the second time is not the last one.
#[test]
fn whole_reads_that_come_again_are_kept() {
    let all = Hyperslab::all(&[20, 30]);
    // Rows of chunks lie in one piece in memory, parts of them do not.
    for chunk in [[5, 10], [4, 30]] {
        let (container, model) = deflated(&[20, 30], &chunk);
        let engine = engine(2, 1 << 20);
        for (decoded, is_kept) in [(2400, false), (4800, true), (4800, true)] {
            assert_eq!(engine.read(&container, VAR, &all).unwrap().bytes().unwrap(), model.read(&all));
            let stats = engine.stats();
            assert_eq!((stats.bytes_decoded, stats.bytes_kept > 0), (decoded, is_kept));
        }
    }
}

#[test]
fn errors_name_variable_chunk_and_byte() {
    let (mut container, _) = deflated(&[20, 30], &[5, 10]);
    let broken = container.index.0.lock().unwrap()[&vec![2, 1]];
    container.sink.write_at(&[0xFF; 4], broken.offset).unwrap();
    let all = Hyperslab::all(&[20, 30]);
    for threads in [1, 4] {
        let e = engine(threads, 1 << 20).read(&container, VAR, &all).unwrap_err();
        let text = e.to_string();
        assert!(matches!(e, Error::Corrupt { .. }), "{text}");
        assert!(text.contains("variable `v`, chunk [2, 1]"), "{text}");
        assert!(text.contains(&format!("`m` is damaged at byte {}", broken.offset)), "{text}");
    }
    // A chunk that lies past the end of the file.
    container.index.0.lock().unwrap().get_mut(&vec![2, 1]).unwrap().offset = 1 << 40;
    let e = engine(2, 1 << 20).read(&container, VAR, &all).unwrap_err();
    assert!(e.to_string().contains("the file ends at byte"), "{e}");
    container.index.0.lock().unwrap().get_mut(&vec![2, 1]).unwrap().len = u64::MAX;
    assert!(engine(2, 1 << 20).read(&container, VAR, &all).is_err());
    // A chunk shape that no stored bytes could fill is refused before anything is allocated.
    let layout = Arc::get_mut(&mut container.layout).unwrap();
    let Place::Chunked { chunk, .. } = &mut layout.place else { panic!() };
    *chunk = vec![1 << 20, 1 << 20];
    assert!(engine(2, 1 << 20).read(&container, VAR, &all).is_err());
    // A place that cannot be read says why.
    Arc::get_mut(&mut container.layout).unwrap().place = Place::Unsupported("a virtual dataset".into());
    let e = engine(2, 1 << 20).read(&container, VAR, &all).unwrap_err();
    assert_eq!(e.to_string(), "`m: v`: a virtual dataset is not supported");
}

#[test]
fn bad_requests_are_refused() {
    let (container, _) = deflated(&[20, 30], &[5, 10]);
    let engine = engine(2, 1 << 20);
    assert!(engine.read(&container, VAR, &Hyperslab::all(&[20, 31])).is_err());
    assert!(engine.read(&container, VAR, &Hyperslab::all(&[20])).is_err());
    assert!(engine.read(&container, crate::model::VarId(1), &Hyperslab::all(&[20, 30])).is_err());
    assert!(engine.read_bytes(&container, VAR, &Hyperslab::all(&[20, 30]), &mut [0; 7]).is_err());
    assert!(engine.raw_chunk(&container, VAR, &[0]).is_err());
    let mut writer = Writer::new(engine, Box::new(container));
    assert!(writer.write_bytes(VAR, &Hyperslab::new(&[20, 0], &[1, 1]), &[0; 4]).is_err());
    assert!(writer.write_bytes(VAR, &Hyperslab::new(&[0, 0], &[1, 1]), &[0; 5]).is_err());
    assert!(writer.write_chunk_raw(VAR, &[4, 0], &[], 0).is_err());
    writer.write_bytes(VAR, &Hyperslab::new(&[0, 0], &[0, 1]), &[]).unwrap();
}

#[test]
fn short_stores_read_as_zero_and_huge_results_are_refused() {
    let element = Element { size: 2, order: Order::Swap(2), heap: false };
    let mut container = TestContainer::new(&[10], element, &[1, 1], &Kind::Contiguous, false);
    container.fill_from(&mut Model::counting(&[10], &[1, 1]), |_| false);
    let bytes = bytes_of(&*container.store);
    for profile in [TINY, DISTANT] {
        container.store = Arc::new(Profiled::new(bytes[..bytes.len() - 5].to_vec(), profile));
        let got = engine(1, 0).read(&container, VAR, &Hyperslab::all(&[10])).unwrap();
        // The eighth value has lost its second byte, which is the first in memory.
        assert_eq!(got.bytes().unwrap()[14], 0);
        assert_ne!(got.bytes().unwrap()[15], 0);
        assert_eq!(got.bytes().unwrap()[16..], [0; 4]);
    }

    container.schema.dims[0].len = 1 << 50;
    Arc::get_mut(&mut container.layout).unwrap().shape[0] = 1 << 50;
    let e = engine(1, 0).read(&container, VAR, &Hyperslab::all(&[1 << 50])).unwrap_err();
    assert!(matches!(e, Error::Budget { .. }));
}

#[test]
fn memory_of_results_comes_back_and_old_bytes_do_not() {
    let (container, model) = deflated(&[200, 200], &[50, 40]);
    let all = Hyperslab::all(&[200, 200]);
    for threads in [1, 3] {
        let engine = engine(threads, 4 << 20);
        let read = |slab: &Hyperslab| engine.read(&container, VAR, slab);
        let first = read(&all).unwrap();
        let at = first.bytes().unwrap().as_ptr();
        assert_eq!(engine.inner.results.bytes(), 0);
        drop(first);
        assert_eq!(engine.inner.results.bytes(), 160_000);
        // A read that fails half way hands out nothing; its memory serves the next one.
        let intact = container.index.0.lock().unwrap()[&vec![3, 1]];
        container.index.0.lock().unwrap().get_mut(&vec![3, 1]).unwrap().offset = 1 << 40;
        assert!(read(&all).is_err());
        assert_eq!(engine.inner.results.bytes(), 160_000);
        container.index.0.lock().unwrap().insert(vec![3, 1], intact);
        let slab = Hyperslab::new(&[1, 0], &[190, 200]);
        let second = read(&slab).unwrap();
        assert_eq!(second.bytes().unwrap().as_ptr(), at);
        assert_eq!(second.bytes().unwrap(), model.read(&slab));
        drop(second);
        engine.clear_cache();
        assert_eq!(engine.inner.results.bytes(), 0);
    }
}

#[test]
fn chunks_move_without_decoding() {
    let (source, model) = deflated(&[20, 30], &[5, 10]);
    let (target, _) = deflated(&[20, 30], &[5, 10]);
    target.index.0.lock().unwrap().clear();
    let engine = engine(2, 1 << 20);
    let mut writer = Writer::new(engine.clone(), Box::new(target));
    // Gathered values of a chunk give way to the chunk itself.
    writer.write_bytes(VAR, &Hyperslab::new(&[0, 0], &[1, 1]), &[0; 4]).unwrap();
    for at in crate::select::coordinates(&[0..4, 0..3]) {
        let chunk = engine.raw_chunk(&source, VAR, &at).unwrap();
        let (bytes, mask) = chunk.encoded().unwrap();
        writer.write_chunk_raw(VAR, &at, bytes, mask).unwrap();
    }
    let all = Hyperslab::all(&[20, 30]);
    assert_eq!(writer.read(VAR, &all).unwrap().bytes().unwrap(), model.read(&all));
    assert_eq!(engine.raw_chunk(&source, VAR, &[9, 9]).unwrap(), super::RawChunk::Unwritten);
}

#[test]
fn many_threads_read_many_files_under_one_small_budget() {
    let files: Vec<_> = (1..6u64).map(|i| deflated(&[20, 7 * i, 9], &[3, 4, 2 + i])).collect();
    let engine = engine(3, 20_000);
    std::thread::scope(|s| {
        for t in 0..8u64 {
            let (files, engine) = (&files, &engine);
            s.spawn(move || {
                let mut z = t + 1;
                let mut next = || {
                    z = z.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    z >> 33
                };
                for _ in 0..60 {
                    let (container, model) = &files[next() as usize % files.len()];
                    let seeds: Vec<_> = (0..3).map(|_| (next(), next(), next())).collect();
                    let slab = slab(&model.shape, &seeds);
                    let got = engine.read(container, VAR, &slab).unwrap();
                    assert_eq!(got.bytes().unwrap(), model.read(&slab));
                }
            });
        }
    });
}

#[test]
fn appending_records_encodes_each_full_chunk_once() {
    let element = Element { size: 4, order: Order::Keep, heap: false };
    let chain = CodecChain::new(&[filters::deflate(1)], 4).unwrap();
    let container = TestContainer::new(&[0, 6], element, &[0; 4], &Kind::Chunked(vec![10, 3], chain), true);
    let (store, index) = (container.store.clone(), container.index.clone());
    let mut writer = Writer::new(engine(2, 1 << 20), Box::new(container));
    for t in 0..25u64 {
        writer.write_bytes(VAR, &Hyperslab::new(&[t, 0], &[1, 6]), &[t as u8; 24]).unwrap();
    }
    let before = store.len();
    writer.flush().unwrap();
    assert!(store.len() > before);
    assert_eq!(index.0.lock().unwrap().len(), 6);
    let stored: u64 = index.0.lock().unwrap().values().map(|r| r.len).sum();
    assert!(store.len() <= 100 + stored + 6 * 14, "no chunk was placed twice");
    let got = writer.read(VAR, &Hyperslab::all(&[25, 6])).unwrap();
    assert!(got.bytes().unwrap().chunks(24).enumerate().all(|(t, row)| row.iter().all(|&b| b == t as u8)));
    assert_eq!(writer.container().schema().dims[0].len, 25);
}

#[test]
fn a_small_budget_costs_in_proportion() {
    // Slabs across chunks that each need all slabs: the gathered part of the row stays, the rest is written
    // and read back.
    let element = Element { size: 8, order: Order::Keep, heap: false };
    let chain = CodecChain::new(&[filters::deflate(1)], 8).unwrap();
    let kind = Kind::Chunked(vec![16, 4, 4], chain);
    let container = TestContainer::new(&[16, 32, 32], element, &[0; 8], &kind, false);
    let store = container.store.clone();
    let mut model = Model::new(&[16, 32, 32], &[0; 8]);
    let mut writer = Writer::new(engine(2, 4 * 32 * 4096), Box::new(container));
    for t in 0..16u64 {
        let slab = Hyperslab::new(&[t, 0, 0], &[1, 32, 32]);
        let bytes: Vec<u8> = (0..8192u64).map(|i| (i * 7 + t) as u8).collect();
        writer.write_bytes(VAR, &slab, &bytes).unwrap();
        model.write(&slab, &bytes);
    }
    writer.sync().unwrap();
    let all = Hyperslab::all(&[16, 32, 32]);
    assert_eq!(writer.read(VAR, &all).unwrap().bytes().unwrap(), model.read(&all));
    assert!(store.len() < 64 * 2048 * 16, "{}", store.len());
}

/// The trait object is what formats hand out.
#[test]
fn containers_are_objects() {
    let (container, _) = deflated(&[4], &[2]);
    let object: Box<dyn ContainerMut> = Box::new(container);
    assert_eq!(object.as_container().layout(VAR).unwrap().shape, [4]);
}
