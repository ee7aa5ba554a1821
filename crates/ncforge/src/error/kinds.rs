//! Kinds that errors name by a value instead of by words.

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
}
