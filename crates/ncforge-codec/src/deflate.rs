//! Filter 1, deflate: one zlib stream (RFC 1950, RFC 1951) per chunk; parameter: the level, 0 to 9.
//!
//! libdeflate inflates, on whole buffers: the chunk's size is known, so nothing streams. Streams of any level and
//! window size are read; bytes after the stream are ignored, as HDF5 does. Of several chunks two at a time are
//! inflated in turn, where the processor can (`interleaved`).
//!
//! Writing has two encoders. Shuffled chunks are encoded by [`PlaneEncoder`], which chooses a treatment for each byte plane;
//! everything else by libdeflate, whose own levels are mapped; level 0 stores. Level numbers have zlib's meaning: at no level is a stream
//! more than 2 % larger than zlib's, beyond a few dozen bytes, and most are smaller; no level takes much more time than zlib's.
//! docs/notes/0013-deflate-by-planes.md describes the method and the measurements.

pub mod access;
mod bits;
mod block;
mod cost;
mod efforts;
mod huffman;
mod inflate;
mod interleaved;
#[cfg(test)]
mod levels;
mod matcher;
mod plan;
mod planes;
mod symbols;
#[cfg(test)]
mod tests;
mod work;

use std::cell::{Cell, RefCell};

use libdeflater::{CompressionLvl, Compressor, DecompressionError};

pub use access::Segments;
pub use planes::PlaneEncoder;
pub use work::Work;

pub(super) use interleaved::inflate_in_turn;

use inflate::inflate;

use super::damaged;
use super::padded::PaddedInput;
use super::scratch::{grow, with_own};
use crate::error::{Error, Result};

const NAME: &str = "deflate";

/// No deflate stream expands further than this: one match of 258 bytes takes at least two bits.
pub(super) const MAX_EXPANSION: usize = 1032;

/// libdeflate's level for each of zlib's. Its level 1 finds no matches of three bytes and made numbers that are not
/// shuffled 70 % larger than zlib's level 1; its level 2 takes the same time. Its levels 11 and 12 take several times as long as zlib's 9.
const LEVELS: [i32; 10] = [0, 2, 2, 3, 4, 6, 7, 8, 9, 10];

/// Further levels of libdeflate that are tried if an eighth of the chunk is left, or less: such regular data are sometimes 10 to 25 %
/// smaller at a level with a less deep search, and take little time. Level 10 takes ten times as long there.
const fn more(level: u32) -> &'static [i32] {
    match level {
        5 => &[4],
        6..=8 => &[4, 6],
        9 => &[9],
        _ => &[],
    }
}

/// Streams up to this length are also made by ncforge's own search, if they are a quarter smaller than the chunk; longer ones if they are an
/// eighth of it. There, libdeflate's stream may be some per cent larger, and the search takes little time.
const SHORT: usize = 8 << 10;

/// Of so many bytes, parts at this number of places tell how an encoder does on all of them.
const SAMPLED: usize = 1 << 20;
const PARTS: usize = 2;
/// A search that takes ten times as long must leave less than this part.
const WORTH: f64 = 0.965;

thread_local! {
    /// The last compressors and their levels: a thread mostly uses one level, and creating a compressor takes time.
    static DEFLATE: RefCell<Libdeflate> = RefCell::default();
    /// The last encoder of planes, with its level.
    static PLANES: RefCell<Option<PlaneEncoder>> = const { RefCell::new(None) };
    /// See [`take_work`].
    static WORK: Cell<Option<Work>> = const { Cell::new(None) };
}

/// Levels at which zlib takes matches of three bytes from anywhere in its window, which libdeflate does not.
const GREEDY_LEVELS: std::ops::RangeInclusive<u32> = 1..=3;

/// libdeflate's compressors for one of zlib's levels.
#[derive(Default)]
struct Libdeflate {
    level: u32,
    /// The compressor of the level itself, then those of [`more`].
    compressors: Vec<Compressor>,
    buffer: Vec<u8>,
}

