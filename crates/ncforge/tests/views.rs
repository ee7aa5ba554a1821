//! Views of datasets: whatever indices they take, and however the whole is stored, each element is the whole's.

use std::collections::BTreeSet;
use std::path::Path;

use ncforge::codec::filters;
use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Storage, VarId, Variable};
use ncforge::raw::{Ranges, RawChunk, Span, View, coordinates};
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};
use proptest::collection::vec;
use proptest::prelude::*;

const V: VarId = VarId(0);

#[derive(Clone, Copy, Debug)]
enum Stored {
    Classic,
    Records,
    Contiguous,
    Chunked([u64; 2]),
}

/// A file of which the first `written` rows were written, with the number of each element.
fn make(path: &Path, shape: [u64; 2], written: u64, stored: Stored) {
    let format = match stored {
        Stored::Classic | Stored::Records => Format::Cdf2,
        Stored::Contiguous | Stored::Chunked(_) => Format::Netcdf4,
    };
    let mut schema = Schema::new(format);
    // An unlimited dimension may be shorter than a chunk.
    let unlimited = |d| d == 0 && matches!(stored, Stored::Records | Stored::Chunked(_));
    schema.dims = ["y", "x"]
        .iter()
        .zip(shape)
        .enumerate()
        .map(|(d, (name, len))| Dimension {
            name: (*name).into(),
            group: Schema::ROOT,
            len,
            unlimited: unlimited(d),
        })
        .collect();
    let mut v = Variable::new("v", Atomic::Int, vec![DimId(0), DimId(1)]);
    if let Stored::Chunked(chunks) = stored {
        v.storage = Storage::Chunked {
            chunks: vec![chunks[0], chunks[1].min(shape[1])],
            filters: vec![filters::deflate(1)],
        };
    }
    schema.vars.push(v);
    let mut new = DatasetMut::create(path, schema, CreateOptions::default()).unwrap();
    let values: Vec<u8> = (0..(written * shape[1]) as i32).flat_map(i32::to_ne_bytes).collect();
    new.write_bytes(V, &Hyperslab::new(&[0, 0], &[written, shape[1]]), &values).unwrap();
    new.close().unwrap();
}

/// The indices of one span, of a run and one that begins again below it, of every so many, or all.
fn ranges(len: u64) -> impl Strategy<Value = Option<Ranges>> {
    let span = move |(a, b, step): (u64, u64, u64)| {
        let (first, end) = (a.min(b) % len, a.max(b) % len + 1);
        Span { first, count: end.saturating_sub(first).div_ceil(step), step }
    };
    let one = (0..len, 0..len, 1u64..4).prop_map(move |of| Some(Ranges::new([span(of)])));
    // A longitude that wraps.
    let two = (1..len.max(2))
        .prop_map(move |cut| Some(Ranges::new([Span::run(cut.min(len)..len), Span::run(0..cut.min(len))])));
    prop_oneof![Just(None), one, two]
}

fn cases() -> impl Strategy<Value = ([u64; 2], u64, Stored, [Option<Ranges>; 2], Vec<u64>)> {
    let stored = prop_oneof![
        Just(Stored::Classic),
        Just(Stored::Records),
        Just(Stored::Contiguous),
        [1u64..5, 1u64..5].prop_map(Stored::Chunked),
    ];
    ([1u64..14, 1u64..11], stored).prop_flat_map(|(shape, stored)| {
        let axes = [ranges(shape[0]).boxed(), ranges(shape[1]).boxed()];
        (Just(shape), 0..=shape[0], Just(stored), axes, vec(0u64..1000, 4))
    })
}

/// The indices of the whole, one by one.
fn listed(ranges: Option<&Ranges>, len: u64) -> Vec<u64> {
    match ranges {
        None => (0..len).collect(),
        Some(ranges) => {
            ranges.spans().iter().flat_map(|s| (0..s.count).map(|i| s.first + i * s.step)).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elements_are_those_of_the_whole((shape, written, stored, axes, at) in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("whole.nc");
        make(&path, shape, written, stored);
        let whole = Dataset::open(&path).unwrap();
        let all = whole.read_all(V).unwrap();
        let all: Vec<i32> = all.bytes().unwrap().as_chunks().0.iter().map(|b| i32::from_ne_bytes(*b)).collect();
        let rows = listed(axes[0].as_ref(), shape[0]);
        let columns = listed(axes[1].as_ref(), shape[1]);
        let expected = |i: usize, j: usize| all[(rows[i] * shape[1] + columns[j]) as usize];

        let view = whole.view(View::of(whole.schema(), axes.to_vec()));
        let lens = view.schema().shape(V);
        prop_assert_eq!(&lens, &[rows.len() as u64, columns.len() as u64]);
        // A box of it, as a program reads.
        let start: Vec<u64> = lens.iter().zip(&at).map(|(n, a)| a % n.max(&1)).collect();
        let count: Vec<u64> =
            lens.iter().zip(&start).zip(&at[2..]).map(|((n, s), c)| (c % 20).min(n.saturating_sub(*s))).collect();
        for slab in [Hyperslab::all(&lens), Hyperslab::new(&start, &count)] {
            let found = view.read(V, &slab).unwrap();
            let found: Vec<i32> =
                found.bytes().unwrap().as_chunks().0.iter().map(|b| i32::from_ne_bytes(*b)).collect();
            let places = (0..slab.count[0]).flat_map(|i| (0..slab.count[1]).map(move |j| (i, j)));
            let want: Vec<i32> = places
                .map(|(i, j)| expected((slab.start[0] + i) as usize, (slab.start[1] + j) as usize))
                .collect();
            prop_assert_eq!(found, want);
        }
        // Chunks that are the whole's, as they are stored.
        let layout = view.layout(V).unwrap();
        let mut shown = BTreeSet::new();
        let are_listed = layout.each_chunk(&mut |at| { shown.insert(at.to_vec()); }).unwrap();
        prop_assert!(layout.is_exact() || !are_listed);
        let Some(chunks) = layout.place.chunks().filter(|_| layout.is_exact()) else { return Ok(()) };
        let chunk = chunks.chunk.to_vec();
        let grid: Vec<_> = lens.iter().zip(&chunk).map(|(n, c)| 0..n.div_ceil(*c)).collect();
        for at in coordinates(&grid) {
            prop_assert_eq!(shown.contains(&at), layout.has_chunk(&at).unwrap());
            let here: Vec<u64> = at.iter().zip(&chunk).map(|(a, c)| a * c).collect();
            match view.raw_chunk(V, &at).unwrap() {
                // Its first element is the first of a chunk of the whole.
                RawChunk::Encoded(bytes, mask) => {
                    let of = [rows[here[0] as usize], columns[here[1] as usize]];
                    let of: Vec<u64> = of.iter().zip(&chunk).map(|(i, c)| i / c).collect();
                    prop_assert_eq!(whole.raw_chunk(V, &of).unwrap(), RawChunk::Encoded(bytes, mask));
                }
                RawChunk::Unwritten => prop_assert!(rows[here[0] as usize] >= written),
                RawChunk::Pieces | RawChunk::Shared(..) => {}
            }
        }
    }
}
