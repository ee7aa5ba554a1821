//! Conversion between the numeric types of netCDF, as netCDF-C does it.
//!
//! A value that the other type cannot hold is converted all the same, and counted: netCDF-C delivers everything and then
//! returns `NC_ERANGE`. The rules are those of `nc4_convert_type` (`libsrc4/nc4var.c`) and `libsrc/ncx.m4`:
//!
//! * integers wrap round, as C's conversions do; what is above or below the other type is out of range;
//! * of floats, the fraction goes; what is above or below the other type is out of range. C leaves the result undefined:
//!   here it is the nearest value. NaN is not out of range, and becomes 0;
//! * `double` to `float` is out of range beyond ±`FLT_MAX`, infinities included;
//! * integers to floats never are, however many digits they lose;
//! * text and numbers are not converted into each other ([`Error::TextNumber`], `NC_ECHAR`);
//! * bytes were signed and unsigned before there was `ubyte`: in CDF-1 and CDF-2, `byte` is read and written as unsigned
//!   numbers bit by bit, and written so in netCDF-4 files of the classic model, too. Nothing is out of range there.

mod blocks;
mod mapped;
mod typed;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::model::{Atomic, DType, Format, Schema, VarId};

pub use mapped::Imap;

/// The result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "values outside the range of their new type are reported here, and nowhere else"]
pub struct Converted<T> {
    /// The values, where they are returned.
    pub value: T,
    /// The number of values outside the range of the type that they were converted to.
    pub out_of_range: u64,
    to: Atomic,
    variable: String,
}

impl<T> Converted<T> {
    /// The values, if all of them were in range.
    ///
    /// # Errors
    /// [`Error::Range`], whose number in netCDF-C is `NC_ERANGE`.
    pub fn in_range(self) -> Result<T> {
        match self.out_of_range {
            0 => Ok(self.value),
            count => Err(Error::Range { variable: self.variable, count, to: self.to.cdl_name() }),
        }
    }
}

/// Numbers of one type, in the machine's byte order, as those of another; and how many are outside its range. For values that
/// are in memory, of attributes for one.
///
/// ```
/// use ncforge::convert_numbers;
/// use ncforge::model::Atomic;
/// let (bytes, out_of_range) = convert_numbers(Atomic::Double, &300.7f64.to_ne_bytes(), Atomic::Short)?;
/// assert_eq!((bytes, out_of_range), (300i16.to_ne_bytes().to_vec(), 0));
/// let (_, out_of_range) = convert_numbers(Atomic::Double, &300.7f64.to_ne_bytes(), Atomic::UByte)?;
/// assert_eq!(out_of_range, 1);
/// assert!(convert_numbers(Atomic::Char, b"1", Atomic::Int).is_err());
/// # Ok::<(), ncforge::Error>(())
/// ```
///
/// # Errors
/// [`Error::TextNumber`]; [`Error::Length`] for bytes that are no whole number of values.
pub fn convert_numbers(from: Atomic, values: &[u8], to: Atomic) -> Result<(Vec<u8>, u64)> {
    check_text("values in memory", from, to)?;
    if !values.len().is_multiple_of(from.size()) {
        return Err(Error::Length(format!("{} bytes are no values of {} bytes", values.len(), from.size())));
    }
    let mut out = vec![0; values.len() / from.size() * to.size()];
    let out_of_range = convert(from, values, to, &mut out, false);
    Ok((out, out_of_range))
}

fn check_text(name: &str, stored: Atomic, memory: Atomic) -> Result<()> {
    if (stored == Atomic::Char) == (memory == Atomic::Char) {
        return Ok(());
    }
    let (stored, memory) = (stored.cdl_name(), memory.cdl_name());
    Err(Error::TextNumber { variable: name.to_owned(), stored, memory })
}

/// The types on both sides of a conversion.
#[derive(Clone, Copy, Debug)]
struct Sides {
    stored: Atomic,
    memory: Atomic,
    /// Bytes are signed and unsigned at once.
    bytes_alike: bool,
}

impl Sides {
    fn of(schema: &Schema, var: VarId, memory: Atomic, writing: bool) -> Result<Self> {
        let known = schema.vars.get(var.0);
        let known = known.ok_or(Error::NoSuchId { kind: "variable", id: var.0 })?;
        let DType::Atomic(stored) = known.dtype else {
            let (name, dtype) = (schema.var_path(var), schema.type_name(known.dtype));
            let memory = memory.cdl_name();
            return Err(Error::BadType(format!("`{name}` is of type {dtype}, whose values are no {memory}")));
        };
        check_text(&schema.var_path(var), stored, memory)?;
        let bytes_alike = match schema.format {
            Format::Cdf1 | Format::Cdf2 => true,
            Format::Netcdf4Classic => writing,
            Format::Cdf5 | Format::Netcdf4 => false,
        };
        Ok(Sides { stored, memory, bytes_alike })
    }

    /// Whether both have the same bytes.
    fn are_alike(self) -> bool {
        self.stored == self.memory
            || (self.bytes_alike && self.stored == Atomic::Byte && self.memory == Atomic::UByte)
    }
}

/// Integers wrap round; one that comes back as another number, or with another sign, did not fit.
macro_rules! integers {
    ($S:ty, $D:ty) => {
        |s: $S| {
            let d = s as $D;
            #[allow(unused_comparisons, reason = "one of the two may be unsigned")]
            let sign_changed = (d < 0) != (s < 0);
            (d, d as $S != s || sign_changed)
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
/// Converts values between memory of the right sizes; how many were out of range.
#[allow(clippy::cast_lossless, reason = "the macros are for lossy casts, too")]
fn convert(from: Atomic, src: &[u8], to: Atomic, out: &mut [u8], bytes_alike: bool) -> u64 {
    let (byte, ubyte) = (Atomic::Byte, Atomic::UByte);
    if from == to || (bytes_alike && [(byte, ubyte), (ubyte, byte)].contains(&(from, to))) {
        out.copy_from_slice(src);
        return 0;
    }
    macro_rules! integer_to {
        ($S:ty) => {
            match to {
                Atomic::Byte => each::<$S, i8>(src, out, integers!($S, i8)),
                Atomic::UByte => each::<$S, u8>(src, out, integers!($S, u8)),
                Atomic::Short => each::<$S, i16>(src, out, integers!($S, i16)),
                Atomic::UShort => each::<$S, u16>(src, out, integers!($S, u16)),
                Atomic::Int => each::<$S, i32>(src, out, integers!($S, i32)),
                Atomic::UInt => each::<$S, u32>(src, out, integers!($S, u32)),
                Atomic::Int64 => each::<$S, i64>(src, out, integers!($S, i64)),
                Atomic::UInt64 => each::<$S, u64>(src, out, integers!($S, u64)),
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
mod tests;
