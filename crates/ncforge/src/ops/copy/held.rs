//! Which boxes of a variable hold anything, where a source stored only some of its chunks.
//!
//! An array can have many more elements than values: what was never written is not there to be moved. The work on
//! such a variable is in proportion to the chunks that the source stored, not to the array.

use std::collections::BTreeSet;

use super::plan::{Route, VarWork};
use crate::error::Result;
use crate::layout::Place;
use crate::ops::source::Source;
use crate::select::{ChunkGrid, Hyperslab, coordinates};

/// With fewer boxes than this it is not worth the list.
const FEW: u64 = 4;

/// Boxes that hold something, ascending.
#[derive(Debug)]
pub(crate) struct Held {
    boxes: Vec<u64>,
    /// Elements of all other boxes.
    pub(crate) unwritten: u64,
}

impl Held {
    /// The boxes of `work` that any stored chunk of the source touches. `None` where all of them have to be walked:
    /// the output needs what was not written as well, or the source does not know its chunks by heart.
    pub(crate) fn of(source: &dyn Source, work: &VarWork) -> Result<Option<Held>> {
        let possible = work.sparse && matches!(work.route, Route::Boxes | Route::Raw | Route::Spill(_));
        if !possible || work.walk.len() < FEW {
            return Ok(None);
        }
        let layout = source.layout(work.moved.from)?;
        let Place::Chunked { chunk, .. } = &layout.place else { return Ok(None) };
        let Some(stored) = source.stored_chunks(work.moved.from)? else { return Ok(None) };
        let grid = ChunkGrid::new(&work.walk.grid.shape, chunk);
        let mut boxes = BTreeSet::new();
        for at in stored {
            // Chunks behind the end are those of a dimension that became shorter: no value is in them.
            if at.len() != chunk.len() || at.iter().zip(grid.counts()).any(|(a, n)| *a >= n) {
                continue;
            }
            let (start, count) = grid.region(&at);
            let touched = work.walk.grid.touched(&Hyperslab::new(&start, &count));
            boxes.extend(coordinates(&touched).map(|at| work.walk.grid.linear(&at)));
        }
        let elements = |n: u64, b: &u64| n.saturating_add(work.walk.box_at(*b).len());
        let all = work.walk.grid.shape.iter().fold(1u64, |n, &len| n.saturating_mul(len));
        let unwritten = all.saturating_sub(boxes.iter().fold(0, elements));
        Ok(Some(Held { boxes: boxes.into_iter().collect(), unwritten }))
    }

    /// Those from `first` on.
    pub(crate) fn from(&self, first: u64) -> impl Iterator<Item = u64> + '_ {
        self.boxes[self.boxes.partition_point(|&b| b < first)..].iter().copied()
    }
}
