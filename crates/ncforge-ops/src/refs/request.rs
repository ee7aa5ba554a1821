//! A user's request for references.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::options::{Fills, RefsFormat, RefsOptions};
use crate::endings::{self, Told};
use crate::request::{EngineRequest, RequestError, Size, list_or_none};
use crate::select::Selection;
use ncforge_tune::vocabulary::BadValue;

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
    /// What the references are written as. Default: by the output's name, a netCDF file for `.nc`, else a document of kerchunk's.
    pub format: Option<RefsFormat>,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl RefsRequest {
    /// The options for an `output`, if there is one: a document may go elsewhere.
    ///
    /// # Errors
    /// [`RequestError::Value`] where the output's name tells a format that is not written.
    pub fn options(&self, output: Option<&Path>) -> Result<RefsOptions, RequestError> {
        let usual = RefsOptions::default();
        let is_netcdf = output.and_then(endings::told) == Some(Told::Netcdf);
        let format = self.format.unwrap_or(if is_netcdf { RefsFormat::Cf } else { RefsFormat::Kerchunk });
        let (told, write): (&[Told], &str) = match format {
            RefsFormat::Cf => (&[Told::Netcdf], "a name that ends in .nc"),
            RefsFormat::Kerchunk => (
                &[endings::JSON.1, Told::Stdout],
                "a name that ends in .json; Parquet is written by ncforge.references, in Python",
            ),
        };
        let value = |bad| RequestError::Value { option: "output".to_owned(), bad };
        match output {
            Some(output) => {
                endings::check(output, told).map_err(|e| value(BadValue::repeated(e, write)))?;
            }
            None if format == RefsFormat::Cf => {
                let why = "an aggregation file needs a name".to_owned();
                return Err(value(BadValue { text: None, why, write: Some(write) }));
            }
            None => {}
        }
        Ok(RefsOptions {
            along: self.along.clone(),
            unsorted: self.unsorted,
            inline: self.inline.map_or(usual.inline, |size| size.0),
            base: self.base.clone(),
            vars: self.vars.clone(),
            select: self.select.clone(),
            fills: Fills::Masked,
            format,
        })
    }
}
