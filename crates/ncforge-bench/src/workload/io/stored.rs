//! What a case's values are stored in.

use ncforge::Format;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::options::format_name;

/// A format of netCDF files, or a Zarr store, which is a folder (netCDF-C's NCZarr).
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

impl StoredAs {
    /// The format of netCDF whose model it has.
    pub fn format(self) -> Format {
        match self {
            StoredAs::File(format) => format,
            StoredAs::Zarr => Format::Netcdf4,
        }
    }
}

impl std::fmt::Display for StoredAs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StoredAs::File(format) => format_name::of(*format),
            StoredAs::Zarr => "zarr",
        })
    }
}

impl std::str::FromStr for StoredAs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "zarr" => Ok(StoredAs::Zarr),
            other => format_name::parse(other).map(StoredAs::File).ok_or_else(|| {
                format!("no format `{other}`: classic, cdf2, cdf5, netcdf4, netcdf4-classic or zarr")
            }),
        }
    }
}

impl Serialize for StoredAs {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoredAs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}
