//! A user's request for series.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::super::concat::ConcatRequest;
use super::options::SeriesOptions;
use super::pattern::NamePattern;
use crate::request::RequestError;

/// A request for series: one file for each variable, from files that have all variables of a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesRequest {
    /// The names of outputs, with `{case}`, `{stream}`, `{var}`, `{start}` and `{end}`. Default:
    /// `{case}.{stream}.{var}.{start}-{end}.nc`.
    pub name: Option<NamePattern>,
    /// The calendar years in one output; with 10 outputs end with years that end with 9. Default: all.
    pub years: Option<NonZeroU32>,
    /// Whether outputs of an earlier run grow by the steps behind their last one. Default: no.
    pub append: bool,
    /// Whether the others go on where a file cannot be read, or the files of a stream do not go together. Default: no.
    pub keep_going: bool,
    /// All else, as of joining files; `vars` are the variables that get files of their own.
    #[serde(flatten)]
    pub join: ConcatRequest,
}

impl SeriesRequest {
    /// The options.
    ///
    /// # Errors
    /// As of joining files.
    pub fn options(&self) -> Result<SeriesOptions, RequestError> {
        let is_replaced = self.join.copy.run.overwrite;
        if self.append && is_replaced {
            return Err(RequestError::Exclude { one: "append", other: "overwrite" });
        }
        Ok(SeriesOptions {
            join: self.join.options()?,
            name: self.name.clone().unwrap_or_default(),
            years: self.years.map(NonZeroU32::get),
            append: self.append,
            keep_going: self.keep_going,
        })
    }
}
