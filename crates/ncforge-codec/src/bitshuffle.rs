//! Filter 32008, bitshuffle: bits into planes block by block, then optionally LZ4 or zstd per block.
//!
//! Parameters: library version (two words), element size, elements per block (0: the library's choice),
//! compressor (0 none, 2 LZ4, 3 zstd), zstd level.
//!
//! Without a compressor the blocks follow each other. With one, all numbers big-endian: bytes decoded (8), block
//! size in bytes (4); then per block its stored size (4) and bytes. In both cases a last block has what is left,
//! rounded down to eight elements, and up to seven elements after it are stored uncompressed.

use super::kernels;
use super::lz4::{self, raw_block_into};
use super::scratch::{grow, with_block};
use super::{damaged, zstd};
use crate::error::{Error, Result};

const NAME: &str = "bitshuffle";

/// As for [`zstd`].
pub(super) const MAX_EXPANSION: usize = zstd::MAX_EXPANSION;

/// How each block's rows of bits are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Uncompressed.
    None,
    /// An LZ4 block.
    Lz4,
    /// A zstd frame of this level.
    Zstd(i32),
}

/// The filter with its parsed parameters.
#[derive(Clone, Copy, Debug)]
pub struct Bitshuffle {
    /// Bytes of one element, at least 1.
    pub element: usize,
    /// Elements per block; 0 means the library's choice.
    pub block: usize,
    /// The compressor of the shuffled blocks.
    pub compressor: Compressor,
}

impl Bitshuffle {
    /// Parses the parameters.
    pub fn new(params: &[u32], element_size: usize) -> Result<Self> {
        let param = |i: usize| params.get(i).copied().unwrap_or(0);
        let element = params.get(2).map_or(element_size, |e| *e as usize);
        let block = param(3) as usize;
        if element == 0 || !block.is_multiple_of(8) {
            return Err(damaged(NAME, format!("elements of {element} bytes in blocks of {block}")));
        }
        let compressor = match param(4) {
            0 => Compressor::None,
            2 => Compressor::Lz4,
            3 => Compressor::Zstd(params.get(5).map_or(0, |l| l.cast_signed())),
            other => return Err(damaged(NAME, format!("compressor {other}, which does not exist"))),
        };
        let filter = Self { element, block, compressor };
        // A block's size is stored in 32 bits; for huge elements, the library's own choice can also be larger.
        match filter.block_or_default().checked_mul(element) {
            Some(bytes) if bytes <= 1 << 31 => Ok(filter),
            _ => Err(damaged(NAME, format!("elements of {element} bytes in blocks of {block}"))),
        }
    }

    /// Elements per block as the library chooses: some 8 KiB, so that a block fits into the first-level cache.
    fn block_or_default(&self) -> usize {
        if self.block > 0 { self.block } else { (8192 / self.element / 8 * 8).max(128) }
    }

