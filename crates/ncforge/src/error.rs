//! The crate's one error type. Every variant carries the facts: which file, which object, which byte.
//!
//! Messages follow one grammar: what failed, where, why; the command adds a `hint:` line from [`Error::hint`].

use std::path::PathBuf;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the facts needed to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a request.
    #[error("cannot {op} `{path}`: {source}")]
    Io {
        /// What was tried: "open", "read 4096 bytes at offset 128 of", …
        op: String,
        /// The file, or the name of the store.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes do not follow their format.
    #[error("`{path}` is damaged{}: {what}", at(*.offset))]
    Corrupt {
        /// The file, or the name of the store.
        path: String,
        /// Where in the file, in bytes, when one place is to blame.
        offset: Option<u64>,
        /// What was found, and what the format asks for.
        what: String,
    },
    /// The file is none of the formats that ncforge reads.
    #[error("`{path}` is not a netCDF file: {what}")]
    NotNetcdf {
        /// The file.
        path: String,
        /// What its first bytes look like.
        what: String,
    },
    /// Legal, but not supported; names the feature.
    #[error("`{path}`: {what} is not supported")]
    Unsupported {
        /// The file, or file and object.
        path: String,
        /// The feature: "a virtual dataset", "filter 32013 (zfp)".
        what: String,
    },
    /// A name that is not in the file.
    #[error("no {kind} `{name}` in `{path}`")]
    NotFound {
        /// "variable", "dimension", "group", "attribute", "type".
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The file.
        path: String,
    },
    /// A request that makes no sense for this file: a selection out of range, a type that does not fit.
    #[error("{0}")]
    Invalid(String),
    /// The target format cannot hold this.
    #[error("{format} cannot hold {what}")]
    NotRepresentable {
        /// The target format's name.
        format: &'static str,
        /// The object and why.
        what: String,
    },
    /// Tiles that do not make one whole: some are missing, two claim one place, they are of different models or
    /// dates. Names the files.
    #[error("{0}")]
    Tiles(String),
    /// Tiles that make one whole only if an option allows it. Names the files.
    #[error("{what}")]
    TilesUnless {
        /// What does not go together.
        what: String,
        /// What would allow it.
        unless: TileOption,
    },
    /// The output exists and overwriting was not asked for.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// Another program made a file of the output's name while the output was written, and nothing may be replaced.
    #[error(
        "`{}` is there now: another program made it meanwhile, and it is not replaced; the new file is complete and stays as `{}`",
        .path.display(), .partial.display()
    )]
    Appeared {
        /// Where the output should be.
        path: PathBuf,
        /// Where it is.
        partial: PathBuf,
    },
    /// Another program, or another part of this one, has the file open, and excludes this use of it.
    #[error("cannot lock `{path}`: {what}")]
    Locked {
        /// The file.
        path: String,
        /// Who has it, as far as is known.
        what: String,
    },
    /// The memory budget is too small for the smallest unit of work.
    #[error("{what} needs {needed} bytes of memory, the budget is {budget}")]
    Budget {
        /// The work.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// The work was asked to stop; what is done is kept and can be resumed.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// A verification found a difference.
    #[error("verification failed: {0}")]
    Verify(String),
}

/// An option that makes a whole of tiles that make none without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TileOption {
    /// Tiles may be missing: their places are filled.
    AllowMissing,
    /// Tiles may have different numbers of records: the missing ones are filled.
    AllowRagged,
    /// What is not distributed may differ: the first tile's is taken.
    DifferingFirst,
}

fn at(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |o| format!(" at byte {o}"))
}

impl Error {
    /// An [`Error::Io`].
    pub fn io(op: impl Into<String>, path: impl Into<String>, source: std::io::Error) -> Self {
        Error::Io { op: op.into(), path: path.into(), source }
    }

    /// An [`Error::Corrupt`] at a byte offset.
    pub fn corrupt(path: impl Into<String>, offset: impl Into<Option<u64>>, what: impl Into<String>) -> Self {
        Error::Corrupt { path: path.into(), offset: offset.into(), what: what.into() }
    }

