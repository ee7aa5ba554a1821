//! Chunks with access points: read by every other decoder, and segment by segment.

use std::io::Read;
use std::ops::Range;

use super::read::{AccessPoints, FOOTER, Tail};
use crate::deflate::tests::random;
use crate::deflate::{PlaneEncoder, Segments, decode, encode};
use crate::padded::PaddedInput;

/// Planes of noise, of runs, of repeats and of few values.
fn chunk(seed: u64, plane: usize, planes: usize) -> Vec<u8> {
    let mut next = random(seed);
    let mut out: Vec<u8> = Vec::with_capacity(plane * planes);
    for p in 0..planes {
        let end = (p + 1) * plane;
        let kind = next() % 5;
        while out.len() < end {
            let n = 1 + (next() % 300) as usize;
            match kind {
                0 => out.push(next() as u8),
                1 => out.extend(std::iter::repeat_n(next() as u8, n)),
                2 if out.len() > 9 => {
                    let distance = 1 + next() as usize % out.len().min(3000);
                    (0..n).for_each(|_| out.push(out[out.len() - distance]));
                }
                3 => out.push((next() % 7) as u8),
                // Noise in some places, a constant in others.
                _ if n < 20 => out.extend((0..n * 900).map(|_| next() as u8)),
                _ => out.extend(std::iter::repeat_n(3, 40 * n)),
            }
        }
        out.truncate(end);
    }
    out
}

fn encoded(raw: &[u8], level: u32, planes: usize, segment: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let n = PlaneEncoder::new(level)
        .encode(raw, planes, Segments::Bytes(segment * planes), &mut out)
        .expect("encodes");
    out.truncate(n);
    out
}

fn points(encoded: &[u8], len: usize, planes: usize) -> AccessPoints {
    match AccessPoints::read(encoded, encoded.len() as u64, len, planes) {
        Tail::Points(points) => points,
        other => panic!("{other:?}"),
    }
}

/// Decodes some segments from nothing but their ranges.
fn decoded(points: &AccessPoints, encoded: &[u8], segments: &Range<usize>, planes: usize) -> Option<Vec<u8>> {
    let ranges = points.ranges(segments);
    let parts: Vec<Vec<u8>> =
        ranges.iter().map(|r| encoded[r.start as usize..r.end as usize].to_vec()).collect();
    let inputs: Vec<_> = parts.iter().map(|p| PaddedInput::unpadded(p)).collect();
    let mut out = vec![0; points.bytes(segments).len() * planes];
    points.decode(segments, &inputs, &mut out).then_some(out)
}

fn want(raw: &[u8], points: &AccessPoints, segments: &Range<usize>, planes: usize) -> Vec<u8> {
    let plane = raw.len() / planes;
    let own = points.bytes(segments);
    (0..planes).flat_map(|p| raw[p * plane..][own.clone()].to_vec()).collect()
}

#[test]
fn every_segment_is_decoded_from_its_own_bytes() {
    for (seed, (plane, planes)) in
        [(70_000, 4), (4096, 8), (200_001, 2), (50_000, 1), (5000, 3)].into_iter().enumerate()
    {
        for level in [1, 4, 6, 9] {
            for segment in [1000, 1024, 4096, 30_000, 70_000].into_iter().filter(|&n| n < plane) {
                let raw = chunk(seed as u64 + 7 * u64::from(level), plane, planes);
                let bytes = encoded(&raw, level, planes, segment);
                let mut back = vec![0; raw.len()];
                assert_eq!(decode(&bytes, &mut back), Ok(raw.len()), "{plane} {planes} {level} {segment}");
                assert!(back == raw, "libdeflate");
                let mut zlib = Vec::new();
                flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut zlib).unwrap();
                assert!(zlib == raw, "zlib");
                let points = points(&bytes, raw.len(), planes);
                assert_eq!(points.len(), plane.div_ceil(segment));
                let n = points.len();
                for segments in (0..n).map(|s| s..s + 1).chain([0..n, n / 2..n, 0..n.div_ceil(2)]) {
                    if segments.is_empty() {
                        continue;
                    }
                    let got = decoded(&points, &bytes, &segments, planes)
                        .unwrap_or_else(|| panic!("{plane} {planes} {level} {segment} {segments:?}"));
                    assert!(got == want(&raw, &points, &segments, planes), "{segments:?}");
                }
            }
        }
    }
}

