//! Filter 1, deflate: one zlib stream (RFC 1950, RFC 1951) per chunk; parameter: the level, 0 to 9.
//!
//! libdeflate inflates, on whole buffers: the chunk's size is known, so nothing streams. Streams of any level and
//! window size are read; bytes after the stream are ignored, as HDF5 does.
//!
//! Writing has two encoders. Shuffled chunks at levels 1 to 6 go to [`PlaneEncoder`], which treats each byte
//! plane as it deserves; everything else goes to libdeflate, whose own levels 1 to 12 are mapped so that level N
//! is not larger than zlib's, beyond half a percent; level 0 stores. Level numbers keep zlib's meaning: measured
//! sizes of shuffled chunks at level N stay within 3 % of zlib's level N, and are mostly smaller.

mod bits;
mod block;
mod huffman;
#[cfg(test)]
mod levels;
mod matcher;
mod planes;
mod symbols;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

pub use planes::PlaneEncoder;

use super::damaged;
use super::scratch::grow;
use crate::error::{Error, Result};

const NAME: &str = "deflate";

/// No deflate stream expands further than this: one match of 258 bytes takes at least two bits.
pub(super) const MAX_EXPANSION: usize = 1032;

/// libdeflate's level for each of zlib's. Its level 1 finds no matches of three bytes and made numbers that are not
/// shuffled 70 % larger than zlib's level 1; its level 2 takes the same time. From 5 on it is htslib's mapping.
const LEVELS: [i32; 10] = [0, 2, 2, 3, 4, 6, 7, 8, 10, 12];

thread_local! {
    static INFLATE: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    /// The last compressor and its level: a thread mostly stays with one level, and setting one up is not free.
    static DEFLATE: RefCell<Option<(u32, Compressor)>> = const { RefCell::new(None) };
    /// The last encoder of planes; it knows its level.
    static PLANES: RefCell<Option<PlaneEncoder>> = const { RefCell::new(None) };
}

/// Levels at which the plane encoder's search is as deep as zlib's.
const PLANE_LEVELS: std::ops::RangeInclusive<u32> = 1..=6;

/// Inflates into `dst`; gives the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let inflated = INFLATE.with(|d| d.borrow_mut().zlib_decompress(src, dst));
    inflated.map_err(|e| match e {
        DecompressionError::BadData => damaged(NAME, "the zlib stream is damaged"),
        DecompressionError::InsufficientSpace => {
            damaged(NAME, format!("the zlib stream holds more than {} bytes", dst.len()))
        }
    })
}

/// Deflates into the front of `out`; gives the number of bytes. `planes` says of how many byte planes of equal
/// length `src` consists: the element size after a shuffle, else 1.
pub fn encode(src: &[u8], level: u32, planes: usize, out: &mut Vec<u8>) -> Result<usize> {
    if planes > 1 && PLANE_LEVELS.contains(&level) {
        return Ok(encode_planes(src, level, planes, out));
    }
    DEFLATE.with(|cell| {
        let mut slot = cell.borrow_mut();
        if slot.as_ref().is_none_or(|(l, _)| *l != level) {
            let native = LEVELS[(level as usize).min(9)];
            let native = CompressionLvl::new(native)
                .map_err(|_| Error::Invalid(format!("deflate level {level} does not exist")))?;
            *slot = Some((level, Compressor::new(native)));
        }
        let Some((_, compressor)) = slot.as_mut() else { unreachable!("set above") };
        let bound = compressor.zlib_compress_bound(src.len());
        grow(out, bound);
        compressor
            .zlib_compress(src, &mut out[..bound])
            .map_err(|e| Error::Invalid(format!("deflate: {} bytes could not be encoded: {e}", src.len())))
    })
}

fn encode_planes(src: &[u8], level: u32, planes: usize, out: &mut Vec<u8>) -> usize {
    grow(out, PlaneEncoder::bound(src.len(), planes));
    PLANES.with(|cell| {
        let mut slot = cell.borrow_mut();
        match slot.as_mut() {
            Some(encoder) if encoder.level() == level => encoder.encode(src, planes, out),
            _ => slot.insert(PlaneEncoder::new(level)).encode(src, planes, out),
        }
    })
}
