//! From files to a mosaic.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::super::files::Found;
use super::super::left_out::LeftOut;
use super::super::options::{CombineOptions, Holes};
use super::super::scheme::{self, Header, Scheme, SeriesScheme};
use super::super::tiles::Tiles;
use super::existing::is_chosen;
use super::join::{Mapping, join};
use super::pattern::{MOST_NAMES, Pattern, place_text};
use super::scan::{Headers, Scanned, first, scan};
use super::times::Times;
use super::{
    DimKind, Existing, Facts, From, Mosaic, Note, chunks, coords, counted, dims, fill, holes, order, unlike,
};
use ncforge::model::{DimId, Schema, VarId};
use ncforge::{Engine, Error, Result, TileOption};
use ncforge_tune::words::many;

/// Reads the headers of the tiles that were found, and checks that they make one whole. `engine` reads
/// values later; `memory` bytes may be used for descriptions of tiles; `output` is the name of the file to be made.
pub(crate) fn build(
    found: Found,
    options: &CombineOptions,
    engine: &Engine,
    memory: u64,
    output: &str,
) -> Result<Mosaic> {
    let set = in_order(headers(found, options, engine, memory)?, options, engine, memory)?;
    let mut notes = set.notes.clone();
    let (mut schema, maps) = join(&set.tiles, &set.head, &set.scanned, options.copy.only.as_ref())?;
    let mut left_out = LeftOut::default();
    let mut of_attributes = Vec::new();
    let times = unlike::attributes(&set, &mut schema, options, &mut of_attributes, &mut left_out)?;
    notes.extend(of_attributes.into_iter().map(Note::Attribute));
    let mut others = Vec::new();
    let Headers { tiles, scheme, searched, head, scanned, .. } = set;
    others.extend(unlike::unsupported(&tiles, &schema, &scanned, &mut left_out)?);
    others.extend(said(&tiles, &scanned, scheme.noun()));
    let mut found = dims::dims(&tiles, &mut schema, &scanned, &maps, options)?;
    others.append(&mut found.notes);
    let facts: Vec<Facts> = std::mem::take(&mut found.spans)
        .into_iter()
        .zip(&maps)
        .zip(&scanned)
        .map(|((spans, map), one)| Facts {
            spans,
            vars: map.as_ref().map(|m| inverted(m, schema.vars.len())),
            var_count: one.schema.as_ref().map_or(head.schema.vars.len(), |s| s.vars.len()),
            stored_differently: one.stored_differently.clone(),
        })
        .collect();
    drop_attributes(&mut schema, &*scheme);
    scheme.finish(&mut schema, output);
    let existing = match &options.into_existing {
        Some(_) if options.records.is_some() => {
            return Err(Error::bad_option(
                "records",
                "records cannot be chosen for tiles that are put into a file",
            ));
        }
        Some(path) => {
            let only = options.copy.only.as_ref();
            let (existing, unlike) = Existing::open(path, &mut schema, &found.kinds, &*scheme, only, engine)?;
            unlike::with_existing(&tiles, path, &unlike, &mut others, &mut left_out);
            Some(existing)
        }
        None => None,
    };
    let of_whole =
        Whole { tiles: &tiles, schema: &schema, facts: &facts, kinds: &found.kinds, scheme: &*scheme };
    let (patterns, from) = patterns(&of_whole, options, &mut others)?;
    let set = counted::Set {
        tiles: &tiles,
        scanned: &scanned,
        scheme: &*scheme,
        searched,
        dims: &found,
        patterns: &patterns,
    };
    let missing = set.missing(options)?;
    others.extend(set.ends_early(&missing).filter(|_| existing.is_none()));
    notes.extend(others.into_iter().map(Note::from));
    let fills = schema.var_ids().map(|v| fill::fill_of(&schema, v, options.holes)).collect();
    let bytes = scanned.iter().map(|s| s.bytes).sum();
    let only = options.copy.only.as_ref();
    let chosen = schema.var_ids().map(|v| is_chosen(only, &schema, v)).collect();
    let mut mosaic = Mosaic {
        of_tiles: Vec::new(),
        tile_format: schema.format,
        schema,
        scheme,
        tiles,
        facts,
        dims: found.kinds,
        patterns,
        holes: Vec::new(),
        from,
        fills,
        patches: BTreeMap::new(),
        times,
        chosen,
        existing,
        notes,
        left_out,
        missing,
        bytes,
        windowed: options.records.is_some(),
        engine: engine.clone(),
        var_groups: Vec::new(),
    };
    mosaic.holes = holes::holes(&mosaic)?;
    check_holes(&mosaic, options)?;
    mosaic.of_tiles = chunks::held_alike(&mosaic, &head)?;
    if mosaic.existing.is_none() && mosaic.scheme.series().is_none() {
        coords::patch(&mut mosaic, options)?;
    }
    Ok(mosaic)
}

