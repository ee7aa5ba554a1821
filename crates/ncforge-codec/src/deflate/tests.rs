//! The plane encoder against libdeflate's and zlib's view of what is a legal stream.

use proptest::prelude::*;

use super::access::Segments;
use super::planes::PlaneEncoder;
use super::{decode, encode};

/// Encodes and decodes; returns the length of the stream.
fn round_trip(bytes: &[u8], level: u32, planes: usize) -> usize {
    let mut out = Vec::new();
    let mut encoder = PlaneEncoder::new(level);
    let n = encoder.encode(bytes, planes, Segments::None, &mut out).expect("encodes");
    assert_eq!(encoder.work().bytes(), bytes.len() as u64);
    let mut back = vec![0; bytes.len()];
    assert_eq!(decode(&out[..n], &mut back).expect("a legal stream"), bytes.len());
    assert!(back == bytes, "level {level}, {planes} planes, {} bytes", bytes.len());
    n
}

/// Numbers without a pattern, the same in every run.
pub(super) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
}

/// Bytes of a simple generator: without a pattern, and the same in every run.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn lengths_around_block_and_sample_borders_survive() {
    let all = noise(300_000);
    for len in [0, 1, 2, 3, 4, 5, 7, 8, 255, 4095, 16384, 65535, 65536, 65537, 131_073, 300_000] {
        for planes in [1, 2, 4, 8] {
            round_trip(&all[..len], 1, planes);
            round_trip(&vec![7; len], 4, planes);
        }
    }
}

#[test]
fn random_planes_are_stored_and_constant_ones_vanish() {
    let mut bytes = noise(1 << 18);
    bytes.extend(vec![66; 1 << 18]);
    let n = round_trip(&bytes, 4, 2);
    assert!(n > 1 << 18 && n < (1 << 18) + 2000, "{n} bytes");
}

/// The upper bytes of integers of both signs are zeros or 255, the same in each plane.
#[test]
fn a_plane_like_the_one_before_takes_no_space() {
    let signs: Vec<u8> = noise(20_000).iter().map(|b| if b & 1 == 0 { 0 } else { 255 }).collect();
    let one = round_trip(&signs, 1, 1);
    for level in [1, 4, 6] {
        let n = round_trip(&[&signs[..], &signs, &signs].concat(), level, 3);
        assert!(n < one + one / 5, "level {level}: three planes take {n} bytes, one takes {one}");
    }
}

/// A chunk at the edge of an array is padded: random bytes before the padding are stored nevertheless, and so decode
/// as quickly as in other chunks.
#[test]
fn padding_does_not_make_random_planes_dear() {
    let (rows, row) = (173, 691);
    for padded in [1, 20, 150] {
        let values = (rows - padded) * row;
        let mut bytes = noise(2 * rows * row);
        for plane in bytes.chunks_mut(rows * row) {
            plane[values..].fill(0);
        }
        // The upper byte is nearly constant.
        bytes[rows * row..].iter_mut().for_each(|b| *b = u8::from(*b > 250));
        for level in [1, 4] {
            let n = round_trip(&bytes, level, 2);
            assert!(n < values + values / 4 + 20_000, "{padded} rows, level {level}: {n} of {values}");
            let mut out = Vec::new();
            PlaneEncoder::new(level).encode(&bytes, 2, Segments::None, &mut out).expect("encodes");
            assert!(out.windows(4096).any(|w| w == &bytes[4096..8192]), "{padded} rows, level {level}");
        }
    }
}

#[test]
fn repeats_of_whole_rows_are_found() {
    let row = noise(1500);
    let bytes: Vec<u8> = row.iter().copied().cycle().take(200_000).collect();
    for level in 1..=9 {
        let n = round_trip(&bytes, level, 1);
        assert!(n < 10_000, "{n} bytes at level {level}");
    }
}

#[test]
fn encoding_does_not_depend_on_what_was_encoded_before() {
    let (first, second) = (noise(100_000), vec![3; 50_000]);
    let mut alone = Vec::new();
    let n = encode(&second, 4, 4, Segments::Auto, &mut alone).expect("encodes");
    let mut out = Vec::new();
    encode(&first, 4, 4, Segments::Auto, &mut out).expect("encodes");
    let m = encode(&second, 4, 4, Segments::Auto, &mut out).expect("encodes");
    assert_eq!(alone[..n], out[..m]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_mix_of_runs_copies_and_noise_survives(
        parts in prop::collection::vec((0u8..4, 1usize..5000, any::<u8>()), 0..40),
        level in 1u32..=9,
        planes in 1usize..9,
    ) {
        let fresh = noise(5000);
        let mut bytes: Vec<u8> = Vec::new();
        for (kind, len, value) in parts {
            match kind {
                0 => bytes.extend(std::iter::repeat_n(value, len)),
                1 => bytes.extend(fresh.iter().take(len)),
                2 => bytes.extend(fresh.iter().take(len).map(|b| b % (value | 1))),
                _ => {
                    let from = bytes.len().saturating_sub(len * 7);
                    let copy: Vec<u8> = bytes[from..].iter().copied().take(len).collect();
                    bytes.extend(copy);
                }
            }
        }
        round_trip(&bytes, level, planes);
    }
}
