//! Whose fault an error is: fronts make exit codes and exceptions of it.

use std::io::ErrorKind as Io;

use super::{Error, ErrorClass, ErrorKind, Op};

impl Error {
    /// The error of opening a file that the file `from` names: none of its bytes are repeated, as whoever made `from` may not read it.
    pub(crate) fn led_from(self, from: &str) -> Self {
        match self {
            Error::NotNetcdf { path, .. } => Error::NotNetcdf { path, what: format!("`{from}` leads to it") },
            other => other,
        }
    }

    /// Whether it says that a file is not there.
    pub(crate) fn says_no_file(&self) -> bool {
        matches!(self, Error::Io { source, .. } if matches!(source.kind(), Io::NotFound | Io::NotADirectory))
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { op, path, source } => kind_of_io(op, path, source),
            // Files that do not belong together.
            Error::Tiles(_) | Error::TilesUnless { .. } | Error::BadTile { .. } | Error::Order { .. } => {
                ErrorKind::Input
            }
            // A file that was not there when the request was checked.
            Error::Appeared { .. } => ErrorKind::Failed,
            _ => match self.class() {
                ErrorClass::Corrupt | ErrorClass::NotNetcdf | ErrorClass::Changed => ErrorKind::Input,
                ErrorClass::Verify => ErrorKind::Difference,
                ErrorClass::Interrupted => ErrorKind::Interrupted,
                ErrorClass::Exists
                | ErrorClass::NotFound
                | ErrorClass::ReadOnly
                | ErrorClass::FixedAttribute
                | ErrorClass::Budget
                | ErrorClass::Invalid => ErrorKind::Request,
                ErrorClass::Io
                | ErrorClass::Unsupported
                | ErrorClass::NotRepresentable
                | ErrorClass::Locked
                | ErrorClass::OutOfMemory
                | ErrorClass::Internal => ErrorKind::Failed,
            },
        }
    }
}

fn kind_of_io(op: &Op, path: &str, source: &std::io::Error) -> ErrorKind {
    // A bucket that is not there, wherever that shows.
    let no_bucket = source.kind() == Io::NotFound && crate::store::remote::url_of(path.as_ref()).is_some();
    match op {
        _ if has_no_descriptor(source) => ErrorKind::Failed,
        op if op.reads() || no_bucket => ErrorKind::Input,
        Op::Create if is_no_place(source) => ErrorKind::Request,
        _ => ErrorKind::Failed,
    }
}

/// Whether the process, or the machine, has as many files open as it may have: no fault of the file.
fn has_no_descriptor(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Whether a file cannot be made where it was asked for, whatever the disk is like.
fn is_no_place(e: &std::io::Error) -> bool {
    matches!(e.kind(), Io::NotFound | Io::NotADirectory | Io::IsADirectory | Io::NotSeekable)
        || e.raw_os_error() == Some(libc::ENAMETOOLONG)
}
