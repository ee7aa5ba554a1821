//! Filter 32001, Blosc 1: a chunk cut into blocks, each shuffled and compressed.
//!
//! Parameters: filter version, Blosc version, element size, chunk bytes, level, shuffle (0 none, 1 bytes, 2 bits),
//! compressor (0 BloscLZ, 1 LZ4, 2 LZ4HC, 3 Snappy, 4 zlib, 5 zstd). Reading needs none of them.
//!
//! Frame, numbers little-endian: version, compressor's version, flags, element size (a byte each), bytes decoded,
//! bytes per block, bytes of the frame (4 each); then the offset of each block (4 each). A block is one stream, or
//! one per byte of the element; a stream is its size (4) and its bytes; one of the decoded size is stored.
//! Flags: 1 bytes shuffled, 2 all stored, 4 bits shuffled, 16 blocks not split; the upper three bits are the
//! compressor (0 BloscLZ, 1 LZ4, 2 Snappy, 3 zlib, 4 zstd).
//!
//! All compressors but Snappy are read. On writing, blocks are not split, and BloscLZ and Snappy become LZ4: the
//! frame contains the compressor, so every reader decodes it.

mod blosclz;
mod encode;

use super::lz4::raw_block_into;
use super::scratch::with_block;
use super::{damaged, deflate, kernels, zstd};
use crate::error::{Error, Result};

const NAME: &str = "blosc";

/// As for [`zstd`].
pub(super) const MAX_EXPANSION: usize = zstd::MAX_EXPANSION;

const HEADER: usize = 16;
const FLAG_SHUFFLE: u8 = 1;
const FLAG_STORED: u8 = 2;
const FLAG_BITSHUFFLE: u8 = 4;
const FLAG_NOT_SPLIT: u8 = 16;

/// A block is split into one stream per byte of its elements if they have at most this many bytes …
const MAX_SPLITS: usize = 16;
/// … and if a stream has at least this many.
const MIN_STREAM: usize = 128;

/// The filter's parameters for writing.
#[derive(Clone, Copy, Debug)]
pub struct Blosc {
    /// Bytes of one element.
    pub element: usize,
    /// 0 to 9.
    pub level: u32,
    /// 0 none, 1 bytes, 2 bits.
    pub shuffle: u32,
    /// The compressor's number among the parameters.
    pub compressor: u32,
}

impl Blosc {
    /// Parses the parameters.
    pub fn new(params: &[u32], element_size: usize) -> Self {
        let param = |i: usize, or: u32| params.get(i).copied().unwrap_or(or);
        let element = param(2, 0) as usize;
        Self {
            element: if element == 0 { element_size } else { element },
            level: param(4, 5).min(9),
            shuffle: param(5, 1),
            compressor: param(6, 0),
        }
    }

    /// Encodes into the front of `out`; returns the number of bytes.
    pub fn encode(&self, src: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        encode::encode(self, src, out)
    }
}

/// A frame's header, checked.
struct Frame<'a> {
    bytes: &'a [u8],
    flags: u8,
    element: usize,
    block: usize,
}

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let word =
        |at: usize| src.get(at..at + 4).map(|w| w.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)));
    let (Some(size), Some(block), Some(stored)) = (word(4), word(8), word(12)) else {
        return Err(damaged(NAME, format!("{} bytes, too few for a frame", src.len())));
    };
    let (version, flags, element) = (src[0], src[2], usize::from(src[3]));
    if version > 2 {
        return Err(Error::Unsupported(format!("a blosc frame of version {version}")));
    }
    let room = dst.len();
    let Some(dst) = dst.get_mut(..size) else {
        return Err(damaged(NAME, format!("the frame holds {size} bytes where {room} belong")));
    };
    let Some(bytes) = src.get(..stored).filter(|b| b.len() >= HEADER) else {
        return Err(damaged(NAME, format!("a frame of {stored} bytes in {}", src.len())));
    };
    if flags & FLAG_STORED != 0 {
        let body = bytes.get(HEADER..HEADER + size);
        dst.copy_from_slice(body.ok_or_else(|| damaged(NAME, "the frame is shorter than what it stores"))?);
        return Ok(size);
    }
    if size == 0 {
        return Ok(0);
    }
    if block == 0 || element == 0 {
        return Err(damaged(NAME, format!("elements of {element} bytes in blocks of {block}")));
    }
    let frame = Frame { bytes, flags, element, block };
    for (i, part) in dst.chunks_mut(block).enumerate() {
        frame.block(i, part)?;
    }
    Ok(size)
}

impl Frame<'_> {
    fn word(&self, at: usize) -> Result<usize> {
        let bytes = at.checked_add(4).and_then(|end| self.bytes.get(at..end));
        bytes
            .map(|w| w.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)))
            .ok_or_else(|| damaged(NAME, "the frame ends in a block"))
    }

    fn block(&self, index: usize, dst: &mut [u8]) -> Result<()> {
        let at = self.word(HEADER + 4 * index)?;
        let shuffled = self.flags & FLAG_SHUFFLE != 0 && self.element > 1;
        let bits = self.flags & FLAG_BITSHUFFLE != 0 && dst.len() >= self.element;
        if shuffled {
            with_block(dst.len(), |planes| {
                self.streams(at, planes)?;
                kernels::unshuffle(planes, dst, self.element);
                Ok(())
            })
        } else if bits {
            with_block(2 * dst.len(), |room| {
                let (rows, planes) = room.split_at_mut(dst.len());
                self.streams(at, rows)?;
                // Blosc does not shuffle a block whose number of elements is not a multiple of eight.
                let elements = dst.len() / self.element;
                let whole = if elements.is_multiple_of(8) { elements * self.element } else { 0 };
                kernels::bitunshuffle(&rows[..whole], &mut dst[..whole], planes, self.element);
                dst[whole..].copy_from_slice(&rows[whole..]);
                Ok(())
            })
        } else {
            self.streams(at, dst)
        }
    }

    /// The streams of one block, one after the other.
    fn streams(&self, mut at: usize, dst: &mut [u8]) -> Result<()> {
        let split = self.flags & FLAG_NOT_SPLIT == 0
            && self.element <= MAX_SPLITS
            && self.block / self.element >= MIN_STREAM
            && dst.len() == self.block;
        let len = if split { self.block / self.element } else { dst.len() };
        let streams = if split { self.element } else { 1 };
        // If a block is not a whole number of elements, no stream contains its last bytes.
        let (covered, rest) = dst.split_at_mut(len * streams);
        rest.fill(0);
        for part in covered.chunks_mut(len) {
            let stored = self.word(at)?;
            let body = at + 4;
            let bytes = body.checked_add(stored).and_then(|end| self.bytes.get(body..end));
            let bytes = bytes.ok_or_else(|| damaged(NAME, "the frame ends in a block"))?;
            at = body + stored;
            if stored == part.len() {
                part.copy_from_slice(bytes);
            } else {
                self.stream(bytes, part)?;
            }
        }
        Ok(())
    }

    fn stream(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let n = match self.flags >> 5 {
            0 => blosclz::decode(src, dst)?,
            1 => return raw_block_into(NAME, src, dst),
            2 => {
                let what = "snappy inside filter 32001 (blosc)".into();
                return Err(Error::Unsupported(what));
            }
            3 => deflate::decode(src, dst)?,
            4 => zstd::decode(src, dst)?,
            other => return Err(damaged(NAME, format!("compressor {other}, which does not exist"))),
        };
        if n == dst.len() {
            Ok(())
        } else {
            Err(damaged(NAME, format!("a stream of {n} bytes where {} belong", dst.len())))
        }
    }
}
