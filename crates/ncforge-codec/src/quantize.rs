//! Quantization: mantissas are rounded so that lossless filters compress them better.
//!
//! This changes values, and is done only on request. An attribute of the variable records it, with the names of netCDF-C.
//! There are three algorithms:
//!
//! * [`GranularBitRound`](Quantize::GranularBitRound) preserves a number of significant *decimal digits*, with as few bits
//!   as each single value needs for them (Delaunay, Couartaud and Gerard, "Evaluation of lossless and lossy algorithms
//!   for the compression of scientific datasets in netCDF-4 or HDF5 files", Geosci. Model Dev. 12, 2019, eqs. 7 and 8);
//! * [`BitRound`](Quantize::BitRound) preserves a number of explicit mantissa *bits*;
//! * [`BitGroom`](Quantize::BitGroom) preserves the bits for a number of decimal digits; the others become zeros in one
//!   value and ones in the next, so that means hardly change (Zender, Geosci. Model Dev. 9, 2016).
//!
//! Results are bit for bit those of netCDF-C 4.10.1, except for infinities: there Granular BitRound changes them into
//! zeros, and BitGroom into NaNs; here they do not change. Fill values, zeros and NaNs do not change in either. As in
//! netCDF-C, a value next to the largest of its type may be rounded up to infinity.
//!
//! ```
//! use ncforge_codec::quantize::Quantize;
//! let fill = 9.969_21e36f32;
//! let mut values: Vec<u8> = [3.141_592_7f32, fill, -0.001_234_567].iter().flat_map(|v| v.to_ne_bytes()).collect();
//! Quantize::GranularBitRound(3).floats(&mut values, fill);
//! let back: Vec<f32> = values.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
//! assert_eq!(back, [3.140_625, fill, -0.001_235_961_9]);
//! ```

use crate::error::{Error, Result};
use crate::types::Atomic;

/// How mantissas are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantize {
    /// A number of decimal digits, with the bits that each value needs.
    GranularBitRound(u32),
    /// A number of explicit bits of the mantissa.
    BitRound(u32),
    /// A number of decimal digits; further bits become zeros in one value and ones in the next.
    BitGroom(u32),
}

/// log2(10), and its reciprocal, computed as in netCDF-C: this differs in the last bit, which matters at powers of ten.
const BITS_PER_DIGIT: f64 = std::f64::consts::LN_10 / std::f64::consts::LN_2;
const DIGITS_PER_BIT: f64 = std::f64::consts::LN_2 / std::f64::consts::LN_10;
/// Explicit bits of the mantissa.
const FLOAT_BITS: i64 = 23;
const DOUBLE_BITS: i64 = 52;

impl Quantize {
    /// The largest useful number of digits, or bits, for a type; `None` for types that are not quantized.
    pub fn most(self, of: impl Into<Option<Atomic>>) -> Option<u32> {
        let digits = !matches!(self, Quantize::BitRound(_));
        match of.into() {
            Some(Atomic::Float) => Some(if digits { 6 } else { FLOAT_BITS as u32 }),
            Some(Atomic::Double) => Some(if digits { 15 } else { DOUBLE_BITS as u32 }),
            _ => None,
        }
    }

    /// Digits, or bits, that are preserved.
    pub fn kept(self) -> u32 {
        match self {
            Quantize::GranularBitRound(n) | Quantize::BitRound(n) | Quantize::BitGroom(n) => n,
        }
    }

    /// An error unless the number of digits or bits is at least 1 and at most [`Quantize::most`].
    ///
    /// # Errors
    /// [`Error::BadType`], [`Error::BadOption`].
    pub fn check(self, of: impl Into<Option<Atomic>>) -> Result<()> {
        let Some(most) = self.most(of) else {
            return Err(Error::BadType("only variables of type float and double are quantized".into()));
        };
        if (1..=most).contains(&self.kept()) {
            return Ok(());
        }
        let what = if matches!(self, Quantize::BitRound(_)) { "bits" } else { "digits" };
        Err(Error::bad_option(
            "quantize",
            format!("{} significant {what}: 1 to {most} can be kept", self.kept()),
        ))
    }

