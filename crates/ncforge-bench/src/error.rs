//! The errors of a measurement.

use ncforge::ErrorKind;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// ncforge could not do what was asked.
    #[error(transparent)]
    Ncforge(#[from] ncforge::Error),
    /// The system refused something that the measurement needs.
    #[error("cannot {op} `{path}`: {source}")]
    Io {
        /// The operation.
        op: &'static str,
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder or file of a measurement cannot be made where it was asked for.
    #[error("cannot {op} `{path}`: {source}")]
    Place {
        /// The operation.
        op: &'static str,
        /// The folder.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A wrong request for these files.
    #[error("{0}")]
    Invalid(String),
    /// A value that an option cannot have, alone or with the others.
    #[error("{what}")]
    BadOption {
        /// The option: "hint", "chunk".
        option: &'static str,
        /// The given value, and what it can be.
        what: String,
    },
    /// The file has no such object.
    #[error("no {kind} `{name}`")]
    NotFound {
        /// "numeric variable".
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A file without the values that are to be read.
    #[error("`{variable}` in `{path}` {what}")]
    NoValues {
        /// The variable.
        variable: String,
        /// The file.
        path: String,
        /// "has no values", "holds no numbers".
        what: &'static str,
    },
    /// A selection that does not fit the block, or the memory, that it is for.
    #[error("{0}")]
    Misfit(String),
    /// A file that this driver cannot open so: for reading only, without variables, without chunks.
    #[error("{0}")]
    WrongKind(String),
    /// More bytes than can be handed over at once, or than there is room for.
    #[error("{0}")]
    TooLarge(String),
    /// What the ranks of a team need of each other is not there, or is damaged.
    #[error("{0}")]
    Team(String),
    /// A library under the benchmark said no.
    #[error("{0}")]
    Library(String),
    /// Something that the request needs is not on this machine: MPI, a library.
    #[error("{0}")]
    Missing(String),
    /// A file that is not what the measurement expects.
    #[error("{0}")]
    Unreadable(String),
    /// A rank of the team failed.
    #[error("rank {rank}: {message}")]
    Rank {
        /// The rank's number.
        rank: usize,
        /// The rank's message.
        message: String,
        /// Its exit code.
        code: u8,
        /// Whether this process reports it to the user.
        reported_here: bool,
    },
    /// A signal asked to stop.
    #[error("stopped by a signal; files of this run are removed")]
    Stopped,
}

impl From<ncforge::codec::Error> for Error {
    fn from(e: ncforge::codec::Error) -> Self {
        Error::Ncforge(e.into())
    }
}

impl Error {
    pub(crate) fn io(op: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Error::Io { op, path: path.display().to_string(), source }
    }

    pub(crate) fn bad_option(option: &'static str, what: impl Into<String>) -> Self {
        Error::BadOption { option, what: what.into() }
    }

    pub(crate) fn place(op: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Error::Place { op, path: path.display().to_string(), source }
    }

    /// The exit code of the command, and of each rank.
    pub fn exit_code(&self) -> u8 {
        let kind = match self {
            Error::Ncforge(e) => e.kind(),
            // A place that is not there was asked for.
            Error::Place { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                ErrorKind::Request
            }
            Error::Io { .. } | Error::Place { .. } | Error::Library(_) | Error::Missing(_) => {
                ErrorKind::Failed
            }
            Error::Invalid(_)
            | Error::BadOption { .. }
            | Error::NotFound { .. }
            | Error::NoValues { .. }
            | Error::Misfit(_)
            | Error::WrongKind(_)
            | Error::TooLarge(_)
            | Error::Team(_) => ErrorKind::Request,
            Error::Unreadable(_) => ErrorKind::Input,
            Error::Rank { code, .. } => return *code,
            // Nothing of it is kept, as after Ctrl-C.
            Error::Stopped => return 130,
        };
        exit_code(kind)
    }

    /// Whether another process reports this error.
    pub fn is_reported_elsewhere(&self) -> bool {
        matches!(self, Error::Rank { reported_here: false, .. })
    }
}

/// The exit code of the command for an error of this kind; `docs/command.md` has the table.
pub fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Request => 2,
        ErrorKind::Difference => 3,
        ErrorKind::Input => 4,
        ErrorKind::Interrupted => 5,
        _ => 1,
    }
}
