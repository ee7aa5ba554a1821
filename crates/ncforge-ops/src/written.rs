//! Which boxes of an array hold anything, where a source stored only some of its chunks.
//!
//! An array can have many more elements than values: what was never written is not there to be moved, nor to be
//! compared. The work on such a variable is in proportion to the chunks that the source stored, not to the array.

use std::collections::BTreeSet;
use std::ops::Range;

use super::boxes::Walk;
use ncforge::model::equality::Equality;
use ncforge::model::{VarId, shape};
use ncforge::raw::{ChunkGrid, Chunks, PartIndex, VarLayout, coordinates};
use ncforge::{Dataset, Hyperslab, Result};

/// The number of boxes below which the list is not worth it.
const FEW: u64 = 4;

/// The boxes, as places in the grid of all, that any stored chunk of a variable touches, or any part of one whose values lie elsewhere. `None` where all of
/// them have to be walked: they are few, most chunks are stored, or the source does not know its chunks by heart.
pub(super) fn boxes(source: &Dataset, var: VarId, all: &ChunkGrid) -> Result<Option<BTreeSet<u64>>> {
    let layout = source.layout(var)?;
    if all.len() < FEW || !layout.is_exact() {
        return Ok(None);
    }
    if layout.place.is_nowhere() {
        return Ok(Some(BTreeSet::new()));
    }
    let Some(Chunks { chunk, .. }) = layout.place.chunks() else {
        return layout.place.parts().map_or(Ok(None), |parts| met(parts, all));
    };
    let grid = ChunkGrid::new(&all.shape, chunk);
    if number_stored(&layout, &grid)?.is_none_or(|stored| stored > grid.len() / 2) {
        return Ok(None);
    }
    let counts = grid.counts();
    let mut boxes = BTreeSet::new();
    layout.each_chunk(&mut |at| {
        if is_inside(at, &counts) {
            let (start, count) = grid.region(at);
            let touched = all.touched(&Hyperslab::new(&start, &count));
            boxes.extend(coordinates(&touched).map(|at| all.linear(&at)));
        }
    })?;
    Ok(Some(boxes))
}

/// The boxes in which either of two variables holds anything, where all others are the same in both: fill. `None`: all have to be read, or
/// almost all.
pub(super) fn boxes_of_either(
    (a, va): (&Dataset, VarId),
    (b, vb): (&Dataset, VarId),
    all: &ChunkGrid,
    equality: &Equality<'_>,
) -> Result<Option<BTreeSet<u64>>> {
    let (x, y) = (a.layout(va)?, b.layout(vb)?);
    let same = x.one_absent().zip(y.one_absent()).is_some_and(|(x, y)| equality.same(&x, &y));
    if !same {
        return Ok(None);
    }
    let Some(mut both) = boxes(a, va, all)? else { return Ok(None) };
    let Some(others) = boxes(b, vb, all)? else { return Ok(None) };
    both.extend(others);
    Ok(Some(both).filter(|both| (both.len() as u64) < all.len() / 2))
}

/// The boxes that parts of an array lie in; `None` for more than half of them.
fn met(parts: &dyn PartIndex, grid: &ChunkGrid) -> Result<Option<BTreeSet<u64>>> {
    let all: Vec<Range<u64>> = grid.shape.iter().map(|n| 0..*n).collect();
    let mut boxes = BTreeSet::new();
    for part in parts.meeting(&all)? {
        let within = |d: usize| {
            let (range, len) = (part.axes[d].range(), grid.chunk[d]);
            range.start / len..range.end.min(grid.shape[d]).div_ceil(len)
        };
        let touched: Vec<Range<u64>> = (0..part.axes.len()).map(within).collect();
        if number_of(&touched).saturating_add(boxes.len() as u64) > grid.len() / 2 {
            return Ok(None);
        }
        boxes.extend(coordinates(&touched).map(|at| grid.linear(&at)));
    }
    Ok(Some(boxes))
}

/// Elements of the walk's array outside of these boxes.
pub(super) fn elements_outside(walk: &Walk, boxes: &BTreeSet<u64>) -> u64 {
    let all = shape::elements(&walk.grid.shape);
    boxes.iter().fold(all, |rest, &b| rest.saturating_sub(walk.box_at(b).len()))
}

/// Whether a source stored all chunks of a variable, as far as it knows them by heart.
pub(super) fn is_complete(source: &Dataset, var: VarId, shape: &[u64]) -> Result<bool> {
    let layout = source.layout(var)?;
    let Some(Chunks { chunk, .. }) = layout.place.chunks() else { return Ok(false) };
    let grid = ChunkGrid::new(shape, chunk);
    Ok(number_stored(&layout, &grid)?.is_some_and(|stored| stored >= grid.len()))
}

