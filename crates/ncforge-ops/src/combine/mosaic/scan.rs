//! Reading the headers of all tiles, in parallel.

use std::sync::OnceLock;

use super::super::scheme::{Header, Scheme, TilePosition, may_differ};
use super::super::tiles::{Seen, Tiles};
use super::attrs::{Conflicts, compare_attributes};
use super::existing::is_chosen;
use super::note::Note;
use crate::alike;
use crate::copy::Names;
use crate::intact::{check_undamaged, check_whole};
use crate::series::is_coordinate;
use crate::unlike::{Unlike, compare_global_attributes};
use ncforge::model::agreement::same_objects;
use ncforge::model::{Filter, Schema, Skipped, VarId};
use ncforge::raw::{Absent, Element, Remark, remarks};
use ncforge::{Dataset, Engine, Error, Result, TileFault};

/// A tile's storage of a variable, as far as moving chunks is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Row-major.
    Runs,
    /// Chunks.
    Chunks(Vec<u64>, Vec<Filter>),
    /// The metadata, nowhere, or chunks that are not to be moved.
    Other,
}

/// The contents of one header.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) place: TilePosition,
    /// Lengths of its dimensions.
    pub(crate) lens: Vec<u64>,
    /// Its description, where it is built differently from the first tile's.
    pub(crate) schema: Option<Schema>,
    pub(crate) conflicts: Conflicts,
    /// Global attributes that differ from the first tile's, and are not the tile's own.
    pub(crate) global: Vec<Unlike>,
    /// Variables of the first tile that this one stores in another way.
    pub(crate) stored_differently: Vec<VarId>,
    pub(crate) bytes: u64,
    /// Objects that cannot be read, and are left out.
    pub(crate) skipped: Vec<Skipped>,
    /// Notes for the user on how the tile is read.
    pub(crate) notes: Vec<String>,
}

/// A set of files, of which all headers were read.
pub(crate) struct Headers {
    pub(crate) tiles: Tiles,
    pub(crate) scheme: Box<dyn Scheme>,
    /// Whether the files were searched for; then some may be of another run.
    pub(crate) searched: bool,
    pub(crate) head: First,
    pub(crate) scanned: Vec<Scanned>,
    /// Notes for the user.
    pub(crate) notes: Vec<Note>,
}

/// The first header: all others are compared with it.
#[derive(Debug)]
pub(crate) struct First {
    pub(crate) tile: usize,
    pub(crate) schema: Schema,
    pub(crate) stored: Vec<Held>,
    /// Which variables matter: those that were chosen, and the coordinate that puts files in order.
    pub(crate) chosen: Vec<bool>,
}

/// A tile's storage of a variable: tiles with equal storage have chunks of which one is as good as another's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) form: Form,
    pub(crate) element: Element,
    pub(crate) absent: Absent,
}

/// A tile's storage of a variable; an error if it is `wanted` and cannot be read.
pub(crate) fn held(tiles: &Tiles, tile: usize, v: VarId, wanted: bool) -> Result<Held> {
    held_in(&tiles.open(tile)?, &tiles.name(tile), v, wanted)
}

fn held_in(dataset: &Dataset, name: &str, v: VarId, wanted: bool) -> Result<Held> {
    let layout = dataset.container().layout(v)?;
    if let Some(what) = layout.place.unsupported().filter(|_| wanted) {
        let path = format!("{name}: {}", layout.name);
        return Err(Error::Unsupported { path, what: what.to_owned() });
    }
    let form = match layout.place.chunks() {
        // Beyond its end, the chunks of what is shorter than its dimensions hold anything.
        Some(_) if layout.shape != dataset.schema().shape(v) => Form::Other,
        Some(c) if c.codecs.is_widened() => Form::Other,
        Some(c) => Form::Chunks(c.chunk.to_vec(), c.codecs.filters().to_vec()),
        None if layout.runs().is_some() => Form::Runs,
        None => Form::Other,
    };
    Ok(Held { form, element: layout.element.clone(), absent: layout.absent.clone() })
}

/// Reads the header of the first tile: the first file, or if the files were `searched` for the first that is a tile.
pub(crate) fn first(
    tiles: &Tiles,
    scheme: &dyn Scheme,
    searched: bool,
    only: Option<&Names>,
) -> Result<First> {
    for tile in 0..tiles.len() {
        let dataset = tiles.open_whole(tile)?;
        let schema = dataset.schema().clone();
        let is_other =
            searched && !scheme.detect(&Header { schema: &schema, path: &tiles.paths()[tile], number: tile });
        if is_other && tile + 1 < tiles.len() {
            continue;
        }
        let name = tiles.name(tile);
        let orders = |v| scheme.series().is_some_and(|s| is_coordinate(&schema, v, &s.dim));
        let chosen: Vec<bool> = schema.var_ids().map(|v| is_chosen(only, &schema, v) || orders(v)).collect();
        let held = |v: VarId| held_in(&dataset, &name, v, chosen[v.0]);
        let stored = schema.var_ids().map(held).collect::<Result<_>>()?;
        return Ok(First { tile, chosen, schema, stored });
    }
    Err(Error::NoInput("tiles"))
}

