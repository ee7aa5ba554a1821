//! Whose fault an error is: fronts make exit codes and exceptions of it.

use std::io::ErrorKind as Io;

use super::{Error, ErrorKind, Op};

impl Error {
    /// The error of opening a file that the file `from` names: none of its bytes are repeated, as whoever made `from` may not read it.
    pub(crate) fn led_from(self, from: &str) -> Self {
        match self {
            Error::NotNetcdf { path, .. } => Error::NotNetcdf { path, what: format!("`{from}` leads to it") },
            other => other,
        }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Corrupt { .. }
            | Error::NotNetcdf { .. }
            | Error::NotHdf5 { .. }
            | Error::Tiles(_)
            | Error::TilesUnless { .. }
            | Error::BadTile { .. }
            | Error::Order { .. }
            | Error::Changed { .. } => ErrorKind::Input,
            Error::Io { op, path, source } => kind_of_io(op, path, source),
            Error::Verify(_) => ErrorKind::Difference,
            Error::Interrupted(_) | Error::NotUploaded { .. } => ErrorKind::Interrupted,
            Error::Exists(_)
            | Error::NoInput(_)
            | Error::CannotJoin { .. }
            | Error::BadTicket(_)
            | Error::NoChunk { .. }
            | Error::BadPick { .. }
            | Error::BadSchema(_)
            | Error::CannotRedefine(_)
            | Error::OutputIsInput { .. }
            | Error::CannotResume { .. }
            | Error::Budget { .. }
            | Error::NotFound { .. }
            | Error::Invalid(_)
            | Error::NoSuchId { .. }
            | Error::NameInUse { .. }
            | Error::BadName { .. }
            | Error::BadDimension { .. }
            | Error::BadType(_)
            | Error::BadChunks { .. }
            | Error::BadStorage { .. }
            | Error::BadFilter(_)
            | Error::TooLate { .. }
            | Error::NotInDefineMode { .. }
            | Error::InDefineMode { .. }
            | Error::Rank { .. }
            | Error::Selection { .. }
            | Error::Index { .. }
            | Error::Length(_)
            | Error::TextNumber { .. }
            | Error::Range { .. }
            | Error::ReadOnly { .. }
            | Error::Closed
            | Error::WrongKind { .. }
            | Error::BadOption { .. }
            | Error::TooLarge(_) => ErrorKind::Request,
            Error::Unsupported { .. }
            | Error::WriteToUrl { .. }
            | Error::NoRanges { .. }
            | Error::NotRepresentable { .. }
            | Error::Limit { .. }
            | Error::Appeared { .. }
            | Error::Locked { .. }
            | Error::Inherited { .. }
            | Error::Lost { .. }
            | Error::Memory { .. }
            | Error::Internal(_) => ErrorKind::Failed,
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
