//! Options of a combination.

use std::path::PathBuf;

use super::scheme::SchemeChoice;
use crate::copy::{ChunkSpec, CopyOptions};

/// The values where no tile is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holes {
    /// `_FillValue`, else `missing_value`, else the fill value of the type.
    #[default]
    Fill,
    /// `_FillValue`, else `missing_value`, else zeros, as `rebuild_nemo` and `mppnccombine -m` have it.
    Missing,
    /// Zeros.
    Zero,
    /// Nothing: a hole is an error.
    Error,
}

/// The treatment of a variable that is not distributed and differs between tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Differing {
    /// An error: the tiles are of different runs or dates.
    #[default]
    Error,
    /// The first tile's is taken.
    First,
}

/// Chunk shapes of the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TileChunks {
    /// The tiles' chunks where their shape serves readers and they can be moved as they are; else chosen.
    #[default]
    Auto,
    /// The largest that no edge between tiles cuts.
    Tiles,
    /// The tiles' chunks.
    Keep,
    /// As the user says; the rest as with [`TileChunks::Auto`].
    Spec(ChunkSpec),
}

/// Options of a combination.
#[derive(Clone, Debug, Default)]
pub struct CombineOptions {
    /// How tiles tell their place.
    pub scheme: SchemeChoice,
    /// Whether the files named are all: one alone does not stand for others of its name, and no name is a pattern.
    pub exact: bool,
    /// The values where no tile is.
    pub holes: Holes,
    /// Whether tiles that should exist may be missing.
    pub allow_missing: bool,
    /// Whether tiles may have different numbers of records; the missing ones are holes.
    pub allow_ragged: bool,
    /// The treatment of variables that are not distributed and differ.
    pub differing: Differing,
    /// A file with coordinates to put into holes of the variables of the same names.
    pub coords: Option<PathBuf>,
    /// Only these records: from, and one past the last, from 0.
    pub records: Option<(u64, u64)>,
    /// A file that such tiles made, into which these are put: what stands in it stays where they have nothing. The
    /// output is that file anew, or another.
    pub into_existing: Option<PathBuf>,
    /// The tile whose header is read first, then the next ones, and around: where several combine different
    /// variables of the same tiles, they need not all begin with the same file. The output does not depend on it.
    pub begin_with: usize,
    /// Chunk shapes.
    pub chunks: TileChunks,
    /// Whether the tiles are removed when the output is whole, on disk and verified: those that it has all of.
    pub delete_tiles: bool,
    /// Format, compression, variables, history, verification, resuming, as of a copy. `chunks` is not used.
    pub copy: CopyOptions,
}