/// A way to encode bytes that were not shuffled.
#[derive(Clone, Copy)]
enum Way {
    /// By one of the compressors.
    Native(usize),
    /// By ncforge's own search for short or very regular data.
    Patient,
    /// By codes for each part, and runs.
    InParts,
}

impl Libdeflate {
    /// Makes the compressors of a level, if they are not there.
    fn prepare(&mut self, level: u32) -> Result<()> {
        if self.level != level || self.compressors.is_empty() {
            let natives = std::iter::once(&LEVELS[(level as usize).min(9)]).chain(more(level));
            let compressor = |&native| {
                CompressionLvl::new(native)
                    .map(Compressor::new)
                    .map_err(|_| Error::BadFilter(format!("deflate level {level} does not exist")))
            };
            self.compressors = natives.map(compressor).collect::<Result<_>>()?;
            self.level = level;
        }
        Ok(())
    }

    /// Encodes into `out`, which must have room for that.
    fn run(&mut self, way: Way, src: &[u8], out: &mut [u8]) -> Result<usize> {
        let failed = |e| Error::BadFilter(format!("deflate: {} bytes could not be encoded: {e}", src.len()));
        match way {
            Way::Native(i) => self.compressors[i].zlib_compress(src, out).map_err(failed),
            Way::Patient => Ok(with_planes(self.level, |encoder| encoder.encode_patiently(src, out))),
            Way::InParts => Ok(with_planes(self.level, |encoder| encoder.encode_in_parts(src, out))),
        }
    }

    /// The room for a stream.
    fn bound(&mut self, len: usize) -> usize {
        self.compressors[0].zlib_compress_bound(len).max(PlaneEncoder::bound(len, 1))
    }

    /// An estimate of the bytes of a stream, from an eighth of those that it encodes.
    fn estimate(&mut self, way: Way, src: &[u8]) -> Result<usize> {
        let part = src.len() / (8 * PARTS);
        let bound = self.bound(part);
        let mut buffer = std::mem::take(&mut self.buffer);
        grow(&mut buffer, bound)?;
        let parts = (0..PARTS).map(|i| &src[i * src.len() / PARTS..][..part]);
        let n = parts.map(|part| self.run(way, part, &mut buffer)).sum::<Result<usize>>();
        self.buffer = buffer;
        Ok(8 * n?)
    }

    /// An estimate of the bytes of a stream at this level; nothing where parts of the bytes are too few to tell.
    fn expected(&mut self, src: &[u8], level: u32) -> Result<Option<usize>> {
        self.prepare(level)?;
        if src.len() < SAMPLED {
            return Ok(None);
        }
        self.estimate(Way::Native(self.compressors.len() - 1), src).map(Some)
    }

    fn encode(&mut self, src: &[u8], level: u32, out: &mut Vec<u8>) -> Result<usize> {
        self.prepare(level)?;
        let bound = self.bound(src.len());
        grow(out, bound)?;
        let natives = self.compressors.len();
        let may_own = src.len() <= PlaneEncoder::MOST;
        if let Some(n) = self.expected(src, level)?.filter(|n| *n < src.len() / 8) {
            // Regular data: parts of them tell which way is the best.
            let mut best = (Way::Native(natives - 1), n);
            if may_own {
                let n = self.estimate(Way::Patient, src)?;
                best = if n <= best.1 { (Way::Patient, n) } else { best };
            }
            for i in (0..natives - 1).rev() {
                let n = self.estimate(Way::Native(i), src)?;
                let most = if level == 9 { WORTH } else { 1.0 };
                if (n as f64) < most * best.1 as f64 {
                    best = (Way::Native(i), n);
                }
            }
            return self.run(best.0, src, &mut out[..bound]);
        }
        let mut n = self.run(Way::Native(0), src, &mut out[..bound])?;
        let is_small = n < SHORT.min(src.len() / 4 * 3).max(src.len() / 8);
        let mut others: Vec<Way> = Vec::new();
        if n < src.len() / 8 {
            others.extend((1..natives).map(Way::Native));
        }
        if is_small && may_own {
            others.push(Way::Patient);
        } else if planes::in_parts(src) < n - n / 64 {
            others.push(Way::InParts);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        if !others.is_empty() {
            grow(&mut buffer, bound)?;
        }
        for way in others {
            let m = self.run(way, src, &mut buffer[..bound])?;
            if m < n {
                out[..m].copy_from_slice(&buffer[..m]);
                n = m;
            }
        }
        self.buffer = buffer;
        Ok(n)
    }
}

/// Inflates into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    decode_padded(PaddedInput::unpadded(src), dst)
}

