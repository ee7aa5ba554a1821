//! Names of files that tell a format: the endings that are stripped from a name, and what may be written under it.
//!
//! A name without such an ending says nothing; models make many.

use std::path::Path;

use ncforge::store::remote::shown_path;
use ncforge::{Error, Result};

/// The format that the name of a file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// NetCDF, in any of its formats.
    Netcdf,
    /// A zipped netCDF file.
    Zipped,
    /// A format of other programs.
    Other(&'static str),
    /// No file.
    Stdout,
}

const TOLD: [(&str, Told); 35] = [
    ("nc", Told::Netcdf),
    ("nc3", Told::Netcdf),
    ("nc4", Told::Netcdf),
    ("cdf", Told::Netcdf),
    ("netcdf", Told::Netcdf),
    ("h5", Told::Netcdf),
    ("hdf", Told::Netcdf),
    ("hdf5", Told::Netcdf),
    ("he5", Told::Netcdf),
    ("ncz", Told::Zipped),
    ("zarr", Told::Other("Zarr")),
    (JSON.0, JSON.1),
    ("parquet", Told::Other("Parquet")),
    ("parq", Told::Other("Parquet")),
    ("csv", Told::Other("CSV")),
    ("cdl", Told::Other("CDL")),
    ("ncml", Told::Other("NcML")),
    ("grib", Told::Other("GRIB")),
    ("grib1", Told::Other("GRIB")),
    ("grib2", Told::Other("GRIB")),
    ("grb", Told::Other("GRIB")),
    ("grb2", Told::Other("GRIB")),
    ("tif", Told::Other("TIFF")),
    ("tiff", Told::Other("TIFF")),
    ("npy", Told::Other("NumPy")),
    ("npz", Told::Other("NumPy")),
    ("mat", Told::Other("MATLAB")),
    ("html", Told::Other("HTML")),
    ("zip", Told::Other("ZIP")),
    ("tar", Told::Other("tar")),
    ("gz", Told::Other("gzip")),
    ("bz2", Told::Other("bzip2")),
    ("xz", Told::Other("xz")),
    ("zst", Told::Other("zstd")),
    ("lz4", Told::Other("LZ4")),
];

/// JSON.
pub(crate) const JSON: (&str, Told) = ("json", Told::Other("JSON"));

/// The format that the name of a file tells, if it tells one.
pub(crate) fn told(path: &Path) -> Option<Told> {
    if path == Path::new("-") {
        return Some(Told::Stdout);
    }
    let ending = path.extension()?.to_str()?;
    TOLD.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, told)| *told)
}

/// A name without an ending that tells netCDF, and that ending, or nothing.
pub(crate) fn without(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((body, ending)) if matches!(told(name.as_ref()), Some(Told::Netcdf | Told::Zipped)) => {
            (body, ending)
        }
        _ => (name, ""),
    }
}

/// An error where the name of an output tells another format than those that it may have.
///
/// # Errors
/// [`Error::BadOption`] of the option `output`.
pub(crate) fn check(output: &Path, may_be: &[Told]) -> Result<()> {
    let name = match told(output) {
        Some(told) if !may_be.contains(&told) => match told {
            Told::Netcdf => "netCDF",
            Told::Zipped => "zipped netCDF",
            Told::Other(name) => name,
            Told::Stdout => return check_file(output),
        },
        _ => return Ok(()),
    };
    let what = format!("`{}` is a name of {name}, which is not what would be written", shown_path(output));
    Err(Error::bad_option("output", what))
}

/// An error where an output has no name of a file, whatever the name tells.
///
/// # Errors
/// [`Error::BadOption`] of the option `output`.
pub(crate) fn check_file(output: &Path) -> Result<()> {
    match told(output) {
        Some(Told::Stdout) => {
            Err(Error::bad_option("output", "`-` means stdout, and only a file can be written"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, expected) in [
            ("a.nc", Some(Told::Netcdf)),
            ("dir.zarr/A.NC4", Some(Told::Netcdf)),
            ("a.ncz", Some(Told::Zipped)),
            ("a.zarr", Some(Told::Other("Zarr"))),
            ("a.nc.gz", Some(Told::Other("gzip"))),
            ("wrfout_d01_2000-01-01_00:00:00", None),
            ("ocean.nc.0001", None),
            ("run.v2", None),
            ("-", Some(Told::Stdout)),
            ("./-", None),
        ] {
            assert_eq!(told(name.as_ref()), expected, "{name}");
        }
        assert_eq!(without("a.b.nc"), ("a.b", "nc"));
        assert_eq!(without("a.zarr"), ("a.zarr", ""));
        assert_eq!(without("run.v2"), ("run.v2", ""));
    }

    #[test]
    fn outputs_are_what_their_names_tell() {
        let refused = |name: &str, may_be: &[Told]| check(name.as_ref(), may_be).unwrap_err().to_string();
        assert!(refused("x.parquet", &[JSON.1]).contains("`x.parquet` is a name of Parquet"));
        assert!(refused("x.ncz", &[Told::Netcdf]).contains("zipped netCDF"));
        assert!(refused("-", &[Told::Netcdf]).contains("stdout"));
        assert!(check("-".as_ref(), &[JSON.1, Told::Stdout]).is_ok());
        for fine in ["x", "x.nc", "x.0000"] {
            assert!(check(fine.as_ref(), &[Told::Netcdf]).is_ok(), "{fine}");
        }
    }
}