    /// The exit code of the command (see the table in `docs/command.md`): 1 operation failed, 2 usage,
    /// 3 differences found, 4 input unreadable or corrupt, 5 interrupted and resumable.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Corrupt { .. } | Error::NotNetcdf { .. } | Error::Tiles(_) | Error::TilesUnless { .. } => {
                4
            }
            Error::Io { op, .. } if op.starts_with("open") || op.starts_with("read") => 4,
            Error::Exists(_) | Error::Budget { .. } | Error::NotFound { .. } | Error::Invalid(_) => 2,
            Error::Io { op, source, .. } if op == "create" && is_no_place(source) => 2,
            Error::Verify(_) => 3,
            Error::Interrupted(_) => 5,
            Error::Io { .. }
            | Error::Appeared { .. }
            | Error::Locked { .. }
            | Error::Unsupported { .. }
            | Error::NotRepresentable { .. } => 1,
        }
    }

    /// What the user can do about it, in the words of the command.
    ///
    /// ```
    /// use ncforge::Error;
    /// assert_eq!(Error::Exists("a.nc".into()).hint(), "give -O to overwrite it");
    /// ```
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Io { op, source, .. }
                if op == "create" && source.kind() == std::io::ErrorKind::NotFound =>
            {
                "a file is made only in a folder that exists: make it (`mkdir -p`), or look at its name"
            }
            Error::Io { source, .. } => io_hint(source),
            Error::Corrupt { .. } => {
                "get the file anew from where it came; where only a part is damaged, `ncforge info` lists the rest"
            }
            Error::NotNetcdf { .. } => {
                "ncforge reads netCDF classic, netCDF-4 and packed files; `file NAME` may tell what this is"
            }
            Error::Unsupported { .. } => {
                "docs/formats.md lists what is supported; other variables can be copied with --vars"
            }
            Error::NotFound { .. } => "`ncforge info FILE` lists the names",
            Error::Invalid(_) => "`--help` behind the command tells what may be asked for",
            Error::NotRepresentable { .. } => "--format netcdf4 holds everything that netCDF knows",
            Error::Tiles(_) => {
                "give all tiles of one run and one date (--dry-run draws how they lie); --scheme generic takes tiles of any model"
            }
            Error::TilesUnless { unless, .. } => match unless {
                TileOption::AllowMissing => {
                    "give all tiles; --allow-missing fills the places of those that are not there"
                }
                TileOption::AllowRagged => "--allow-ragged fills the records that some tiles lack",
                TileOption::DifferingFirst => {
                    "give tiles of one run and one date (--dry-run draws how they lie); --differing first takes the first tile's"
                }
            },
            Error::Exists(_) => "give -O to overwrite it",
            Error::Appeared { .. } => {
                "give the new file another name (`mv`); or run the same command with --resume -O, which replaces the old one"
            }
            Error::Locked { .. } => {
                "wait until the other program has closed it; HDF5_USE_FILE_LOCKING=FALSE takes no locks, where you know that nobody writes"
            }
            Error::Budget { .. } => "give a larger --memory, or smaller chunks",
            Error::Interrupted(_) => "run the same command with --resume to go on",
            Error::Verify(_) => "do not use the output; make it again, and report it when that fails, too",
        }
    }
}

/// Whether a file cannot be made where it was asked for, whatever the disk is like.
fn is_no_place(e: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    matches!(e.kind(), Kind::NotFound | Kind::NotADirectory | Kind::IsADirectory)
}

/// What can be done when the system refuses something.
pub fn io_hint(e: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match e.kind() {
        Kind::NotFound => "look at the name, and at the folder from which the command runs",
        Kind::PermissionDenied => "`ls -l` tells who may; or choose a place that you may write to",
        Kind::StorageFull | Kind::QuotaExceeded => "make room there, or name an output on another disk",
        Kind::ReadOnlyFilesystem => "name an output on a file system that can be written to",
        Kind::IsADirectory => "name a file, not a folder",
        Kind::NotADirectory => "a part of the path is a file where a folder must be",
        Kind::UnexpectedEof => "the file became shorter while it was read: is somebody writing it?",
        _ => "the system refused it; if it does so again, the disk or the file server may be at fault",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_file_and_byte() {
        let e = Error::corrupt("a.nc", 12, "tag 7 where a dimension list (10) belongs");
        assert_eq!(e.to_string(), "`a.nc` is damaged at byte 12: tag 7 where a dimension list (10) belongs");
        assert_eq!(e.exit_code(), 4);
    }

    #[test]
    fn every_kind_of_error_has_a_hint_of_its_own() {
        let text = || "x".to_owned();
        let all = [
            Error::io("open", "x", std::io::ErrorKind::NotFound.into()),
            Error::io("write", "x", std::io::ErrorKind::StorageFull.into()),
            Error::corrupt("x", None, "y"),
            Error::NotNetcdf { path: text(), what: text() },
            Error::Unsupported { path: text(), what: text() },
            Error::NotFound { kind: "variable", name: text(), path: text() },
            Error::Invalid(text()),
            Error::NotRepresentable { format: "classic", what: text() },
            Error::Tiles(text()),
            Error::TilesUnless { what: text(), unless: TileOption::AllowMissing },
            Error::TilesUnless { what: text(), unless: TileOption::AllowRagged },
            Error::TilesUnless { what: text(), unless: TileOption::DifferingFirst },
            Error::Exists("x".into()),
            Error::Appeared { path: "x".into(), partial: ".x".into() },
            Error::Locked { path: text(), what: text() },
            Error::Budget { what: text(), needed: 2, budget: 1 },
            Error::Interrupted(text()),
            Error::Verify(text()),
        ];
        let hints: std::collections::HashSet<&str> = all.iter().map(Error::hint).collect();
        assert_eq!(hints.len(), all.len());
        // The grammar: no capital, no full stop.
        for hint in hints {
            assert!(!hint.ends_with('.') && !hint.starts_with(char::is_uppercase), "{hint}");
        }
    }
}
