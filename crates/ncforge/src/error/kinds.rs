//! Kinds that errors name by a value instead of by words.

use std::fmt;

/// An option that makes a whole of tiles that make none without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TileOption {
    /// Tiles may be missing: their places are filled.
    AllowMissing,
    /// Tiles may have different numbers of records: the missing ones are filled.
    AllowRagged,
    /// Metadata that are not distributed may differ: the first tile's are taken.
    DifferingFirst,
    /// Places in no tile are filled.
    HolesFill,
    /// What packs values may differ: they are unpacked.
    Decode,
}

/// Why a file cannot be taken for a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TileFault {
    /// It does not say which part of a whole it is; only its name is that of a tile.
    NoTile,
    /// What it says does not fit what is in it: another program has changed it.
    Changed,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is wrong: the caller has to ask for something else.
    Request,
    /// An input cannot be read, is damaged, or goes with no other.
    Input,
    /// A verification found a difference.
    Difference,
    /// The work was asked to stop.
    Interrupted,
    /// The operation failed: the system refused something, or this crate has a defect.
    Failed,
}

/// The rule of netCDF that a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFault {
    /// It is empty.
    Empty,
    /// It is longer than `NC_MAX_NAME`.
    TooLong,
    /// It has a slash in it.
    Slash,
    /// It has a control character in it.
    Control,
    /// It begins with a character that no name begins with.
    Beginning,
    /// It ends with a space.
    Space,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameFault::Empty => "is empty",
            NameFault::TooLong => "is longer than 256 bytes",
            NameFault::Slash => "has a slash in it",
            NameFault::Control => "has a control character in it",
            NameFault::Beginning => "does not begin with a letter, a digit or an underscore",
            NameFault::Space => "ends with a space",
        })
    }
}

/// The reason why an interrupted run cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// The source is another one now.
    Source,
    /// The options, or the memory budget, are other ones.
    Options,
    /// The unfinished output is shorter than it was.
    Short,
}

/// A part of a variable's definition that is fixed once the variable has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Late {
    /// Its fill value, or whether it is filled.
    Fill,
    /// Its chunks, filters or byte order.
    Storage,
}

/// Limits of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// An unlimited dimension is the first of a variable's.
    UnlimitedFirst,
    /// One unlimited dimension.
    OneUnlimited,
    /// Length of a dimension, or number of records.
    DimensionLength,
    /// Number of a variable's dimensions.
    Rank,
    /// Bytes of a variable, or of all of them.
    VariableSize,
    /// Number of attributes.
    Attributes,
    /// Types of values.
    Type,
    /// What no file of the classic format has, or not so much of it.
    Classic,
}
