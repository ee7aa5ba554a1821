//! Facts about the whole's dimensions, its variables and each tile.

use super::super::scheme::Span;
use ncforge::codec::CodecChain;
use ncforge::model::VarId;
use ncforge::raw::{Absent, Element, Region};

/// The relation of a dimension of the whole to the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DimKind {
    /// Every tile has all of it.
    Whole,
    /// Every tile has a part.
    Split,
    /// The tiles' are put one behind the other.
    List,
}

/// The source of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// One tile; the others have equal values.
    Tile(usize),
    /// Many tiles, by the pattern of this number.
    Pattern(usize),
}

/// Facts about one tile.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Its part of every dimension of the whole; count 0 where it has none.
    pub(crate) spans: Vec<Span>,
    /// Its variable for each of the whole's; `None`: the same numbers, as far as they go.
    pub(crate) vars: Option<Vec<Option<VarId>>>,
    /// The number of variables.
    pub(crate) var_count: usize,
    /// Variables of the whole whose chunks here are not as the whole has them: what the tile holds of these is read as values.
    pub(crate) stored_differently: Vec<VarId>,
}

impl Facts {
    /// Whether the tile's chunks of a variable are as the whole has them.
    pub(crate) fn has_same_chunks(&self, v: VarId) -> bool {
        !self.stored_differently.contains(&v)
    }

    /// The tile's variable.
    pub(crate) fn var(&self, v: VarId) -> Option<VarId> {
        match &self.vars {
            Some(map) => map.get(v.0).copied().flatten(),
            None => (v.0 < self.var_count).then_some(v),
        }
    }
}

/// The holes of one pattern.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    /// Points of all of them.
    pub(crate) points: u64,
    /// Boxes that hold them.
    pub(crate) boxes: Vec<Region>,
}

/// How the tiles hold a variable, as far as all do it alike.
#[derive(Debug)]
pub(crate) struct OfTiles {
    pub(crate) element: Element,
    pub(crate) absent: Absent,
    pub(crate) kept: KeptAs,
    /// Whether chunks can be moved.
    pub(crate) movable: bool,
}

/// How values are stored.
#[derive(Debug)]
pub(crate) enum KeptAs {
    /// Row by row.
    Rows,
    /// In chunks of these lengths.
    Chunks {
        chunk: Vec<u64>,
        codecs: CodecChain,
    },
    Otherwise,
}

impl OfTiles {
    pub(crate) fn chunks(&self) -> Option<(&[u64], &CodecChain)> {
        match &self.kept {
            KeptAs::Chunks { chunk, codecs } => Some((chunk, codecs)),
            KeptAs::Rows | KeptAs::Otherwise => None,
        }
    }
}
