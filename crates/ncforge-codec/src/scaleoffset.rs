//! Filter 6, scale-offset: numbers as differences from the chunk's minimum, in as many bits as the largest needs.
//! Decoding only.
//!
//! Parameters: scale type (0 decimal scale for floating point, 2 integer), scale factor, elements per chunk, class
//! (0 integer, 1 floating point), size, sign, byte order (1: big-endian), whether there is a fill value, and the fill
//! value's bytes in words, least significant first.
//!
//! The chunk starts with the number of bits (4 bytes, little-endian), the size of the minimum (1), the minimum
//! (8, little-endian) and unused bytes up to 21. The differences follow, most significant bit first, without gaps;
//! all ones are the fill value. With as many bits as the type has, the elements follow uncompressed.
//! Floating point is `difference / 10^factor + minimum`, computed in the type itself.

use super::bits::{BitReader, OutOfBits};
use super::damaged;
use crate::error::Result;

const NAME: &str = "scaleoffset";
const HEADER: usize = 21;

/// The filter with its parsed parameters.
#[derive(Clone, Copy, Debug)]
pub struct ScaleOffset {
    /// The elements are stored uncompressed, because all bits were requested.
    stored: bool,
    elements: usize,
    size: usize,
    big_endian: bool,
    kind: Kind,
    fill: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Integer,
    Float { decimals: i32 },
}

impl ScaleOffset {
    /// Parses the parameters.
    pub fn new(params: &[u32]) -> Result<Self> {
        let &[scale, factor, elements, class, size, _sign, order, filled, fill_low, fill_high, ..] = params
        else {
            return Err(damaged(NAME, format!("{} parameters where 20 belong", params.len())));
        };
        let kind = match (class, scale, size) {
            (0, 2, 1 | 2 | 4 | 8) => Kind::Integer,
            (1, 0, 4 | 8) => Kind::Float { decimals: factor.cast_signed() },
            _ => {
                return Err(damaged(
                    NAME,
                    format!(
                        "parameters that describe no number (class {class}, scale type {scale}, size {size})"
                    ),
                ));
            }
        };
        let size = size as usize;
        Ok(Self {
            stored: matches!(kind, Kind::Integer) && factor as usize == size * 8,
            elements: elements as usize,
            size,
            big_endian: order == 1,
            kind,
            fill: (filled == 1).then_some(u64::from(fill_high) << 32 | u64::from(fill_low)),
        })
    }

    /// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
    pub fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let room = dst.len();
        let long = |n: usize| damaged(NAME, format!("{n} bytes where {room} belong"));
        if self.stored {
            dst.get_mut(..src.len()).ok_or_else(|| long(src.len()))?.copy_from_slice(src);
            return Ok(src.len());
        }
        let bytes = self.elements.checked_mul(self.size).ok_or_else(|| long(usize::MAX))?;
        let dst = dst.get_mut(..bytes).ok_or_else(|| long(bytes))?;
        let cut = || damaged(NAME, "the chunk ends too early");
        let (header, packed) = src.split_first_chunk::<HEADER>().ok_or_else(cut)?;
        let width = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let minimum_size = usize::from(header[4]).min(8);
        let minimum = header[5..5 + minimum_size].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));

        if width as usize > self.size * 8 {
            return Err(damaged(NAME, format!("{width} bits for a number of {}", self.size * 8)));
        }
        if width as usize == self.size * 8 {
            dst.copy_from_slice(packed.get(..bytes).ok_or_else(cut)?);
            if self.big_endian {
                // They are in the writer's byte order, which is little-endian on all current machines.
                super::kernels::swap_in_place(dst, self.size);
            }
            return Ok(bytes);
        }
        self.unpack(packed, width, minimum, dst).map_err(|OutOfBits| cut())?;
        Ok(bytes)
    }

    fn unpack(&self, packed: &[u8], width: u32, minimum: u64, dst: &mut [u8]) -> Result<(), OutOfBits> {
        let mut bits = BitReader::new(packed);
        let ones = (1u64 << width) - 1;
        let number = |difference: u64| match (self.fill, self.kind, self.size) {
            (Some(fill), ..) if difference == ones => fill,
            (_, Kind::Integer, _) => difference.wrapping_add(minimum),
            (_, Kind::Float { decimals }, 4) => {
                let scale = 10f32.powf(decimals as f32);
                let value = difference as u32 as i32 as f32 / scale + f32::from_bits(minimum as u32);
                u64::from(value.to_bits())
            }
            (_, Kind::Float { decimals }, _) => {
                let value =
                    difference as i64 as f64 / 10f64.powf(f64::from(decimals)) + f64::from_bits(minimum);
                value.to_bits()
            }
        };
        for element in dst.chunks_exact_mut(self.size) {
            let value = number(bits.read(width)?);
            if self.big_endian {
                element.copy_from_slice(&value.to_be_bytes()[8 - self.size..]);
            } else {
                element.copy_from_slice(&value.to_le_bytes()[..self.size]);
            }
        }
        Ok(())
    }
}
