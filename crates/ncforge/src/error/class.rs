//! What an error is called outside of this crate: by exceptions of Python, and by `kind` in the command's JSON.

use serde::Serialize;

use super::{Error, Late};

/// The name of an error, coarser than [`Error`], finer than [`ErrorKind`](super::ErrorKind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// The operating system, or a server, refused a request.
    Io,
    /// The bytes do not follow their format.
    Corrupt,
    /// The file has none of the formats that ncforge reads.
    NotNetcdf,
    /// Legal, but not supported.
    Unsupported,
    /// A name that is not in the file.
    NotFound,
    /// The target format cannot hold something.
    NotRepresentable,
    /// The output exists.
    Exists,
    /// The file was replaced, or written to, after it was opened.
    Changed,
    /// Another program, or another dataset, has the file open.
    Locked,
    /// What is open for reading was to be changed.
    ReadOnly,
    /// An attribute that is set when its variable is defined, and not after.
    FixedAttribute,
    /// The memory budget is too small.
    Budget,
    /// The system gives no more memory.
    OutOfMemory,
    /// The work was stopped.
    Interrupted,
    /// A verification found a difference.
    Verify,
    /// A defect of ncforge.
    Internal,
    /// Any other request that cannot be done as it is.
    Invalid,
}

impl Error {
    /// What the error is called.
    ///
    /// ```
    /// use ncforge::{Error, ErrorClass};
    /// assert_eq!(Error::Exists("a.nc".into()).class(), ErrorClass::Exists);
    /// ```
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Io { .. } | Error::Lost { .. } => ErrorClass::Io,
            Error::Corrupt { .. } => ErrorClass::Corrupt,
            Error::NotNetcdf { .. } | Error::NotHdf5 { .. } => ErrorClass::NotNetcdf,
            Error::Unsupported { .. } | Error::WriteToUrl { .. } | Error::NoRanges { .. } => {
                ErrorClass::Unsupported
            }
            Error::NotFound { .. } => ErrorClass::NotFound,
            Error::NotRepresentable { .. } | Error::Limit { .. } => ErrorClass::NotRepresentable,
            Error::Exists(_) | Error::Appeared { .. } => ErrorClass::Exists,
            Error::Changed { .. } => ErrorClass::Changed,
            Error::Locked { .. } | Error::Inherited { .. } => ErrorClass::Locked,
            Error::ReadOnly { .. } => ErrorClass::ReadOnly,
            Error::TooLate { what: Late::Fill, .. } => ErrorClass::FixedAttribute,
            Error::Budget { .. } => ErrorClass::Budget,
            Error::Memory { .. } => ErrorClass::OutOfMemory,
            Error::Interrupted(_) | Error::NotUploaded { .. } => ErrorClass::Interrupted,
            Error::Verify(_) => ErrorClass::Verify,
            Error::Internal(_) => ErrorClass::Internal,
            Error::Invalid(_)
            | Error::NoSuchId { .. }
            | Error::NameInUse { .. }
            | Error::BadName { .. }
            | Error::BadDimension { .. }
            | Error::BadType(_)
            | Error::BadChunks { .. }
            | Error::BadStorage { .. }
            | Error::BadFilter(_)
            | Error::TooLate { what: Late::Storage, .. }
            | Error::NotInDefineMode { .. }
            | Error::InDefineMode { .. }
            | Error::NoChunk { .. }
            | Error::BadPick { .. }
            | Error::BadSchema(_)
            | Error::CannotRedefine(_)
            | Error::Rank { .. }
            | Error::Selection { .. }
            | Error::Index { .. }
            | Error::Length(_)
            | Error::TextNumber { .. }
            | Error::Range { .. }
            | Error::Closed
            | Error::WrongKind { .. }
            | Error::BadOption { .. }
            | Error::TooLarge(_)
            | Error::Tiles(_)
            | Error::TilesUnless { .. }
            | Error::BadTile { .. }
            | Error::NoInput(_)
            | Error::Order { .. }
            | Error::CannotJoin { .. }
            | Error::BadTicket(_)
            | Error::OutputIsInput { .. }
            | Error::CannotResume { .. } => ErrorClass::Invalid,
        }
    }

    /// The file that the error is about, where that is its subject.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Error::Io { path, .. }
            | Error::Corrupt { path, .. }
            | Error::NotNetcdf { path, .. }
            | Error::NotHdf5 { path, .. }
            | Error::Unsupported { path, .. }
            | Error::Changed { path }
            | Error::Locked { path, .. }
            | Error::Inherited { path }
            | Error::Lost { path, .. } => Some(path),
            Error::WriteToUrl { url } | Error::NoRanges { url } => Some(url),
            _ => None,
        }
    }
}
