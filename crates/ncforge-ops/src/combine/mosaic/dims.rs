//! The dimensions of the whole, and every tile's part of them.

use std::collections::BTreeMap;

use super::super::options::CombineOptions;
use super::super::scheme::{AxisPlace, Span};
use super::super::tiles::Tiles;
use super::DimKind;
use super::join::Mapping;
use super::scan::Scanned;
use ncforge::model::{DimId, Schema};
use ncforge::{Error, Result, TileOption};

const NOTHING: Span = Span { first: 0, skip: 0, count: 0 };

/// Kinds of the dimensions, and by tile the part of each.
pub(crate) struct Dims {
    pub(crate) kinds: Vec<DimKind>,
    pub(crate) spans: Vec<Vec<Span>>,
    pub(crate) notes: Vec<String>,
    /// Names of split dimensions whose length no tile says: they end where the last of the tiles does.
    pub(crate) open_ended: Vec<String>,
}

/// One tile's view of a dimension.
struct Seen<'a> {
    tile: usize,
    len: u64,
    axis: Option<&'a AxisPlace>,
    list: bool,
}

/// Finds out, and sets the lengths in `whole`.
pub(crate) fn dims(
    tiles: &Tiles,
    whole: &mut Schema,
    scanned: &[Scanned],
    maps: &[Option<Mapping>],
    options: &CombineOptions,
) -> Result<Dims> {
    let mut seen: Vec<Vec<Seen<'_>>> = whole.dims.iter().map(|_| Vec::new()).collect();
    for (tile, (one, map)) in scanned.iter().zip(maps).enumerate() {
        for (d, &len) in one.lens.iter().enumerate() {
            let to = map.as_ref().map_or(d, |m| m.dims[d].0);
            let axis = one.place.axes.iter().find(|a| a.dim.0 == d);
            let list = one.place.lists.contains(&DimId(d));
            seen[to].push(Seen { tile, len, axis, list });
        }
    }
    let mut out = Dims {
        kinds: Vec::with_capacity(whole.dims.len()),
        spans: vec![vec![NOTHING; whole.dims.len()]; tiles.len()],
        notes: Vec::new(),
        open_ended: Vec::new(),
    };
    for (d, seen) in seen.iter().enumerate() {
        let dim = &whole.dims[d];
        let job = One { tiles, name: &dim.name, unlimited: dim.unlimited, seen, options };
        let (kind, len, spans) = if seen.iter().any(|s| s.axis.is_some()) {
            let (len, spans) = job.split()?;
            if seen.iter().all(|s| s.axis.is_some_and(|a| a.whole.is_none())) {
                out.open_ended.push(dim.name.clone());
            }
            (DimKind::Split, len, spans)
        } else if seen.iter().any(|s| s.list) {
            let (len, spans) = job.list();
            (DimKind::List, len, spans)
        } else {
            let (len, spans) = job.whole(&mut out.notes)?;
            (DimKind::Whole, len, spans)
        };
        whole.dims[d].len = len;
        out.kinds.push(kind);
        for (s, span) in seen.iter().zip(spans) {
            out.spans[s.tile][d] = span;
        }
    }
    if let Some((from, to)) = options.records {
        window(whole, &mut out, from, to)?;
    }
    Ok(out)
}

struct One<'a> {
    tiles: &'a Tiles,
    name: &'a str,
    unlimited: bool,
    seen: &'a [Seen<'a>],
    options: &'a CombineOptions,
}

