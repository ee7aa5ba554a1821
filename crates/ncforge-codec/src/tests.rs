//! Whole chains: round trips, masks, wrong lengths, damage.

use proptest::prelude::*;

use super::{CodecChain, Element, Error, Filter, Order, Scratch, Segments, filters};

/// Bytes like those of fields: a slow ramp with noise in the low bits.
fn field(n: usize) -> Vec<u8> {
    (0..n as u32).flat_map(|i| (i * 3 + (i.wrapping_mul(2_654_435_761) >> 28)).to_le_bytes()).collect()
}

fn chain_of() -> impl Strategy<Value = Vec<Filter>> {
    let one = prop_oneof![
        (0u32..10).prop_map(filters::deflate),
        (1usize..12).prop_map(filters::shuffle),
        Just(filters::fletcher32()),
        (-3i32..8).prop_map(filters::zstd),
        (1u32..10).prop_map(filters::bzip2),
        Just(filters::lzf(0)),
        (0u32..3000).prop_map(filters::lz4),
        (1usize..20, 0u32..10, 0u32..3, 0u32..6).prop_map(|(e, l, s, c)| filters::blosc(e, 0, l, s, c)),
        (1usize..20, prop_oneof![Just(0u32), Just(2), Just(3)])
            .prop_map(|(e, c)| filters::bitshuffle(e, c, 1)),
    ];
    prop::collection::vec(one, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_chain_gives_back_what_went_in(
        filters in chain_of(), n in 0usize..3000, cut in 0usize..4, masked in any::<u32>()
    ) {
        let mut raw = field(n);
        raw.truncate(raw.len().saturating_sub(cut));
        let chain = CodecChain::new(&filters, 4).unwrap();
        let (encoded, mask) = chain.encode(&raw).unwrap();
        let mut back = vec![1; raw.len()];
        chain.decode(&encoded, mask, &mut back).unwrap();
        prop_assert_eq!(&back, &raw);

        // Decoding with some filters skipped for this chunk.
        let applied: Vec<usize> = (0..filters.len()).filter(|i| masked & 1 << i == 0).collect();
        let some: Vec<Filter> = applied.iter().map(|i| filters[*i].clone()).collect();
        let (encoded, own) = CodecChain::new(&some, 4).unwrap().encode(&raw).unwrap();
        let masked = applied.iter().enumerate().fold(masked, |m, (j, i)| m | (own >> j & 1) << i);
        chain.decode(&encoded, masked, &mut back).unwrap();
        prop_assert_eq!(&back, &raw);
    }

    #[test]
    fn staged_rows_are_the_decoded_rows(
        filters in chain_of(), rows in 1usize..40, first in 0usize..20, swap in any::<bool>()
    ) {
        let raw = field(rows + first);
        let chain = CodecChain::new(&filters, 4).unwrap();
        let (encoded, mask) = chain.encode(&raw).unwrap();
        let mut scratch = Scratch::new();
        let stage = chain.decode_staged(&encoded, mask, raw.len(), &mut scratch).unwrap();
        let order = if swap { Order::Swap(4) } else { Order::Keep };
        let element = Element { size: 4, order, heap: false };
        let mut got = vec![0; rows * 4];
        stage.read(&element, first, &mut got);
        let mut want = raw[first * 4..].to_vec();
        super::kernels::order_in_place(&mut want, &element);
        prop_assert_eq!(got, want);
    }

    #[test]
    fn damage_is_an_error_or_data_but_never_a_panic(
        filters in chain_of(), at in any::<prop::sample::Index>(), bits in 1u8.., keep in any::<prop::sample::Index>()
    ) {
        let raw = field(700);
        let chain = CodecChain::new(&filters, 4).unwrap();
        let (mut encoded, mask) = chain.encode(&raw).unwrap();
        let mut out = vec![0; raw.len()];
        let i = at.index(encoded.len());
        encoded[i] ^= bits;
        let damaged = chain.decode(&encoded, mask, &mut out);
        if let Some(f) = filters.last() && f.id == filters::FLETCHER32 {
            prop_assert!(damaged.is_err());
        }
        encoded.truncate(keep.index(encoded.len()));
        let _ = chain.decode(&encoded, mask, &mut out);
        let _ = chain.decode_staged(&encoded, mask, raw.len(), &mut Scratch::new());
    }
}

#[test]
fn a_chunk_of_another_length_is_damaged() {
    for filters in [vec![], vec![filters::shuffle(4)], vec![filters::deflate(1)], vec![filters::zstd(1)]] {
        let chain = CodecChain::new(&filters, 4).unwrap();
        let (encoded, mask) = chain.encode(&field(64)).unwrap();
        for len in [0usize, 4, 252, 260, 100_000] {
            let e = chain.decode(&encoded, mask, &mut vec![0; len]).unwrap_err();
            assert!(matches!(e, Error::Corrupt(_)), "{filters:?} to {len}: {e}");
            assert!(chain.decode_staged(&encoded, mask, len, &mut Scratch::new()).is_err());
        }
    }
}

#[test]
fn a_chunk_that_could_not_be_is_refused_before_any_allocation() {
    let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(1)], 4).unwrap();
    let (encoded, mask) = chain.encode(&field(64)).unwrap();
    let huge = usize::MAX / 8 * 4;
    let mut scratch = Scratch::new();
    assert!(chain.decode_staged(&encoded, mask, huge, &mut scratch).is_err());
    assert_eq!(scratch.capacity(), 0);
}

