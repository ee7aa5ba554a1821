//! The errors of a measurement.

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
    /// A request that makes no sense for these files.
    #[error("{0}")]
    Invalid(String),
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

    /// The exit code of the command: that of the library's error, 2 for a request that makes no sense.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Ncforge(e) => e.exit_code(),
            // A place that is not there was asked for.
            Error::Io { op, source, .. }
                if op.starts_with("make") && source.kind() == std::io::ErrorKind::NotFound =>
            {
                2
            }
            Error::Io { .. } | Error::Library(_) | Error::Missing(_) => 1,
            Error::Invalid(_) => 2,
            Error::Unreadable(_) => 4,
            Error::Rank { code, .. } => *code,
            Error::Stopped => 130,
        }
    }

    /// Whether another process reports this error.
    pub fn is_reported_elsewhere(&self) -> bool {
        matches!(self, Error::Rank { reported_here: false, .. })
    }
}
