//! The results of verifying.

use serde::Serialize;

/// Something in a file that cannot be read, or is not what its checksum says.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The fault, the place, and how it is known.
    pub what: String,
    /// Of a zipped file: bytes of the image that cannot be read because of it: from, to.
    pub image: Option<(u64, u64)>,
    /// If not all of these: how many bytes at the beginning of every so many.
    pub every: Option<(u64, u64)>,
    /// Variables that have values among them, or `header`.
    pub touches: Vec<String>,
}

/// The report of verifying.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// Of a zipped file: number of the commit that was looked at.
    pub commit: Option<u64>,
    /// Of a zipped file: blocks and pages of the index read.
    pub blocks: Option<u64>,
    /// Variables whose values were read, all or in part.
    pub variables: u64,
    /// Bytes read and checked: stored ones of a zipped file, values of others.
    pub bytes: u64,
    /// The faults; none if all is well.
    pub problems: Vec<Problem>,
}
