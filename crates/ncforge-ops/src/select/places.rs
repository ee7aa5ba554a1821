//! The indices that are wanted along a dimension, from its length and its coordinate.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;

use super::coordinate::{Coordinate, Limit};
use super::words::{End, Pick, behind, is_year};
use crate::calendar::units::{Fraction, TimeUnits};
use ncforge::model::{Attribute, DimId, Number, Schema, VarId};
use ncforge::raw::{Ranges, Span};
use ncforge::{Dataset, Error, Result};

/// Degrees around the globe.
const AROUND: f64 = 360.0;
/// Degrees that are lost in sums.
const NEAR: f64 = 1e-9;
/// Turns around the globe that are looked through.
const MOST_TURNS: i64 = 4;

/// The dimensions that a name means: every one of that name, or the one of a path.
///
/// # Errors
/// [`Error::NotFound`].
pub(crate) fn dimensions(schema: &Schema, name: &str, file: &str) -> Result<Vec<DimId>> {
    let found: Vec<DimId> = match name.rsplit_once('/') {
        Some((group, name)) => {
            schema.find_group(group).and_then(|g| schema.find_dim(g, name)).into_iter().collect()
        }
        None => (0..schema.dims.len()).map(DimId).filter(|&d| schema.dim(d).name == name).collect(),
    };
    match found.is_empty() {
        true => Err(schema.no_dimension("dimension", name, file)),
        false => Ok(found),
    }
}

/// A coordinate, or the reason why there is none.
pub(crate) type Found = std::result::Result<Coordinate, String>;

/// A dimension, and the values along it.
pub(crate) struct Along<'a> {
    /// Its path, without a slash in front of those of the root.
    name: String,
    len: u64,
    coordinate: OnceCell<Found>,
    read: Box<dyn Fn() -> Result<Found> + 'a>,
    /// Whether the coordinate has units of time, before it is read.
    is_time: bool,
}

impl<'a> Along<'a> {
    /// A dimension of a source.
    pub(crate) fn of(source: &'a Dataset, dim: DimId) -> Self {
        let schema = source.schema();
        let own = schema.dim(dim);
        let group = schema.group_path(own.group);
        let name = format!("{}/{}", group.trim_matches('/'), own.name).trim_start_matches('/').to_owned();
        let of_dim = |v: &VarId| schema.coordinate_dim(*v) == Some(dim);
        let all: Vec<VarId> = schema.var_ids().filter(of_dim).collect();
        let beside = all.iter().find(|v| schema.var(**v).group == own.group);
        let var = beside.or(all.first().filter(|_| all.len() == 1)).copied();
        let units = var.and_then(|v| schema.var(v).attr("units").and_then(Attribute::as_text));
        let none = match all.len() {
            0 => "it has no coordinate: no variable of its name that has it alone",
            _ => "several groups have a coordinate for it",
        };
        let read = move || match var {
            Some(v) => Coordinate::read(source, v),
            None => Ok(Err(none.to_owned())),
        };
        let is_time = units.is_some_and(TimeUnits::is_time);
        Along { name, len: own.len, coordinate: OnceCell::new(), read: Box::new(read), is_time }
    }

    /// An error that names it.
    pub(crate) fn error(&self, why: impl std::fmt::Display) -> Error {
        Error::bad_option("select", format!("`{}`: {why}", self.name))
    }

    fn coordinate(&self) -> Result<&Coordinate> {
        if self.coordinate.get().is_none() {
            let _ = self.coordinate.set((self.read)()?);
        }
        match self.coordinate.get() {
            Some(Ok(coordinate)) => Ok(coordinate),
            Some(Err(why)) => Err(self.only_indices(why)),
            None => Err(Error::Internal("a coordinate that was read is not there".into())),
        }
    }

    fn only_indices(&self, why: impl std::fmt::Display) -> Error {
        self.error(format_args!("no value or date can be selected along it, but indices can: {why}"))
    }

    /// A note where one index is selected that is a value of the coordinate, too: of another element.
    fn mistakable(&self, index: u64) -> Option<String> {
        if self.is_time || index >= self.len {
            return None;
        }
        let coordinate = self.coordinate().ok().filter(|c| c.len() == self.len)?;
        let (first, last, here) =
            (coordinate.value(0), coordinate.value(self.len - 1), coordinate.value(index));
        let value = index as f64;
        let is_within = first.min(last) <= value && value <= first.max(last);
        (is_within && here != value).then(|| {
            format!(
                "`{0}={index}` is the index {index}, where `{0}` is {1}; `{0}={index}..{index}` is the value",
                self.name,
                coordinate.text(index)
            )
        })
    }

