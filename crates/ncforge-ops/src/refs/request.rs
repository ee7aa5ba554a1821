//! A user's request for references.

use serde::{Deserialize, Serialize};

use super::options::{Fills, RefsFormat, RefsOptions};
use crate::request::{EngineRequest, RequestError, Size, list_or_none};
use crate::select::Selection;

/// A request for references.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefsRequest {
    /// The dimension along which several files are joined. Default: the unlimited one, else the first whose length differs.
    pub along: Option<String>,
    /// Whether files are joined in the order in which they are given, even if the values of the dimension's coordinate do
    /// not go on from file to file. Default: no.
    pub unsorted: bool,
    /// A variable of at most this many bytes is stored in the references themselves. Default: 64K.
    pub inline: Option<Size>,
    /// The folder or URL under which readers find the files. Default: where they are read from.
    pub base: Option<String>,
    /// Only these variables, by path. Default: all.
    #[serde(deserialize_with = "list_or_none")]
    pub vars: Option<Vec<String>>,
    /// Only these indices along dimensions; along the joined one, of all files together. See [`Selection`]. Default: all.
    pub select: Selection,
    /// What the references are written as. Default: a document of kerchunk's.
    pub format: RefsFormat,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl RefsRequest {
    /// The options.
    ///
    /// # Errors
    /// None yet: every request can be met.
    pub fn options(&self) -> Result<RefsOptions, RequestError> {
        let usual = RefsOptions::default();
        Ok(RefsOptions {
            along: self.along.clone(),
            unsorted: self.unsorted,
            inline: self.inline.map_or(usual.inline, |size| size.0),
            base: self.base.clone(),
            vars: self.vars.clone(),
            select: self.select.clone(),
            fills: Fills::Masked,
            format: self.format,
        })
    }
}
