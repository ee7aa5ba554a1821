//! The crate's one error type. Every variant carries the facts: which file, which object, which byte.
//!
//! Messages follow one grammar: what failed, where, why. Remedies are named by the fronts, each in its own
//! words: the command in options, Python in arguments. Where a front has to tell errors apart (netCDF-C's error numbers,
//! Python's exceptions) they are variants of their own; [`Error::netcdf_code`] is the table of netCDF-C's.

mod class;
mod kind;
mod kinds;
mod nearest;
mod netcdf;
mod op;
mod text;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::store::remote::shown_path;

pub use class::ErrorClass;
pub use kinds::{ErrorKind, Late, Limit, NameFault, Stale, TileFault, TileOption};
pub use nearest::nearest;
pub use op::Op;
use text::{at, in_use, said, selection, stale, too_late};

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the facts needed to correct it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a request.
    #[error("cannot {op} `{path}`: {}", said(source))]
    Io {
        /// The operation.
        op: Op,
        /// The file, or the name of the store.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The bytes do not follow their format.
    #[error("`{path}` is damaged{}: {what}", at(*.offset))]
    Corrupt {
        /// The file, or the name of the store.
        path: String,
        /// The place in the file, in bytes, when one place is to blame.
        offset: Option<u64>,
        /// The contents that were found, and those that the format asks for.
        what: String,
    },
    /// The file is none of the formats that ncforge reads.
    #[error("`{path}` is not a netCDF file: {what}")]
    NotNetcdf {
        /// The file.
        path: String,
        /// A description of the file's first bytes.
        what: String,
    },
    /// A file, of whatever format, to which virtual datasets or external links lead, and which is not HDF5: none of its bytes are
    /// repeated, as whoever made `from` may not read it.
    #[error("`{path}`, to which `{from}` leads, is not an HDF5 file")]
    NotHdf5 {
        /// The file.
        path: String,
        /// The file that names it.
        from: String,
    },
    /// Legal, but not supported; names the feature.
    #[error("`{path}`: {what} is not supported")]
    Unsupported {
        /// The file, or file and object.
        path: String,
        /// The feature: "a virtual dataset", "filter 32013 (zfp)".
        what: String,
    },
    /// A URL where only a local file will do.
    #[error("`{url}`: writing to a URL (a copy is uploaded when it is complete) is not supported")]
    WriteToUrl {
        /// The URL.
        url: String,
    },
    /// A server that sends whole files only.
    #[error(
        "`{url}`: a server that sends no parts of files (it ignores the header `Range`) is not supported"
    )]
    NoRanges {
        /// The URL.
        url: String,
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
        /// The most similar name that is there, where there is one.
        nearest: Option<String>,
    },
    /// A wrong argument that no other variant is for.
    #[error("{0}")]
    Invalid(String),
    /// A group, dimension, type or variable is named by a number that none has.
    #[error("there is no {kind} number {id}")]
    NoSuchId {
        /// "variable", "dimension", "group", "type".
        kind: &'static str,
        /// The number asked for.
        id: usize,
    },
    /// The name of a new or renamed object belongs to another one.
    #[error("{}", in_use(kind, name, holder, group))]
    NameInUse {
        /// The kind of the new object: "variable", "dimension", "group", "attribute", "type".
        kind: &'static str,
        /// The name.
        name: String,
        /// The kind of the object that has the name.
        holder: &'static str,
        /// Path of the group, where different kinds of objects share their names.
        group: String,
    },
    /// A name that netCDF does not allow.
    #[error("`{}` cannot be the name of the {kind}: it {why}", name.escape_debug())]
    BadName {
        /// The kind of object that was to get the name.
        kind: String,
        /// The name.
        name: String,
        /// The rule that it breaks.
        why: NameFault,
    },
    /// A dimension that cannot be used so: it is not defined, or its length is fixed.
    #[error("{what}")]
    BadDimension {
        /// Its number.
        dim: usize,
        /// The request, and the reason why it cannot be met.
        what: String,
    },
    /// A type that does not fit: of a fill value, of a user-defined type's members, of memory.
    #[error("{0}")]
    BadType(String),
    /// Chunk lengths that the variable cannot have.
    #[error("`{variable}` {why}")]
    BadChunks {
        /// Path of the variable.
        variable: String,
        /// The fault of the chunk lengths.
        why: String,
    },
    /// A storage that the variable cannot have: contiguous with filters, say.
    #[error("`{variable}` {why}")]
    BadStorage {
        /// Path of the variable.
        variable: String,
        /// The fault of the filter.
        why: String,
    },
    /// A filter, or its parameters, that cannot be applied to these values.
    #[error("{0}")]
    BadFilter(String),
    /// Too late to define this of a variable: its values are in the file, or its place there is.
    #[error("{}", too_late(variable, *.what))]
    TooLate {
        /// Path of the variable.
        variable: String,
        /// The definition that came too late.
        what: Late,
    },
    /// Definitions were ended explicitly and not begun again.
    #[error("{what} needs define mode")]
    NotInDefineMode {
        /// The operation that was asked for.
        what: &'static str,
    },
    /// Definitions were not ended yet, or were begun already.
    #[error("{what} cannot be done in define mode")]
    InDefineMode {
        /// The operation that was asked for.
        what: &'static str,
    },
    /// A chunk that the variable's grid does not have.
    #[error("`{variable}` has no chunk {at:?}")]
    NoChunk {
        /// The variable.
        variable: String,
        /// The place in the grid.
        at: Vec<u64>,
    },
    /// Picks that do not choose each dimension once.
    #[error("`{variable}`: {why}")]
    BadPick {
        /// The variable.
        variable: String,
        /// The fault.
        why: String,
    },
    /// A description whose parts contradict each other: a variable of a dimension that is not there.
    #[error("{0}")]
    BadSchema(String),
    /// A change of a description that its file cannot follow: a copy can have it.
    #[error("redefinition cannot {0}")]
    CannotRedefine(String),
    /// A selection with more or fewer dimensions than its variable has.
    #[error("`{variable}` has {rank} dimensions, the selection has {given}")]
    Rank {
        /// The variable.
        variable: String,
        /// Its number of dimensions.
        rank: usize,
        /// The number of dimensions of the selection.
        given: usize,
    },
    /// A selection that runs past the end of a dimension, or whose stride is 0.
    #[error("{}", selection(variable, *.dim, *.start, *.count, *.stride, *.len))]
    Selection {
        /// The variable.
        variable: String,
        /// Position of the dimension among the variable's.
        dim: usize,
        /// First element selected.
        start: u64,
        /// Number of elements.
        count: u64,
        /// Distance between them.
        stride: u64,
        /// Length of the dimension.
        len: u64,
    },
    /// A position picked outside a dimension.
    #[error("`{variable}`: index {index} is outside dimension {dim} of length {len}")]
    Index {
        /// The variable.
        variable: String,
        /// Position of the dimension among the variable's.
        dim: usize,
        /// The position.
        index: u64,
        /// Length of the dimension.
        len: u64,
    },
    /// Memory, or values, of another length than the selection needs.
    #[error("{0}")]
    Length(String),
    /// Values that were to be converted between text and numbers.
    #[error(
        "`{variable}`: text and numbers are not converted into each other ({stored} in the file, {memory} in memory)"
    )]
    TextNumber {
        /// The variable.
        variable: String,
        /// Type of the stored values.
        stored: &'static str,
        /// Type of those in memory.
        memory: &'static str,
    },
    /// Values outside the range of the type that they were converted to. All of them were converted and delivered.
    #[error("`{variable}`: {count} values are outside the range of {to}")]
    Range {
        /// The variable.
        variable: String,
        /// How many.
        count: u64,
        /// The type that they were converted to.
        to: &'static str,
    },
    /// A change of what is open for reading.
    #[error("`{path}` is open for reading only")]
    ReadOnly {
        /// The file, or the name of the store.
        path: String,
    },
    /// The dataset was closed.
    #[error("the dataset is closed")]
    Closed,
    /// Something was asked of a variable or store that is of another kind: chunks of what is contiguous, say.
    #[error("`{name}` {what}")]
    WrongKind {
        /// The variable, or the file.
        name: String,
        /// The property that is wrong or missing: "is not stored in chunks".
        what: Cow<'static, str>,
    },
    /// A value that an option cannot have.
    #[error("{what}")]
    BadOption {
        /// The option: "endian", "codec", "memory".
        option: &'static str,
        /// The given value, and the possible ones.
        what: String,
    },
    /// More bytes or elements than can be addressed.
    #[error("{0}")]
    TooLarge(String),
    /// Something that cannot happen has happened: a defect of this crate.
    #[error("internal error: {0}")]
    Internal(String),
    /// The target format cannot hold this.
    #[error("{format} cannot hold {what}")]
    NotRepresentable {
        /// The target format's name.
        format: &'static str,
        /// The object and why.
        what: String,
    },
    /// The target format has a limit, or a rule of order, that this breaks.
    #[error("{format} cannot hold {what}")]
    Limit {
        /// The target format's name.
        format: &'static str,
        /// The limit.
        limit: Limit,
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
        /// The contradiction between the tiles.
        what: String,
        /// The option that would allow it.
        unless: TileOption,
    },
    /// A file that is no tile, or not the one that its model wrote.
    #[error("`{path}` {what}")]
    BadTile {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
        /// Which of the two it is.
        fault: TileFault,
    },
    /// A list of inputs with none in it.
    #[error("no {0} were named")]
    NoInput(&'static str),
    /// Files whose coordinate does not go on from one to the next.
    #[error("`{after}` cannot follow `{before}`: there {ends}")]
    Order {
        /// The earlier file.
        before: String,
        /// The later file.
        after: String,
        /// Where the coordinate ends in the earlier file, and begins in the later one.
        ends: String,
    },
    /// Files that cannot be joined.
    #[error("`{file}` cannot be joined {to}: {why}")]
    CannotJoin {
        /// The file.
        file: String,
        /// To what: "to `a.nc`", "along `time`".
        to: String,
        /// What differs, or what cannot be.
        why: String,
    },
    /// What another process knows of a copy does not fit the copy.
    #[error("{0}")]
    BadTicket(String),
    /// The output is one of the inputs.
    #[error("the output `{}` is one of the {input}s", shown_path(output))]
    OutputIsInput {
        /// The output.
        output: PathBuf,
        /// What each input is: "tile", "file".
        input: &'static str,
    },
    /// Nobody can go on with what an interrupted run has left.
    #[error("cannot resume: {}", stale(partial, *.why))]
    CannotResume {
        /// The unfinished output.
        partial: String,
        /// The reason.
        why: Stale,
    },
    /// The output exists and overwriting was not asked for.
    #[error("`{}` exists already", shown_path(.0))]
    Exists(PathBuf),
    /// Another program made a file of the output's name while the output was written, and nothing may be replaced.
    #[error(
        "`{}` is there now: another program made it meanwhile, and it is not replaced; the new file is complete and stays as `{}`",
        shown_path(path),
        shown_path(partial)
    )]
    Appeared {
        /// The path of the output.
        path: PathBuf,
        /// The path of the new file.
        partial: PathBuf,
    },
    /// Another program, or another part of this one, has the file open, and excludes this use of it.
    #[error("cannot lock `{path}`: {what}")]
    Locked {
        /// The file.
        path: String,
        /// The holder of the lock, as far as is known.
        what: String,
    },
    /// The file is open for writing in a process that this one was forked from.
    #[error("`{path}` is open for writing in the process that this one was forked from, and belongs to it")]
    Inherited {
        /// The file.
        path: String,
    },
    /// Values that were handed over are not in the file, and will not be.
    #[error("`{path}` does not hold all that was written to it: {what}")]
    Lost {
        /// The file.
        path: String,
        /// The missing function, and the reason.
        what: String,
    },
    /// The file was replaced, or its contents were, since it was opened.
    #[error("`{path}` has changed since it was opened")]
    Changed {
        /// The file, or the URL.
        path: String,
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
    /// The system does not give so much memory.
    #[error("{bytes} bytes of memory are needed, and the system does not give them")]
    Memory {
        /// Bytes needed at once.
        bytes: u64,
    },
    /// The work was asked to stop; what is done is kept and can be resumed.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// An upload was asked to stop: the object is as it was.
    #[error("interrupted: nothing was uploaded to `{url}`")]
    NotUploaded {
        /// The URL.
        url: String,
    },
    /// A verification found a difference.
    #[error("verification failed: {0}")]
    Verify(String),
}

impl Error {
    /// An [`Error::Io`].
    pub fn io(op: Op, path: impl Into<String>, source: std::io::Error) -> Self {
        Error::Io { op, path: path.into(), source }
    }

    /// An [`Error::Corrupt`] at a byte offset.
    pub fn corrupt(path: impl Into<String>, offset: impl Into<Option<u64>>, what: impl Into<String>) -> Self {
        Error::Corrupt { path: path.into(), offset: offset.into(), what: what.into() }
    }

    /// An [`Error::BadOption`].
    pub fn bad_option(option: &'static str, what: impl Into<String>) -> Self {
        Error::BadOption { option, what: what.into() }
    }

    /// An [`Error::WrongKind`].
    pub fn wrong_kind(name: impl Into<String>, what: impl Into<Cow<'static, str>>) -> Self {
        Error::WrongKind { name: name.into(), what: what.into() }
    }

    /// An [`Error::WrongKind`] of a variable that has no chunks.
    pub fn not_chunked(name: impl Into<String>) -> Self {
        Error::wrong_kind(name, "is not stored in chunks")
    }
}

#[cfg(test)]
mod tests;