impl One<'_> {
    fn disagreement(&self, a: usize, b: usize, what: &str) -> String {
        let (a, b) = (self.tiles.name(a), self.tiles.name(b));
        format!("`{a}` and `{b}` do not go together: dimension `{}` {what}", self.name)
    }

    fn differ(&self, a: usize, b: usize, what: &str) -> Error {
        Error::Tiles(self.disagreement(a, b, what))
    }

    /// Length and parts of a split dimension.
    fn split(&self) -> Result<(u64, Vec<Span>)> {
        let mut axes = Vec::with_capacity(self.seen.len());
        for s in self.seen {
            match s.axis {
                Some(a) => axes.push((s.tile, a)),
                None => {
                    return Err(self.differ(
                        s.tile,
                        axes.first().map_or(s.tile, |a| a.0),
                        "is split in one only",
                    ));
                }
            }
        }
        let mut first: Option<(usize, u64)> = None;
        for &(tile, a) in &axes {
            match (first, a.whole) {
                (None, Some(n)) => first = Some((tile, n)),
                (Some((other, n)), Some(m)) if n != m => {
                    return Err(self.differ(other, tile, &format!("has {n} points in all, or {m}")));
                }
                _ => {}
            }
        }
        let firsts = self.firsts(&axes)?;
        let spans: Vec<Span> =
            axes.iter().zip(firsts).map(|((_, a), first)| Span { first, ..a.span }).collect();
        let end = spans.iter().map(|s| s.first.saturating_add(s.count)).max().unwrap_or(0);
        let len = first.map_or(end, |t| t.1);
        if end > len {
            let at = spans.iter().position(|s| s.first.saturating_add(s.count) == end).unwrap_or(0);
            return Err(Error::Tiles(format!(
                "`{}` reaches to point {end} of dimension `{}`, which has {len}",
                self.tiles.name(axes[at].0),
                self.name
            )));
        }
        Ok((len, spans))
    }

    /// The first points; where tiles are counted, from the lengths of those before.
    fn firsts(&self, axes: &[(usize, &AxisPlace)]) -> Result<Vec<u64>> {
        if !axes.iter().any(|(_, a)| a.counts_tiles) {
            return Ok(axes.iter().map(|(_, a)| a.span.first).collect());
        }
        let mut lens: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for &(tile, a) in axes {
            let (other, n) = *lens.entry(a.span.first).or_insert((tile, a.span.count));
            if n != a.span.count {
                let what = format!("has {n} and {} points at tile {}", a.span.count, a.span.first);
                return Err(self.differ(other, tile, &what));
            }
        }
        let mut begins = BTreeMap::new();
        let mut end = 0u64;
        for (i, (&number, &(tile, n))) in lens.iter().enumerate() {
            if number != i as u64 {
                return Err(Error::Tiles(format!(
                    "no tile has number {i} along dimension `{}` (`{}` has {number}): where it begins is unknown",
                    self.name,
                    self.tiles.name(tile)
                )));
            }
            begins.insert(number, end);
            end = end.saturating_add(n);
        }
        Ok(axes.iter().map(|(_, a)| begins[&a.span.first]).collect())
    }

    /// One tile's list behind the other's.
    fn list(&self) -> (u64, Vec<Span>) {
        let mut end = 0u64;
        let spans = self
            .seen
            .iter()
            .map(|s| {
                let span = Span { first: end, skip: 0, count: s.len };
                end = end.saturating_add(s.len);
                span
            })
            .collect();
        (end, spans)
    }

    /// All of it in every tile.
    fn whole(&self, notes: &mut Vec<String>) -> Result<(u64, Vec<Span>)> {
        let longest = self.seen.iter().max_by_key(|s| s.len);
        let Some(longest) = longest else { return Ok((0, Vec::new())) };
        let shorter: Vec<&Seen<'_>> = self.seen.iter().filter(|s| s.len != longest.len).collect();
        if let Some(short) = shorter.first() {
            let what = format!("has length {} in the first and {} in the second", longest.len, short.len);
            if !self.unlimited {
                return Err(self.differ(longest.tile, short.tile, &what));
            }
            if !self.options.allow_ragged {
                let what = self.disagreement(longest.tile, short.tile, &format!("(records) {what}"));
                return Err(Error::TilesUnless { what, unless: TileOption::AllowRagged });
            }
            notes.push(format!(
                "{} of {} tiles have fewer records than {} along `{}`: the missing ones are filled",
                shorter.len(),
                self.seen.len(),
                longest.len,
                self.name
            ));
        }
        let spans = self.seen.iter().map(|s| Span { first: 0, skip: 0, count: s.len }).collect();
        Ok((longest.len, spans))
    }
}

/// Only some records.
fn window(whole: &mut Schema, out: &mut Dims, from: u64, to: u64) -> Result<()> {
    let unlimited: Vec<usize> = (0..whole.dims.len())
        .filter(|&d| whole.dims[d].unlimited && out.kinds[d] == DimKind::Whole)
        .collect();
    let [d] = unlimited[..] else {
        let n = unlimited.len();
        return Err(Error::bad_option(
            "records",
            format!("records were asked for, and the tiles have {n} record dimensions"),
        ));
    };
    let len = whole.dims[d].len;
    if from >= to || to > len {
        return Err(Error::bad_option(
            "records",
            format!("records {from} to {to} (not included) were asked for, there are {len} (from 0)"),
        ));
    }
    whole.dims[d].len = to - from;
    for spans in &mut out.spans {
        let count = spans[d].count.min(to).saturating_sub(from);
        spans[d] = Span { first: 0, skip: from, count };
    }
    Ok(())
}