/// Reads the headers of files, and finds the scheme by which they lie.
fn headers(found: Found, options: &CombineOptions, engine: &Engine, memory: u64) -> Result<Headers> {
    let searched = found.searched && found.files.len() > 1;
    let mut tiles = Tiles::new(found.files, found.decoded, engine, memory);
    let named = found.named.as_ref().filter(|_| searched);
    let scheme = scheme_of(&tiles, named, searched, options)?;
    let head = first(&tiles, &*scheme, searched, options.copy.only.as_ref())?;
    if options.begin_with > 0 && options.begin_with >= tiles.len() {
        return Err(Error::bad_option(
            "begin_with",
            format!("tile {} to begin with is not one of the {} tiles", options.begin_with, tiles.len()),
        ));
    }
    let scanned = scan(&tiles, engine, &*scheme, &head, searched, options.begin_with)?;
    let (scanned, notes) = tiles_among(&mut tiles, scanned, &*scheme);
    Ok(Headers { tiles, scheme, searched, head, scanned, notes })
}

/// The same files in the order of their coordinate, if they are a series. The first of them is what the others are compared with, so a
/// new order means to read the headers anew.
fn in_order(set: Headers, options: &CombineOptions, engine: &Engine, memory: u64) -> Result<Headers> {
    let Some(SeriesScheme { dim, unsorted }) = set.scheme.series().cloned() else { return Ok(set) };
    if set.scanned.iter().any(|one| one.conflicts.refused(true).is_some()) {
        // Values of other units have no order; the error comes with the attributes.
        return Ok(set);
    }
    let times =
        |set: &Headers| Times::of(&set.head.schema, set.scanned.iter().map(|s| &s.conflicts).enumerate());
    let coordinates = |set: &Headers| order::coordinates(set, &times(set), engine);
    let found = coordinates(&set)?;
    let (mut set, found) = match order::order(&found).filter(|_| !unsorted) {
        None => (set, found),
        Some(order) => {
            let files = order.iter().map(|&tile| set.tiles.paths()[tile].clone()).collect();
            let decoded = set.tiles.decoded().clone();
            drop(set);
            let mut set = headers(Found { files, decoded, ..Found::default() }, options, engine, memory)?;
            let said = format!("the files are joined in the order of `{dim}`, not as they are given");
            set.notes.push(said.into());
            let found = coordinates(&set)?;
            (set, found)
        }
    };
    let notes = order::check(&set, &found, unsorted)?;
    set.notes.extend(notes);
    Ok(set)
}

/// The scheme by which the tiles tell their place: that of the file that the user `named`, else of the first. A pattern or a base name may
/// have met something else first; then of the first that has one.
fn scheme_of(
    tiles: &Tiles,
    named: Option<&PathBuf>,
    searched: bool,
    options: &CombineOptions,
) -> Result<Box<dyn Scheme>> {
    let look = |tile: usize| -> Result<Box<dyn Scheme>> {
        let dataset = tiles.open_whole(tile)?;
        scheme::find(
            &options.scheme,
            &Header { schema: dataset.schema(), path: &tiles.paths()[tile], number: tile },
        )
    };
    // A file that the user named must be a tile; otherwise its error is the one to report.
    let named = named.and_then(|n| tiles.paths().iter().position(|p| p == n));
    match look(named.unwrap_or(0)) {
        Err(e) if searched && named.is_none() => (1..tiles.len()).find_map(|i| look(i).ok()).ok_or(e),
        other => other,
    }
}

