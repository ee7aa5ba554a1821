//! Arrays of every kind through `copy --chunks auto` and `tune chunks`: a sensible shape, or a clear message.

use ncforge::model::{
    Atomic, DType, Field, Format, Schema, Storage, UserKind, UserType, Value, Values, VarId,
};
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};
use ncforge_ops::choosing::{Choosing, chunks_for};
use ncforge_ops::compare::{CompareOptions, compare};
use ncforge_ops::copy::{CopyOptions, copy, plan};
use ncforge_ops::progress::Silent;
use ncforge_tune::Machine;
use ncforge_tune::codec::Goal;
use proptest::prelude::*;

use super::{array, chosen, engine, make};

/// Chunks are not larger than this unasked (`tune::Limits`).
const MOST: u64 = 4 << 20;

fn choosing() -> Choosing {
    Choosing { machine: Machine::default(), ..Choosing::default() }
}

/// Copies a file with everything chosen, and checks what became of its first variable. Gives the chunk lengths.
fn through_copy(schema: &Schema, bytes: &[u8]) -> Option<Vec<u64>> {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.nc"), dir.path().join("b.nc"));
    make(&a, schema, bytes);
    copy(&a, &b, &chosen(Goal::Balanced, false), &engine(2), &Silent).unwrap();
    let (old, new) =
        (Dataset::open_with(&a, &engine(1)).unwrap(), Dataset::open_with(&b, &engine(1)).unwrap());
    if schema.shape(VarId(0)).iter().product::<u64>() < 1 << 24 {
        let found = compare(&old, &new, &CompareOptions::default(), &Silent).unwrap();
        assert!(found.is_same(), "{:?}", found.differences);
    }
    // The choice of `tune chunks` is no worse formed.
    let chosen = chunks_for(&old, VarId(0), None, &choosing()).unwrap();
    let made = match &new.schema().var(VarId(0)).storage {
        Storage::Chunked { chunks, .. } => Some(chunks.clone()),
        _ => None,
    };
    for chunks in [chosen.map(|c| c.chunks), made.clone()].into_iter().flatten() {
        check(new.schema(), &chunks);
    }
    made
}

fn check(schema: &Schema, chunks: &[u64]) {
    let v = schema.var(VarId(0));
    assert_eq!(chunks.len(), v.dims.len());
    for (c, d) in chunks.iter().zip(&v.dims) {
        let d = schema.dim(*d);
        assert!(*c >= 1 && (d.unlimited || *c <= d.len.max(1)), "{chunks:?}");
    }
    let element = schema.fixed_size(v.dtype).unwrap_or(16) as u64;
    assert!(chunks.iter().product::<u64>() * element <= MOST.max(element), "{chunks:?}");
}

fn some_bytes(n: u64) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 & 15).collect()
}

#[test]
fn lengths_of_zero_and_one() {
    let none: [&[(u64, bool)]; 6] = [
        &[],
        &[(0, false)],
        &[(3, false), (0, false), (4, false)],
        &[(1, false)],
        &[(1, false); 8],
        &[(0, true), (0, false)],
    ];
    for dims in none {
        let n: u64 = dims.iter().map(|d| d.0).product();
        let chunks = through_copy(&array(Format::Netcdf4, dims, Atomic::Float), &some_bytes(4 * n));
        let grows = dims.iter().any(|d| d.1);
        assert_eq!(chunks.is_some(), grows, "{dims:?}");
    }
    // A variable that grows has chunks, of many records, though it has none yet.
    let chunks = through_copy(&array(Format::Netcdf4, &[(0, true)], Atomic::Double), &[]).unwrap();
    assert!(chunks[0] >= 64, "{chunks:?}");
    let chunks =
        through_copy(&array(Format::Netcdf4, &[(0, true), (5, false)], Atomic::Double), &[]).unwrap();
    assert!(chunks[0] >= 16 && chunks[1] == 5, "{chunks:?}");
    let both = [(0, true), (0, true)];
    assert!(through_copy(&array(Format::Netcdf4, &both, Atomic::Float), &[]).is_some());
    assert!(through_copy(&array(Format::Cdf2, &[(1, true), (1, false)], Atomic::Short), &[7, 0]).is_some());
}

#[test]
fn ranks_up_to_eight_and_primes() {
    let eight: Vec<(u64, bool)> = [2u64, 3, 5, 2, 7, 3, 11, 13].map(|n| (n, false)).to_vec();
    let n = 2 * 3 * 5 * 2 * 7 * 3 * 11 * 13;
    assert!(through_copy(&array(Format::Cdf5, &eight, Atomic::Short), &some_bytes(2 * n)).is_some());
    let primes = [(101, true), (103, false), (107, false)];
    let chunks =
        through_copy(&array(Format::Cdf5, &primes, Atomic::Float), &some_bytes(4 * 101 * 103 * 107)).unwrap();
    // The last chunk of an axis is nearly full: what a prime leaves over is shared out.
    for (&(n, _), &c) in primes.iter().zip(&chunks) {
        assert!(n.div_ceil(c) * c < n + n.div_ceil(c), "{chunks:?}");
    }
    assert!(
        through_copy(&array(Format::Netcdf4, &[(104_729, false)], Atomic::Byte), &some_bytes(104_729))
            .is_some()
    );
}