#[test]
fn short_chunks_and_segments_of_any_length_are_read() {
    let mut next = random(11);
    for round in 0..1500 {
        let planes = 1 + next() as usize % 8;
        let plane = 2 + next() as usize % 700;
        let segment = 1 + next() as usize % if round % 3 == 0 { plane.min(10) - 1 } else { plane - 1 };
        let level = 1 + (next() % 9) as u32;
        let raw = chunk(next(), plane, planes);
        let bytes = encoded(&raw, level, planes, segment);
        let points = points(&bytes, raw.len(), planes);
        for i in 0..points.len() {
            let got = decoded(&points, &bytes, &(i..i + 1), planes).expect("it is not damaged");
            assert!(
                got == want(&raw, &points, &(i..i + 1), planes),
                "{planes} {plane} {segment} {level} {i}"
            );
        }
    }
}

#[test]
fn damage_is_never_a_value() {
    let rounds: u64 = std::env::var("NCFORGE_INFLATE_ROUNDS").map_or(3000, |n| n.parse().unwrap());
    let mut next = random(rounds);
    let raw = chunk(3, 9000, 4);
    let good = encoded(&raw, 1, 4, 1024);
    let (mut refused, mut none) = (0, 0);
    for _ in 0..rounds {
        let mut bytes = good.clone();
        for _ in 0..1 + next() % 3 {
            let at = match next() % 3 {
                0 => next() as usize % bytes.len(),
                1 => bytes.len() - 1 - next() as usize % FOOTER,
                _ => bytes.len() - 1 - next() as usize % 300,
            };
            bytes[at] ^= 1 << (next() % 8);
        }
        let Tail::Points(points) = AccessPoints::read(&bytes, bytes.len() as u64, raw.len(), 4) else {
            none += 1;
            continue;
        };
        let first = next() as usize % points.len();
        let segments = first..first + 1 + next() as usize % (points.len() - first);
        match decoded(&points, &bytes, &segments, 4) {
            Some(got) => assert!(got == want(&raw, &points, &segments, 4)),
            None => refused += 1,
        }
    }
    assert!(none > 0 && refused > 0, "{none} {refused}");
}