/// Leaves out the files that are no tiles; gives what the others said, and notes.
fn tiles_among(
    tiles: &mut Tiles,
    scanned: Vec<Option<Scanned>>,
    scheme: &dyn Scheme,
) -> (Vec<Scanned>, Vec<Note>) {
    let others = scanned.iter().enumerate().filter(|(_, s)| s.is_none());
    let notes = others
        .map(|(i, _)| format!("`{}` is no tile of the scheme {}", tiles.name(i), scheme.name()).into())
        .collect();
    tiles.retain(&scanned.iter().map(Option::is_some).collect::<Vec<_>>());
    (scanned.into_iter().flatten().collect(), notes)
}

/// Notes on the tiles' formats: each once, with the first tile that has it.
fn said(tiles: &Tiles, scanned: &[Scanned], noun: &str) -> Vec<String> {
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (tile, one) in scanned.iter().enumerate() {
        one.notes.iter().for_each(|note| found.entry(note).or_insert((tile, 0)).1 += 1);
    }
    let words = |(note, (tile, count)): (&str, (usize, usize))| match count {
        1 => format!("`{}`: {note}", tiles.name(tile)),
        n => format!("`{}` and {}: {note}", tiles.name(tile), many(n as u64 - 1, &format!("other {noun}"))),
    };
    found.into_iter().map(words).collect()
}

fn inverted(map: &Mapping, vars: usize) -> Vec<Option<VarId>> {
    let mut out = vec![None; vars];
    for (own, whole) in map.vars.iter().enumerate() {
        if let Some(whole) = whole {
            out[whole.0] = Some(VarId(own));
        }
    }
    out
}

fn drop_attributes(schema: &mut Schema, scheme: &dyn Scheme) {
    schema.groups[0].attrs.retain(|a| !scheme.is_of_tile(&a.name));
    for v in &mut schema.vars {
        v.attrs.retain(|a| !scheme.is_of_tile_var(&a.name));
    }
}

/// What is known of the whole before its parts are.
struct Whole<'a> {
    tiles: &'a Tiles,
    schema: &'a Schema,
    facts: &'a [Facts],
    kinds: &'a [DimKind],
    scheme: &'a dyn Scheme,
}

impl Whole<'_> {
    /// The sentence on a variable that some of the tiles lack; `who` have it.
    fn lacking(&self, v: VarId, who: &[usize]) -> String {
        let (n, all, noun) = (who.len(), self.facts.len(), self.scheme.noun());
        let text = format!("`{}` is in {n} of {all} {noun}s", self.schema.var_path(v));
        let lacks = (0..all).zip(who.iter().map(Some).chain(std::iter::repeat(None)));
        match lacks.into_iter().find(|(tile, has)| *has != Some(tile)) {
            Some((tile, _)) if self.scheme.series().is_some() => {
                format!("{text}, and not in `{}`", self.tiles.name(tile))
            }
            _ => text,
        }
    }
}

