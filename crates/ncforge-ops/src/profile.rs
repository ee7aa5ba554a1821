//! Requirements on the layout of files that others publish: `doctor` checks them, `copy` meets them.

pub(crate) mod cmip7;

use crate::request::words;

/// Sets of requirements that somebody else made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The file layout that CMIP7 asks for.
    Cmip7,
}

words!(Profile:
    (Profile::Cmip7, "cmip7", [], "The file layout that CMIP7 asks for"),
);