#[test]
fn a_trillion_elements() {
    // Nothing of it was ever written: a header.
    for dims in [&[(1u64 << 40, false)][..], &[(1 << 20, false), (1 << 20, false)], &[(1 << 40, true)]] {
        let schema = array(Format::Netcdf4, dims, Atomic::Double);
        let chunks = through_copy(&schema, &[]);
        if let Some(chunks) = chunks {
            assert!(chunks.iter().product::<u64>() * 8 >= 1 << 20, "{chunks:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        make(&path, &schema, &[]);
        let data = Dataset::open_with(&path, &engine(1)).unwrap();
        let sampled = Choosing { sample: true, ..choosing() };
        let chosen = chunks_for(&data, VarId(0), None, &sampled).unwrap().unwrap();
        check(&schema, &chosen.chunks);
        assert!(chosen.bytes >= 1 << 20, "{:?}", chosen.chunks);
    }
}

#[test]
fn strings_and_compounds() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.nc"), dir.path().join("b.nc"));
    let mut schema = array(Format::Netcdf4, &[(0, true), (3, false)], Atomic::Int);
    schema.vars[0].dtype = DType::String;
    let mut pair = schema.vars[0].clone();
    schema.types.push(UserType {
        name: "pair".into(),
        group: Schema::ROOT,
        kind: UserKind::Compound {
            size: 8,
            fields: ["u", "v"]
                .into_iter()
                .enumerate()
                .map(|(i, n)| Field {
                    name: n.into(),
                    offset: 4 * i,
                    dtype: Atomic::Float.into(),
                    shape: vec![],
                })
                .collect(),
        },
    });
    pair.name = "pairs".into();
    pair.dtype = DType::User(ncforge::model::TypeId(0));
    schema.vars.push(pair);
    let options = CreateOptions { engine: Some(engine(1)), ..CreateOptions::default() };
    let mut new = DatasetMut::create(&a, schema, options).unwrap();
    let words = (0..600).map(|i| Value::String(Some(format!("station {i}").into_bytes()))).collect();
    new.write(VarId(0), &Hyperslab::new(&[0, 0], &[200, 3]), &Values::Heap(words)).unwrap();
    new.write(VarId(1), &Hyperslab::new(&[0, 0], &[200, 3]), &Values::fixed(&some_bytes(4800))).unwrap();
    new.close().unwrap();
    copy(&a, &b, &chosen(Goal::Small, false), &engine(2), &Silent).unwrap();
    let (old, new) = (Dataset::open(&a).unwrap(), Dataset::open(&b).unwrap());
    let found = compare(&old, &new, &CompareOptions::default(), &Silent).unwrap();
    assert!(found.is_same(), "{:?}", found.differences);
    for v in &new.schema().vars {
        let Storage::Chunked { chunks, .. } = &v.storage else { panic!("what grows has chunks") };
        assert!(chunks[0] >= 8 && chunks[1] == 3, "{}: {chunks:?}", v.name);
    }
    // Strings have no size of their own to choose by: no answer, and no guess.
    assert!(chunks_for(&old, VarId(0), None, &choosing()).unwrap().is_none());
}

#[test]
fn what_cannot_be_chosen_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let a = dir.path().join("a.nc");
    make(&a, &array(Format::Netcdf4, &[(5, false), (6, false)], Atomic::Int), &some_bytes(120));
    let source = Dataset::open(&a).unwrap();
    let error = |choosing: Choosing| {
        let options = CopyOptions { choosing, ..chosen(Goal::Small, false) };
        plan(&source, &options, &engine(1)).unwrap_err().to_string()
    };
    assert!(error(Choosing { expect: vec![("d0".into(), 9)], ..choosing() }).contains("`d0`"));
    let lengths = ncforge_tune::Access::parse("depth=all", &[]).unwrap();
    assert!(error(Choosing { accesses: lengths, ..choosing() }).contains("`depth`"));
    assert!(Choosing::parse_expected("d0=0").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_array_gets_a_shape_and_keeps_its_values(
        lens in prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 3, 7, 13, 31, 64]), 0..9),
        unlimited in any::<bool>(),
        classic in any::<bool>(),
        dtype in prop::sample::select(vec![Atomic::Byte, Atomic::Char, Atomic::Short, Atomic::Float, Atomic::Double]),
    ) {
        let mut lens = lens;
        while lens.iter().product::<u64>() > 60_000 {
            lens.pop();
        }
        let dims: Vec<(u64, bool)> =
            lens.iter().enumerate().map(|(i, &n)| (n, i == 0 && unlimited)).collect();
        // A classic file has no fixed dimension of length 0.
        let classic = classic && !dims.contains(&(0, false));
        let schema = array(if classic { Format::Cdf5 } else { Format::Netcdf4 }, &dims, dtype);
        let size = schema.fixed_size(dtype.into()).unwrap() as u64;
        through_copy(&schema, &some_bytes(lens.iter().product::<u64>() * size));
    }
}