    /// The error where nothing is selected, with the range that there is.
    fn nothing(&self, wanted: &Pick, coordinate: Option<&Coordinate>) -> Error {
        match (self.len, coordinate) {
            (0, _) => self.error("it has length 0: there is nothing to select"),
            (len, None) => self.error(format_args!("no index is in `{wanted}`; there are 0 to {}", len - 1)),
            (len, Some(c)) => self.error(format_args!(
                "no value is in `{wanted}`; the coordinate goes from {} to {}",
                c.text(0),
                c.text(len - 1)
            )),
        }
    }
}

/// The indices that are wanted; at least one.
///
/// # Errors
/// [`Error::BadOption`] where there are none, or the coordinate has no order.
pub(crate) fn places(along: &Along<'_>, pick: &Pick, notes: &mut Vec<String>) -> Result<Ranges> {
    let (found, coordinate) = match pick {
        Pick::Slice { first, end, step } => (slice(along.len, *first, *end, *step), None),
        Pick::Each { first, last, step } => {
            let is_there = |i: &i64| match u64::try_from(*i) {
                Ok(i) => i < along.len,
                Err(_) => i.unsigned_abs() <= along.len,
            };
            if let Some(i) = [*first, *last].into_iter().find(|i| !is_there(i)) {
                return Err(along.error(format_args!("there is no index {i} in a length of {}", along.len)));
            }
            (slice(along.len, Some(*first), behind(*last), *step), None)
        }
        Pick::Index(at) => {
            notes.extend(u64::try_from(*at).ok().and_then(|index| along.mistakable(index)));
            (single(along.len, *at), None)
        }
        Pick::At(text) if !along.is_time && is_year(text) => {
            let at: i64 = text.parse().unwrap_or(i64::MAX);
            notes.extend(u64::try_from(at).ok().and_then(|index| along.mistakable(index)));
            (single(along.len, at), None)
        }
        Pick::At(text) => {
            let date = Some(End::Date(text.clone()));
            (between(along, &date, &date, notes)?, Some(along.coordinate()?))
        }
        Pick::Between(from, to) => (between(along, from, to, notes)?, Some(along.coordinate()?)),
        Pick::Stored(from, to) => (stored(along, from, to)?, Some(along.coordinate()?)),
    };
    match found.len() {
        0 => Err(along.nothing(pick, coordinate)),
        _ => Ok(found),
    }
}

/// One index.
fn single(len: u64, at: i64) -> Ranges {
    slice(len, Some(at), behind(at), 1)
}

/// Indices as Python's slices have them.
fn slice(len: u64, first: Option<i64>, end: Option<i64>, step: u64) -> Ranges {
    let at = |i: i64| match u64::try_from(i) {
        Ok(i) => i.min(len),
        Err(_) => len.saturating_sub(i.unsigned_abs()),
    };
    let (first, end) = (first.map_or(0, at), end.map_or(len, at));
    let count = end.saturating_sub(first).div_ceil(step.max(1));
    Ranges::new([Span { first, count, step: if count > 1 { step } else { 1 } }])
}

/// What an end of a range means: a number, which is inside, or the span of a date, whose end is not. A coordinate of few digits may hold
/// both ends of a span as one number: that of its beginning, which is inside.
#[derive(Clone, Copy)]
struct Bound {
    begin: Limit,
    end: Option<Limit>,
}

impl Bound {
    fn double(x: f64) -> Self {
        Bound { begin: Limit::Number(x), end: None }
    }

    fn number(x: Number) -> Self {
        let whole = |n| Limit::Exact(Fraction { above: n, below: 1 });
        Bound { begin: x.integer().map_or(Limit::Number(x.to_f64()), whole), end: None }
    }

    /// The number; `None` for a date, and for infinity.
    fn as_number(self) -> Option<f64> {
        self.end.is_none().then(|| self.begin.number()).filter(|x| x.is_finite())
    }

    /// Whether all of it lies before another one.
    fn is_before(self, other: Bound) -> bool {
        match self.end {
            Some(end) => end.number() <= other.begin.number(),
            None => self.begin.is_below(other.begin),
        }
    }

    /// Whether a value is not before it.
    fn is_reached(self, c: &Coordinate, i: u64) -> bool {
        c.compare(i, self.begin) != Ordering::Less
    }

    /// Whether a value is not behind it.
    fn is_not_passed(self, c: &Coordinate, i: u64) -> bool {
        c.compare(i, self.begin) != Ordering::Greater
            || self.end.is_some_and(|end| c.compare(i, end) == Ordering::Less)
    }
}

