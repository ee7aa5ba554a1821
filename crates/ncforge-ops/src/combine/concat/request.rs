//! A user's request for joining files.

use serde::{Deserialize, Serialize};

use super::options::ConcatOptions;
use crate::combine::options::{Differing, Holes};
use crate::copy::CopyRequest;
use crate::request::RequestError;

/// A request for joining files. The default changes nothing but the length of a dimension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConcatRequest {
    /// The dimension along which files are joined. Default: the unlimited one, else the first whose length differs.
    pub along: Option<String>,
    /// Whether files are joined in the order in which they are given, even if the values of the dimension's coordinate do
    /// not go on from file to file. Default: no.
    pub unsorted: bool,
    /// The values of a variable along the dimension where a file lacks it. Default: `error`.
    pub holes: Option<Holes>,
    /// The treatment of a variable without the dimension that differs between files. Default: `error`.
    pub differing: Differing,
    /// Whether variables that the files pack differently are unpacked. Default: no, they are an error.
    pub decode: bool,
    /// All else, as of a copy.
    #[serde(flatten)]
    pub copy: CopyRequest,
}

impl ConcatRequest {
    /// The options.
    ///
    /// # Errors
    /// As of a copy.
    pub fn options(&self) -> Result<ConcatOptions, RequestError> {
        let usual = ConcatOptions::default();
        Ok(ConcatOptions {
            along: self.along.clone(),
            unsorted: self.unsorted,
            holes: self.holes.unwrap_or(usual.holes),
            differing: self.differing,
            decode: self.decode,
            copy: self.copy.options()?,
            ..usual
        })
    }
}