/// As [`decode`], for a stream that may have padding.
pub fn decode_padded(src: PaddedInput<'_>, dst: &mut [u8]) -> Result<usize> {
    inflate(src, dst).map_err(|e| match e {
        DecompressionError::BadData => damaged(NAME, "the zlib stream is damaged"),
        DecompressionError::InsufficientSpace => {
            damaged(NAME, format!("the zlib stream holds more than {} bytes", dst.len()))
        }
    })
}

/// Deflates into the front of `out`; returns the number of bytes. `planes` is the number of byte planes of equal
/// length in `src`: the element size after a shuffle, else 1. Planes get access points as `segments` says.
pub fn encode(src: &[u8], level: u32, planes: usize, segments: Segments, out: &mut Vec<u8>) -> Result<usize> {
    if level == 0 || src.len() > PlaneEncoder::MOST {
        return with_own(&DEFLATE, |own| own.encode(src, level, out));
    }
    if planes > 1 {
        return encode_planes(src, level, planes, segments, out);
    }
    let mut cut = None;
    if segments.may_cut(src.len()) {
        cut = with_planes(level, |encoder| encoder.encode_segments(src, planes, segments, out))?;
    }
    let Some(m) = cut else { return encode_whole(src, level, out) };
    // A stream with access points may be a little larger than that of the other search. That is done where a part of the bytes does not tell.
    let most = |n: usize| n + n / 100;
    if matches!(segments, Segments::Bytes(_))
        || with_own(&DEFLATE, |own| own.expected(src, level))?.is_some_and(|n| m <= most(n))
    {
        return Ok(m);
    }
    let cut = std::mem::take(out);
    let n = encode_whole(src, level, out)?;
    if m <= most(n) {
        *out = cut;
        return Ok(m);
    }
    Ok(n)
}

/// Deflates bytes that were not shuffled, without access points.
fn encode_whole(src: &[u8], level: u32, out: &mut Vec<u8>) -> Result<usize> {
    let short = GREEDY_LEVELS.contains(&level);
    let found = short.then(|| with_planes(level, |encoder| encoder.encode_short(src, out))).transpose()?;
    match found.flatten() {
        Some(n) => Ok(n),
        None => with_own(&DEFLATE, |own| own.encode(src, level, out)),
    }
}

fn encode_planes(
    src: &[u8],
    level: u32,
    planes: usize,
    segments: Segments,
    out: &mut Vec<u8>,
) -> Result<usize> {
    with_planes(level, |encoder| {
        let n = encoder.encode(src, planes, segments, out)?;
        // Nobody asks a thread that is ending.
        let _ = WORK.try_with(|work| work.set(Some(encoder.work())));
        Ok(n)
    })
}

/// The work of decoding the stream that this thread encoded last, if its planes were known; it can be taken once.
pub fn take_work() -> Option<Work> {
    WORK.try_with(Cell::take).ok().flatten()
}

/// Calls `run` with this thread's encoder of planes.
fn with_planes<T>(level: u32, run: impl FnOnce(&mut PlaneEncoder) -> T) -> T {
    with_own(&PLANES, |slot| match slot.as_mut() {
        Some(encoder) if encoder.level() == level => run(encoder),
        _ => run(slot.insert(PlaneEncoder::new(level))),
    })
}
