//! Numbers that netCDF does not have, and the ones that they are read as: floats of two bytes as floats of four, integers of fewer bits
//! than their bytes as integers of all bits.
//!
//! This is not a filter of the file format. It is put in front of a variable's filters, so that their results are widened
//! on the way to memory. Reading only.

use std::fmt;
use std::sync::Arc;

use super::damaged;
use crate::error::Result;

/// Stored numbers, and their values.
#[derive(Clone)]
pub struct Widen {
    big_endian: bool,
    how: How,
}

#[derive(Clone)]
enum How {
    /// The values of two-byte floats, by bit pattern.
    Floats(Arc<[f32]>),
    Bits(Bits),
}

/// The place of a number's bits in an integer of `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Bytes of the integer: 1, 2, 4 or 8.
    pub size: usize,
    /// The lowest of them, counted from the least significant.
    pub offset: u16,
    /// The number of bits.
    pub precision: u16,
    /// Whether the highest of them is the sign.
    pub signed: bool,
}

impl Bits {
    /// Whether they lie within the integer, and are fewer than it has.
    pub fn are_fewer(self) -> bool {
        let most = 8 * self.size as u64;
        matches!(self.size, 1 | 2 | 4 | 8)
            && self.precision > 0
            && u64::from(self.precision) < most
            && u64::from(self.offset) + u64::from(self.precision) <= most
    }

    /// The integer that they are; [`Bits::are_fewer`] holds.
    fn value(self, stored: u64) -> u64 {
        let above = 64 - u32::from(self.precision);
        let top = (stored >> self.offset) << above;
        if self.signed { (top.cast_signed() >> above).cast_unsigned() } else { top >> above }
    }
}

impl fmt::Debug for Widen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Widen").field("big_endian", &self.big_endian).field("of", &self.name()).finish()
    }
}

impl Widen {
    /// Floats of two bytes stored in this byte order, with the values that `value` returns.
    pub fn new(big_endian: bool, value: impl Fn(u16) -> f32) -> Self {
        Widen { big_endian, how: How::Floats((0..=u16::MAX).map(value).collect()) }
    }

    /// Integers of fewer bits than their bytes, stored in this byte order.
    pub fn bits(big_endian: bool, bits: Bits) -> Self {
        Widen { big_endian, how: How::Bits(bits) }
    }

    /// Bytes of a number as it is stored.
    pub fn stored_size(&self) -> usize {
        match self.how {
            How::Floats(_) => 2,
            How::Bits(bits) => bits.size,
        }
    }

    /// Bytes of a number as it is read.
    pub fn size(&self) -> usize {
        match self.how {
            How::Floats(_) => 4,
            How::Bits(bits) => bits.size,
        }
    }

    /// The name of the stored numbers.
    pub fn name(&self) -> String {
        match self.how {
            How::Floats(_) => "2-byte floats".into(),
            How::Bits(Bits { size, precision, .. }) => {
                format!("{size}-byte integers of {precision} bits")
            }
        }
    }

    /// Parameters that distinguish one from another.
    pub fn params(&self) -> Vec<u32> {
        let mut params = vec![u32::from(self.big_endian)];
        match &self.how {
            How::Floats(values) => params.push(values[1].to_bits()),
            How::Bits(b) => {
                params.extend([b.size as u32, b.offset.into(), b.precision.into(), b.signed.into()]);
            }
        }
        params
    }

    /// All values, as numbers in native byte order.
    pub fn widen(&self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let (from, to) = (self.stored_size(), self.size());
        if !stored.len().is_multiple_of(from) || stored.len() / from * to != out.len() {
            let (n, space) = (stored.len(), out.len());
            return Err(damaged("widening", format!("{n} bytes of {} for {space} bytes", self.name())));
        }
        match &self.how {
            How::Floats(values) => {
                for (from, to) in stored.as_chunks::<2>().0.iter().zip(out.as_chunks_mut::<4>().0) {
                    let bits =
                        if self.big_endian { u16::from_be_bytes(*from) } else { u16::from_le_bytes(*from) };
                    *to = values[usize::from(bits)].to_ne_bytes();
                }
            }
            How::Bits(bits) => match bits.size {
                1 => self.integers::<1>(*bits, stored, out),
                2 => self.integers::<2>(*bits, stored, out),
                4 => self.integers::<4>(*bits, stored, out),
                _ => self.integers::<8>(*bits, stored, out),
            },
        }
        Ok(())
    }

    fn integers<const N: usize>(&self, bits: Bits, stored: &[u8], out: &mut [u8]) {
        for (from, to) in stored.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<N>().0) {
            let mut wide = [0; 8];
            wide[..N].copy_from_slice(from);
            if self.big_endian {
                wide[..N].reverse();
            }
            let value = bits.value(u64::from_le_bytes(wide));
            to.copy_from_slice(&value.to_le_bytes()[..N]);
            if cfg!(target_endian = "big") {
                to.reverse();
            }
        }
    }

    /// The widened numbers, in new bytes.
    pub fn widened(&self, stored: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; stored.len() / self.stored_size() * self.size()];
        self.widen(stored, &mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_values_whatever_stands_beside_them() {
        let bits = |size, offset, precision, signed| Bits { size, offset, precision, signed };
        let twelve = Widen::bits(true, bits(2, 2, 12, true));
        // Padding above and below is not part of the value.
        let stored = [0xffff_u16, 0x4006, 0xe000].map(u16::to_be_bytes).concat();
        let values = [-1i16, 1, -2048].map(i16::to_ne_bytes).concat();
        assert_eq!(twelve.widened(&stored).unwrap(), values);
        let unsigned = Widen::bits(false, bits(2, 0, 12, false));
        assert_eq!(unsigned.widened(&0xf00f_u16.to_le_bytes()).unwrap(), 0x00f_u16.to_ne_bytes());
        let long = Widen::bits(false, bits(8, 1, 63, true));
        assert_eq!(long.widened(&u64::MAX.to_le_bytes()).unwrap(), (-1i64).to_ne_bytes());
        assert!(twelve.widened(&[1, 2, 3]).is_err());
        assert!(!bits(2, 5, 12, true).are_fewer() && !bits(2, 0, 16, true).are_fewer());
        assert!(!bits(3, 0, 12, true).are_fewer() && bits(1, 7, 1, false).are_fewer());
    }
}
