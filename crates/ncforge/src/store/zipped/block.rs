//! One block: encoding and decoding.

use std::cell::RefCell;

use super::Codec;
use super::format::{Entry, Kind};
use crate::codec::{deflate, kernels, lz4, zstd};
use crate::error::Result;

/// A block ready to be stored.
#[derive(Debug)]
pub(super) struct Encoded {
    /// The entry without the location.
    pub(super) entry: Entry,
    /// Empty for a block that is stored in its entry.
    pub(super) bytes: Vec<u8>,
}

/// Buffers of a thread.
#[derive(Default)]
struct Buffers {
    planes: Vec<u8>,
    out: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// The eight bytes of which a block is a repetition, if it is one.
fn pattern(block: &[u8]) -> Option<[u8; 8]> {
    let first = *block.first_chunk::<8>()?;
    // All groups of eight bytes equal those before them.
    (block[8..] == block[..block.len() - 8]).then_some(first)
}

/// Whether a block is stored in its entry.
pub(super) fn is_trivial(block: &[u8]) -> bool {
    pattern(block).is_some()
}

/// Encodes a block; elements of `width` bytes are split into planes first if that is more than 1.
pub(super) fn encode(block: &[u8], width: u16, codec: Codec) -> Result<Encoded> {
    if let Some(pattern) = pattern(block) {
        let entry = if pattern == [0; 8] {
            Entry::default()
        } else {
            Entry { kind: Kind::Pattern(pattern), crc: crc32c::crc32c(&pattern), ..Entry::default() }
        };
        return Ok(Encoded { entry, bytes: Vec::new() });
    }
    BUFFERS.with(|cell| {
        let buffers = &mut *cell.borrow_mut();
        let src = if width > 1 {
            buffers.planes.resize(block.len(), 0);
            split_planes(block, &mut buffers.planes, usize::from(width));
            &buffers.planes[..]
        } else {
            block
        };
        let (kind, n) = match codec {
            Codec::Deflate(level) => {
                let planes = if matches!(width, 2 | 4 | 8) { usize::from(width) } else { 1 };
                (
                    Kind::Deflate,
                    deflate::encode(src, level, planes, deflate::Segments::None, &mut buffers.out)?,
                )
            }
            Codec::Zstd(level) => (Kind::Zstd, zstd::encode_quick_to_decode(src, level, &mut buffers.out)?),
            Codec::Lz4 => (Kind::Lz4, lz4::encode_block(src, None, &mut buffers.out)?),
        };
        let (kind, width, bytes) = if n < block.len() {
            (kind, if width > 1 { width } else { 0 }, buffers.out[..n].to_vec())
        } else {
            (Kind::Raw, 0, block.to_vec())
        };
        let entry = Entry { kind, slot: 0, len: bytes.len() as u32, width, crc: crc32c::crc32c(&bytes) };
        Ok(Encoded { entry, bytes })
    })
}

/// Decodes the stored bytes of a block, whose checksum was verified, into all of `out`. The error is a sentence.
pub(super) fn decode(entry: &Entry, stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    match entry.kind {
        Kind::Zero => out.fill(0),
        Kind::Pattern(pattern) => fill(&pattern, 0, out),
        Kind::Page => return Err("an index page stands where a block belongs".into()),
        Kind::Raw if stored.len() == out.len() => out.copy_from_slice(stored),
        Kind::Raw => return Err(format!("{} bytes stand where {} belong", stored.len(), out.len())),
        Kind::Deflate | Kind::Zstd | Kind::Lz4 if entry.width > 1 => {
            return BUFFERS.with(|cell| {
                let buffers = &mut *cell.borrow_mut();
                buffers.planes.resize(out.len(), 0);
                decompress(entry.kind, stored, &mut buffers.planes)?;
                join_planes(&buffers.planes, out, usize::from(entry.width), &mut buffers.out);
                Ok(())
            });
        }
        Kind::Deflate | Kind::Zstd | Kind::Lz4 => decompress(entry.kind, stored, out)?,
    }
    Ok(())
}

fn decompress(kind: Kind, stored: &[u8], out: &mut [u8]) -> Result<(), String> {
    let n = match kind {
        Kind::Deflate => deflate::decode(stored, out),
        Kind::Zstd => zstd::decode(stored, out),
        _ => lz4::decode_block(stored, out),
    }
    .map_err(|e| e.to_string())?;
    if n == out.len() { Ok(()) } else { Err(format!("{n} bytes come out where {} belong", out.len())) }
}

/// Fills `out` with repetitions of eight bytes, as they are from byte `at` of a block on.
pub(super) fn fill(pattern: &[u8; 8], at: usize, out: &mut [u8]) {
    let mut turned = *pattern;
    turned.rotate_left(at % 8);
    for part in out.chunks_mut(8) {
        part.copy_from_slice(&turned[..part.len()]);
    }
}

/// Records of more bytes than this are split column by column: see [`split_planes`].
const COLUMNS_FROM: usize = 12;

/// Splits elements of `width` bytes into planes: the first bytes of all, the second ones, … The same as
/// [`kernels::shuffle`]. Elements of many bytes are records: columns of four bytes are gathered, and these are
/// split, which is several times faster than byte by byte.
fn split_planes(src: &[u8], dst: &mut [u8], width: usize) {
    let n = src.len() / width;
    if width < COLUMNS_FROM || !width.is_multiple_of(4) || n < 2 {
        return kernels::shuffle(src, dst, width);
    }
    let (whole, tail) = src.split_at(n * width);
    let mut column = vec![0u8; n * 4];
    for (c, planes) in dst[..n * width].chunks_exact_mut(n * 4).enumerate() {
        for (to, record) in column.as_chunks_mut::<4>().0.iter_mut().zip(whole.chunks_exact(width)) {
            to.copy_from_slice(&record[c * 4..c * 4 + 4]);
        }
        kernels::shuffle(&column, planes, 4);
    }
    dst[n * width..].copy_from_slice(tail);
}

/// The inverse of [`split_planes`]; `buffer` has arbitrary contents.
fn join_planes(src: &[u8], dst: &mut [u8], width: usize, buffer: &mut Vec<u8>) {
    let n = src.len() / width;
    if width < COLUMNS_FROM || !width.is_multiple_of(4) || n < 2 {
        return kernels::unshuffle(src, dst, width);
    }
    if buffer.len() < n * 4 {
        buffer.resize(n * 4, 0);
    }
    let column = &mut buffer[..n * 4];
    let (whole, tail) = dst.split_at_mut(n * width);
    for (c, planes) in src[..n * width].chunks_exact(n * 4).enumerate() {
        kernels::unshuffle(planes, column, 4);
        for (from, record) in column.as_chunks::<4>().0.iter().zip(whole.chunks_exact_mut(width)) {
            record[c * 4..c * 4 + 4].copy_from_slice(from);
        }
    }
    tail.copy_from_slice(&src[n * width..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODECS: [Codec; 5] =
        [Codec::Deflate(1), Codec::Deflate(6), Codec::Zstd(1), Codec::Zstd(-5), Codec::Lz4];

    fn round_trip(block: &[u8], width: u16, codec: Codec) -> Encoded {
        let e = encode(block, width, codec).unwrap();
        let mut back = vec![0xAA; block.len()];
        decode(&e.entry, &e.bytes, &mut back).unwrap();
        assert_eq!(back, block, "width {width}, {codec:?}");
        e
    }

    #[test]
    fn trivial_blocks_take_no_space() {
        for codec in CODECS {
            assert_eq!(round_trip(&[0; 4096], 4, codec).entry.kind, Kind::Zero);
            let fill: Vec<u8> = [0x7C, 0xF0, 0, 0].repeat(1024);
            let e = round_trip(&fill, 4, codec);
            assert!(matches!(e.entry.kind, Kind::Pattern(_)) && e.bytes.is_empty());
            let mut odd = [0; 11];
            super::fill(&[1, 2, 3, 4, 5, 6, 7, 8], 6, &mut odd);
            assert_eq!(odd, [7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1]);
        }
    }

    #[test]
    fn records_in_columns_are_the_planes_of_shuffle() {
        let src: Vec<u8> = (0..4096u32).map(|i| (i * i / 7) as u8).collect();
        for width in [12, 16, 116, 124, 128, 2048, 4096, 10_000] {
            let (mut a, mut b) = (vec![0; 4096], vec![0; 4096]);
            split_planes(&src, &mut a, width);
            kernels::shuffle(&src, &mut b, width);
            assert_eq!(a, b, "{width}");
        }
    }

    proptest! {
        #[test]
        fn blocks_come_back(
            seed in prop::collection::vec(any::<u8>(), 1..200), step in 1..9usize,
            width in prop_oneof![Just(0u16), Just(2), Just(4), Just(8), 1..300u16], codec in 0..CODECS.len()
        ) {
            let block: Vec<u8> = (0..4096).map(|i| seed[i / step % seed.len()]).collect();
            round_trip(&block, width, CODECS[codec]);
        }

        #[test]
        fn noise_is_stored_as_it_is(seed in any::<u64>()) {
            let mut x = seed | 1;
            let block: Vec<u8> = (0..4096).map(|_| { x ^= x << 13; x ^= x >> 7; x ^= x << 17; x as u8 }).collect();
            prop_assert_eq!(round_trip(&block, 4, Codec::Zstd(1)).entry.kind, Kind::Raw);
        }

        #[test]
        fn hostile_bytes_are_errors_or_blocks(
            bytes in prop::collection::vec(any::<u8>(), 1..300), kind in 0..4usize, width in 0..20u16
        ) {
            let kind = [Kind::Raw, Kind::Deflate, Kind::Zstd, Kind::Lz4][kind];
            let entry = Entry { kind, slot: 9, len: bytes.len() as u32, width, crc: 0 };
            let _ = decode(&entry, &bytes, &mut [0; 4096]);
        }
    }
}
