//! From a selection to the pieces of a chunked variable that it touches.

use std::ops::Range;

use super::boxes::{self, Axis};
use crate::error::Result;
use crate::model::shape;
use crate::select::Hyperslab;

/// The overlap of a selection with one row of chunks along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// Chunk coordinate.
    chunk: u64,
    /// Position in the selection of the first element that lies in the chunk.
    from: u64,
    /// The number of the selection's elements that do.
    count: u64,
    /// Index of the first of them, from the chunk's own first.
    within: u64,
    /// Whether they are all that the array has there.
    whole: bool,
}

/// A selection cut along the chunk grid. Pieces are numbered in row-major order of their chunks; chunks that a
/// stride steps over have none.
#[derive(Debug)]
pub(super) struct ChunkPlan {
    spans: Vec<Vec<Span>>,
    stride: Vec<u64>,
    chunk_steps: Vec<u64>,
    out_steps: Vec<u64>,
    size: usize,
    len: u64,
}

/// The part of a selection that lies in one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Grid coordinates of the chunk.
    pub(super) at: Vec<u64>,
    /// Byte of the first selected element in the decoded chunk.
    pub(super) within: u64,
    /// Byte of the same element in the caller's memory.
    pub(super) to: u64,
    /// The elements, from chunk to memory; merged.
    pub(super) axes: Vec<Axis>,
    /// Whether all of the chunk that lies in the array is selected.
    pub(super) whole: bool,
}

impl ChunkPlan {
    /// The chunks along each dimension, from the first that is touched to the last.
    pub(super) fn touched(&self) -> Vec<Range<u64>> {
        let ends = |spans: &Vec<Span>| Some(spans.first()?.chunk..spans.last()?.chunk + 1);
        self.spans.iter().map(|spans| ends(spans).unwrap_or_default()).collect()
    }

    /// Cuts `slab`, which lies inside `shape`, along chunks of lengths `chunk`. `out_steps` are the byte steps of
    /// the caller's memory.
    pub(super) fn new(
        shape: &[u64],
        chunk: &[u64],
        slab: &Hyperslab,
        out_steps: &[u64],
        size: usize,
    ) -> Result<Self> {
        let spans: Vec<Vec<Span>> = (0..shape.len())
            .map(|d| spans(slab.start[d], slab.count[d], slab.stride[d], chunk[d], shape[d]))
            .collect();
        let len = shape::product(spans.iter().map(|s| s.len() as u64));
        Ok(Self {
            spans,
            stride: slab.stride.clone(),
            chunk_steps: boxes::steps(chunk, size)?,
            out_steps: out_steps.to_vec(),
            size,
            len,
        })
    }

    /// Number of pieces.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Grid coordinates of a piece's chunk.
    pub(super) fn at(&self, number: u64, at: &mut Vec<u64>) {
        at.clear();
        at.resize(self.spans.len(), 0);
        let mut rest = number;
        for (slot, spans) in at.iter_mut().zip(&self.spans).rev() {
            *slot = spans[(rest % spans.len() as u64) as usize].chunk;
            rest /= spans.len() as u64;
        }
    }

    /// Whether a piece takes all of its chunk that lies in the array.
    pub(super) fn is_whole(&self, number: u64) -> bool {
        let mut rest = number;
        self.spans.iter().rev().all(|spans| {
            let span = &spans[(rest % spans.len() as u64) as usize];
            rest /= spans.len() as u64;
            span.whole
        })
    }

    /// A piece in full.
    pub(super) fn piece(&self, number: u64) -> Piece {
        let rank = self.spans.len();
        let mut piece = Piece { at: vec![0; rank], within: 0, to: 0, axes: Vec::new(), whole: true };
        let mut axes = vec![Axis { count: 1, from: 0, to: 0 }; rank];
        let mut rest = number;
        for d in (0..rank).rev() {
            let spans = &self.spans[d];
            let span = spans[(rest % spans.len() as u64) as usize];
            rest /= spans.len() as u64;
            piece.at[d] = span.chunk;
            piece.within += span.within * self.chunk_steps[d];
            piece.to += span.from * self.out_steps[d];
            piece.whole &= span.whole;
            axes[d] = Axis {
                count: span.count,
                // A step that is never taken may be as large as it likes.
                from: if span.count > 1 { self.chunk_steps[d] * self.stride[d] } else { 0 },
                to: self.out_steps[d],
            };
        }
        piece.axes = boxes::merge(axes, self.size);
        piece
    }
}

fn spans(start: u64, count: u64, stride: u64, chunk: u64, len: u64) -> Vec<Span> {
    let mut out = Vec::new();
    let mut k = 0;
    while k < count {
        let first = start + k * stride;
        let at = first / chunk;
        let within = first % chunk;
        // Elements from here to the chunk's last, both counted.
        let n = ((chunk - within - 1) / stride + 1).min(count - k);
        let held = chunk.min(len - at * chunk);
        out.push(Span { chunk: at, from: k, count: n, within, whole: n == held });
        k += n;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_selections_meet_every_chunk_once() {
        let slab = Hyperslab::new(&[3, 0], &[5, 6]);
        let plan = ChunkPlan::new(&[10, 7], &[4, 4], &slab, &[24, 4], 4).unwrap();
        assert_eq!(plan.len(), 4);
        let first = plan.piece(0);
        assert_eq!((first.at, first.within, first.to, first.whole), (vec![0, 0], 48, 0, false));
        assert_eq!(plan.piece(3).at, [1, 1]);
        assert!(plan.piece(2).whole && !plan.piece(3).whole && plan.is_whole(2) && !plan.is_whole(3));
        let total: u64 = (0..4).map(|i| plan.piece(i).axes.iter().map(|a| a.count).product::<u64>()).sum();
        assert_eq!(total, 30);
    }

    #[test]
    fn strides_step_over_chunks() {
        let slab = Hyperslab::strided(&[1], &[3], &[9]);
        let plan = ChunkPlan::new(&[20], &[2], &slab, &[8], 8).unwrap();
        let at: Vec<u64> = (0..plan.len()).map(|i| plan.piece(i).at[0]).collect();
        assert_eq!(at, [0, 5, 9]);
        let edge = spans(8, 2, 1, 4, 10);
        assert!(edge[0].whole);
    }
}