    /// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
    pub fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if self.compressor == Compressor::None {
            let expected = dst.len();
            let dst = dst
                .get_mut(..src.len())
                .ok_or_else(|| damaged(NAME, format!("{} bytes where {expected} belong", src.len())))?;
            self.decode_stored(src, dst)?;
            return Ok(src.len());
        }
        let (Some((size, rest)), Some(block)) = (src.split_first_chunk::<8>(), src.get(8..12)) else {
            return Err(damaged(NAME, "the chunk ends in its header"));
        };
        let size = u64::from_be_bytes(*size);
        let expected = dst.len();
        let dst = usize::try_from(size)
            .ok()
            .and_then(|n| dst.get_mut(..n))
            .ok_or_else(|| damaged(NAME, format!("the chunk holds {size} bytes where {expected} belong")))?;
        let block = block.iter().fold(0usize, |n, b| n << 8 | usize::from(*b));
        if block == 0 || !block.is_multiple_of(8 * self.element) {
            return Err(damaged(NAME, format!("blocks of {block} bytes, of elements of {}", self.element)));
        }
        self.decode_blocks(&rest[4..], dst, block)?;
        Ok(dst.len())
    }

    fn decode_stored(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let block = self.block_or_default() * self.element;
        let whole = src.len() / (8 * self.element) * (8 * self.element);
        dst[whole..].copy_from_slice(&src[whole..]);
        with_block(block.min(whole), |planes| {
            for (s, d) in src[..whole].chunks(block).zip(dst[..whole].chunks_mut(block)) {
                kernels::bitunshuffle(s, d, planes, self.element);
            }
            Ok(())
        })
    }

    fn decode_blocks(&self, mut rest: &[u8], dst: &mut [u8], block: usize) -> Result<()> {
        let (whole, tail) = dst.split_at_mut(dst.len() / (8 * self.element) * (8 * self.element));
        let block = block.min(whole.len().max(1));
        with_block(2 * block, |buffer| {
            let (rows, planes) = buffer.split_at_mut(block);
            for part in whole.chunks_mut(block) {
                let stored = rest
                    .split_first_chunk::<4>()
                    .and_then(|(n, after)| after.split_at_checked(u32::from_be_bytes(*n) as usize));
                let Some((stored, after)) = stored else {
                    return Err(damaged(NAME, "the chunk ends in a block"));
                };
                rest = after;
                let rows = &mut rows[..part.len()];
                if let Compressor::Zstd(_) = self.compressor {
                    let n = zstd::decode(stored, rows)?;
                    if n != rows.len() {
                        return Err(damaged(
                            NAME,
                            format!("a block of {n} bytes where {} belong", rows.len()),
                        ));
                    }
                } else {
                    raw_block_into(NAME, stored, rows)?;
                }
                kernels::bitunshuffle(rows, part, planes, self.element);
            }
            Ok(())
        })?;
        match rest.get(..tail.len()) {
            Some(bytes) => tail.copy_from_slice(bytes),
            None => return Err(damaged(NAME, "the chunk ends before its last elements")),
        }
        Ok(())
    }

    /// Encodes into the front of `out`; returns the number of bytes.
    pub fn encode(&self, src: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let block = (self.block_or_default() * self.element).min(src.len().max(1));
        let (whole, tail) = src.split_at(src.len() / (8 * self.element) * (8 * self.element));
        if self.compressor == Compressor::None {
            grow(out, src.len())?;
            with_block(block, |planes| {
                for (s, d) in whole.chunks(block).zip(out[..whole.len()].chunks_mut(block)) {
                    kernels::bitshuffle(s, d, planes, self.element);
                }
                Ok(())
            })?;
            out[whole.len()..src.len()].copy_from_slice(tail);
            return Ok(src.len());
        }
        let declared = self.block_or_default() * self.element;
        out.clear();
        out.extend_from_slice(&(src.len() as u64).to_be_bytes());
        out.extend_from_slice(&(declared as u32).to_be_bytes());
        let mut compressed = Vec::new();
        with_block(2 * block, |buffer| {
            let (rows, planes) = buffer.split_at_mut(block);
            for part in whole.chunks(declared) {
                let rows = &mut rows[..part.len()];
                kernels::bitshuffle(part, rows, planes, self.element);
                let n = match self.compressor {
                    Compressor::Zstd(level) => zstd::encode(rows, level, &mut compressed)?,
                    _ => lz4::encode_block(rows, None, &mut compressed)?,
                };
                out.extend_from_slice(&(n as u32).to_be_bytes());
                out.extend_from_slice(&compressed[..n]);
            }
            Ok::<(), Error>(())
        })?;
        out.extend_from_slice(tail);
        Ok(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_32_bits_cannot_tell_is_refused() {
        for params in [[0, 5, 0x3ec1_e7c7, 0, 2], [0, 5, 4, 1 << 30, 2], [0, 5, 0, 8, 0], [0, 5, 4, 12, 0]] {
            assert!(Bitshuffle::new(&params, 4).is_err(), "{params:?}");
        }
        assert!(Bitshuffle::new(&[0, 5, 1 << 24, 0, 2], 4).is_ok());
    }
}
