//! What errors say by a kind, not in words.

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
    /// Places in no tile are filled.
    HolesFill,
}

/// What is defined of a variable before it has values.
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
