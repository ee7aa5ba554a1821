//! The tiles of a set, put together: one description, and for every variable which part comes from which tile.
//!
//! Building a mosaic reads headers only and checks that the tiles make one whole: the same variables, types and
//! lengths; no place claimed twice; no tile missing; attributes that agree. What is not distributed is compared by
//! [`agree`]. Then the mosaic is a [`Source`](crate::source::Source) like a file.

mod agree;
mod attrs;
mod batch;
mod build;
mod chunks;
mod coords;
mod dims;
mod draw;
mod existing;
mod fill;
mod join;
mod pattern;
mod read;
mod records;
mod scan;
mod var_group;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::source::VarGroup;
use ncforge::model::{DimId, Schema, VarId};
use ncforge::raw::VarLayout;
use ncforge::{Buffer, Engine, Result};

use super::left_out::LeftOut;
use super::scheme::{Scheme, Span};
use super::tiles::Tiles;

pub(crate) use build::build;
pub use draw::Picture;
pub(crate) use draw::pictures;
pub(crate) use existing::Existing;
pub(crate) use pattern::Pattern;

/// What a dimension of the whole is to the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DimKind {
    /// Every tile has all of it.
    Whole,
    /// Every tile has a part.
    Split,
    /// The tiles' are put one behind the other.
    List,
}

/// Where the values of a variable come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// From one tile, the others have the same.
    Tile(usize),
    /// From many, by the pattern of this number.
    Pattern(usize),
}

/// What is known of one tile.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Its part of every dimension of the whole; count 0 where it has none.
    pub(crate) spans: Vec<Span>,
    /// Its variable for each of the whole's; `None`: the same numbers, as far as they go.
    pub(crate) vars: Option<Vec<Option<VarId>>>,
    /// How many variables it has.
    pub(crate) var_count: usize,
}

impl Facts {
    /// The tile's variable.
    pub(crate) fn var(&self, v: VarId) -> Option<VarId> {
        match &self.vars {
            Some(map) => map.get(v.0).copied().flatten(),
            None => (v.0 < self.var_count).then_some(v),
        }
    }
}

/// The whole, made of tiles.
#[derive(Debug)]
pub(crate) struct Mosaic {
    /// Its description; storage as it shall be in the output.
    pub(crate) schema: Schema,
    pub(crate) scheme: Box<dyn Scheme>,
    pub(crate) tiles: Tiles,
    pub(crate) facts: Vec<Facts>,
    pub(crate) dims: Vec<DimKind>,
    pub(crate) patterns: Vec<Pattern>,
    /// By variable.
    pub(crate) from: Vec<From>,
    /// By variable: how it is held, as if the whole were a file, and whether its chunks can be moved.
    pub(crate) layouts: Vec<(Arc<VarLayout>, bool)>,
    /// By variable: one element, in native order, for holes; `None` for heap types.
    pub(crate) fills: Vec<Option<Vec<u8>>>,
    /// Values for the holes of some variables: all of the variable, native order.
    pub(crate) patches: BTreeMap<VarId, Buffer>,
    /// A file into which the tiles are put.
    pub(crate) existing: Option<Existing>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
    /// What of the tiles is not in the whole.
    pub(crate) left_out: LeftOut,
    /// Numbers of tiles that should exist and were not given.
    pub(crate) missing: Vec<u64>,
    /// Whether only some records are taken: chunks of the tiles may hold more.
    pub(crate) windowed: bool,
    /// Bytes of all tiles.
    pub(crate) bytes: u64,
    pub(crate) engine: Engine,
    /// By variable: which ones are read with it.
    var_groups: Vec<Option<VarGroup>>,
}

impl Mosaic {
    /// Prepares for a copy of all variables: small ones are read together, with `memory` bytes for their values.
    pub(crate) fn prepare_copy(&mut self, memory: u64) {
        self.var_groups = var_group::plan(self, memory);
    }

    /// The kinds of a variable's dimensions.
    pub(crate) fn kinds(&self, v: VarId) -> impl Iterator<Item = (DimId, DimKind)> + '_ {
        self.schema.var(v).dims.iter().map(|&d| (d, self.dims[d.0]))
    }

    /// An error if the values of what is not distributed differ between tiles.
    pub(crate) fn check_values(&mut self, differing: super::Differing) -> Result<()> {
        let (notes, left_out) = agree::agree(self, differing)?;
        self.notes.extend(notes);
        self.left_out.extend(left_out);
        Ok(())
    }
}
