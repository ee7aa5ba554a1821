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

use crate::codec::numbers::{OutOfRange, convert as converted};
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

/// Converts values between memory of the right sizes; how many were out of range.
fn convert(from: Atomic, src: &[u8], to: Atomic, out: &mut [u8], bytes_alike: bool) -> u64 {
    let (byte, ubyte) = (Atomic::Byte, Atomic::UByte);
    if bytes_alike && [(byte, ubyte), (ubyte, byte)].contains(&(from, to)) {
        out.copy_from_slice(src);
        return 0;
    }
    converted(from, src, to, out, OutOfRange::Wraps)
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

#[cfg(test)]
mod tests;
