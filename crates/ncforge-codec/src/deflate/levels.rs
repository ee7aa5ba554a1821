//! Sizes compared with zlib's at the same level, and streams that no default produces.

use super::{Segments, decode, encode};

const N: u32 = 1 << 16;

fn mix(i: u32) -> u32 {
    i.wrapping_mul(2_654_435_761)
}

fn ramp() -> Vec<u8> {
    (0..N / 4).flat_map(|i| (i * 3 + (mix(i) >> 28)).to_le_bytes()).collect()
}

fn planes() -> Vec<u8> {
    let mut out = vec![0; N as usize];
    crate::kernels::shuffle(&ramp(), &mut out, 4);
    out
}

fn noise() -> Vec<u8> {
    (0..N).map(|i| (mix(i) >> 16) as u8 ^ (i.wrapping_mul(i).wrapping_mul(40_503) >> 24) as u8).collect()
}

fn words() -> Vec<u8> {
    let text: String = (0..9000u64).map(|i| format!("{}.{:02} ", i * i % 977, i % 100)).collect();
    text.into_bytes()
}

/// A name, how its bytes are made, and zlib's sizes of them.
type Expected = (&'static str, fn() -> Vec<u8>, [usize; 10]);

/// Lengths from Python's `zlib.compress(data, level)` (zlib 1.2.13) for the same bytes, levels 0 to 9.
const ZLIB: [Expected; 5] = [
    ("zeros", || vec![0; N as usize], [65552, 307, 307, 307, 84, 84, 84, 84, 84, 84]),
    ("planes", planes, [65552, 7921, 7667, 7531, 6990, 6613, 6607, 6607, 6604, 6604]),
    ("ramp", ramp, [65552, 23177, 23273, 23273, 23099, 23107, 23201, 23198, 23205, 23205]),
    ("noise", noise, [65552, 65538, 65539, 65539, 65529, 65529, 65529, 65529, 65529, 65529]),
    ("words", words, [61917, 29302, 29219, 28023, 27503, 26852, 26733, 26733, 26733, 26733]),
];

#[test]
fn no_level_is_larger_than_zlibs() {
    let mut out = Vec::new();
    for (name, data, sizes) in ZLIB {
        let raw = data();
        for (level, size) in sizes.iter().enumerate() {
            let n = encode(&raw, level as u32, 1, Segments::None, &mut out).unwrap();
            let most = size + 64 + size / 50;
            assert!(n <= most, "{name} level {level}: {n} bytes, zlib's are {size}");
            let mut back = vec![0; raw.len()];
            assert_eq!(decode(&out[..n], &mut back).unwrap(), raw.len());
            assert_eq!(back, raw);
        }
    }
}

/// Streams that no default produces: a window of 512 bytes, no compression at all, bytes after the end.
#[test]
fn unusual_streams_are_read() {
    let want = b"netcdf netcdf netcdf";
    // zlib.compressobj(9, zlib.DEFLATED, 9)
    let small_window = [
        0x18, 0xd3, 0xcb, 0x4b, 0x2d, 0x49, 0x4e, 0x49, 0x53, 0xc8, 0x43, 0xa6, 0x00, 0x50, 0x54, 0x07, 0x9d,
    ];
    let stored = [&[0x78, 0x01, 0x01, 20, 0, 235, 255][..], want, &[0x50, 0x54, 0x07, 0x9d]].concat();
    let trailing = [&small_window[..], b"tail"].concat();
    for stream in [&small_window[..], &stored, &trailing] {
        let mut out = [0; 20];
        assert_eq!(decode(stream, &mut out).unwrap(), 20);
        assert_eq!(&out, want);
    }
}

/// The plane encoder is allowed two percent, and the headers of its blocks.
#[test]
fn planes_stay_close_to_zlibs_sizes() {
    let mut out = Vec::new();
    for (name, data, sizes) in ZLIB {
        let raw = data();
        for (level, size) in sizes.iter().enumerate() {
            let n = encode(&raw, level as u32, 4, Segments::None, &mut out).unwrap();
            let most = size + 96 + size / 50;
            assert!(n <= most, "{name} level {level}: {n} bytes, zlib's are {size}");
        }
    }
}
