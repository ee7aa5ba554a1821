//! Reading from a store with latency: how many rounds of requests a read takes, what it holds in memory, what its errors
//! say, and that it gives the values that a local file gives.

mod open;
#[path = "../random/mod.rs"]
mod random;
mod throttled;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ncforge::codec::filters;
use ncforge::model::{Atomic, DimId, Dimension, Filter, Format, Schema, Storage, VarId, Variable};
use ncforge::raw::{Place, classic, netcdf4};
use ncforge::store::ReadStore;
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Error, Hyperslab, Pick, Picks};
use proptest::prelude::*;

use throttled::{Counts, Fault, Throttled};

const V: VarId = VarId(0);

/// How a variable is stored.
#[derive(Clone, Debug)]
enum Stored {
    Contiguous,
    Chunked(Vec<u64>, Vec<Filter>),
    /// Records of a classic file, two variables in each.
    Records,
}

/// The bytes of a file with a variable of doubles of this shape, whose value differs from element to element.
fn file(shape: &[u64], stored: &Stored) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("near.nc");
    let classic = matches!(stored, Stored::Records);
    let mut schema = Schema::new(if classic { Format::Cdf2 } else { Format::Netcdf4 });
    for (d, &len) in shape.iter().enumerate() {
        let dim = Dimension::new(format!("d{d}"), len, classic && d == 0);
        schema.dims.push(dim);
    }
    let mut var = Variable::new("wind", Atomic::Double, (0..shape.len()).map(DimId).collect());
    if let Stored::Chunked(chunks, filters) = stored {
        var.storage = Storage::Chunked { chunks: chunks.clone(), filters: filters.clone() };
    }
    schema.vars.push(var.clone());
    if classic {
        var.name = "other".into();
        schema.vars.push(var);
    }
    let values: Vec<f64> = (0..shape.iter().product()).map(value).collect();
    let mut new = DatasetMut::create(&path, schema, CreateOptions::default()).unwrap();
    for v in 0..1 + usize::from(classic) {
        new.put(VarId(v), &Hyperslab::all(shape), &values).unwrap();
    }
    new.close().unwrap();
    std::fs::read(Path::new(&path)).unwrap()
}

fn value(i: u64) -> f64 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64
}

fn engine(memory: u64) -> Engine {
    Engine::new(EngineOptions { threads: Some(2), memory: Some(memory) }).unwrap()
}

/// Opens the file as the engine reads it: without the neighbours that come along otherwise.
fn open(store: &Arc<Throttled>, engine: &Engine) -> Dataset {
    let store: Arc<dyn ReadStore> = store.clone();
    let container = match &*store.read_vec(0, 3).unwrap() {
        b"CDF" => classic::open(store),
        _ => netcdf4::open(store),
    };
    Dataset::from_container(container.unwrap(), engine)
}

fn deflated() -> Vec<Filter> {
    vec![filters::shuffle(8), filters::deflate(1)]
}

/// Opens the file, finds the chunks of its variable, and counts from there on.
fn opened(bytes: Vec<u8>, in_flight: usize, memory: u64) -> (Arc<Throttled>, Dataset) {
    let store = Arc::new(Throttled::new(bytes, in_flight, 20));
    let data = open(&store, &engine(memory));
    if let Place::Chunked { index, .. } = &data.container().layout(V).unwrap().place {
        index.list().unwrap();
    }
    store.reset();
    (store, data)
}

/// A file of 20 by 20 chunks; every other one in each direction is asked for.
fn scattered(filters: Vec<Filter>) -> (Vec<u8>, Picks, Vec<f64>) {
    let shape = [20, 20, 1024];
    let bytes = file(&shape, &Stored::Chunked(vec![1, 1, 1024], filters));
    let at: Vec<u64> = (0..10).map(|i| i * 2).collect();
    let picks = Picks::new(vec![
        Pick { dims: vec![0], at: at.clone() },
        Pick { dims: vec![1], at: at.clone() },
        Pick { dims: vec![2], at: (0..1024).collect() },
    ]);
    let want = at
        .iter()
        .flat_map(|y| at.iter().map(move |x| (y * 20 + x) * 1024))
        .flat_map(|first| (first..first + 1024).map(value))
        .collect();
    (bytes, picks, want)
}

#[test]
fn a_hundred_scattered_chunks_take_as_many_rounds_as_requests_fit_at_a_time() {
    for filters in [deflated(), Vec::new()] {
        let (bytes, _, want) = scattered(filters);
        let (store, data) = opened(bytes, 16, 256 << 20);
        let slab = Hyperslab::strided(&[0, 0, 0], &[10, 10, 1024], &[2, 2, 1]);
        let got: Vec<f64> = data.get(V, &slab).unwrap();
        assert_eq!(got, want);
        let Counts { requests, rounds, peak, .. } = store.counts();
        assert!(requests == 100 && rounds <= 100usize.div_ceil(16) + 1 && peak == 16, "{:?}", store.counts());
    }
}

