//! How the whole holds each variable: as the tiles do, where they all do it alike, so that their chunks can be moved.

use super::facts::{KeptAs, OfTiles};
use super::scan::{First, Form, Held, held};
use super::{DimKind, From, Mosaic};
use ncforge::codec::CodecChain;
use ncforge::model::VarId;
use ncforge::raw::{Absent, Element};
use ncforge::{Error, Result};

/// Chunks are moved where at least this part of the values is in chunks of which no edge between tiles cuts one.
const WORTH: f64 = 0.5;

/// How the tiles hold every variable.
pub(crate) fn held_alike(mosaic: &Mosaic, first: &First) -> Result<Vec<OfTiles>> {
    mosaic.schema.var_ids().map(|v| of_tiles(mosaic, first, v)).collect()
}

fn of_tiles(mosaic: &Mosaic, first: &First, v: VarId) -> Result<OfTiles> {
    let schema = &mosaic.schema;
    let mut tiles = (0..mosaic.facts.len()).filter(|&t| mosaic.facts[t].var(v).is_some());
    let Some(some) = tiles.next() else {
        return Err(Error::Internal(format!("no tile has `{}`", schema.var_path(v))));
    };
    let own = mosaic.facts[some].var(v).unwrap_or(v);
    let Held { form, element, .. } = match first.stored.get(v.0) {
        Some(held) => held.clone(),
        None => held(&mosaic.tiles, some, own, mosaic.chosen[v.0])?,
    };
    // Values that are converted are no tile's bytes.
    let is_first = v.0 < first.stored.len() && !mosaic.is_converted(v);
    let movable = is_first && matches!(&form, Form::Chunks(chunk, _) if movable(mosaic, v, chunk) >= WORTH);
    let is_alike = movable || (is_first && tiles.all(|t| mosaic.facts[t].has_same_chunks(v)));
    let element = if is_alike || element.heap { element } else { element.in_memory() };
    let kept = match form {
        Form::Runs => KeptAs::Rows,
        Form::Other => KeptAs::Otherwise,
        Form::Chunks(chunk, filters) => {
            KeptAs::Chunks { codecs: CodecChain::new(&filters, element.size)?, chunk }
        }
    };
    let absent = absent(mosaic, v, some, &element)?;
    Ok(OfTiles { element, absent, kept, movable })
}

/// As tiles read where nothing was written, if holes read the same.
fn absent(mosaic: &Mosaic, v: VarId, tile: usize, element: &Element) -> Result<Absent> {
    let Some(own) = mosaic.facts[tile].var(v) else { return Ok(Absent::Several) };
    let theirs = mosaic.tiles.open(tile)?.container().layout(own)?;
    let same =
        theirs.element == *element && theirs.one_absent().is_some_and(|one| mosaic.fills[v.0] == Some(one));
    Ok(if same { theirs.absent.clone() } else { Absent::Several })
}

/// The part of the values in chunks of the whole that are chunks of one tile, and stored there as the whole has them.
pub(crate) fn movable(mosaic: &Mosaic, v: VarId, chunk: &[u64]) -> f64 {
    let shape = mosaic.schema.shape(v);
    if chunk.len() != shape.len() || shape.contains(&0) {
        return 0.0;
    }
    let who: Vec<usize> = match mosaic.from[v.0] {
        From::Tile(t) => vec![t],
        From::Pattern(p) => mosaic.patterns[p].boxes.iter().map(|b| b.0).collect(),
    };
    let part = |tile: usize| -> f64 {
        mosaic
            .kinds(v)
            .enumerate()
            .map(|(axis, (d, kind))| {
                let (s, c, n) = (mosaic.facts[tile].spans[d.0], chunk[axis], shape[axis]);
                let origin = if kind == DimKind::Whole { s.skip } else { s.first.abs_diff(s.skip) };
                if !origin.is_multiple_of(c) {
                    return 0.0;
                }
                let from = s.first.div_ceil(c) * c;
                let end = s.first + s.count;
                let to = if end == n { end } else { end / c * c };
                to.saturating_sub(from) as f64 / n as f64
            })
            .product()
    };
    who.into_iter().filter(|tile| mosaic.facts[*tile].has_same_chunks(v)).map(part).sum()
}