/// A coordinate that has an order, and whether it rises.
fn ordered<'a>(along: &'a Along<'_>) -> Result<(&'a Coordinate, bool)> {
    let c = along.coordinate()?;
    if let Some(i) = c.first_missing() {
        return Err(along.only_indices(format_args!("its coordinate has no value at index {i}")));
    }
    let rises = c.rises().map_err(|i| {
        let (a, b) = (c.text(i - 1), c.text(i));
        along.only_indices(format_args!(
            "its coordinate neither rises nor falls throughout: {a} and {b} at indices {} and {i}",
            i - 1
        ))
    })?;
    Ok((c, rises))
}

/// The indices of values as they are stored. As NCO has it, those of a coordinate that rises go on from its end at its beginning.
fn stored(along: &Along<'_>, from: &Option<End>, to: &Option<End>) -> Result<Ranges> {
    if along.len == 0 {
        return Ok(Ranges::new([]));
    }
    let (c, rises) = ordered(along)?;
    let (low, high) = (bound(along, c, from)?, bound(along, c, to)?);
    let found = run_of(c, rises, low, high);
    let wraps = rises && are_reversed(low, high);
    Ok(match wraps {
        true => Ranges::new(
            [found.start..c.len(), 0..found.end].into_iter().filter(|r| !r.is_empty()).map(Span::run),
        ),
        false => Ranges::new([Span::run(found)]),
    })
}

/// Whether the second end of a range lies before the first; ends that overlap, such as a day and its year, do not.
fn are_reversed(low: Option<Bound>, high: Option<Bound>) -> bool {
    low.zip(high).is_some_and(|(low, high)| high.is_before(low))
}

fn between(
    along: &Along<'_>,
    from: &Option<End>,
    to: &Option<End>,
    notes: &mut Vec<String>,
) -> Result<Ranges> {
    if along.len == 0 {
        return Ok(Ranges::new([]));
    }
    let (c, rises) = ordered(along)?;
    let (low, high) = (bound(along, c, from)?, bound(along, c, to)?);
    let run = |low: Option<Bound>, high: Option<Bound>| run_of(c, rises, low, high);
    if c.is_longitude()
        && let (Some(west), Some(east)) = (low.and_then(Bound::as_number), high.and_then(Bound::as_number))
    {
        let spans =
            around(c, rises, (west, east), |a, b| run(Some(Bound::double(a)), Some(Bound::double(b))));
        if let [one, two] = &spans[..] {
            notes.push(format!(
                "`{}` goes from {} to {}, and on from {} to {}: its values stay as they are stored",
                along.name,
                c.text(one.start),
                c.text(one.end - 1),
                c.text(two.start),
                c.text(two.end - 1)
            ));
        }
        return Ok(Ranges::new(spans.into_iter().map(Span::run)));
    }
    // The ends may be given in the order of a coordinate that falls.
    let found = if are_reversed(low, high) { run(high, low) } else { run(low, high) };
    Ok(Ranges::new([Span::run(found)]))
}

/// An end of a range, if it has one.
fn bound(along: &Along<'_>, c: &Coordinate, end: &Option<End>) -> Result<Option<Bound>> {
    let text = match end {
        None => return Ok(None),
        Some(End::Number(x)) => return Ok(Some(Bound::number(*x))),
        Some(End::Date(text)) => text,
    };
    match c.time() {
        None if is_year(text) => Ok(Some(Bound::double(text.parse().unwrap_or(f64::NAN)))),
        None => Err(along.error(format_args!("{text} is a date, and its coordinate has no units of time"))),
        Some(Err(why)) => Err(along.only_indices(why)),
        Some(Ok(units)) => {
            let (begin, end) = units.span(text).map_err(|why| along.error(why))?;
            let exact = |at| Limit::Exact(units.number(at));
            Ok(Some(Bound { begin: exact(begin), end: Some(exact(end)) }))
        }
    }
}

/// The indices between two ends.
fn run_of(c: &Coordinate, rises: bool, low: Option<Bound>, high: Option<Bound>) -> Range<u64> {
    let is_above = |i: u64| low.is_none_or(|bound| bound.is_reached(c, i));
    let is_below = |i: u64| high.is_none_or(|bound| bound.is_not_passed(c, i));
    match rises {
        true => first(c.len(), is_above)..first(c.len(), |i| !is_below(i)),
        false => first(c.len(), is_below)..first(c.len(), |i| !is_above(i)),
    }
}

