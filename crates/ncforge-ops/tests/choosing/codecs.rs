//! `Codec::Auto`: nothing is lost, the same values give the same file, and only what was allowed is used.

use ncforge::Dataset;
use ncforge::codec::filters::{DEFLATE, SHUFFLE, ZSTD};
use ncforge::codec::quantize::Quantize;
use ncforge::model::{Atomic, Filter, Format, Storage, VarId};
use ncforge_ops::copy::{Codec, CopyOptions, copy, plan};
use ncforge_ops::progress::Silent;
use ncforge_tune::codec::{Goal, Method};
use ncforge_tune::{Machine, StorageKind};
use proptest::prelude::*;

use super::{array, bytes_of, chosen, engine, make};

const GOALS: [Goal; 3] = [Goal::Balanced, Goal::FastRead, Goal::Small];

/// Elements of `size` bytes: constant, counted, few different ones, smooth in the upper bytes, without pattern.
fn values(kind: usize, size: usize, n: usize) -> Vec<u8> {
    let mixed = |i: u64| {
        let z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 27)
    };
    (0..n as u64)
        .flat_map(|i| {
            let value = match kind {
                0 => 0x0102_0304_0506_0708,
                1 => i,
                2 => mixed(i / 13) % 5,
                3 => (i / 7) << 20 | mixed(i) & 0xFFFF,
                _ => mixed(i),
            };
            value.to_le_bytes().into_iter().take(size)
        })
        .collect()
}

fn filters_of(path: &std::path::Path) -> Vec<Filter> {
    let data = Dataset::open_with(path, &engine(1)).unwrap();
    match &data.schema().var(VarId(0)).storage {
        Storage::Chunked { filters, .. } => filters.clone(),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn nothing_is_lost_and_all_is_the_same_again(
        lens in prop::collection::vec(1u64..40, 1..4),
        unlimited in any::<bool>(),
        dtype in prop::sample::select(vec![
            Atomic::Byte, Atomic::Char, Atomic::Short, Atomic::Int, Atomic::Float, Atomic::Double, Atomic::UInt64,
        ]),
        kind in 0usize..5,
        goal in prop::sample::select(GOALS.to_vec()),
        zstd in any::<bool>(),
        shuffle in prop::option::of(any::<bool>()),
        storage in prop::sample::select(vec![StorageKind::Local, StorageKind::Nfs, StorageKind::Object]),
        classic in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a.nc", "b.nc", "c.nc"].map(|n| dir.path().join(n));
        let format = if classic { Format::Cdf5 } else { Format::Netcdf4 };
        let dims: Vec<(u64, bool)> = lens.iter().enumerate().map(|(i, &n)| (n, unlimited && i == 0)).collect();
        let schema = array(format, &dims, dtype);
        let size = schema.fixed_size(dtype.into()).unwrap();
        let bytes = values(kind, size, lens.iter().product::<u64>() as usize);
        make(&a, &schema, &bytes);
        let mut options = CopyOptions { shuffle, min_chunked: 1, ..chosen(goal, zstd) };
        options.choosing.machine = Machine::default().on(storage);
        copy(&a, &b, &options, &engine(1), &Silent).unwrap();
        prop_assert_eq!(bytes_of(&b), bytes);
        copy(&a, &c, &options, &engine(3), &Silent).unwrap();
        prop_assert!(std::fs::read(&b).unwrap() == std::fs::read(&c).unwrap(), "two runs, two files");
        for f in filters_of(&b) {
            let allowed = match f.id {
                DEFLATE => true,
                SHUFFLE => shuffle != Some(false) && size > 1,
                ZSTD => zstd,
                _ => false,
            };
            prop_assert!(allowed, "filter {}", f.id);
        }
    }
}

#[test]
fn goals_differ_as_they_say() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.nc"), dir.path().join("b.nc"));
    let dims = [(120, false), (60, false), (80, false)];
    let smooth: Vec<u8> =
        (0..120 * 60 * 80).flat_map(|i| (280.0 + 9.0 * (i as f32 / 700.0).sin()).to_ne_bytes()).collect();
    make(&a, &array(Format::Cdf5, &dims, Atomic::Float), &smooth);
    let size = |options: &CopyOptions| {
        copy(&a, &b, options, &engine(2), &Silent).unwrap();
        assert!(bytes_of(&b) == smooth);
        (std::fs::metadata(&b).unwrap().len(), filters_of(&b))
    };
    let [balanced, fast, small] = GOALS.map(|goal| size(&chosen(goal, false)));
    assert!(fast.1.is_empty(), "from the page cache nothing is quicker than values as they are");
    assert!(small.0 <= balanced.0 && balanced.0 < fast.0, "{} {} {}", small.0, balanced.0, fast.0);
    for level in 1..=6 {
        let given = CopyOptions { codec: Codec::Deflate, level: Some(level), ..chosen(Goal::Small, false) };
        assert!(small.0 as f64 <= size(&given).0 as f64 * 1.03, "level {level} is smaller");
    }
    assert!(size(&chosen(Goal::Small, true)).0 <= small.0 + small.0 / 50);
}

#[test]
fn values_that_lose_bits_on_request_are_sampled_as_they_will_be() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b, c) = (dir.path().join("a.nc"), dir.path().join("b.nc"), dir.path().join("c.nc"));
    // Of the mantissa, which has no pattern, nearly all is dropped.
    let bytes: Vec<u8> = values(4, 4, 120_000).chunks(4).flat_map(|b| [b[0], b[1], b[2], 0x3f]).collect();
    make(&a, &array(Format::Cdf5, &[(300, false), (400, false)], Atomic::Float), &bytes);
    let exact = chosen(Goal::Small, false);
    let rounded = CopyOptions { quantize: Some(Quantize::BitRound(2)), ..exact.clone() };
    let tried = |options: &CopyOptions| {
        let source = Dataset::open_with(&a, &engine(1)).unwrap();
        let plan = plan(&source, options, &engine(1)).unwrap();
        let choice = plan.variables[0].codec.clone().unwrap();
        choice.tried.iter().find(|t| t.method == choice.method).unwrap().fraction
    };
    assert!(tried(&rounded) < 0.3 && tried(&exact) > 0.6, "{} {}", tried(&rounded), tried(&exact));
    copy(&a, &b, &CopyOptions { verify: true, ..rounded.clone() }, &engine(2), &Silent).unwrap();
    copy(&a, &c, &CopyOptions { codec: Codec::None, ..rounded }, &engine(2), &Silent).unwrap();
    assert!(bytes_of(&b) == bytes_of(&c), "rounded alike, whatever the codec");
    copy(&a, &c, &exact, &engine(2), &Silent).unwrap();
    assert!(bytes_of(&c) == bytes, "and not at all where nobody asked");
}

#[test]
fn what_cannot_be_chosen_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.nc"), dir.path().join("b.nc"));
    make(&a, &array(Format::Cdf5, &[(50, false), (90, false)], Atomic::Int), &values(1, 4, 4500));
    let level = CopyOptions { level: Some(3), ..chosen(Goal::Small, false) };
    assert!(copy(&a, &b, &level, &engine(1), &Silent).unwrap_err().to_string().contains("level"));
    let classic = CopyOptions { format: None, ..chosen(Goal::Small, false) };
    assert!(copy(&a, &b, &classic, &engine(1), &Silent).unwrap_err().to_string().contains("compression"));
    assert_eq!("fast-read".parse::<Goal>().unwrap(), Goal::FastRead);
    assert!("fastest".parse::<Goal>().is_err());
    assert!(Method::candidates(4, None, false).len() == 7);
}
