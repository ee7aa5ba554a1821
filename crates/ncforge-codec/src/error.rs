//! What filters refuse. A filter knows no file: whoever called it adds the file, the variable and the byte offset.

/// Why a chunk cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not follow the format of their filter.
    #[error("{0}")]
    Corrupt(String),
    /// A filter, or a form of one, that is not implemented: its name.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// An argument that makes no sense: a level that does not exist, memory of the wrong length.
    #[error("{0}")]
    Invalid(String),
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The bytes of one filter's stream do not follow their format.
pub(crate) fn damaged(filter: &str, what: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("{filter}: {what}"))
}
