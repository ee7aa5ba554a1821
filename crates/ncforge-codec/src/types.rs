//! The facts about a variable for filters and kernels: the type and byte order of its elements, and filters as files describe them.

/// A fixed-size atomic type. The discriminants are netCDF's `nc_type` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Atomic {
    /// `NC_BYTE`, 8-bit signed.
    Byte = 1,
    /// `NC_CHAR`, one byte of text.
    Char = 2,
    /// `NC_SHORT`, 16-bit signed.
    Short = 3,
    /// `NC_INT`, 32-bit signed.
    Int = 4,
    /// `NC_FLOAT`, IEEE 754 binary32.
    Float = 5,
    /// `NC_DOUBLE`, IEEE 754 binary64.
    Double = 6,
    /// `NC_UBYTE`, 8-bit unsigned (CDF-5, netCDF-4).
    UByte = 7,
    /// `NC_USHORT`, 16-bit unsigned (CDF-5, netCDF-4).
    UShort = 8,
    /// `NC_UINT`, 32-bit unsigned (CDF-5, netCDF-4).
    UInt = 9,
    /// `NC_INT64`, 64-bit signed (CDF-5, netCDF-4).
    Int64 = 10,
    /// `NC_UINT64`, 64-bit unsigned (CDF-5, netCDF-4).
    UInt64 = 11,
}

impl Atomic {
    /// All of them, in the order of their `nc_type` numbers.
    pub const ALL: [Atomic; 11] = [
        Atomic::Byte,
        Atomic::Char,
        Atomic::Short,
        Atomic::Int,
        Atomic::Float,
        Atomic::Double,
        Atomic::UByte,
        Atomic::UShort,
        Atomic::UInt,
        Atomic::Int64,
        Atomic::UInt64,
    ];

    /// The type with this `nc_type` number.
    pub fn from_code(code: u32) -> Option<Atomic> {
        Self::ALL.get((code as usize).checked_sub(1)?).copied()
    }

    /// Bytes of one value: 1, 2, 4 or 8.
    pub const fn size(self) -> usize {
        match self {
            Atomic::Byte | Atomic::Char | Atomic::UByte => 1,
            Atomic::Short | Atomic::UShort => 2,
            Atomic::Int | Atomic::UInt | Atomic::Float => 4,
            Atomic::Double | Atomic::Int64 | Atomic::UInt64 => 8,
        }
    }

    /// The name in CDL: "byte", "char", …, "uint64".
    pub const fn cdl_name(self) -> &'static str {
        match self {
            Atomic::Byte => "byte",
            Atomic::Char => "char",
            Atomic::Short => "short",
            Atomic::Int => "int",
            Atomic::Float => "float",
            Atomic::Double => "double",
            Atomic::UByte => "ubyte",
            Atomic::UShort => "ushort",
            Atomic::UInt => "uint",
            Atomic::Int64 => "int64",
            Atomic::UInt64 => "uint64",
        }
    }

    /// Whether its values are integers; `char` is text.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Atomic::Char | Atomic::Float | Atomic::Double)
    }

    /// Whether CDF-1 and CDF-2 have this type.
    pub const fn in_classic(self) -> bool {
        (self as u8) <= 6
    }

    /// netCDF's default fill value (`NC_FILL_…`), native byte order, [`Atomic::size`] bytes.
    ///
    /// Source: netcdf.h, and the NetCDF Classic format specification's appendix.
    pub fn default_fill(self) -> Vec<u8> {
        match self {
            Atomic::Byte => vec![(-127i8) as u8],
            Atomic::Char => vec![0],
            Atomic::Short => (-32767i16).to_ne_bytes().to_vec(),
            Atomic::Int => (-2_147_483_647i32).to_ne_bytes().to_vec(),
            Atomic::Float => f32::from_bits(0x7CF0_0000).to_ne_bytes().to_vec(),
            Atomic::Double => f64::from_bits(0x479E_0000_0000_0000).to_ne_bytes().to_vec(),
            Atomic::UByte => vec![255],
            Atomic::UShort => 65535u16.to_ne_bytes().to_vec(),
            Atomic::UInt => u32::MAX.to_ne_bytes().to_vec(),
            Atomic::Int64 => (-9_223_372_036_854_775_806i64).to_ne_bytes().to_vec(),
            Atomic::UInt64 => 18_446_744_073_709_551_614u64.to_ne_bytes().to_vec(),
        }
    }
}

/// A filter of HDF5's pipeline, as the file stores it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The registered number: 1 deflate, 2 shuffle, 3 fletcher32, 32015 zstd, …
    pub id: u16,
    /// Parameters ("client data").
    pub params: Vec<u32>,
    /// Whether a chunk may be written without it when it fails.
    pub optional: bool,
}

/// Byte order of stored numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Endian {
    /// The machine's own (little, on those that ncforge runs on).
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_sizes_and_fills_agree() {
        for (i, a) in Atomic::ALL.into_iter().enumerate() {
            assert_eq!(a as usize, i + 1);
            assert_eq!(Atomic::from_code(i as u32 + 1), Some(a));
            assert_eq!(a.default_fill().len(), a.size());
        }
        assert_eq!(Atomic::from_code(0), None);
        assert_eq!(Atomic::from_code(12), None);
    }
}