    /// The name of the attribute in which netCDF-C records the quantization: an `int`, the number of digits or bits.
    pub fn attribute_name(self) -> &'static str {
        match self {
            Quantize::GranularBitRound(_) => "_QuantizeGranularBitRoundNumberOfSignificantDigits",
            Quantize::BitRound(_) => "_QuantizeBitRoundNumberOfSignificantBits",
            Quantize::BitGroom(_) => "_QuantizeBitGroomNumberOfSignificantDigits",
        }
    }

    /// Quantizes values of a type in native byte order; types other than float and double are not changed. `fill` is the
    /// variable's fill value, also in native byte order.
    pub fn apply(self, of: impl Into<Option<Atomic>>, values: &mut [u8], fill: &[u8]) {
        match of.into() {
            Some(Atomic::Float) => {
                let fill = fill.first_chunk().map_or(f32::NAN, |b| f32::from_ne_bytes(*b));
                self.floats(values, fill);
            }
            Some(Atomic::Double) => {
                let fill = fill.first_chunk().map_or(f64::NAN, |b| f64::from_ne_bytes(*b));
                self.doubles(values, fill);
            }
            _ => {}
        }
    }

    /// Quantizes numbers of four bytes.
    pub fn floats(self, values: &mut [u8], fill: f32) {
        for (i, bytes) in values.chunks_exact_mut(4).enumerate() {
            let old = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let value = f32::from_bits(old);
            if value == fill || value == 0.0 || !value.is_finite() {
                continue;
            }
            let new = match self.drop_bits(f64::from(value), FLOAT_BITS) {
                None => continue,
                Some(n) => match self {
                    Quantize::BitGroom(_) if i % 2 == 0 => old & (u32::MAX << n),
                    Quantize::BitGroom(_) => old | !(u32::MAX << n),
                    _ => old.wrapping_add(1 << (n - 1)) & (u32::MAX << n),
                },
            };
            bytes.copy_from_slice(&new.to_ne_bytes());
        }
    }

    /// Quantizes numbers of eight bytes.
    pub fn doubles(self, values: &mut [u8], fill: f64) {
        for (i, bytes) in values.chunks_exact_mut(8).enumerate() {
            let Some(head) = bytes.first_chunk() else { continue };
            let old = u64::from_ne_bytes(*head);
            let value = f64::from_bits(old);
            if value == fill || value == 0.0 || !value.is_finite() {
                continue;
            }
            let new = match self.drop_bits(value, DOUBLE_BITS) {
                None => continue,
                Some(n) => match self {
                    Quantize::BitGroom(_) if i % 2 == 0 => old & (u64::MAX << n),
                    Quantize::BitGroom(_) => old | !(u64::MAX << n),
                    _ => old.wrapping_add(1 << (n - 1)) & (u64::MAX << n),
                },
            };
            bytes.copy_from_slice(&new.to_ne_bytes());
        }
    }

    /// The number of low bits of a value's mantissa that are dropped; `None` if none are.
    fn drop_bits(self, value: f64, mantissa: i64) -> Option<u32> {
        let keep = match self {
            Quantize::BitRound(n) => i64::from(n),
            Quantize::BitGroom(n) => (f64::from(n) * BITS_PER_DIGIT).ceil() as i64 + 1,
            Quantize::GranularBitRound(n) => granular_bits(value, n),
        };
        let drop = mantissa - keep;
        (drop >= 1).then_some(drop as u32)
    }
}

/// Explicit mantissa bits that a value needs for `digits` decimal digits. Can be -1: then even the implicit bit is
/// rounded.
fn granular_bits(value: f64, digits: u32) -> i64 {
    let (mantissa, exponent) = split(value.abs());
    let log = mantissa.log10();
    let exponent = exponent as f64;
    // Decimal digits before the point.
    let places = (exponent * DIGITS_PER_BIT + log).floor() + 1.0;
    // The power of two of the largest error that preserves the digits.
    let error = (BITS_PER_DIGIT * (places - f64::from(digits))).floor();
    let top = (exponent - BITS_PER_DIGIT * log).floor();
    (top - error).abs() as i64 - 1
}

/// A positive finite number as a fraction of 0.5 to 1 and a power of two.
fn split(value: f64) -> (f64, i64) {
    // Denormal numbers have leading zeros in the mantissa; a factor of 2^64 removes them.
    let (value, less) = if value < f64::MIN_POSITIVE { (value * 2f64.powi(64), 64) } else { (value, 0) };
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1022;
    (f64::from_bits(bits & !(0x7ff << 52) | (1022 << 52)), exponent - less)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_is_exact() {
        for v in [1.0, 0.5, 3.75, 1e300, f64::MIN_POSITIVE, 5e-324, 1e-310, 0.1] {
            let (m, e) = split(v);
            assert!((0.5..1.0).contains(&m), "{v}: {m}");
            assert_eq!(m * 2f64.powi((e / 2) as i32) * 2f64.powi((e - e / 2) as i32), v);
        }
    }

    #[test]
    fn what_must_stay_stays() {
        let fill = 1e20f32;
        let all = [fill, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let bytes: Vec<u8> = all.iter().flat_map(|v| v.to_ne_bytes()).collect();
        for q in [Quantize::GranularBitRound(1), Quantize::BitRound(1), Quantize::BitGroom(1)] {
            let mut out = bytes.clone();
            q.floats(&mut out, fill);
            assert_eq!(out, bytes, "{q:?}");
        }
    }

    #[test]
    fn digits_are_kept() {
        for digits in 1..=15 {
            for i in 1..2000 {
                let v = (f64::from(i) * 0.37).exp2() * 1e-90;
                let mut b = v.to_ne_bytes().to_vec();
                Quantize::GranularBitRound(digits).doubles(&mut b, f64::NAN);
                let back = f64::from_ne_bytes(b.try_into().unwrap());
                let unit = 10f64.powf(v.log10().floor() + 1.0 - f64::from(digits));
                assert!((back - v).abs() <= 0.5 * unit * 1.001, "{v} {back} {digits}");
            }
        }
    }

    #[test]
    fn digits_and_bits_have_limits() {
        assert!(Quantize::GranularBitRound(6).check(Atomic::Float).is_ok());
        assert!(Quantize::GranularBitRound(7).check(Atomic::Float).is_err());
        assert!(Quantize::BitRound(0).check(Atomic::Float).is_err());
        assert!(Quantize::BitRound(3).check(Atomic::Int).is_err());
    }
}
