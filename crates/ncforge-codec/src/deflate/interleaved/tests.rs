//! Two streams in turn, against libdeflate.

use std::io::Write;

use super::super::tests::random;
use super::super::{Segments, decode, encode};
use super::inflate_in_turn;
use crate::padded::PaddedInput;

/// The bytes as a zlib stream.
fn zlib(raw: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// Bytes with runs, repeats from any distance, and noise of few or many values.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut next = random(seed);
    let mut out: Vec<u8> = Vec::with_capacity(len + 600);
    while out.len() < len {
        let n = 1 + (next() % 300) as usize;
        match next() % 4 {
            0 => out.extend(std::iter::repeat_n(next() as u8, n)),
            1 if !out.is_empty() => {
                let distance =
                    1 + next() as usize % out.len().min(if n.is_multiple_of(2) { 20 } else { 40_000 });
                (0..n).for_each(|_| out.push(out[out.len() - distance]));
            }
            2 => out.extend((0..n).map(|_| (next() % 7) as u8)),
            _ => out.extend((0..n).map(|_| next() as u8)),
        }
    }
    out.truncate(len);
    out
}

/// Streams of all encoders.
fn streams(raw: &[u8]) -> Vec<Vec<u8>> {
    let own = |planes| {
        let mut out = Vec::new();
        let n = encode(raw, 4, planes, Segments::None, &mut out).unwrap();
        out.truncate(n);
        out
    };
    [0, 1, 4, 6, 9].map(|level| zlib(raw, level)).into_iter().chain([own(1), own(4)]).collect()
}

/// Inflates streams in turn, with or without padding: how many are inflated. libdeflate must make the same of them.
fn taken(streams: &[&[u8]], len: usize, padding: usize) -> usize {
    let behind: Vec<Vec<u8>> = streams.iter().map(|s| [s, &vec![0xA5; padding][..]].concat()).collect();
    let inputs: Vec<_> =
        behind.iter().zip(streams).map(|(all, s)| PaddedInput::within(all, 0..s.len())).collect();
    let (mut a, mut b, mut seen) = (vec![1; len], vec![2; len], vec![false; streams.len()]);
    inflate_in_turn(&inputs, [&mut a, &mut b], |i, bytes| {
        let mut want = vec![0; len];
        assert_eq!(decode(streams[i], &mut want).expect("libdeflate takes it, too"), len);
        assert!(bytes == want && !seen[i]);
        seen[i] = true;
        true
    });
    seen.into_iter().filter(|&s| s).count()
}

fn can() -> bool {
    std::arch::is_x86_feature_detected!("bmi2")
}

#[test]
fn streams_of_all_encoders_are_inflated() {
    if !can() {
        return;
    }
    for (i, len) in [0, 1, 2, 300, 301, 700, 5000, 66_000, 300_000].into_iter().enumerate() {
        let raw: Vec<Vec<u8>> = (0..3).map(|n| bytes(10 * n + i as u64, len)).collect();
        let all: Vec<Vec<u8>> = raw.iter().flat_map(|r| streams(r)).collect();
        for n in [2, 3, 7, all.len()] {
            let some: Vec<&[u8]> = all[all.len() - n..].iter().map(|s| &s[..]).collect();
            for padding in [0, 32] {
                assert_eq!(taken(&some, len, padding), n, "{len}");
            }
        }
    }
}

#[test]
fn codes_of_every_length_are_inflated() {
    if !can() {
        return;
    }
    // Frequencies that double: codes of up to 15 bits, in tables of two levels.
    let mut next = random(5);
    let mut one = |many: bool| {
        let zeros = (next() | 1 << 40).trailing_zeros();
        if many { (zeros * 16) as u8 + (next() % 16) as u8 } else { zeros as u8 * 3 }
    };
    let raw: [Vec<u8>; 2] = [false, true].map(|many| (0..400_000).map(|_| one(many)).collect());
    for level in 0..=9 {
        let [a, b] = raw.each_ref().map(|r| zlib(r, level));
        assert_eq!(taken(&[&a, &b], 400_000, 32), 2);
    }
}

#[test]
fn a_stream_that_does_not_fill_its_buffer_is_left() {
    let (raw, packed) = (bytes(3, 5000), zlib(&bytes(3, 5000), 6));
    for len in [0, 1, 300, 4700, 4999, 5001, 6000] {
        assert_eq!(taken(&[&packed, &packed], len, 32), 0);
    }
    assert_eq!(taken(&[&packed], raw.len(), 32), 0, "a single one");
}

#[test]
fn streams_that_were_cut_short_are_left() {
    for level in [0, 1, 6] {
        let raw = bytes(8, 3000);
        let packed = zlib(&raw, level);
        for to in 0..packed.len() {
            for padding in [0, 32] {
                assert!(taken(&[&packed[..to], &packed], raw.len(), padding) <= 1, "{to}");
            }
        }
    }
}

/// Changed bytes: what is inflated all the same is what libdeflate makes of it.
#[test]
fn damaged_streams_are_taken_only_as_libdeflate_takes_them() {
    let rounds: u64 = std::env::var("NCFORGE_INFLATE_ROUNDS").map_or(2000, |n| n.parse().unwrap());
    let mut next = random(rounds);
    let all: Vec<Vec<Vec<u8>>> = (0..16).map(|i| streams(&bytes(i, 400 + 300 * i as usize))).collect();
    let mut legal = 0;
    for _ in 0..rounds {
        let size = next() as usize % all.len();
        let (same, len) = (&all[size], 400 + 300 * size);
        let mut damaged = same[next() as usize % same.len()].clone();
        for _ in 0..1 + next() % 3 {
            // Nearer to the head, where codes are described, as often as anywhere.
            let within = if next().is_multiple_of(2) { damaged.len() - 2 } else { 80.min(damaged.len() - 2) };
            let at = 2 + next() as usize % within;
            damaged[at] ^= 1 << (next() % 8);
        }
        if let Some(sum) = checksum_of(&damaged, &mut vec![0; len]) {
            let at = damaged.len() - 4;
            damaged[at..].copy_from_slice(&sum);
        }
        let other = &same[next() as usize % same.len()];
        let padding = if next().is_multiple_of(2) { 32 } else { 0 };
        legal += usize::from(taken(&[&damaged, other], len, padding) == 2);
        taken(&[other, &damaged, other], len, padding);
    }
    assert!(legal > 0 || !can(), "some are legal streams of other bytes");
}

/// The checksum of what the deflate stream of a zlib stream holds, if it is one.
fn checksum_of(stream: &[u8], out: &mut [u8]) -> Option<[u8; 4]> {
    let made = libdeflater::Decompressor::new().deflate_decompress(stream.get(2..)?, out).ok()?;
    Some(libdeflater::adler32(&out[..made]).to_be_bytes())
}