/// How many chunks of a grid a layout has, if it knows them by heart.
pub(super) fn number_stored(layout: &VarLayout, grid: &ChunkGrid) -> Result<Option<u64>> {
    let counts = grid.counts();
    let mut stored = 0u64;
    let known = layout.each_chunk(&mut |at| stored += u64::from(is_inside(at, &counts)))?;
    Ok(known.then_some(stored))
}

/// Chunks behind the end are those of a dimension that became shorter: no value is in them.
pub(super) fn is_inside(at: &[u64], counts: &[u64]) -> bool {
    at.len() == counts.len() && at.iter().zip(counts).all(|(a, n)| a < n)
}

/// A box is looked through for chunks that the source never stored only if it has at most this many.
const MOST_PROBES: u64 = 1 << 22;

/// The source's chunks that a box touches, if it has any and they are not too many.
fn touched(layout: &VarLayout, shape: &[u64], slab: &Hyperslab) -> Option<Touched> {
    let grid = ChunkGrid::new(shape, layout.place.chunks()?.chunk);
    let ranges = grid.touched(slab);
    (number_of(&ranges) <= MOST_PROBES).then_some(Touched { grid, ranges })
}

/// Chunks of a grid.
struct Touched {
    grid: ChunkGrid,
    ranges: Vec<Range<u64>>,
}

fn number_of(ranges: &[Range<u64>]) -> u64 {
    shape::product(ranges.iter().map(|r| r.end - r.start))
}

/// Whether the source stores no chunk inside a box, as far as that is worth to be asked for.
pub(super) fn is_empty(source: &Dataset, var: VarId, shape: &[u64], slab: &Hyperslab) -> Result<bool> {
    let layout = source.layout(var)?;
    let Some(touched) = touched(&layout, shape, slab) else { return Ok(false) };
    for at in coordinates(&touched.ranges) {
        if layout.has_chunk(&at)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The chunks of `grid` in a box of whole ones that hold anything of the source's, in row-major order. `None`: all of them,
/// or more than are worth to be asked for.
pub(super) fn chunks_in(
    source: &Dataset,
    var: VarId,
    grid: &ChunkGrid,
    slab: &Hyperslab,
) -> Result<Option<BTreeSet<Vec<u64>>>> {
    let layout = source.layout(var)?;
    let Some(Touched { grid: stored, ranges }) = touched(&layout, &grid.shape, slab) else { return Ok(None) };
    let within = grid.touched(slab);
    let all = number_of(&within);
    let mut chunks = BTreeSet::new();
    for at in coordinates(&ranges) {
        if !layout.has_chunk(&at)? {
            continue;
        }
        let (start, count) = stored.region(&at);
        let here = grid.touched(&Hyperslab::new(&start, &count));
        let here: Vec<_> =
            here.iter().zip(&within).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)).collect();
        chunks.extend(coordinates(&here));
        if chunks.len() as u64 == all {
            return Ok(None);
        }
    }
    Ok(Some(chunks))
}

/// Chunks as boxes of chunks, each chunk in one of them and no other in any: what lies together is read together.
pub(super) fn clusters(chunks: Vec<Vec<u64>>) -> Vec<Vec<Range<u64>>> {
    let mut found = Vec::new();
    let mut rest = vec![chunks];
    while let Some(chunks) = rest.pop() {
        let Some(first) = chunks.first() else { continue };
        let mut around: Vec<Range<u64>> = first.iter().map(|&i| i..i + 1).collect();
        for at in &chunks {
            for (r, &i) in around.iter_mut().zip(at) {
                *r = r.start.min(i)..r.end.max(i + 1);
            }
        }
        let len = |r: &Range<u64>| r.end - r.start;
        if number_of(&around) == chunks.len() as u64 {
            found.push(around);
            continue;
        }
        let longest =
            (0..around.len()).max_by_key(|&d| len(&around[d])).expect("more than one chunk has an axis");
        let middle = around[longest].start + len(&around[longest]) / 2;
        let (low, high) = chunks.into_iter().partition(|at| at[longest] < middle);
        rest.extend([high, low]);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clusters_have_each_chunk_once(
            chunks in prop::collection::btree_set(prop::collection::vec(0u64..6, 3), 0..60),
        ) {
            let all: Vec<Vec<u64>> =
                clusters(chunks.iter().cloned().collect()).iter().flat_map(|c| coordinates(c)).collect();
            prop_assert_eq!(all.len(), chunks.len());
            prop_assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), chunks);
        }
    }
}
