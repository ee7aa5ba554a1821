//! Hidden attributes of datasets that describe their dimensions, taken out while the file is walked.

use super::attrs::text;
use super::values::integers;
use crate::hdf5::attribute::Attribute;
use crate::hdf5::dataspace::Dataspace;

/// The beginning of the `NAME` of a scale that is a dimension but no variable.
const NO_VARIABLE: &[u8] = b"This is a netCDF dimension but not a netCDF variable.";

/// The conventions on one dataset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// True for a dimension scale (`CLASS`).
    pub(crate) scale: bool,
    /// True for a dimension without a variable (`NAME`).
    pub(crate) bare: bool,
    /// netCDF's number for the dimension that it is (`_Netcdf4Dimid`).
    pub(crate) number: Option<i64>,
    /// Numbers of its dimensions, as many as it has (`_Netcdf4Coordinates`).
    pub(crate) coordinates: Option<Vec<i64>>,
    /// Its `DIMENSION_LIST`, where that may be needed to know its dimensions.
    pub(crate) list: Option<Attribute>,
}

impl Hints {
    /// Reads them from the attributes of a dataset of this shape.
    pub(crate) fn new(stored: &[Attribute], space: &Dataspace) -> Self {
        let mut hints = Hints::default();
        let find = |name: &[u8]| stored.iter().find(|a| a.name[..] == *name);
        let numbers = |name: &[u8]| find(name).and_then(|a| integers(&a.datatype, &a.data));
        hints.scale = matches!(space, Dataspace::Simple { .. })
            && text(stored, b"CLASS").is_some_and(|t| t == b"DIMENSION_SCALE");
        if hints.scale {
            hints.bare = text(stored, b"NAME").is_some_and(|t| t.starts_with(NO_VARIABLE));
            hints.number = numbers(b"_Netcdf4Dimid").and_then(|v| v.first().copied());
        }
        let rank = space.dims().len();
        if rank > 0 && !(hints.scale && rank == 1) {
            hints.coordinates = numbers(b"_Netcdf4Coordinates").filter(|v| v.len() == rank);
            if !hints.scale {
                hints.list = find(b"DIMENSION_LIST").map(Attribute::detach);
            }
        }
        hints
    }
}
