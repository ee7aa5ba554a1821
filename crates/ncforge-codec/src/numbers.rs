//! Numbers of one type as numbers of another.
//!
//! Floats lose their fraction in integers. A number that the other type does not have is converted all the same, and counted.

use std::ops::BitOr;

use bytemuck::Pod;

use crate::types::Atomic;

/// What an integer becomes that the other integer type does not have. Of a float that is outside an integer type, it is the nearest
/// value in any case; NaN is not outside, and becomes 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// Its lowest bits, as in C and in netCDF-C.
    Wraps,
    /// The nearest value, as in HDF5.
    Nearest,
}

/// Integers wrap round. The second number has the bits of an integer that do not fit, 0 if it fits: of signed types, those above the range
/// when the range is moved to begin at 0.
macro_rules! wrapped {
    ($S:ty, $D:ty) => {{
        const SIGNED: (bool, bool) = (<$S>::MIN != 0, <$D>::MIN != 0);
        const FREE: u32 = match SIGNED {
            (false, true) => <$D>::BITS - 1,
            (true, false) if <$D>::BITS >= <$S>::BITS => <$S>::BITS - 1,
            _ => <$D>::BITS,
        };
        const FITS_ALL: bool = FREE >= <$S>::BITS;
        const OUTSIDE: $S = if FITS_ALL { 0 } else { !0 << FREE };
        const MOVED: $S = if !FITS_ALL && SIGNED.0 && SIGNED.1 { 1 << (FREE - 1) } else { 0 };
        |s: $S| (s as $D, s.wrapping_add(MOVED) & OUTSIDE)
    }};
}
/// Integers become the nearest one.
macro_rules! nearest {
    ($S:ty, $D:ty) => {
        |s: $S| {
            let wide = s as i128;
            let near = wide.clamp(<$D>::MIN as i128, <$D>::MAX as i128);
            (near as $D, near != wide)
        }
    };
}
/// Floats lose their fraction.
macro_rules! truncated {
    ($S:ty, $D:ty) => {
        |s: $S| {
            let wide = f64::from(s);
            (s as $D, wide > <$D>::MAX as f64 || wide < <$D>::MIN as f64)
        }
    };
}

/// Converts values in native byte order between memory of the right sizes; how many were out of range. Text is copied as it is.
///
/// ```
/// use ncforge_codec::numbers::{OutOfRange, convert};
/// use ncforge_codec::Atomic;
/// let mut out = [0; 1];
/// assert_eq!(convert(Atomic::Short, &300i16.to_ne_bytes(), Atomic::Byte, &mut out, OutOfRange::Wraps), 1);
/// assert_eq!(out[0] as i8, 44);
/// assert_eq!(convert(Atomic::Short, &300i16.to_ne_bytes(), Atomic::Byte, &mut out, OutOfRange::Nearest), 1);
/// assert_eq!(out[0] as i8, 127);
/// ```
///
/// # Panics
/// Where text is to be converted into numbers, or numbers into text.
#[allow(clippy::cast_lossless, reason = "the macros are for lossy casts, too")]
pub fn convert(from: Atomic, src: &[u8], to: Atomic, out: &mut [u8], outside: OutOfRange) -> u64 {
    if from == to {
        out.copy_from_slice(src);
        return 0;
    }
    macro_rules! integer {
        ($S:ty, $D:ty) => {
            match outside {
                OutOfRange::Wraps => integers::<$S, $D>(src, out, wrapped!($S, $D)),
                OutOfRange::Nearest => each::<$S, $D>(src, out, nearest!($S, $D)),
            }
        };
    }
    macro_rules! integer_to {
        ($S:ty) => {
            match to {
                Atomic::Byte => integer!($S, i8),
                Atomic::UByte => integer!($S, u8),
                Atomic::Short => integer!($S, i16),
                Atomic::UShort => integer!($S, u16),
                Atomic::Int => integer!($S, i32),
                Atomic::UInt => integer!($S, u32),
                Atomic::Int64 => integer!($S, i64),
                Atomic::UInt64 => integer!($S, u64),
                Atomic::Float => each::<$S, f32>(src, out, |s| (s as f32, false)),
                Atomic::Double => each::<$S, f64>(src, out, |s| (s as f64, false)),
                Atomic::Char => unreachable!("text is not converted"),
            }
        };
    }
    macro_rules! float_to {
        ($S:ty) => {
            match to {
                Atomic::Byte => each::<$S, i8>(src, out, truncated!($S, i8)),
                Atomic::UByte => each::<$S, u8>(src, out, truncated!($S, u8)),
                Atomic::Short => each::<$S, i16>(src, out, truncated!($S, i16)),
                Atomic::UShort => each::<$S, u16>(src, out, truncated!($S, u16)),
                Atomic::Int => each::<$S, i32>(src, out, truncated!($S, i32)),
                Atomic::UInt => each::<$S, u32>(src, out, truncated!($S, u32)),
                Atomic::Int64 => each::<$S, i64>(src, out, truncated!($S, i64)),
                Atomic::UInt64 => each::<$S, u64>(src, out, truncated!($S, u64)),
                Atomic::Float => each::<$S, f32>(src, out, |s| {
                    let wide = f64::from(s);
                    // Of a float itself nothing is out of range: that is no conversion, and does not come here.
                    (s as f32, wide > f64::from(f32::MAX) || wide < f64::from(f32::MIN))
                }),
                Atomic::Double => each::<$S, f64>(src, out, |s| (f64::from(s), false)),
                Atomic::Char => unreachable!("text is not converted"),
            }
        };
    }
    match from {
        Atomic::Byte => integer_to!(i8),
        Atomic::UByte => integer_to!(u8),
        Atomic::Short => integer_to!(i16),
        Atomic::UShort => integer_to!(u16),
        Atomic::Int => integer_to!(i32),
        Atomic::UInt => integer_to!(u32),
        Atomic::Int64 => integer_to!(i64),
        Atomic::UInt64 => integer_to!(u64),
        Atomic::Float => float_to!(f32),
        Atomic::Double => float_to!(f64),
        Atomic::Char => unreachable!("text is not converted"),
    }
}

