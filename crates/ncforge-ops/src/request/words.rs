//! Words that options take: each listed once, with its other names and its meaning.

use ncforge::model::{Endian, Format};

use ncforge_tune::words;

/// A format to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatChoice(
    /// `None`: the input's.
    pub Option<Format>,
);

words!(FormatChoice:
    (FormatChoice(None), "keep", [], "The input's own format"),
    (FormatChoice(Some(Format::Cdf1)), "classic", ["cdf1", "nc3", "NETCDF3_CLASSIC"], "netCDF classic, CDF-1"),
    (FormatChoice(Some(Format::Cdf2)), "cdf2",
        ["64-bit-offset", "64-bit offset", "nc6", "NETCDF3_64BIT", "NETCDF3_64BIT_OFFSET"],
        "netCDF 64-bit offset, CDF-2"),
    (FormatChoice(Some(Format::Cdf5)), "cdf5", ["64-bit-data", "64-bit data", "nc5", "NETCDF3_64BIT_DATA"],
        "netCDF 64-bit data, CDF-5"),
    (FormatChoice(Some(Format::Netcdf4)), "netcdf4",
        ["nc4", "netCDF-4", "netCDF4", "NETCDF4", "hdf5", "enhanced"], "netCDF-4"),
    (FormatChoice(Some(Format::Netcdf4Classic)), "netcdf4-classic",
        ["nc7", "nc4c", "NETCDF4_CLASSIC", "netCDF-4 classic model", "netCDF-4-classic", "netCDF-4_classic",
            "netCDF4_classic", "hdf5-nc3", "enhanced-nc3"],
        "netCDF-4 restricted to the classic model"),
);

/// Byte order of the numbers in netCDF-4 output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndianChoice(
    /// `None`: the input's.
    pub Option<Endian>,
);

words!(EndianChoice:
    (EndianChoice(None), "keep", [], "As in the input"),
    (EndianChoice(Some(Endian::Native)), "native", [], "This machine's"),
    (EndianChoice(Some(Endian::Little)), "little", [], "Least significant byte first"),
    (EndianChoice(Some(Endian::Big)), "big", [], "Most significant byte first"),
);