/// Gives a table and its footer the checksum that they must have.
fn sign(bytes: &mut [u8]) {
    let footer = bytes.len() - FOOTER;
    let table = u32::from_le_bytes(*bytes[footer..].first_chunk().unwrap()) as usize;
    let sum = crc32c::crc32c(&bytes[footer - table..footer + 12]);
    bytes[footer + 12..footer + 16].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn a_check_finds_every_disagreement_and_says_where() {
    let raw = chunk(3, 9000, 4);
    let good = encoded(&raw, 1, 4, 1024);
    let mut whole = vec![0; raw.len()];
    crate::kernels::unshuffle(&raw, &mut whole, 4);
    assert_eq!(AccessPoints::check(&good, &whole, 4), Ok(()));
    let (stream, footer) = (points(&good, raw.len(), 4).stream() as usize, good.len() - FOOTER);
    // One bit of the table or footer, signed again or not. The magic alone says that there are access points.
    for bit in 8 * stream..8 * (footer + 16) {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = AccessPoints::check(&bytes, &whole, 4).expect_err("a bit is wrong");
        assert!(found.at <= footer as u64, "{bit}: {found:?}");
        if bit / 8 >= footer {
            continue;
        }
        sign(&mut bytes);
        let found = AccessPoints::check(&bytes, &whole, 4).expect_err("a bit is wrong");
        let sums = 4 * 9;
        if bit / 8 - stream < sums {
            let segment = (bit / 8 - stream) / 4;
            assert_eq!(found.at, (stream + 4 * segment) as u64);
            assert_eq!(found.what, format!("the checksum of segment {segment} is not that of its elements"));
        } else {
            assert!(
                found.what.contains("decoded from its") || found.what.contains("contradicts"),
                "{found:?}"
            );
        }
    }
    // The points of another chunk, whole in themselves.
    let found = AccessPoints::check(&good, &whole[..4], 4).expect_err("it is too short");
    assert!(found.what.contains("contradicts itself"), "{found:?}");
    let found = AccessPoints::check(&good, &whole, 8).expect_err("of other elements");
    assert!(found.what.contains("4 planes, and it has 8"), "{found:?}");
    whole[5000] ^= 1;
    let found = AccessPoints::check(&good, &whole, 4).expect_err("a value is another");
    assert!(found.what.contains("segment 1 "), "{found:?}");
    let mut bytes = good;
    *bytes.last_mut().unwrap() ^= 1;
    assert!(!AccessPoints::are_in(&bytes));
}

#[test]
fn a_tail_says_how_much_is_missing() {
    let raw = chunk(4, 60_000, 4);
    let bytes = encoded(&raw, 1, 4, 512);
    let all = bytes.len() as u64;
    let Tail::Longer(need) = AccessPoints::read(&bytes[bytes.len() - 100..], all, raw.len(), 4) else {
        panic!("100 bytes are enough");
    };
    assert!(matches!(AccessPoints::read(&bytes[bytes.len() - need..], all, raw.len(), 4), Tail::Points(_)));
    // Chunks of another shape, or without points.
    assert_eq!(AccessPoints::read(&bytes, all, raw.len(), 8), Tail::None);
    assert_eq!(AccessPoints::read(&bytes, all, raw.len() / 2, 4), Tail::None);
    let mut plain = Vec::new();
    let n = encode(&raw, 1, 4, Segments::None, &mut plain).unwrap();
    assert_eq!(AccessPoints::read(&plain[..n], n as u64, raw.len(), 4), Tail::None);
}

/// The chunks of docs/access-points-vectors.txt: planes, elements, the chunk, and its elements.
fn vectors() -> Vec<(usize, usize, Vec<u8>, Vec<u8>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access-points-vectors.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let hex = |line: &str| -> Vec<u8> {
        line.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };
    let (mut all, mut sizes, mut parts) = (Vec::new(), (0, 0), [Vec::new(), Vec::new()]);
    let mut part = 0;
    for line in text.lines().skip(1).chain(["##"]) {
        if line.starts_with("##") {
            let [chunk, elements] = std::mem::take(&mut parts);
            if !chunk.is_empty() {
                all.push((sizes.0, sizes.1, chunk, elements));
            }
            let numbers: Vec<usize> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            sizes = (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(0));
        } else if line.ends_with(':') {
            part = usize::from(line == "elements:");
        } else {
            parts[part].extend(hex(line));
        }
    }
    all
}

#[test]
fn the_documented_chunks_are_read() {
    let all = vectors();
    assert!(all.len() >= 3, "{}", all.len());
    for (planes, elements, chunk, want) in all {
        let mut stream = vec![0; planes * elements];
        assert_eq!(decode(&chunk, &mut stream), Ok(stream.len()));
        let points = points(&chunk, stream.len(), planes);
        let mut found = Vec::new();
        for i in 0..points.len() {
            let part = decoded(&points, &chunk, &(i..i + 1), planes).expect("a documented segment");
            let n = part.len() / planes;
            found.extend((0..n).flat_map(|e| (0..planes).map(move |p| (p, e))).map(|(p, e)| part[p * n + e]));
        }
        assert_eq!(found, want);
    }
}
