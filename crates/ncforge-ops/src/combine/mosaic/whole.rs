//! The whole that the tiles make.

use std::collections::BTreeMap;

use super::super::left_out::LeftOut;
use super::super::scheme::Scheme;
use super::super::tiles::Tiles;
use super::existing::Existing;
use super::facts::{DimKind, Facts, From, Holes, OfTiles};
use super::note::Note;
use super::pattern::Pattern;
use super::times::Times;
use ncforge::model::{DimId, Format, Schema, VarId};
use ncforge::raw::VarGroup;
use ncforge::{Buffer, Dataset, Engine};

/// The whole, made of tiles.
#[derive(Debug)]
pub(crate) struct Mosaic {
    /// Its description; storage as it shall be in the output.
    pub(crate) schema: Schema,
    pub(crate) tile_format: Format,
    pub(crate) scheme: Box<dyn Scheme>,
    pub(crate) tiles: Tiles,
    pub(crate) facts: Vec<Facts>,
    pub(crate) dims: Vec<DimKind>,
    pub(crate) patterns: Vec<Pattern>,
    /// The holes of each pattern.
    pub(crate) holes: Vec<Holes>,
    /// The source of each variable's values.
    pub(crate) from: Vec<From>,
    /// How the tiles hold each variable.
    pub(crate) of_tiles: Vec<OfTiles>,
    /// The value in the holes of each variable: one element, in native order; `None` for heap types.
    pub(crate) fills: Vec<Option<Vec<u8>>>,
    /// Values for the holes of some variables: all of the variable, native order.
    pub(crate) patches: BTreeMap<VarId, Buffer>,
    /// Times that change on the way.
    pub(crate) times: Times,
    /// Whether each variable is wanted in the output.
    pub(crate) chosen: Vec<bool>,
    /// A file into which the tiles are put.
    pub(crate) existing: Option<Existing>,
    /// Notes for the user.
    pub(crate) notes: Vec<Note>,
    /// Parts of the tiles that are not in the whole.
    pub(crate) left_out: LeftOut,
    /// Numbers of tiles that should exist and were not given.
    pub(crate) missing: Vec<u64>,
    /// Whether only some records are taken: chunks of the tiles may hold more.
    pub(crate) windowed: bool,
    /// Bytes of all tiles.
    pub(crate) bytes: u64,
    pub(crate) engine: Engine,
    /// The variables that are read with each variable.
    pub(super) var_groups: Vec<Option<VarGroup>>,
}

impl Mosaic {
    /// The kinds of a variable's dimensions.
    pub(crate) fn kinds(&self, v: VarId) -> impl Iterator<Item = (DimId, DimKind)> + '_ {
        self.schema.var(v).dims.iter().map(|&d| (d, self.dims[d.0]))
    }

    /// Whether a variable's values are others than those that its tiles store.
    pub(super) fn is_converted(&self, v: VarId) -> bool {
        self.times.has(v) || self.tiles.decoded().has(&self.schema.var_path(v))
    }

    /// Adds a note for the user.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text.into());
    }

    /// Notes for the user in words.
    pub(crate) fn said(&self) -> impl Iterator<Item = String> + '_ {
        self.notes.iter().map(|note| note.text().to_owned())
    }

    /// The file into which the tiles are put, if there is one that has the variable.
    pub(super) fn existing_var(&self, v: VarId) -> Option<(&Dataset, VarId)> {
        self.existing.as_ref().and_then(|e| e.var(v))
    }
}