/// The patterns of all variables, each once.
fn patterns(
    whole: &Whole<'_>,
    options: &CombineOptions,
    notes: &mut Vec<String>,
) -> Result<(Vec<Pattern>, Vec<From>)> {
    let Whole { tiles, schema, facts, kinds, scheme } = *whole;
    let mut known: HashMap<(Vec<DimId>, Option<Vec<usize>>), usize> = HashMap::new();
    let (mut patterns, mut from) = (Vec::new(), Vec::new());
    let every: Vec<usize> = (0..facts.len()).collect();
    for v in schema.var_ids() {
        let var = schema.var(v);
        let who: Vec<usize> = (0..facts.len()).filter(|&t| facts[t].var(v).is_some()).collect();
        let is_wanted = is_chosen(options.copy.only.as_ref(), schema, v);
        let split: Vec<DimId> = var.dims.iter().copied().filter(|d| kinds[d.0] != DimKind::Whole).collect();
        if split.is_empty() {
            // Of tiles with different numbers of records, the one that has the most.
            let records = |t: usize| var.dims.iter().map(|d| facts[t].spans[d.0].count).min().unwrap_or(1);
            let longest = who.iter().copied().rev().max_by_key(|&t| records(t));
            from.push(From::Tile(longest.unwrap_or(0)));
            if scheme.series().is_some() && who.len() < facts.len() && is_wanted {
                notes.push(whole.lacking(v, &who));
            }
            continue;
        }
        if let Some(d) = split.iter().enumerate().find(|(i, d)| split[..*i].contains(d)).map(|x| x.1) {
            if !is_wanted {
                from.push(From::Tile(who[0]));
                continue;
            }
            return Err(Error::Unsupported {
                path: tiles.name(0),
                what: format!(
                    "variable `{}` with the split dimension `{}` twice",
                    schema.var_path(v),
                    schema.dim(*d).name
                ),
            });
        }
        let all = who.len() == facts.len();
        if !all && is_wanted {
            let what = whole.lacking(v, &who);
            if options.holes == Holes::Error && options.into_existing.is_none() {
                return Err(Error::TilesUnless { what, unless: TileOption::HolesFill });
            }
            notes.push(format!("{what}: its other places are filled"));
        }
        let mut pattern = |who: &[usize], key, of_all| -> Result<usize> {
            if let Some(&at) = known.get(&key) {
                return Ok(at);
            }
            let shape = split.iter().map(|d| schema.dim(*d).len).collect();
            let new = Pattern::new(split.clone(), shape, who, facts, kinds, tiles)?;
            patterns.push(Pattern { of_all, ..new });
            known.insert(key, patterns.len() - 1);
            Ok(patterns.len() - 1)
        };
        // Which points no tile has is a question to all tiles, whichever have the variable.
        let of_all = pattern(&every, (split.clone(), None), None)?;
        let at = match all {
            true => of_all,
            false => pattern(&who, (split.clone(), Some(who.clone())), Some(of_all))?,
        };
        from.push(From::Pattern(at));
    }
    Ok((patterns, from))
}

/// An error where holes are not allowed, or mean files that were not given.
fn check_holes(mosaic: &Mosaic, options: &CombineOptions) -> Result<()> {
    let mut patterns = mosaic.patterns.iter().zip(&mosaic.holes);
    let Some((p, holes)) = patterns.find(|(_, holes)| holes.points > 0) else { return Ok(()) };
    let names: Vec<&str> = p.dims.iter().map(|d| mosaic.schema.dim(*d).name.as_str()).collect();
    let places: Vec<String> = holes.boxes.iter().take(MOST_NAMES).map(place_text).collect();
    let what = format!(
        "{} of ({}) {} in no tile{}: {}{}",
        many(holes.points, "point"),
        names.join(", "),
        if holes.points == 1 { "is" } else { "are" },
        if mosaic.existing.is_some() { ", nor in the output that exists" } else { "" },
        places.join("; "),
        if holes.boxes.len() > MOST_NAMES { " and more" } else { "" }
    );
    if options.holes == Holes::Error {
        let what = format!("{what} (models often write no tile where all is land)");
        return Err(Error::TilesUnless { what, unless: TileOption::HolesFill });
    }
    // Tiles that are put into a file come one by one.
    if mosaic.existing.is_none() && !options.allow_missing && !mosaic.scheme.leaves_out_tiles() {
        return Err(Error::TilesUnless {
            what: format!(
                "{what}. {} writes every tile: some are missing",
                mosaic.scheme.name().to_uppercase()
            ),
            unless: TileOption::AllowMissing,
        });
    }
    Ok(())
}
