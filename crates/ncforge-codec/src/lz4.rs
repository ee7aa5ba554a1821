//! Filter 32004, LZ4 in HDF5's framing; parameter: the block size in bytes (0 or none: the whole chunk).
//!
//! Frame, all numbers big-endian: bytes decoded (8), block size (4); then per block its stored size (4) and
//! bytes. A block whose stored size is its decoded size is uncompressed.

use lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};

use super::damaged;
use super::scratch::grow;
use crate::error::{Error, Result};

const NAME: &str = "lz4";

/// A match grows by 255 bytes with each byte of its length.
pub(super) const MAX_EXPANSION: usize = 256;

/// The filter's own limit for one block.
const MAX_BLOCK: usize = 1 << 30;
/// The most bytes that the library takes as one block (`LZ4_MAX_INPUT_SIZE` of lz4.h).
const LZ4_LIMIT: usize = 0x7e00_0000;

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let Some((size, rest)) = src.split_first_chunk::<8>() else {
        return Err(damaged(NAME, "the frame ends in its header"));
    };
    let Some((block, mut rest)) = rest.split_first_chunk::<4>() else {
        return Err(damaged(NAME, "the frame ends in its header"));
    };
    let size = u64::from_be_bytes(*size);
    let block = u32::from_be_bytes(*block) as usize;
    let expected = dst.len();
    let dst = usize::try_from(size)
        .ok()
        .and_then(|n| dst.get_mut(..n))
        .ok_or_else(|| damaged(NAME, format!("the frame holds {size} bytes where {expected} belong")))?;
    if block == 0 && !dst.is_empty() {
        return Err(damaged(NAME, "a block size of 0"));
    }
    for part in dst.chunks_mut(block.max(1)) {
        let stored = rest
            .split_first_chunk::<4>()
            .and_then(|(n, after)| after.split_at_checked(u32::from_be_bytes(*n) as usize));
        let Some((stored, after)) = stored else {
            return Err(damaged(NAME, "the frame ends in a block"));
        };
        rest = after;
        block_into(NAME, stored, part)?;
    }
    Ok(dst.len())
}

/// Decodes one LZ4 block that fills `dst`; one of the same size is uncompressed.
pub(super) fn block_into(filter: &str, stored: &[u8], dst: &mut [u8]) -> Result<()> {
    if stored.len() == dst.len() {
        dst.copy_from_slice(stored);
        return Ok(());
    }
    raw_block_into(filter, stored, dst)
}

/// Decodes one LZ4 block into the front of `dst`; returns the number of bytes.
pub fn decode_block(stored: &[u8], dst: &mut [u8]) -> Result<usize> {
    let most = i32::try_from(dst.len().min(LZ4_LIMIT)).unwrap_or(i32::MAX);
    if stored.len() > i32::MAX as usize {
        return Err(damaged(NAME, format!("a block of {} bytes, LZ4's end at 2 GiB", stored.len())));
    }
    decompress_to_buffer(stored, Some(most), dst)
        .map_err(|_| damaged(NAME, "an LZ4 block that cannot be decoded"))
}

/// Decodes one LZ4 block that fills `dst`.
pub(super) fn raw_block_into(filter: &str, stored: &[u8], dst: &mut [u8]) -> Result<()> {
    let n = decode_block(stored, dst).map_err(|_| damaged(filter, "an LZ4 block that cannot be decoded"))?;
    if n == dst.len() {
        Ok(())
    } else {
        Err(damaged(filter, format!("an LZ4 block of {n} bytes where {} belong", dst.len())))
    }
}

/// Encodes one LZ4 block into the front of `out`, by LZ4HC if a level (1 to 12) is given; returns the number of bytes.
pub fn encode_block(src: &[u8], high: Option<u32>, out: &mut Vec<u8>) -> Result<usize> {
    grow(out, bound(src.len())?)?;
    encode_block_into(src, high, out)
}

fn too_large(e: &std::io::Error) -> Error {
    Error::BadFilter(format!("{NAME}: {e}"))
}

/// Bytes that a block of `len` bytes takes at most.
fn bound(len: usize) -> Result<usize> {
    compress_bound(len).map_err(|e| too_large(&e))
}

/// As [`encode_block`], into a buffer of [`bound`] bytes.
fn encode_block_into(src: &[u8], high: Option<u32>, out: &mut [u8]) -> Result<usize> {
    let mode = high.map(|level| CompressionMode::HIGHCOMPRESSION(level as i32));
    let most = out.len().min(LZ4_LIMIT);
    compress_to_buffer(src, mode, false, &mut out[..most]).map_err(|e| too_large(&e))
}

/// Encodes into the front of `out`; returns the number of bytes.
pub fn encode(src: &[u8], block: usize, out: &mut Vec<u8>) -> Result<usize> {
    let block = if block == 0 { MAX_BLOCK } else { block.min(MAX_BLOCK) }.min(src.len().max(1));
    let blocks = src.len().div_ceil(block);
    grow(out, 12 + blocks * (4 + bound(block)?))?;
    out[..8].copy_from_slice(&(src.len() as u64).to_be_bytes());
    out[8..12].copy_from_slice(&(block as u32).to_be_bytes());
    let mut at = 12;
    for part in src.chunks(block) {
        let body = &mut out[at + 4..];
        let mut n = encode_block_into(part, None, body)?;
        if n >= part.len() {
            n = part.len();
            body[..n].copy_from_slice(part);
        }
        out[at..at + 4].copy_from_slice(&(n as u32).to_be_bytes());
        at += 4 + n;
    }
    Ok(at)
}
