//! Arguments of opening and creating files, as Python says them.

use ncforge::model::Format;
use ncforge::store::Locking;
use ncforge::{Alignment, Error, Result};
use pyo3::prelude::*;

/// Whether files are locked, as h5py's argument says it.
#[derive(FromPyObject)]
pub(crate) enum LockingArgument {
    Flag(bool),
    Word(String),
}

impl LockingArgument {
    pub(crate) fn locking(given: Option<Self>) -> Result<Option<Locking>> {
        let one = |given| match given {
            LockingArgument::Flag(true) => Ok(Locking::Always),
            LockingArgument::Flag(false) => Ok(Locking::Never),
            LockingArgument::Word(word) => match word.as_str() {
                "true" => Ok(Locking::Always),
                "false" => Ok(Locking::Never),
                "best-effort" => Ok(Locking::BestEffort),
                _ => {
                    let what = format!("locking is None, True, False or 'best-effort', not '{word}'");
                    Err(Error::bad_option("locking", what))
                }
            },
        };
        given.map(one).transpose()
    }
}

/// Threshold and multiple, in bytes.
pub(crate) fn alignment((threshold, multiple): (u64, u64)) -> Alignment {
    Alignment { threshold, multiple }
}

/// A format by netCDF4-python's name.
pub(crate) fn format_of(name: &str) -> Result<Format> {
    Ok(match name {
        "NETCDF4" => Format::Netcdf4,
        "NETCDF4_CLASSIC" => Format::Netcdf4Classic,
        "NETCDF3_CLASSIC" => Format::Cdf1,
        "NETCDF3_64BIT" | "NETCDF3_64BIT_OFFSET" => Format::Cdf2,
        "NETCDF3_64BIT_DATA" => Format::Cdf5,
        other => return Err(Error::bad_option("format", format!("no format `{other}`"))),
    })
}

/// netCDF4-python's name of a format.
pub(crate) fn format_name(format: Format) -> &'static str {
    match format {
        Format::Cdf1 => "NETCDF3_CLASSIC",
        Format::Cdf2 => "NETCDF3_64BIT_OFFSET",
        Format::Cdf5 => "NETCDF3_64BIT_DATA",
        Format::Netcdf4 => "NETCDF4",
        Format::Netcdf4Classic => "NETCDF4_CLASSIC",
    }
}
