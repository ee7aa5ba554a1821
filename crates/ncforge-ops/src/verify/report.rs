//! The results of verifying.

use serde::Serialize;

/// Something in a file that cannot be read, or is not what its checksum says.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The fault, the place, and how it is known.
    pub what: String,
    /// Bytes of a zipped file's image that cannot be read because of it: from, to.
    pub image: Option<(u64, u64)>,
    /// If not all of these: the number of bytes at the beginning of every period, and the period.
    pub every: Option<(u64, u64)>,
    /// Variables that have values among them, or `header`.
    pub touches: Vec<String>,
}

/// The report of verifying.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// The number of the commit of a zipped file that was examined.
    pub commit: Option<u64>,
    /// Blocks and pages of the index of a zipped file that were read.
    pub blocks: Option<u64>,
    /// Variables whose values were read, all or in part.
    pub variables: u64,
    /// Bytes read and checked: stored ones of a zipped file, values of others.
    pub bytes: u64,
    /// The faults; none if all is well.
    pub problems: Vec<Problem>,
}