/// The first index of which something is so; it is so of all behind.
fn first(len: u64, is_so: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, len);
    while from < to {
        let middle = from + (to - from) / 2;
        match is_so(middle) {
            true => to = middle,
            false => from = middle + 1,
        }
    }
    from
}

/// The indices from one longitude eastward to another, in that order (westward, where the coordinate falls), each once; `run` has those
/// between two values. A meridian that the file has twice is taken where it is stored as it is wanted, be it twice, and only else a turn
/// farther on or back.
fn around(
    c: &Coordinate,
    rises: bool,
    (west, east): (f64, f64),
    run: impl Fn(f64, f64) -> Range<u64>,
) -> Vec<Range<u64>> {
    // Sums are rounded; ends that are not turned are exactly what was given.
    let near = |turns: f64| if turns == 0.0 { 0.0 } else { NEAR };
    let over = if east < west { ((west - east) / AROUND).ceil() } else { 0.0 };
    // No farther than once around.
    let (end, over) = if east + over * AROUND > west + AROUND { (west, 1.0) } else { (east, over) };
    let top = end + over * AROUND;
    let ends = (c.value(0), c.value(c.len() - 1));
    let (least, most) = if rises { ends } else { (ends.1, ends.0) };
    let (from, to) = (((least - top) / AROUND).floor() as i64, ((most - west) / AROUND).ceil() as i64);
    // No axis counts farther than a few times around.
    let turns = from.max(to.saturating_sub(MOST_TURNS))..=to;
    // What is farther around the globe comes first.
    let turns: Vec<i64> = if rises { turns.rev().collect() } else { turns.collect() };
    let of_turn = |turn: i64| {
        let (low, high) = (turn as f64, turn as f64 + over);
        (turn, run(west + low * AROUND - near(low), end + high * AROUND + near(high)))
    };
    let runs: Vec<(i64, Range<u64>)> =
        turns.into_iter().map(of_turn).filter(|(_, r)| !r.is_empty()).collect();
    let mut spans: Vec<Range<u64>> = Vec::new();
    for (turn, found) in &runs {
        let nearer = || runs.iter().filter(|(other, _)| (other.abs(), other) < (turn.abs(), turn));
        let own = spans.len();
        for i in found.clone() {
            // An index that is wanted at both ends is there once, and so is a meridian that the file has at both of its ends.
            let is_there = spans.iter().any(|span| span.contains(&i))
                || nearer().any(|(_, other)| has_meridian(c, other, i, &run));
            match spans[own..].last_mut() {
                _ if is_there => {}
                Some(span) if span.end == i => span.end += 1,
                _ => spans.push(i..i + 1),
            }
        }
    }
    spans
}

/// Whether a range of indices, no longer than once around, has another index than `i` for the same meridian.
fn has_meridian(c: &Coordinate, range: &Range<u64>, i: u64, run: impl Fn(f64, f64) -> Range<u64>) -> bool {
    let (own, low) = (c.value(i), c.value(range.start).min(c.value(range.end - 1)));
    let near = c.precision(own.abs().max(low.abs() + AROUND)).max(NEAR);
    // The first place of the meridian that is not below the range.
    let x = own + ((low - near - own) / AROUND).ceil() * AROUND;
    [x, x + AROUND].into_iter().any(|x| {
        let same = run(x - near, x + near);
        (same.start.max(range.start)..same.end.min(range.end)).any(|other| other != i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(len: u64, text: &str) -> Vec<u64> {
        let ranges = match text.parse() {
            Ok(Pick::Slice { first, end, step }) => slice(len, first, end, step),
            Ok(Pick::Index(at)) => single(len, at),
            _ => panic!("{text}"),
        };
        ranges.spans().iter().flat_map(|s| (0..s.count).map(|i| s.first + i * s.step)).collect()
    }

    #[test]
    fn slices_are_those_of_python() {
        assert_eq!(found(10, "3:6"), [3, 4, 5]);
        assert_eq!(found(10, "-3:"), [7, 8, 9]);
        assert_eq!(found(10, ":-8"), [0, 1]);
        assert_eq!(found(10, "-100:2"), [0, 1]);
        assert_eq!(found(10, "1:100:4"), [1, 5, 9]);
        assert_eq!(found(10, "-1"), [9]);
        assert_eq!(found(10, "::100"), [0]);
        for none in ["5:5", "7:3", "10", "100:", ":-100", "-11"] {
            assert!(found(10, none).is_empty(), "{none}");
        }
        assert_eq!(slice(u64::MAX, None, Some(i64::MAX), u64::MAX).len(), 1);
    }
}
