//! The bytes of each part of a variable, as far as ranges of bytes say it.

use std::sync::Arc;

use super::kinds::Kind;
use super::parts::{Misfit, Part, last};
use ncforge::Result;
use ncforge::codec::filters::Kind as FilterKind;
use ncforge::model::{DType, Filter, Schema, shape};
use ncforge::raw::{ChunkGrid, ChunkRecord, Chunks, Runs};
use ncforge::store::ReadStore;

/// A part whose bytes are known.
#[derive(Debug)]
pub(super) struct Placed {
    /// The number of the file.
    pub(super) file: usize,
    pub(super) store: Arc<dyn ReadStore>,
    /// The first element in the variable.
    pub(super) start: Vec<u64>,
    /// Elements along each dimension.
    pub(super) count: Vec<u64>,
    /// The type of what is stored.
    pub(super) kind: Kind,
    /// The value of elements that were never written, in native order.
    pub(super) fill: Vec<u8>,
    pub(super) stored: Stored,
}

/// The place of a part's bytes.
#[derive(Debug)]
pub(super) enum Stored {
    /// Nothing was written.
    Nothing,
    /// One run.
    Run { offset: u64 },
    /// One record in each step of the first dimension.
    Records { begin: u64, stride: u64 },
    /// Chunks, with their positions in the grid of the variable.
    Chunks { chunk: Vec<u64>, filters: Vec<Filter>, list: Vec<(Vec<u64>, ChunkRecord)> },
}

impl Placed {
    /// Whether some of its values were never written, and read as its fill.
    pub(super) fn has_unwritten(&self) -> bool {
        match &self.stored {
            Stored::Nothing => true,
            Stored::Chunks { chunk, list, .. } => {
                (list.len() as u64) < ChunkGrid::new(&self.count, chunk).len()
            }
            Stored::Run { .. } | Stored::Records { .. } => false,
        }
    }
}

/// The bytes of a part of a variable of this type and shape; the reason if ranges of bytes cannot express them.
pub(super) fn placed(
    part: &Part,
    (schema, dtype): (&Schema, DType),
    shape: &[u64],
) -> Result<Result<Placed, Misfit>> {
    let layout = &part.layout;
    let misfit = |why: String| Ok(Err(Misfit { file: part.file, why }));
    let kind = match Kind::of(schema, dtype, &layout.element) {
        Ok(kind) if layout.element.size == kind.size() => kind,
        Ok(_) => return misfit("its elements are not stored as its type".into()),
        Err(why) => return misfit(why),
    };
    let stored = match stored(part, shape)? {
        Ok(stored) => stored,
        Err(why) => return misfit(why),
    };
    let (file, store, fill) = (part.file, part.store.clone(), layout.unwritten());
    Ok(Ok(Placed { file, store, start: part.start(), count: part.count(), kind, fill, stored }))
}

fn stored(part: &Part, shape: &[u64]) -> Result<Result<Stored, String>> {
    let layout = &part.layout;
    // Where the file's variable is shorter than its dimensions.
    let is_beyond = part.axes.iter().zip(&layout.shape).any(|(axis, &n)| last(axis) >= n);
    let unwritten = if is_beyond { layout.absent.one() } else { layout.absent.inside() };
    if unwritten.is_none() {
        return Ok(Err("what lies beyond its end reads otherwise than what was not written".into()));
    }
    if let Some(runs) = layout.runs() {
        return Ok(match is_beyond {
            true => Err("it is shorter than its dimensions".into()),
            false => rows(part, runs),
        });
    }
    if layout.place.parts().is_some() {
        return Ok(Err("its values lie in other variables (it is virtual)".into()));
    }
    match layout.place.chunks() {
        Some(all) => chunks(part, all, shape),
        None if layout.place.is_nowhere() => Ok(Ok(Stored::Nothing)),
        None => Ok(Err("its values are within the metadata".into())),
    }
}

/// The rows of the first dimension that a part takes, of those that lie in these runs.
fn rows(part: &Part, runs: Runs) -> Result<Stored, String> {
    let layout = &part.layout;
    let row = shape::bytes(layout.shape.get(1..).unwrap_or_default(), layout.element.size as u64);
    let apart = runs.stride.unwrap_or(row);
    let is_cut = part.axes.iter().zip(&layout.shape).skip(1).any(|(axis, &n)| axis.count != n);
    let (from, step, count) =
        part.axes.first().map_or((0, 1, 1), |axis| (axis.from, axis.from_step, axis.count));
    let begin = runs.begin.saturating_add(from.saturating_mul(apart));
    let taken = Runs { begin, stride: Some(apart.saturating_mul(step)), number: count, each: row };
    if is_cut {
        return Err("it is not in chunks, and its rows are cut by what is selected".into());
    }
    if taken.end() > part.store.len() {
        return Err("it reaches past the end of the file".into());
    }
    Ok(match taken.stride.filter(|&stride| count > 1 && stride != row) {
        Some(stride) => Stored::Records { begin, stride },
        None => Stored::Run { offset: begin },
    })
}

/// The chunks that a part takes whole.
fn chunks(part: &Part, all: Chunks<'_>, shape: &[u64]) -> Result<Result<Stored, String>> {
    let (layout, axes) = (&part.layout, &part.axes);
    let Chunks { chunk, codecs, index } = all;
    let filters = codecs.filters().to_vec();
    if filters.first().is_some_and(|f| f.kind() == Some(FilterKind::Widen)) {
        return Ok(Err("its numbers are of a type that is read as another".into()));
    }
    for ((axis, &c), (&n, &whole)) in axes.iter().zip(chunk).zip(layout.shape.iter().zip(shape)) {
        let end = axis.to + axis.count;
        if !axis.from.is_multiple_of(c) || !axis.to.is_multiple_of(c) || (axis.from_step > 1 && c > 1) {
            return Ok(Err("what is selected does not begin at edges of its chunks".into()));
        }
        if !end.is_multiple_of(c) && end != whole {
            return Ok(Err(format!("its {} steps do not fill chunks of {c}, and others follow", axis.count)));
        }
        // Bytes of an edge chunk beyond the extent are undefined; where dimensions are longer, they would show.
        if axis.from < n && last(axis) >= n && !n.is_multiple_of(c) {
            return Ok(Err("its last chunk ends before its dimension does".into()));
        }
    }
    let mut list = Vec::new();
    index.visit(&mut |at, record| {
        let here = (0..at.len()).map(|d| {
            let (axis, c) = (&axes[d], chunk[d]);
            let first = at[d].saturating_mul(c);
            let from = first.checked_sub(axis.from).filter(|_| first < layout.shape[d])?;
            let is_taken = from.is_multiple_of(axis.from_step) && from / axis.from_step < axis.count;
            is_taken.then(|| (axis.to + from / axis.from_step) / c)
        });
        if let Some(here) = here.collect::<Option<Vec<u64>>>() {
            list.push((here, record));
        }
    })?;
    Ok(Ok(Stored::Chunks { chunk: chunk.to_vec(), filters, list }))
}