/// Reads all headers, from tile `begin` on and around. Of files that were `searched` for, those that are no tiles say nothing.
pub(crate) fn scan(
    tiles: &Tiles,
    engine: &Engine,
    scheme: &dyn Scheme,
    first: &First,
    searched: bool,
    begin: usize,
) -> Result<Vec<Option<Scanned>>> {
    let slots: Vec<OnceLock<Scanned>> = (0..tiles.len()).map(|_| OnceLock::new()).collect();
    alike::each(tiles.paths(), engine, |i| {
        let i = (i + begin) % tiles.len();
        let scan = Scan { tiles, scheme, first, searched };
        let looked = tiles.look_at_header(i, |seen| {
            let said = match seen {
                Seen::Whole(dataset) => scan.whole(i, dataset)?,
                // A header is known once what its tile says stands in its slot, and only of those that are tiles.
                Seen::Like(schema, like) => match slots[like.tile].get() {
                    Some(other) => scan.like(i, schema, other, like.vars_differ)?,
                    None => None,
                },
            };
            Ok(said.map(|said| _ = slots[i].set(said)))
        });
        match looked {
            Ok(_) => Ok(()),
            // Nobody named this file, but it has a tile's name.
            Err(Error::NotNetcdf { path, what }) if searched && i != first.tile => Err(Error::BadTile {
                path,
                what: format!("has the name of a tile, and is not a netCDF file: {what}"),
                fault: TileFault::NoTile,
            }),
            Err(e) => Err(e),
        }
    })?;
    Ok(slots.into_iter().map(OnceLock::into_inner).collect())
}

/// The inputs of the scan of headers.
struct Scan<'a> {
    tiles: &'a Tiles,
    scheme: &'a dyn Scheme,
    first: &'a First,
    searched: bool,
}

impl Scan<'_> {
    /// The place of a tile; `None` if the file is none, and need not be.
    fn place(&self, i: usize, schema: &Schema) -> Result<Option<TilePosition>> {
        let header = Header { schema, path: &self.tiles.paths()[i], number: i };
        if self.scheme.detect(&header) {
            return self.scheme.place(&header).map(Some);
        }
        if self.searched && i != self.first.tile {
            return Ok(None);
        }
        let as_other = match i == self.first.tile {
            true => String::new(),
            false => format!(", as `{}` is", self.tiles.name(self.first.tile)),
        };
        let what = format!("is no tile of the scheme {}{as_other}", self.scheme.name());
        Err(header.bad(TileFault::NoTile, what))
    }

    fn global(&self, schema: &Schema) -> Vec<Unlike> {
        let first = &self.first.schema;
        compare_global_attributes(first, schema, |name| may_differ(self.scheme, first, name))
    }

    fn whole(&self, i: usize, dataset: &Dataset) -> Result<Option<Scanned>> {
        let schema = dataset.schema();
        let name = self.tiles.name(i);
        let Some(place) = self.place(i, schema)? else { return Ok(None) };
        check_whole(dataset)?;
        check_undamaged(dataset)?;
        let same = same_objects(schema, &self.first.schema);
        let mut stored_differently = Vec::new();
        for v in schema.var_ids() {
            let of_first = if same { Some(v) } else { self.first.schema.find_var(&schema.var_path(v)) };
            // Asked of all that are wanted, so that what cannot be read is known before the work begins.
            let wanted = of_first.is_none_or(|first| self.first.chosen[first.0]);
            let found = held_in(dataset, &name, v, wanted)?;
            stored_differently.extend(of_first.filter(|first| found != self.first.stored[first.0]));
        }
        Ok(Some(Scanned {
            place,
            lens: schema.dims.iter().map(|d| d.len).collect(),
            conflicts: compare_attributes(&self.first.schema, schema, same, |v| self.first.chosen[v.0]),
            global: self.global(schema),
            schema: (!same).then(|| schema.clone()),
            stored_differently,
            bytes: dataset.container().store().len(),
            skipped: schema.skipped.clone(),
            notes: remarks(dataset.container()).iter().map(Remark::to_string).collect(),
        }))
    }

    /// As [`Self::whole`], for a tile whose description differs from another one's only in values of attributes.
    fn like(&self, i: usize, schema: &Schema, other: &Scanned, vars_differ: bool) -> Result<Option<Scanned>> {
        let Some(place) = self.place(i, schema)? else { return Ok(None) };
        let same = other.schema.is_none();
        Ok(Some(Scanned {
            place,
            lens: other.lens.clone(),
            conflicts: match vars_differ {
                true => compare_attributes(&self.first.schema, schema, same, |v| self.first.chosen[v.0]),
                false => other.conflicts.clone(),
            },
            global: self.global(schema),
            schema: (!same).then(|| schema.clone()),
            stored_differently: other.stored_differently.clone(),
            bytes: other.bytes,
            skipped: other.skipped.clone(),
            notes: other.notes.clone(),
        }))
    }
}
