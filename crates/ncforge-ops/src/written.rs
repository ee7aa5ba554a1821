//! Which boxes of a walk hold anything, where a source stored only some of its chunks.
//!
//! An array can have many more elements than values: what was never written is not there to be moved, nor to be
//! compared. The work on such a variable is in proportion to the chunks that the source stored, not to the array.

use std::collections::BTreeSet;

use super::boxes::Walk;
use super::source::Source;
use ncforge::model::VarId;
use ncforge::raw::{ChunkGrid, Place, coordinates};
use ncforge::{Hyperslab, Result};

/// With fewer boxes than this it is not worth the list.
const FEW: u64 = 4;

/// The boxes of `walk` that any stored chunk of a variable touches. `None` where all of them have to be walked: they are
/// few, most chunks are stored, or the source does not know its chunks by heart.
pub(super) fn boxes(source: &dyn Source, var: VarId, walk: &Walk) -> Result<Option<BTreeSet<u64>>> {
    if walk.len() < FEW || !source.has_chunks(var) {
        return Ok(None);
    }
    let layout = source.layout(var)?;
    let chunk = match &layout.place {
        Place::Nowhere => return Ok(Some(BTreeSet::new())),
        Place::Chunked { chunk, .. } => chunk,
        _ => return Ok(None),
    };
    let grid = ChunkGrid::new(&walk.grid.shape, chunk);
    let counts = grid.counts();
    // Chunks behind the end are those of a dimension that became shorter: no value is in them.
    let is_inside = |at: &[u64]| at.len() == chunk.len() && at.iter().zip(&counts).all(|(a, n)| a < n);
    let mut stored = 0u64;
    if !source.each_stored(var, &mut |at| stored += u64::from(is_inside(at)))? || stored > grid.len() / 2 {
        return Ok(None);
    }
    let mut boxes = BTreeSet::new();
    source.each_stored(var, &mut |at| {
        if is_inside(at) {
            let (start, count) = grid.region(at);
            let touched = walk.grid.touched(&Hyperslab::new(&start, &count));
            boxes.extend(coordinates(&touched).map(|at| walk.grid.linear(&at)));
        }
    })?;
    Ok(Some(boxes))
}

/// Elements of the walk's array outside of these boxes.
pub(super) fn elements_outside(walk: &Walk, boxes: &BTreeSet<u64>) -> u64 {
    let all = walk.grid.shape.iter().fold(1u64, |n, &len| n.saturating_mul(len));
    boxes.iter().fold(all, |rest, &b| rest.saturating_sub(walk.box_at(b).len()))
}
