//! A user's request for a comparison.

use serde::{Deserialize, Serialize};

use super::CompareOptions;
use crate::request::{EngineRequest, RequestError, list_or_none};
use crate::select::Selection;

/// A request for a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareRequest {
    /// Numbers no further apart are the same; at least 0. Default: bit by bit, with any NaN equal to any NaN.
    pub tolerance: Option<f64>,
    /// Only these variables, by path. Default: everything.
    #[serde(deserialize_with = "list_or_none")]
    pub vars: Option<Vec<String>>,
    /// Only these indices along dimensions, of each file by its own coordinates; of a second file that is such a part already, all. See
    /// [`Selection`]. Default: all.
    pub select: Selection,
    /// Whether what a copy may change is a difference: lines in front of the attribute `history`, types that the other file's format
    /// lacks, the type of a `_FillValue`. Default: no.
    pub strict: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl CompareRequest {
    /// The options of the comparison.
    ///
    /// # Errors
    /// A tolerance below 0.
    pub fn options(&self) -> Result<CompareOptions, RequestError> {
        let options = CompareOptions {
            tolerance: self.tolerance,
            strict: self.strict,
            vars: self.vars.clone(),
            select: self.select.clone(),
        };
        options.check()?;
        Ok(options)
    }
}
