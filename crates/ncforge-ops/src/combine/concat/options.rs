//! Options of joining files.

use crate::combine::options::{Differing, Holes};
use crate::copy::CopyOptions;

/// Options of joining files.
#[derive(Clone, Debug)]
pub struct ConcatOptions {
    /// The dimension along which files are joined. `None`: the unlimited one, else the first whose length differs.
    pub along: Option<String>,
    /// Whether files are joined in the order in which they are given, whatever the values of the dimension's coordinate.
    pub unsorted: bool,
    /// The values of a variable along the dimension where a file lacks it. [`Holes::Error`]: none, it is an error.
    pub holes: Holes,
    /// The treatment of variables without the dimension that differ.
    pub differing: Differing,
    /// Whether variables that the files pack differently are unpacked. Without, they are an error.
    pub decode: bool,
    /// The bytes of such a variable up to which it is compared; the first file's is taken of a larger one, with a note.
    pub compared: u64,
    /// The options of the copy.
    pub copy: CopyOptions,
}

impl Default for ConcatOptions {
    fn default() -> Self {
        ConcatOptions {
            along: None,
            unsorted: false,
            holes: Holes::Error,
            differing: Differing::Error,
            decode: false,
            compared: u64::MAX,
            copy: CopyOptions::default(),
        }
    }
}
