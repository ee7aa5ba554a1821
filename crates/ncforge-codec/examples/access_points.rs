//! The costs and the savings of access points: sizes and rates with and without, for generated fields and for raw files.
//!
//! ```text
//! cargo run --release -p ncforge-codec --example access_points -- [--chunk BYTES] [--levels 1,4] [--segments 0,2048] [--plain] [NAME|FILE:SIZE …]
//! ```
//!
//! Segment length, in a plane, 0 is the encoder's own choice. `FILE:SIZE` is a file of little-endian elements of SIZE bytes. With `--plain` they are not shuffled. Each row is one chunk: bytes without points; then for each segment length
//! the size with points relative to that, times of encoding and decoding all relative to those without, and microseconds for a segment and for the whole.

#[path = "../tests/fields/mod.rs"]
mod fields;

use std::hint::black_box;
use std::time::Instant;

use ncforge_codec::PaddedInput;
use ncforge_codec::deflate::Segments;
use ncforge_codec::deflate::access::{AccessPoints, Tail};
use ncforge_codec::{deflate, kernels};

/// Median time of some calls, in microseconds.
fn micros(mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    run();
    let once = begin.elapsed().as_secs_f64().max(1e-7);
    let n = (0.03 / once).clamp(3.0, 400.0) as usize;
    let mut times: Vec<f64> = (0..n)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[n / 2]
}

fn row(name: &str, raw: &[u8], size: usize, level: u32, segments: &[usize]) {
    let mut planes = vec![0; raw.len()];
    kernels::shuffle(raw, &mut planes, size);
    let mut out = Vec::new();
    let encode =
        |segments, out: &mut Vec<u8>| deflate::encode(&planes, level, size, segments, out).expect("encodes");
    let plain = encode(Segments::None, &mut out);
    let time = micros(|| {
        black_box(encode(Segments::None, &mut out));
    });
    let mut back = vec![0; raw.len()];
    let whole = micros(|| {
        deflate::decode(&out[..plain], &mut back).expect("decodes");
    });
    print!("{name:22} {level} {:>9} {plain:>9} whole {whole:8.0} us", raw.len());
    for &segment in segments {
        let segments = if segment == 0 { Segments::Auto } else { Segments::Bytes(segment * size) };
        let n = encode(segments, &mut out);
        let own = micros(|| {
            black_box(encode(segments, &mut out));
        });
        let bytes = &out[..n];
        let read = || match AccessPoints::read(bytes, n as u64, raw.len(), size) {
            Tail::Points(points) => Some(points),
            _ => None,
        };
        let Some(points) = read() else {
            print!(" | none: {:+.2} % enc {:.2}", 100.0 * (n as f64 / plain as f64 - 1.0), own / time);
            continue;
        };
        let segment = points.segment();
        let table = n as f64 - points.stream() as f64;
        let opening = micros(|| {
            black_box(read());
        });
        let all = micros(|| {
            deflate::decode(&bytes[..points.stream() as usize], &mut back).expect("decodes");
        });
        let mut some = vec![0; segment.min(raw.len() / size) * size];
        let middle = points.len() / 2;
        let one = middle..middle + 1;
        some.truncate(points.bytes(&one).len() * size);
        let ranges = points.ranges(&one);
        let parts: Vec<_> =
            ranges.iter().map(|r| PaddedInput::within(bytes, r.start as usize..r.end as usize)).collect();
        let each = micros(|| assert!(points.decode(&one, &parts, &mut some)));
        print!(
            " | {segment:>5}: {:+.2} % (table {:.2}) enc {:.2} dec {:.2} open {opening:.1} seg {each:.1} us",
            100.0 * (n as f64 / plain as f64 - 1.0),
            100.0 * table / plain as f64,
            own / time,
            all / whole,
        );
    }
    println!();
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut chunk, mut levels, mut segments) = (4 << 20, vec![1, 4], vec![0, 2048]);
    let (mut names, mut plain) = (Vec::new(), false);
    let list = |s: Option<String>| -> Vec<usize> {
        s.iter().flat_map(|s| s.split(',')).map(|n| n.parse().expect("a number")).collect()
    };
    while let Some(arg) = args.next() {
        match &arg[..] {
            "--chunk" => chunk = list(args.next())[0],
            "--levels" => levels = list(args.next()).into_iter().map(|l| l as u32).collect(),
            "--segments" => segments = list(args.next()),
            "--plain" => plain = true,
            _ => names.push(arg),
        }
    }
    for field in fields::FIELDS {
        if (plain || field.size > 1) && (names.is_empty() || names.iter().any(|n| n == field.name)) {
            let raw = (field.make)(chunk / field.size);
            let size = if plain { 1 } else { field.size };
            levels.iter().for_each(|&level| row(field.name, &raw, size, level, &segments));
        }
    }
    for (file, size) in names.iter().filter_map(|n| n.split_once(':')) {
        let size: usize = size.parse().expect("FILE:SIZE");
        let raw = std::fs::read(file).expect("a file");
        let raw = &raw[..raw.len().min(chunk) / size * size];
        let size = if plain { 1 } else { size };
        levels.iter().for_each(|&level| row(file, raw, size, level, &segments));
    }
}
