//! The chunks of a view.

use std::ops::Range;
use std::sync::Arc;

use super::ranges::Ranges;
use crate::error::{Error, Result};
use crate::layout::{Cell, Cells, ChunkIndex, ChunkRecord, Holder};
use crate::select::coordinates;

/// The chunks of the whole that a view has.
///
/// They can be moved where the indices begin at edges of chunks. A chunk that holds elements outside of the view as well is not moved:
/// they would be in the output, and seen where a dimension grows.
#[derive(Debug)]
pub(super) struct ViewIndex {
    pub(super) whole: Arc<dyn ChunkIndex>,
    /// The lengths of the whole.
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    /// The indices of the view along each axis.
    pub(super) axes: Vec<Ranges>,
    /// Whether its chunks are chunks of the whole, with the same values.
    pub(super) is_exact: bool,
}

impl ViewIndex {
    /// The chunk of the whole that has the first element.
    fn first(&self, at: &[u64]) -> Option<Vec<u64>> {
        let along = |d: usize| {
            let i = at[d].saturating_mul(self.chunk[d]);
            self.axes[d].cut(i..i.saturating_add(1)).first().map(|cut| cut.span.first / self.chunk[d])
        };
        (0..at.len()).map(along).collect()
    }

    /// Whether the chunk of the whole has elements that the view lacks.
    fn is_cut(&self, at: &[u64]) -> bool {
        self.axes.iter().enumerate().any(|(d, ranges)| {
            let begin = at[d].saturating_mul(self.chunk[d]);
            let own = ranges.len().saturating_sub(begin).min(self.chunk[d]);
            let first = ranges.cut(begin..begin + own.min(1)).first().map_or(0, |c| c.span.first);
            own < self.chunk[d].min(self.shape[d].saturating_sub(first))
        })
    }

    /// The chunks of the whole that a box of the view's is, where they are a box.
    fn box_in_whole(&self, touched: &[Range<u64>]) -> Option<Vec<Range<u64>>> {
        let along = |(d, ranges): (usize, &Ranges)| {
            let (t, c) = (&touched[d], self.chunk[d]);
            let cuts = ranges.cut(t.start * c..(t.end * c).min(ranges.len()));
            match cuts[..] {
                [one] if one.span.step == 1 || one.span.count == 1 => {
                    let first = one.span.first / c;
                    Some(first..first + (t.end - t.start))
                }
                _ => None,
            }
        };
        self.axes.iter().enumerate().map(along).collect()
    }
}

impl ChunkIndex for ViewIndex {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        self.first(at).map_or(Ok(None), |at| self.whole.get(&at))
    }

    fn prepare(&self, touched: &[Range<u64>]) -> Result<()> {
        self.box_in_whole(touched).map_or(Ok(()), |whole| self.whole.prepare(&whole))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let mut all = Vec::new();
        self.visit(&mut |at, record| all.push((at.to_vec(), record)))?;
        Ok(all)
    }

    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        if !self.is_listed() {
            return Err(Error::Internal("the chunks of a view are not those of its whole".into()));
        }
        self.whole.visit(&mut |at, record| {
            let here = (0..at.len()).map(|d| self.axes.get(d)?.chunk_of(at[d], self.chunk[d]));
            if let Some(here) = here.collect::<Option<Vec<u64>>>() {
                see(&here, record);
            }
        })
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn is_listed(&self) -> bool {
        self.is_exact && self.whole.is_listed()
    }

    fn has(&self, at: &[u64]) -> Result<bool> {
        self.first(at).map_or(Ok(false), |at| self.whole.has(&at))
    }

    fn cells(&self, own: &Holder, touched: &[Range<u64>]) -> Result<Cells> {
        let own = Holder { store: own.store.clone(), index: self.whole.clone() };
        if let Some(whole) = self.box_in_whole(touched) {
            let mut cells = self.whole.cells(&own, &whole)?;
            let cut = cells.list.iter_mut().zip(coordinates(touched)).filter(|(_, at)| self.is_cut(at));
            cut.for_each(|(cell, _)| *cell = Cell::Pieces);
            return Ok(cells);
        }
        let mut all = Cells { list: Vec::new(), holders: Vec::new() };
        for at in coordinates(touched) {
            all.append(match self.first(&at).filter(|_| !self.is_cut(&at)) {
                Some(first) => {
                    self.whole.cells(&own, &first.iter().map(|&i| i..i + 1).collect::<Vec<_>>())?
                }
                None => Cells::pieces(),
            });
        }
        Ok(all)
    }

    fn is_unchanged(&self) -> bool {
        self.whole.is_unchanged()
    }

    fn are_still_at(&self, chunks: &[(Vec<u64>, ChunkRecord)]) -> Result<bool> {
        let whole = chunks.iter().filter_map(|(at, record)| Some((self.first(at)?, *record)));
        self.whole.are_still_at(&whole.collect::<Vec<_>>())
    }
}
