//! The order of files of a series: the ends of their coordinates, and what does not go on.

use std::sync::OnceLock;

use super::scan::{Headers, Scanned};
use super::times::Times;
use crate::series::{self, Ends};
use ncforge::model::{DType, Number, Schema, VarId};
use ncforge::{Dataset, Engine, Hyperslab, Result};

/// Values of a coordinate that are read at a time.
const BLOCK: u64 = 1 << 20;

/// A coordinate of the dimension along which files follow each other.
pub(super) struct Coordinate {
    /// Its path, without the slash.
    path: String,
    /// The ends of each file's part, in the units of the first file; `None` where it has no values.
    ends: Vec<Option<Ends>>,
}

/// The coordinates of the series, in the order of the first file's variables.
pub(super) fn coordinates(set: &Headers, times: &Times, engine: &Engine) -> Result<Vec<Coordinate>> {
    let Some(series) = set.scheme.series() else { return Ok(Vec::new()) };
    let first = &set.head.schema;
    let vars: Vec<VarId> =
        first.var_ids().filter(|v| series::is_coordinate(first, *v, &series.dim)).collect();
    let found: Vec<OnceLock<Vec<Option<Ends>>>> = set.scanned.iter().map(|_| OnceLock::new()).collect();
    if !vars.is_empty() {
        engine.for_each(set.scanned.len(), |tile| {
            let open = set.tiles.open(tile)?;
            let ends = vars.iter().map(|&v| match own(first, &set.scanned[tile], v) {
                Some(own) => ends_of(&open, own).map(|ends| ends.map(|e| times.about(v, tile, e))),
                None => Ok(None),
            });
            let _ = found[tile].set(ends.collect::<Result<_>>()?);
            Ok(())
        })?;
    }
    let of_var = |(i, v): (usize, &VarId)| Coordinate {
        path: first.var_path(*v).trim_start_matches('/').to_owned(),
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
pub(super) fn check(set: &Headers, coordinates: &[Coordinate], unsorted: bool) -> Result<Vec<String>> {
    let names: Vec<String> = (0..set.tiles.len()).map(|tile| set.tiles.name(tile)).collect();
    let mut notes = Vec::new();
    for Coordinate { path, ends } in coordinates {
        let known: Vec<(&str, Ends)> = names
            .iter()
            .zip(ends)
            .filter_map(|(name, ends)| Some((name.as_str(), ends.as_ref().copied()?)))
            .collect();
        match series::check_order(path, &known) {
            Err(e) if !unsorted => return Err(e),
            Err(e) => notes.push(e.to_string()),
            Ok(()) => notes.extend(series::gaps(path, &known)),
        }
    }
    Ok(notes)
}

/// The ends of a coordinate of a file; `None` without values.
fn ends_of(dataset: &Dataset, v: VarId) -> Result<Option<Ends>> {
    let schema = dataset.schema();
    let (DType::Atomic(kind), &[len]) = (schema.var(v).dtype, &schema.shape(v)[..]) else { return Ok(None) };
    let mut found: Option<Ends> = None;
    for start in (0..len).step_by(BLOCK as usize) {
        let values = dataset.read(v, &Hyperslab::new(&[start], &[BLOCK.min(len - start)]))?;
        for element in values.bytes().unwrap_or_default().chunks_exact(kind.size()) {
            let x = Number::read_f64(kind, element);
            found = Some(match found {
                None => Ends { first: x, last: x, steps: None },
                Some(Ends { first, last, steps }) => {
                    let step = (x - last).abs();
                    let steps = steps.map_or((step, step), |(a, b): (f64, f64)| (a.min(step), b.max(step)));
                    Ends { first, last: x, steps: Some(steps) }
                }
            });
        }
    }
    Ok(found)
}
