//! Attributes in which tiles differ from each other, or from the file into which they are put: errors, notes, and which tiles
//! have something that the output lacks.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::left_out::LeftOut;
use super::super::options::CombineOptions;
use super::super::tiles::Tiles;
use super::attrs::{Conflicts, compare_one, widen};
use super::existing::is_chosen;
use super::scan::{Headers, Scanned};
use super::times::Times;
use crate::copy::Names;
use crate::unlike::Unlike;
use ncforge::model::Schema;
use ncforge::model::agreement::Class;
use ncforge::store::remote::shown_path;
use ncforge::{Error, Result, TileOption};

/// Compares the attributes of all tiles: an error where the meaning of values differs, but for times of a series, which change. The first
/// variables of `schema` are the first tile's.
pub(super) fn attributes(
    set: &Headers,
    schema: &mut Schema,
    options: &CombineOptions,
    notes: &mut Vec<String>,
    left_out: &mut LeftOut,
) -> Result<Times> {
    let (tiles, scanned, series) = (&set.tiles, &set.scanned, set.scheme.series());
    let mut all: Vec<(usize, usize, Conflicts)> =
        later(schema, scanned, set.head.schema.vars.len(), options.copy.only.as_ref());
    all.extend(scanned.iter().enumerate().map(|(i, one)| (0, i, one.conflicts.clone())));
    all.sort_by_key(|(with, tile, _)| (*tile, *with));
    for (with, tile, conflicts) in &all {
        if let Some(unlike) = conflicts.refused(series.is_some()) {
            let what = format!(
                "`{}` and `{}` do not go together: {}",
                tiles.name(*with),
                tiles.name(*tile),
                unlike.values("the first", "the second")
            );
            let is_packed = series.is_some() && Class::of_variable(&unlike.name) == Class::Packing;
            return Err(match is_packed {
                true => Error::TilesUnless { what, unless: TileOption::Decode },
                false => Error::Tiles(what),
            });
        }
        for (v, attr) in &conflicts.ranges {
            match schema.vars[v.0].attrs.iter_mut().find(|a| a.name == attr.name) {
                // The bounds of a time that the first file has in other units: all of what they say is of this file.
                Some(own) if with == tile => *own = attr.clone(),
                Some(own) => widen(own, attr),
                None => {}
            }
        }
    }
    let times = Times::of(schema, all.iter().map(|(_, tile, conflicts)| (*tile, conflicts)));
    let is_split = series.is_none() && !scanned[0].place.axes.is_empty();
    let of_place = |unlike: &Unlike| is_split && unlike.name == "domain_decomposition";
    let global = scanned.iter().enumerate().flat_map(|(i, one)| one.global.iter().map(move |a| (0, i, a)));
    let of_vars = all.iter().flat_map(|(with, tile, c)| c.others.iter().map(|a| (*with, *tile, a)));
    let found: Vec<_> = global.chain(of_vars).filter(|(.., unlike)| !of_place(unlike)).collect();
    found.iter().for_each(|(_, tile, unlike)| left_out.add(*tile, format!("the {}", unlike.what)));
    let taken = if options.into_existing.is_none() { ", which the output follows" } else { "" };
    notes.extend(times.notes(schema, |tile| tiles.name(tile), tiles.len()));
    let all = format!("{} {}s", tiles.len(), set.scheme.noun());
    notes.extend(crate::unlike::notes(found.into_iter(), |tile| tiles.name(tile), &all, taken));
    Ok(times)
}

/// Notes what of the tiles cannot be read, and is not in the output; a copy names what the first tile has. An error where
/// another tile has the same as a variable: its places would pass for holes.
pub(super) fn unsupported(
    tiles: &Tiles,
    whole: &Schema,
    scanned: &[Scanned],
    left_out: &mut LeftOut,
) -> Result<Vec<String>> {
    let mut noted: BTreeSet<&str> = whole.skipped.iter().map(|s| s.path.as_str()).collect();
    let mut notes = Vec::new();
    for (tile, one) in scanned.iter().enumerate() {
        for object in &one.skipped {
            if whole.find_var(&object.path).is_some() {
                return Err(object.error(&tiles.name(tile)));
            }
            left_out.add(tile, format!("`{}`", object.path));
            if noted.insert(&object.path) {
                notes.push(format!(
                    "`{}` of `{}` is not copied: {}",
                    object.path,
                    tiles.name(tile),
                    object.why
                ));
            }
        }
    }
    Ok(notes)
}

/// Conflicts of variables that the first tile has not: with the first tile that has them.
fn later(
    whole: &Schema,
    scanned: &[Scanned],
    head_vars: usize,
    only: Option<&Names>,
) -> Vec<(usize, usize, Conflicts)> {
    let mut found = Vec::new();
    for v in whole.var_ids().skip(head_vars).filter(|v| is_chosen(only, whole, *v)) {
        let path = whole.var_path(v);
        let having = scanned.iter().enumerate().filter_map(|(i, one)| {
            let schema = one.schema.as_ref()?;
            Some((i, schema, schema.find_var(&path)?))
        });
        let mut with = None;
        for (tile, schema, own) in having {
            let mut conflicts = Conflicts::default();
            compare_one((whole, v), (schema, own), &mut conflicts);
            found.push((*with.get_or_insert(tile), tile, conflicts));
        }
    }
    found
}

/// Notes in which attributes the tiles differ from the file into which they are put, whose attributes stay.
pub(super) fn with_existing(
    tiles: &Tiles,
    path: &Path,
    unlike: &[Unlike],
    notes: &mut Vec<String>,
    left_out: &mut LeftOut,
) {
    for one in unlike {
        let values = one.values(&format!("`{}`", shown_path(path)), &format!("`{}`", tiles.name(0)));
        notes.push(format!("{values}; the first stays"));
        (0..tiles.len()).for_each(|tile| left_out.add(tile, format!("the {}", one.what)));
    }
}
