//! Errors of filters. A filter knows no file: its caller adds the file, the variable and the byte offset.

/// The reason why a chunk cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not follow the format of their filter.
    #[error("{0}")]
    Corrupt(String),
    /// A filter, or a form of one, that is not implemented: its name.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A filter that cannot encode what it was given: a level that does not exist, a chunk that is too large.
    #[error("{0}")]
    BadFilter(String),
    /// Values of a type that the operation does not have.
    #[error("{0}")]
    BadType(String),
    /// Memory of another length than the operation needs.
    #[error("{0}")]
    Length(String),
    /// The system does not give so many bytes of memory.
    #[error("{0} bytes of memory are needed, and the system does not give them")]
    Memory(u64),
    /// A value that an option cannot have.
    #[error("{what}")]
    BadOption {
        /// The option: "quantize".
        option: &'static str,
        /// The value, and the values that are possible.
        what: String,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn bad_option(option: &'static str, what: impl Into<String>) -> Self {
        Error::BadOption { option, what: what.into() }
    }
}

/// The bytes of one filter's stream do not follow their format.
pub(crate) fn damaged(filter: &str, what: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("{filter}: {what}"))
}
