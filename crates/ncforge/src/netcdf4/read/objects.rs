//! Where the objects of a schema stand in the file; for updates in place.

use std::collections::HashMap;

use crate::model::{DimId, VarId};

/// Addresses of object headers, parallel to the schema's arenas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// Addresses of groups, and whether each tracks the order of its links.
    pub(crate) groups: Vec<(u64, bool)>,
    /// Addresses of variables.
    pub(crate) vars: Vec<u64>,
    /// Addresses of dimension scales (a coordinate variable's own, or one without a variable).
    pub(crate) scales: Vec<Option<u64>>,
    /// netCDF's numbers of the dimensions.
    pub(crate) numbers: Vec<i64>,
    /// Addresses of committed types.
    pub(crate) types: Vec<Option<u64>>,
    /// Variables for which the file names dimensions of other lengths: those that it numbers.
    pub(crate) misfits: HashMap<VarId, Vec<DimId>>,
}