/// Values that are counted together: what is out of range fits 32 bits, which leaves the loop to vector registers.
const COUNTED: usize = 4096;

/// As [`each`], with bits instead of answers. Bits are joined without a comparison, which vector registers of 128 bits do not have for
/// integers of 64. Values are counted only where one does not fit.
#[inline]
fn integers<S, D>(src: &[u8], out: &mut [u8], one: impl Fn(S) -> (D, S)) -> u64
where
    S: Pod + BitOr<Output = S> + PartialEq,
    D: Pod,
{
    let (from, to) = (size_of::<S>(), size_of::<D>());
    let parts = src.chunks(COUNTED * from).zip(out.chunks_mut(COUNTED * to));
    parts
        .map(|(src, out)| {
            let mut outside = S::zeroed();
            for (s, d) in src.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
                let (value, bits) = one(bytemuck::pod_read_unaligned(s));
                d.copy_from_slice(bytemuck::bytes_of(&value));
                outside = outside | bits;
            }
            if outside == S::zeroed() {
                return 0;
            }
            let does_not_fit = |s: &&[u8]| one(bytemuck::pod_read_unaligned(s)).1 != S::zeroed();
            src.chunks_exact(from).filter(does_not_fit).count() as u64
        })
        .sum()
}

#[inline]
fn each<S: Pod, D: Pod>(src: &[u8], out: &mut [u8], one: impl Fn(S) -> (D, bool)) -> u64 {
    let (from, to) = (size_of::<S>(), size_of::<D>());
    let parts = src.chunks(COUNTED * from).zip(out.chunks_mut(COUNTED * to));
    parts
        .map(|(src, out)| {
            let mut count = 0u32;
            for (s, d) in src.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
                let (value, is_outside) = one(bytemuck::pod_read_unaligned(s));
                d.copy_from_slice(bytemuck::bytes_of(&value));
                count += u32::from(is_outside);
            }
            u64::from(count)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: [(Atomic, i128, i128); 8] = [
        (Atomic::Byte, i8::MIN as i128, i8::MAX as i128),
        (Atomic::UByte, 0, u8::MAX as i128),
        (Atomic::Short, i16::MIN as i128, i16::MAX as i128),
        (Atomic::UShort, 0, u16::MAX as i128),
        (Atomic::Int, i32::MIN as i128, i32::MAX as i128),
        (Atomic::UInt, 0, u32::MAX as i128),
        (Atomic::Int64, i64::MIN as i128, i64::MAX as i128),
        (Atomic::UInt64, 0, u64::MAX as i128),
    ];

    fn stored(values: &[i128], of: Atomic) -> Vec<u8> {
        // Two's complement: the low bytes.
        values.iter().flat_map(|n| n.to_le_bytes()[..of.size()].to_vec()).collect()
    }

    /// Around the limits of all types, and in arrays of several parts, of which some have values that do not fit.
    #[test]
    #[cfg(target_endian = "little")]
    fn integers_that_do_not_fit_are_counted() {
        for (from, least, greatest) in INTEGERS {
            let near = INTEGERS.iter().flat_map(|&(_, low, high)| [low, 0, high]);
            let near = near.flat_map(|edge| (-2..=2).map(move |more| edge + more));
            let mut values: Vec<i128> = near.filter(|n| (least..=greatest).contains(n)).collect();
            values.extend(std::iter::repeat_n(1, 2 * COUNTED));
            values.push(greatest);
            let bytes = stored(&values, from);
            for (to, low, high) in INTEGERS.into_iter().filter(|&(to, ..)| to != from) {
                let mut out = vec![0; values.len() * to.size()];
                let count = convert(from, &bytes, to, &mut out, OutOfRange::Wraps);
                let expected = values.iter().filter(|n| !(low..=high).contains(*n)).count();
                assert_eq!(count, expected as u64, "{from:?} to {to:?}");
                assert_eq!(out, stored(&values, to), "{from:?} to {to:?}");
            }
        }
    }
}
