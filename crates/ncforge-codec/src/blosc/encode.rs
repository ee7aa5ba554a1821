//! Writing Blosc 1 frames.

use super::{Blosc, FLAG_BITSHUFFLE, FLAG_NOT_SPLIT, FLAG_SHUFFLE, FLAG_STORED, HEADER, NAME};
use crate::deflate::Segments;
use crate::error::{Error, Result};
use crate::scratch::with_block;
use crate::{deflate, kernels, lz4, zstd};

/// Bytes per block: a block and the compressor's tables fit into the second-level cache of most machines.
const BLOCK: usize = 256 << 10;
/// The version of the frame format.
const VERSION: u8 = 2;
/// The zstd level for each level of Blosc.
const ZSTD_LEVELS: [i32; 10] = [1, 1, 3, 5, 7, 9, 11, 13, 15, 22];

pub(super) fn encode(blosc: &Blosc, src: &[u8], out: &mut Vec<u8>) -> Result<usize> {
    let size = u32::try_from(src.len()).ok().filter(|n| *n < i32::MAX as u32).ok_or_else(|| {
        Error::BadFilter(format!("{NAME}: a chunk of {} bytes, the format ends at 2 GiB", src.len()))
    })?;
    // Blosc treats elements of more than 255 bytes as single bytes.
    let element = if blosc.element > 255 { 1 } else { blosc.element.max(1) };
    let block = (BLOCK / (8 * element) * (8 * element)).min(src.len().max(1));
    let shuffle = match blosc.shuffle {
        1 if element > 1 => FLAG_SHUFFLE,
        2 => FLAG_BITSHUFFLE,
        _ => 0,
    };
    let codec = match blosc.compressor {
        4 => 3u8,
        5 => 4,
        _ => 1,
    };
    let header = |out: &mut Vec<u8>, flags: u8, stored: usize| {
        out[..4].copy_from_slice(&[VERSION, 1, flags, element as u8]);
        out[4..8].copy_from_slice(&size.to_le_bytes());
        out[8..12].copy_from_slice(&(block as u32).to_le_bytes());
        out[12..16].copy_from_slice(&(stored as u32).to_le_bytes());
    };
    out.clear();
    out.resize(HEADER + 4 * src.len().div_ceil(block), 0);
    let most = src.len() + HEADER;
    if blosc.level > 0 {
        let mut compressed = Vec::new();
        for (i, part) in src.chunks(block).enumerate() {
            let at = out.len();
            out[HEADER + 4 * i..][..4].copy_from_slice(&(at as u32).to_le_bytes());
            with_block(2 * part.len(), |buffer| {
                let (shuffled, planes) = buffer.split_at_mut(part.len());
                let bytes: &[u8] = match shuffle {
                    FLAG_SHUFFLE => {
                        kernels::shuffle(part, shuffled, element);
                        shuffled
                    }
                    FLAG_BITSHUFFLE if (part.len() / element).is_multiple_of(8) => {
                        let whole = part.len() / element * element;
                        kernels::bitshuffle(&part[..whole], &mut shuffled[..whole], planes, element);
                        shuffled[whole..].copy_from_slice(&part[whole..]);
                        shuffled
                    }
                    _ => part,
                };
                let n = compress(blosc.compressor, blosc.level, bytes, &mut compressed)?;
                let stored = if n < bytes.len() { &compressed[..n] } else { bytes };
                out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
                out.extend_from_slice(stored);
                Ok::<(), Error>(())
            })?;
            if out.len() >= most {
                break;
            }
        }
        if out.len() < most {
            let stored = out.len();
            header(out, shuffle | FLAG_NOT_SPLIT | codec << 5, stored);
            return Ok(stored);
        }
    }
    out.truncate(HEADER);
    out.extend_from_slice(src);
    header(out, FLAG_STORED | codec << 5, most);
    Ok(most)
}

/// Compresses a block by the compressor of this number among the parameters.
fn compress(compressor: u32, level: u32, src: &[u8], compressed: &mut Vec<u8>) -> Result<usize> {
    match compressor {
        2 => lz4::encode_block(src, Some(level), compressed),
        4 => deflate::encode(src, level, 1, Segments::None, compressed),
        5 => zstd::encode(src, ZSTD_LEVELS[level.min(9) as usize], compressed),
        _ => lz4::encode_block(src, None, compressed),
    }
}
