//! Filter 4, szip: the extended-Rice coding of CCSDS 121.0-B ("adaptive entropy coding") in HDF5's framing.
//! Decoding only.
//!
//! Parameters: options, pixels per block, bits per pixel, pixels per scan line. Of the options, most significant
//! byte first (16) and nearest-neighbour prediction (32) matter to a decoder.
//!
//! The chunk starts with its decoded size (4 bytes, little-endian). The rest codes blocks of pixels: each has an
//! identifier of 3, 4 or 5 bits (for up to 8, 16, 32 bits per pixel) that chooses how its pixels are coded; a scan
//! line, filled up to whole blocks, starts with a pixel in full if there is prediction. Pixels of 32 and 64 bits are
//! coded as bytes: all first bytes, then all second ones, and so on.

use super::bits::{BitReader, OutOfBits};
use super::scratch::with_block;
use super::{damaged, kernels};
use crate::error::Result;

const NAME: &str = "szip";

/// Nine bits may encode 64 blocks of zeros.
pub(super) const MAX_EXPANSION: usize = 1 << 16;

const OPTION_MSB: u32 = 16;
const OPTION_PREDICT: u32 = 32;

/// Blocks after which a run of zero blocks that reaches "to the end of the segment" ends.
const SEGMENT: usize = 64;
/// The run length that means "to the end of the segment".
const REST_OF_SEGMENT: u32 = 5;

/// The filter with its parsed parameters.
#[derive(Clone, Copy, Debug)]
pub struct Szip {
    predict: bool,
    most_significant_first: bool,
    /// Pixels per block.
    block: usize,
    /// Pixels per scan line.
    line: usize,
    /// Bits of a coded pixel.
    bits: u32,
    /// Bytes of a coded pixel.
    bytes: usize,
    /// Bytes that belong together where pixels are coded as bytes, else 1.
    interleaved: usize,
}

impl Szip {
    /// Parses the parameters.
    pub fn new(params: &[u32]) -> Result<Self> {
        let &[options, block, bits, line, ..] = params else {
            return Err(damaged(NAME, format!("{} parameters where 4 belong", params.len())));
        };
        let sane = (1..=64).contains(&bits)
            && (2..=256).contains(&block)
            && block.is_multiple_of(2)
            && (1..=1 << 20).contains(&line);
        if !sane {
            return Err(damaged(NAME, format!("{bits} bits in blocks of {block} pixels in lines of {line}")));
        }
        let (bits, interleaved) = if bits == 32 || bits == 64 { (8, bits as usize / 8) } else { (bits, 1) };
        if bits > 32 {
            return Err(damaged(NAME, format!("{bits} bits per pixel")));
        }
        Ok(Self {
            predict: options & OPTION_PREDICT != 0,
            most_significant_first: options & OPTION_MSB != 0,
            block: block as usize,
            line: line as usize,
            bits,
            bytes: match bits {
                ..=8 => 1,
                9..=16 => 2,
                _ => 4,
            },
            interleaved,
        })
    }

