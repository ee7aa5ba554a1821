//! Objects of a file that have no place in the data model.

use crate::error::Error;

/// An object of the file that ncforge leaves out, and why (as netCDF-C leaves out references, for example).
#[derive(Clone, Debug, PartialEq)]
pub struct Skipped {
    /// Full path of the object.
    pub path: String,
    /// The reason.
    pub why: String,
    /// Whether the object is damaged.
    pub cause: Cause,
}

/// The kind of reason for which an object is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The object is intact, but netCDF has no equivalent, or ncforge does not support it.
    Foreign,
    /// The object's metadata are damaged. The rest of the file can be read.
    Damaged {
        /// The offset of the damage in the file, if it is known.
        at: Option<u64>,
    },
    /// It is in another file, to which this one must not lead, or cannot.
    NotFollowed,
    /// It leads to another file, or an object of one, that is not there.
    Absent,
    /// It leads to another file that cannot be read: a damaged one, or one that the system does not open.
    Unreadable,
}

impl Skipped {
    /// The error for accessing this object of `file`.
    pub fn error(&self, file: &str) -> Error {
        let what = format!("`{}`: {}", self.path, self.why);
        match self.cause {
            Cause::Foreign | Cause::NotFollowed | Cause::Absent => {
                Error::Unsupported { path: file.to_owned(), what }
            }
            Cause::Damaged { at } => Error::corrupt(file, at, what),
            Cause::Unreadable => Error::corrupt(file, None, what),
        }
    }

    /// True if the object is damaged, or the file that it leads to.
    pub fn is_damaged(&self) -> bool {
        matches!(self.cause, Cause::Damaged { .. } | Cause::Unreadable)
    }
}