#[test]
fn picked_chunks_are_asked_for_side_by_side() {
    let (bytes, picks, want) = scattered(deflated());
    let (store, data) = opened(bytes, 16, 256 << 20);
    let mut out = vec![0u8; want.len() * 8];
    data.read_picks_bytes(V, &picks, &mut out).unwrap();
    let got: Vec<f64> = out.chunks(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect();
    assert_eq!(got, want);
    let Counts { requests, peak, .. } = store.counts();
    assert!(requests == 100 && (2..=16).contains(&peak), "{:?}", store.counts());
}

#[test]
fn neighbours_are_one_request() {
    let shape = [64, 64, 64];
    for stored in [Stored::Contiguous, Stored::Chunked(vec![8, 16, 32], deflated()), Stored::Records] {
        let (store, data) = opened(file(&shape, &stored), 16, 256 << 20);
        let got: Vec<f64> = data.get(V, &Hyperslab::all(&shape)).unwrap();
        assert!(got.into_iter().eq((0..64 * 64 * 64).map(value)));
        let Counts { requests, rounds, .. } = store.counts();
        // Two variables share the records: a request for each.
        let most = if matches!(stored, Stored::Records) { (64, 4) } else { (2, 2) };
        assert!(requests <= most.0 && rounds <= most.1, "{stored:?}: {:?}", store.counts());
    }
}

#[test]
fn a_loop_of_maps_asks_for_each_chunk_once() {
    let shape = [40, 40, 60];
    let (store, data) = opened(file(&shape, &Stored::Chunked(vec![10, 20, 20], deflated())), 16, 64 << 20);
    for t in 0..40 {
        let got: Vec<f64> = data.get(V, &Hyperslab::new(&[t, 0, 0], &[1, 40, 60])).unwrap();
        assert!(got.into_iter().eq((t * 2400..(t + 1) * 2400).map(value)), "map {t}");
    }
    let Counts { rounds, fetched, .. } = store.counts();
    // Four rows of six chunks: a round for each, and one more while the pattern is not known yet.
    assert!(rounds <= 8 && fetched <= 40 * 40 * 60 * 8, "{:?}", store.counts());
}

#[test]
fn what_is_on_its_way_is_within_the_budget() {
    // 200 chunks of 80 KB that hardly compress, 16 MB in all; an eighth of the budget is 256 KiB.
    let shape = [200, 10_000];
    let bytes = file(&shape, &Stored::Chunked(vec![1, 10_000], deflated()));
    let (store, data) = opened(bytes, 16, 2 << 20);
    let got: Vec<f64> = data.get(V, &Hyperslab::strided(&[0, 0], &[100, 10_000], &[2, 1])).unwrap();
    assert!(got.into_iter().eq((0..100).flat_map(|r| (r * 20_000..r * 20_000 + 10_000).map(value))));
    let Counts { largest_call, requests, .. } = store.counts();
    assert!(requests >= 50 && largest_call <= 256 << 10, "{:?}", store.counts());
}

/// Where the chunk at these grid coordinates lies.
fn offset_of(data: &Dataset, at: &[u64]) -> u64 {
    let layout = data.container().layout(V).unwrap();
    let Place::Chunked { index, .. } = &layout.place else { panic!("chunks") };
    index.get(at).unwrap().unwrap().offset
}

#[test]
fn errors_name_the_variable_the_chunk_and_the_byte() {
    let slab = Hyperslab::strided(&[0, 0, 0], &[10, 10, 1024], &[2, 2, 1]);
    for filters in [deflated(), Vec::new()] {
        let (bytes, _, want) = scattered(filters);
        let store = Arc::new(Throttled::new(bytes, 16, 1));
        let data = open(&store, &engine(256 << 20));
        let at = offset_of(&data, &[6, 14, 0]);
        for fault in [Fault::Fails(at), Fault::Short(at)] {
            store.set_fault(Some(fault));
            let e = data.get::<f64>(V, &slab).map(drop).unwrap_err().to_string();
            for part in ["far.nc", "wind", "[6, 14, 0]", &at.to_string()] {
                assert!(e.contains(part), "{fault:?}: `{part}` is missing: {e}");
            }
        }
        store.set_fault(Some(Fault::FailsOnce(at)));
        assert_eq!(data.get::<f64>(V, &slab).unwrap(), want, "what fails once is asked for again");
    }
    let contiguous = file(&[100, 100], &Stored::Contiguous);
    let store = Arc::new(Throttled::new(contiguous, 16, 1));
    let data = open(&store, &engine(256 << 20));
    let Place::Contiguous { offset } = data.container().layout(V).unwrap().place else {
        panic!("contiguous")
    };
    for fault in [Fault::Fails(offset), Fault::Short(offset)] {
        store.set_fault(Some(fault));
        let e = data.get::<f64>(V, &Hyperslab::all(&[100, 100])).map(drop).unwrap_err().to_string();
        assert!(e.contains("far.nc") && e.contains("wind") && e.contains(&offset.to_string()), "{e}");
    }
}

#[test]
fn chunks_that_lie_beyond_the_end_are_damage() {
    let bytes = file(&[50, 100], &Stored::Chunked(vec![1, 100], deflated()));
    let short = bytes.len() - 100;
    let whole = open(&Arc::new(Throttled::new(bytes.clone(), 4, 0)), &engine(1 << 20));
    let layout = whole.container().layout(V).unwrap();
    let Place::Chunked { index, .. } = &layout.place else { panic!("chunks") };
    assert!(index.list().unwrap().iter().any(|(_, r)| r.offset + r.len > short as u64), "the last lie there");
    let store = Arc::new(Throttled::new(bytes[..short].to_vec(), 4, 1));
    // The description may be refused already.
    if let Ok(data) = Dataset::from_store(store, &engine(1 << 20)) {
        let e = data.get::<f64>(V, &Hyperslab::all(&[50, 100])).map(drop).unwrap_err();
        assert!(matches!(e, Error::Corrupt { .. }), "{e}");
    }
}

#[test]
fn a_read_that_is_stopped_asks_for_no_more() {
    // The copy asks the caller between its steps, the engine before each batch: the budget makes many of them.
    let (bytes, _, _) = scattered(deflated());
    let store = Arc::new(Throttled::new(bytes, 4, 20));
    let data = open(&store, &engine(256 << 20));
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 4;
    store.reset();
    let slab = Hyperslab::strided(&[0, 0, 0], &[10, 10, 1024], &[2, 2, 1]);
    let stopped = ncforge::raw::with_stop(&stop, || data.get::<f64>(V, &slab));
    assert!(matches!(stopped, Err(Error::Interrupted(_))), "{stopped:?}");
    assert!(store.counts().requests < 60, "{:?}", store.counts());
}

fn stored(rank: usize) -> impl Strategy<Value = Stored> {
    let chunks = prop::collection::vec(1u64..9, rank);
    let filters = prop::sample::select(vec![Vec::new(), deflated(), vec![filters::deflate(1)]]);
    prop_oneof![
        1 => Just(Stored::Contiguous),
        1 => Just(Stored::Records),
        3 => (chunks, filters).prop_map(|(chunks, filters)| Stored::Chunked(chunks, filters)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn values_are_those_of_a_local_read(
        (shape, stored) in prop::collection::vec(1u64..24, 1..4).prop_flat_map(|s| (Just(s.clone()), stored(s.len()))),
        seeds in prop::collection::vec(prop::collection::vec((0u64..1000, 0u64..1000, 1u64..5), 3), 1..8),
        gap in prop::sample::select(vec![0u64, 40, 4096]), in_flight in 1usize..6, tight: bool,
    ) {
        let stored = match stored {
            Stored::Chunked(c, f) => {
                Stored::Chunked(c.iter().zip(&shape).map(|(&c, &n)| c.min(n)).collect(), f)
            }
            other => other,
        };
        let bytes = file(&shape, &stored);
        let mut far = Throttled::new(bytes.clone(), in_flight, 20).hurried();
        (far.profile.read_gap, far.profile.largest_request) = (gap, if tight { 500 } else { 1 << 20 });
        let near = Arc::new(ncforge::store::MemoryStore::new("near.nc", bytes));
        let near = Dataset::from_store(near, &engine(1 << 20)).unwrap();
        let far = Dataset::from_store(Arc::new(far), &engine(if tight { 1 << 20 } else { 64 << 20 })).unwrap();
        for seeds in seeds {
            let (mut start, mut count, mut stride) = (vec![], vec![], vec![]);
            for (&n, (a, b, step)) in shape.iter().zip(seeds) {
                start.push(a % n);
                count.push(b % ((n - 1 - a % n) / step + 2));
                stride.push(step);
            }
            let slab = Hyperslab::strided(&start, &count, &stride);
            prop_assert_eq!(far.get::<f64>(V, &slab).unwrap(), near.get::<f64>(V, &slab).unwrap(), "{:?}", slab);
        }
    }
}