#[test]
fn unknown_filters_are_named() {
    let zfp = Filter { id: 32013, params: vec![1, 2], optional: false };
    assert_eq!(CodecChain::new(&[zfp], 4).unwrap_err().to_string(), "filter 32013 (zfp) is not supported");
    let mine = Filter { id: 500, params: vec![], optional: false };
    assert_eq!(CodecChain::new(&[mine], 4).unwrap_err().to_string(), "filter 500 is not supported");
}

#[test]
fn quantized_data_reads_as_it_is() {
    let chain = CodecChain::new(
        &[Filter { id: filters::BITROUND, params: vec![3], optional: true }, filters::deflate(4)],
        4,
    )
    .unwrap();
    let raw = field(100);
    let (encoded, _) = CodecChain::new(&[filters::deflate(4)], 4).unwrap().encode(&raw).unwrap();
    let mut out = vec![0; raw.len()];
    chain.decode(&encoded, 0, &mut out).unwrap();
    assert_eq!(out, raw);
    assert!(matches!(chain.encode(&raw), Err(Error::Unsupported(_))));
}

/// Counts of an image with plateaus, of one byte each.
fn counts(n: usize) -> Vec<u8> {
    let mut state = 7u64;
    let count = |i: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (i / 900).is_multiple_of(5) { 9 } else { (state >> 59) as u8 + (state >> 50 & 31) as u8 }
    };
    (0..n).map(count).collect()
}

#[test]
fn access_points_are_where_readers_find_them() {
    let deflate = filters::deflate;
    for (list, raw, element) in [
        (vec![deflate(1)], counts(300_000), 1),
        (vec![filters::shuffle(1), deflate(4)], counts(300_000), 1),
        (vec![deflate(6), filters::fletcher32()], counts(300_000), 1),
        (vec![deflate(9)], counts(300_000), 3),
        (vec![filters::shuffle(4), deflate(1)], counts(400_000), 4),
    ] {
        let chain = CodecChain::new(&list, element).unwrap();
        let (encoded, mask) = chain.encode(&raw).unwrap();
        let own = chain.segmented(mask).expect("it may have some");
        assert!(own.segment(&encoded).is_some_and(|n| n * 8 * own.planes <= raw.len()), "{list:?}");
        let mut back = vec![0; raw.len()];
        chain.decode(&encoded, mask, &mut back).unwrap();
        assert_eq!(back, raw);
        let without = chain.clone().with_segments(Segments::None);
        let (plain, _) = without.encode(&raw).unwrap();
        assert!(own.segment(&plain).is_none() && encoded.len() <= plain.len() + plain.len() / 90, "{list:?}");
        // They are added once.
        assert_eq!(chain.add_segments(&plain, 0, raw.len()), Some((encoded.clone(), 0)), "{list:?}");
        assert_eq!(chain.add_segments(&encoded, 0, raw.len()), None);
        assert_eq!(without.add_segments(&plain, 0, raw.len()), None);
        assert_eq!(chain.add_segments(&plain[..plain.len() / 2], 0, raw.len()), None, "damage");
        assert_eq!(chain.add_segments(&plain, 0, raw.len() * 4), None, "another length");
        let asked = chain.with_segments(Segments::Bytes(10_000)).encode(&raw).unwrap().0;
        assert_eq!(own.segment(&asked), Some(10_000 / own.planes));
    }
    let raw = counts(300_000);
    for list in [
        vec![filters::fletcher32(), deflate(1)],
        vec![deflate(1), deflate(1)],
        vec![filters::shuffle(2), filters::shuffle(2), deflate(1)],
        vec![deflate(0)],
    ] {
        let chain = CodecChain::new(&list, 2).unwrap().with_segments(Segments::Bytes(10_000));
        let (encoded, _) = chain.encode(&raw).unwrap();
        assert!(!encoded.ends_with(&crate::deflate::access::MAGIC), "{list:?}");
    }
}
