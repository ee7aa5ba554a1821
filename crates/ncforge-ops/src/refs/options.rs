//! How references are made.

use crate::profile::virtual_stores::INLINE;
use crate::select::Selection;
use serde::{Deserialize, Serialize};

/// Bytes of one variable that are stored in the document, at most.
pub(super) const MOST_INLINED: u64 = 8 << 20;
/// Letters of a reference to a chunk, at least: its name, its file, where it lies, and how long it is.
pub(super) const REFERENCE: u64 = 40;
/// Strings of one variable that are stored in the document, at most.
pub(super) const MOST_STRINGS: u64 = 1 << 18;

/// How references are made.
#[derive(Clone, Debug)]
pub struct RefsOptions {
    /// The dimension along which several files are joined. `None`: the unlimited one, else the first whose length
    /// differs.
    pub along: Option<String>,
    /// Whether files are joined in the order in which they are given, whatever the values of the dimension's coordinate.
    pub unsorted: bool,
    /// A variable of at most this many bytes is stored in the document.
    pub inline: u64,
    /// The folder or URL under which readers find the files. `None`: where they are read from.
    pub base: Option<String>,
    /// Only these variables, by path. `None`: all.
    pub vars: Option<Vec<String>>,
    /// Only these indices along dimensions; along the joined one, of all files together.
    pub select: Selection,
    /// The meaning of the fill value of an array to its readers.
    pub fills: Fills,
    /// What they are written as.
    pub format: RefsFormat,
}

impl Default for RefsOptions {
    fn default() -> Self {
        RefsOptions {
            along: None,
            unsorted: false,
            inline: INLINE,
            base: None,
            vars: None,
            select: Selection::default(),
            fills: Fills::Masked,
            format: RefsFormat::default(),
        }
    }
}

/// The meaning of the fill value of an array to its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fills {
    /// The fill value is `_FillValue`, and masked, as xarray reads arrays of Zarr version 2.
    Masked,
    /// The fill value is that of chunks that were never written, and `_FillValue` is an attribute (Zarr version 3).
    Stored,
}

/// What references are written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefsFormat {
    /// Ranges of bytes in a document of kerchunk's, for readers of Zarr.
    #[default]
    Kerchunk,
    /// Variables of files in a netCDF file with aggregation variables (CF conventions, section 2.8).
    Cf,
}
