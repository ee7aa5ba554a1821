//! At every level, of every kind of field, shuffled or not, deflate is at most 2 % larger than zlib, and access points take about 1 %.

mod fields;

use std::io::{Read, Write};

use fields::FIELDS;
use ncforge_codec::deflate::Segments;
use ncforge_codec::{CodecChain, deflate, filters, kernels};

/// Bytes that a chunk may be larger, whatever its size: the description of two more blocks.
const SLACK: usize = 96;

fn zlib(bytes: &[u8], level: u32) -> usize {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

/// Encodes the field's first chunk of `chunk` bytes; says what is too large.
fn check(field: &fields::Field, chunk: usize, levels: &[u32]) -> Vec<String> {
    let raw = (field.make)(chunk / field.size);
    let mut wrong = Vec::new();
    for shuffle in [true, false] {
        if shuffle && field.size == 1 {
            continue;
        }
        let first = if shuffle { vec![filters::shuffle(field.size)] } else { Vec::new() };
        let (planes, _) = CodecChain::new(&first, field.size).unwrap().encode(&raw).unwrap();
        for &level in levels {
            let steps = [&first[..], &[filters::deflate(level)]].concat();
            let (ours, _) = CodecChain::new(&steps, field.size).unwrap().encode(&raw).unwrap();
            let mut back = Vec::new();
            flate2::read::ZlibDecoder::new(&ours[..]).read_to_end(&mut back).unwrap();
            assert!(back == planes, "{}: level {level} does not come back", field.name);
            let theirs = zlib(&planes, level);
            if ours.len() > theirs + theirs / 50 + SLACK {
                let ratio = ours.len() as f64 / theirs as f64;
                wrong.push(format!(
                    "{} of {chunk}, shuffle {shuffle}, level {level}: {} bytes, zlib's {theirs}: {ratio:.3}",
                    field.name,
                    ours.len(),
                ));
            }
        }
    }
    wrong
}

fn check_all(chunk: usize, levels: &[u32]) {
    let wrong: Vec<String> = FIELDS.iter().flat_map(|f| check(f, chunk, levels)).collect();
    assert!(wrong.is_empty(), "too large:\n{}", wrong.join("\n"));
}

#[test]
fn small_chunks() {
    check_all(1 << 10, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check_all(10_000, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check_all(20_000, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn chunks_of_64_kib() {
    check_all(1 << 16, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn chunks_of_256_kib() {
    check_all(1 << 18, &[1, 2, 3, 4, 5, 6, 9]);
}

#[test]
fn chunks_of_1_mib() {
    check_all(1 << 20, &[1, 4, 9]);
}

#[test]
fn access_points() {
    let mut wrong = Vec::new();
    for field in FIELDS.iter().filter(|f| f.size > 1) {
        for (chunk, level) in [(1 << 16, 1), (145 * 288 * 4, 1), (145 * 288 * 4, 4), (1 << 20, 1)] {
            let raw = (field.make)(chunk / field.size);
            let mut shuffled = vec![0; raw.len()];
            kernels::shuffle(&raw, &mut shuffled, field.size);
            for (bytes, planes) in [(&shuffled, field.size), (&raw, 1)] {
                let len =
                    |segments| deflate::encode(bytes, level, planes, segments, &mut Vec::new()).unwrap();
                let (plain, with) = (len(Segments::None), len(Segments::Auto));
                if with > plain + plain * 11 / 1000 + SLACK {
                    let name = field.name;
                    wrong.push(format!(
                        "{name} of {chunk}, {planes} planes, level {level}: {plain} bytes, then {with}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "too large:\n{}", wrong.join("\n"));
}
