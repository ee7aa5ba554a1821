//! Names of formats and types.

use ncforge::{Atomic, Format};
use ncforge_tune::vocabulary::did_you_mean;
use serde::{Serialize, Serializer};

/// The store of a case's values: a format of netCDF files, or a Zarr store, which is a folder (netCDF-C's NCZarr).
///
/// ```
/// use ncforge_bench::workload::io::StoredAs;
/// assert_eq!("zarr".parse(), Ok(StoredAs::Zarr));
/// assert_eq!("cdf5".parse::<StoredAs>().unwrap().to_string(), "cdf5");
/// assert!("hdf4".parse::<StoredAs>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// A file of this format.
    File(Format),
    /// A Zarr store.
    Zarr,
}

/// All of them by the names that `--format` takes.
const FORMATS: [(StoredAs, &str); 6] = [
    (StoredAs::File(Format::Cdf1), "classic"),
    (StoredAs::File(Format::Cdf2), "cdf2"),
    (StoredAs::File(Format::Cdf5), "cdf5"),
    (StoredAs::File(Format::Netcdf4), "netcdf4"),
    (StoredAs::File(Format::Netcdf4Classic), "netcdf4-classic"),
    (StoredAs::Zarr, "zarr"),
];

impl StoredAs {
    /// The format of netCDF whose model it has.
    pub fn format(self) -> Format {
        match self {
            StoredAs::File(format) => format,
            StoredAs::Zarr => Format::Netcdf4,
        }
    }
}

impl Default for StoredAs {
    fn default() -> Self {
        StoredAs::File(Format::Netcdf4)
    }
}

impl std::fmt::Display for StoredAs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(FORMATS.iter().find(|n| n.0 == *self).map_or("", |n| n.1))
    }
}

impl std::str::FromStr for StoredAs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        FORMATS.iter().find(|n| n.1 == text).map(|n| n.0).ok_or_else(|| {
            let names = FORMATS.map(|n| n.1);
            format!("no format `{text}`{}: {}", did_you_mean(text, &names), names.join(", "))
        })
    }
}

impl Serialize for StoredAs {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Types by the names that `--dtype` takes, and that NetCDF-Bench gives some of them.
const TYPES: [(Atomic, &str, &str); 10] = [
    (Atomic::Byte, "i1", "byte"),
    (Atomic::Short, "i2", "short"),
    (Atomic::Int, "i4", "int"),
    (Atomic::Int64, "i8", "int64"),
    (Atomic::UByte, "u1", "u1"),
    (Atomic::UShort, "u2", "u2"),
    (Atomic::UInt, "u4", "u4"),
    (Atomic::UInt64, "u8", "u8"),
    (Atomic::Float, "f4", "float"),
    (Atomic::Double, "f8", "double"),
];

/// The names of a type: `f4`, and NetCDF-Bench's `float`.
pub fn type_names(dtype: Atomic) -> (&'static str, &'static str) {
    TYPES.iter().find(|n| n.0 == dtype).map_or(("", ""), |n| (n.1, n.2))
}

/// The type of a name.
pub fn type_named(text: &str) -> Option<Atomic> {
    TYPES.iter().find(|n| n.1 == text || n.2 == text).map(|n| n.0)
}

/// A type as its name.
pub(super) fn as_type_name<S: Serializer>(dtype: &Atomic, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(type_names(*dtype).0)
}