    /// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
    pub fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let Some((size, coded)) = src.split_first_chunk::<4>() else {
            return Err(damaged(NAME, "the chunk ends in its header"));
        };
        let size = u32::from_le_bytes(*size) as usize;
        let expected = dst.len();
        let Some(dst) = dst.get_mut(..size) else {
            return Err(damaged(NAME, format!("the chunk holds {size} bytes where {expected} belong")));
        };
        if !size.is_multiple_of(self.bytes) {
            return Err(damaged(NAME, format!("{size} bytes are not a whole number of pixels")));
        }
        if self.interleaved > 1 {
            with_block(size, |planes| {
                self.lines(coded, planes)?;
                kernels::unshuffle(planes, dst, self.interleaved);
                Ok(())
            })?;
        } else {
            self.lines(coded, dst)?;
        }
        Ok(size)
    }

    fn lines(&self, coded: &[u8], dst: &mut [u8]) -> Result<()> {
        let mut bits = BitReader::new(coded);
        let mut pixels = vec![0u32; self.line.div_ceil(self.block) * self.block];
        for line in dst.chunks_mut(self.line * self.bytes) {
            let count = line.len() / self.bytes;
            self.line(&mut bits, &mut pixels, count)
                .map_err(|OutOfBits| damaged(NAME, "the chunk ends too early"))?;
            if self.predict {
                self.unpredict(&mut pixels[..count]);
            }
            self.store(&pixels[..count], line);
        }
        Ok(())
    }

    /// Decodes the blocks of one line. All of them are coded, also if the line is the last and shorter, but
    /// bytes after the `count` pixels at the end of the chunk may be missing.
    fn line(&self, bits: &mut BitReader<'_>, pixels: &mut [u32], count: usize) -> Result<(), OutOfBits> {
        let id_len = match self.bits {
            ..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        let blocks = pixels.len() / self.block;
        let needed = if count == self.line { blocks } else { count.div_ceil(self.block) };
        let mut at = 0;
        while at < needed {
            // The first pixel of a line is coded in full, before the others of its block.
            let first = usize::from(self.predict && at == 0);
            let id = bits.read(id_len)?;
            let start = at * self.block;
            if id == 0 {
                let pairs = bits.read(1)? == 1;
                if first == 1 {
                    pixels[start] = bits.read(self.bits)? as u32;
                }
                if pairs {
                    second_extension(bits, &mut pixels[start..start + self.block], first)?;
                    at += 1;
                } else {
                    let run = match bits.unary()? + 1 {
                        REST_OF_SEGMENT => (blocks - at).min(SEGMENT - at % SEGMENT),
                        n if n > REST_OF_SEGMENT => n as usize - 1,
                        n => n as usize,
                    };
                    let end = at.saturating_add(run).min(blocks);
                    pixels[start + first..end * self.block].fill(0);
                    at = end;
                }
                continue;
            }
            let block = &mut pixels[start..start + self.block];
            if id == (1 << id_len) - 1 {
                for p in block {
                    *p = bits.read(self.bits)? as u32;
                }
            } else {
                if first == 1 {
                    block[0] = bits.read(self.bits)? as u32;
                }
                // Split samples: all high parts in unary, then all low parts.
                let low = id as u32 - 1;
                for p in &mut block[first..] {
                    *p = bits.unary()?.checked_shl(low).unwrap_or(0);
                }
                if low > 0 {
                    for p in &mut block[first..] {
                        *p |= bits.read(low)? as u32;
                    }
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Undoes the prediction of each pixel by the one before it (CCSDS 121.0-B, "prediction error mapper").
    fn unpredict(&self, pixels: &mut [u32]) {
        let max = if self.bits == 32 { u32::MAX } else { (1 << self.bits) - 1 };
        let Some((first, rest)) = pixels.split_first_mut() else { return };
        let mut last = *first & max;
        *first = last;
        for p in rest {
            let mapped = *p;
            // Distance to the nearer end of the range: up to it, errors alternate in sign; beyond, only one
            // sign is left.
            let theta = last.min(max - last);
            let half = mapped / 2 + mapped % 2;
            last = if half <= theta {
                if mapped % 2 == 0 { last + half } else { last - half }
            } else if theta == last {
                mapped
            } else {
                max.wrapping_sub(mapped)
            } & max;
            *p = last;
        }
    }

    fn store(&self, pixels: &[u32], line: &mut [u8]) {
        match (self.bytes, self.most_significant_first) {
            (1, _) => line.iter_mut().zip(pixels).for_each(|(b, p)| *b = *p as u8),
            (2, true) => pairs(line, pixels, |p| (p as u16).to_be_bytes()),
            (2, false) => pairs(line, pixels, |p| (p as u16).to_le_bytes()),
            (_, true) => pairs(line, pixels, u32::to_be_bytes),
            (_, false) => pairs(line, pixels, u32::to_le_bytes),
        }
    }
}

fn pairs<const N: usize>(line: &mut [u8], pixels: &[u32], bytes: impl Fn(u32) -> [u8; N]) {
    for (b, p) in line.as_chunks_mut::<N>().0.iter_mut().zip(pixels) {
        *b = bytes(*p);
    }
}

/// Pairs of pixels (a, b) coded as one number, `(a + b)(a + b + 1) / 2 + b`, in unary. The pixel at `first - 1`
/// is coded in full already; the number of its pair codes only the second pixel.
fn second_extension(bits: &mut BitReader<'_>, block: &mut [u32], first: usize) -> Result<(), OutOfBits> {
    for (i, pair) in block.chunks_exact_mut(2).enumerate() {
        let code = u64::from(bits.unary()?);
        // The largest s with s (s + 1) / 2 <= code.
        let s = ((8 * code + 1).isqrt() - 1) / 2;
        let b = code - s * (s + 1) / 2;
        if i > 0 || first == 0 {
            pair[0] = (s - b) as u32;
        }
        pair[1] = b as u32;
    }
    Ok(())
}
