//! The order of files of a series: the ends of their coordinates, and what does not go on.

use std::sync::OnceLock;

use super::Note;
use super::scan::{Headers, Scanned};
use super::times::Times;
use crate::alike;
use crate::calendar::units::TimeUnits;
use crate::series::{self, Ends};
use ncforge::model::{Atomic, DType, Number, Schema, VarId};
use ncforge::{Dataset, Engine, Hyperslab, Result};

/// Values of a coordinate that are read at a time.
const BLOCK: u64 = 1 << 20;

/// A coordinate of the dimension along which files follow each other.
pub(super) struct Coordinate {
    /// Its path, without the slash.
    path: String,
    /// Whether its values are dates that are text.
    is_text: bool,
    /// The ends of each file's part, in the units of the first file; `None` where it has no values.
    ends: Vec<Option<Ends>>,
}

impl Coordinate {
    /// A value in words.
    fn shown(&self, x: f64) -> String {
        if self.is_text { TimeUnits::of_stamps().text(x) } else { x.to_string() }
    }
}

/// The coordinates of the series, in the order of the first file's variables. Where there are no numbers, dates that are text are one.
pub(super) fn coordinates(set: &Headers, times: &Times, engine: &Engine) -> Result<Vec<Coordinate>> {
    let Some(series) = set.scheme.series() else { return Ok(Vec::new()) };
    let first = &set.head.schema;
    let vars_that = |is: fn(&Schema, VarId, &str) -> bool| -> Vec<VarId> {
        first.var_ids().filter(|v| is(first, *v, &series.dim)).collect()
    };
    let numbers = vars_that(series::is_coordinate);
    if !numbers.is_empty() {
        return read(set, &numbers, times, engine);
    }
    let mut texts = read(set, &vars_that(series::may_be_stamps), times, engine)?;
    let is_date = |ends: &Ends| !ends.first.is_nan() && !ends.last.is_nan();
    texts.retain(|text| text.ends.iter().flatten().all(is_date));
    texts.truncate(1);
    Ok(texts)
}

/// The ends of these variables of the first file in every file.
fn read(set: &Headers, vars: &[VarId], times: &Times, engine: &Engine) -> Result<Vec<Coordinate>> {
    let first = &set.head.schema;
    let found: Vec<OnceLock<Vec<Option<Ends>>>> = set.scanned.iter().map(|_| OnceLock::new()).collect();
    // What is missing is the same in all files.
    let missing = |v: VarId| first.missing_elements(first.var(v));
    if !vars.is_empty() {
        alike::each(set.tiles.paths(), engine, |tile| {
            let open = set.tiles.open(tile)?;
            let ends = vars.iter().map(|&v| match own(first, &set.scanned[tile], v) {
                Some(own) => {
                    ends_of(&open, own, &missing(v)).map(|ends| ends.map(|e| times.about(v, tile, e)))
                }
                None => Ok(None),
            });
            let _ = found[tile].set(ends.collect::<Result<_>>()?);
            Ok(())
        })?;
    }
    let of_var = |(i, v): (usize, &VarId)| Coordinate {
        path: first.var_path(*v).trim_start_matches('/').to_owned(),
        is_text: first.var(*v).dtype == DType::Atomic(Atomic::Char),
        ends: found.iter().map(|ends| ends.get().and_then(|ends| ends[i])).collect(),
    };
    Ok(vars.iter().enumerate().map(of_var).collect())
}

/// A file's variable for one of the first file's.
fn own(first: &Schema, one: &Scanned, v: VarId) -> Option<VarId> {
    match &one.schema {
        None => Some(v),
        Some(schema) => schema.find_var(&first.var_path(v)),
    }
}

/// The order of the files, by the first coordinate that has values; `None`: as they are.
pub(super) fn order(coordinates: &[Coordinate]) -> Option<Vec<usize>> {
    let first = coordinates.iter().find(|c| c.ends.iter().any(Option::is_some))?;
    series::order(&first.ends)
}

/// Notes on what does not go on; an error where files overlap, unless they are `unsorted`.
pub(super) fn check(set: &Headers, coordinates: &[Coordinate], unsorted: bool) -> Result<Vec<Note>> {
    let names: Vec<String> = (0..set.tiles.len()).map(|tile| set.tiles.name(tile)).collect();
    let mut notes = Vec::new();
    for coordinate in coordinates {
        let Coordinate { path, ends, .. } = coordinate;
        let shown = |x: f64| coordinate.shown(x);
        let known: Vec<(&str, Ends)> = names
            .iter()
            .zip(ends)
            .filter_map(|(name, ends)| Some((name.as_str(), ends.as_ref().copied()?)))
            .collect();
        notes.extend(series::turns(path, &known).map(Note::Overlap));
        match series::check_order(path, &known, shown) {
            Err(e) if !unsorted => return Err(e),
            Err(e) => notes.push(Note::Overlap(e.to_string())),
            Ok(()) => notes.extend(series::gaps(path, &known, shown).map(Note::Gap)),
        }
    }
    Ok(notes)
}

/// The ends of a coordinate of a file, but for `missing` elements; `None` without values.
fn ends_of(dataset: &Dataset, v: VarId, missing: &[Vec<u8>]) -> Result<Option<Ends>> {
    let schema = dataset.schema();
    let shape = schema.shape(v);
    let (DType::Atomic(kind), [len, each @ ..]) = (schema.var(v).dtype, &shape[..]) else { return Ok(None) };
    let len = *len;
    // Of text, the letters of a date are one value.
    let width = each.iter().product::<u64>();
    let (block, stamps) = ((BLOCK / width.max(1)).max(1), TimeUnits::of_stamps());
    let mut found: Option<Ends> = None;
    for start in (0..len).step_by(block as usize) {
        let (mut from, mut count) = (vec![0; each.len() + 1], vec![block.min(len - start)]);
        from[0] = start;
        count.extend(each);
        let values = dataset.read(v, &Hyperslab::new(&from, &count))?;
        let size = (width.max(1) as usize).saturating_mul(kind.size());
        let elements = values.bytes().unwrap_or_default().chunks_exact(size);
        for element in elements.filter(|one| missing.iter().all(|none| none != one)) {
            let x = match kind {
                Atomic::Char => std::str::from_utf8(element).ok().and_then(|text| stamps.stamp(text)),
                _ => Some(Number::read_f64(kind, element)),
            };
            let x = x.unwrap_or(f64::NAN);
            found = Some(match found {
                None => Ends { first: x, last: x, steps: None },
                Some(Ends { first, last, steps }) => {
                    let step = x - last;
                    let steps = steps.map_or((step, step), |(a, b): (f64, f64)| (a.min(step), b.max(step)));
                    Ends { first, last: x, steps: Some(steps) }
                }
            });
        }
    }
    Ok(found)
}
