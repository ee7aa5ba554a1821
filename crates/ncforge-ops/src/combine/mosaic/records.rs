//! Where the records of a classic tile hold the values of some variables.

use std::ops::Range;
use std::sync::Arc;

use super::Mosaic;
use ncforge::model::VarId;
use ncforge::raw::fetch::Joining;
use ncforge::raw::{Part, Rows, Runs, VarLayout};
use ncforge::store::ReadStore;
use ncforge::{Dataset, Error, Hyperslab, Result};

/// The bytes between the variables may be as many as those of the variables.
const WASTE: u64 = 2;
/// The part of every record of a tile in which some variables lie.
#[derive(Debug)]
pub(super) struct Records {
    /// The beginning in the first record, from that of the file.
    low: u64,
    /// Its bytes.
    wide: u64,
    /// Bytes from a record to the next.
    stride: u64,
    /// The variables that the tile has.
    pub(super) layouts: Vec<Arc<VarLayout>>,
}

impl Records {
    /// The records with these variables of the whole; `None` where they are not all in records, or lie far from each other.
    pub(super) fn of(
        mosaic: &Mosaic,
        vars: impl Iterator<Item = VarId>,
        tile: usize,
        open: &Dataset,
    ) -> Result<Option<Records>> {
        let (mut low, mut high, mut used) = (u64::MAX, 0u64, 0u64);
        let mut every = None;
        let mut layouts = Vec::with_capacity(vars.size_hint().0);
        for own in vars.filter_map(|v| mosaic.facts[tile].var(v)) {
            let layout = open.container().layout(own)?;
            let Some(Runs { begin, stride: Some(stride), each, .. }) = layout.runs() else { return Ok(None) };
            let Some(end) = begin.checked_add(each) else { return Ok(None) };
            if every.is_some_and(|s| s != stride) {
                return Ok(None);
            }
            every = Some(stride);
            (low, high, used) = (low.min(begin), high.max(end), used.saturating_add(end - begin));
            layouts.push(layout);
        }
        Ok(every
            .filter(|&stride| stride > 0 && high - low <= used.saturating_mul(WASTE))
            .map(|stride| Records { low, wide: high - low, stride, layouts }))
    }

    /// The bytes from the part of the first of `count` records to the end of that of the last: offset and length.
    /// `None` if there are none, or the file, of `len` bytes, is too short for them.
    pub(super) fn bytes(&self, first: u64, count: u64, len: u64) -> Option<(u64, u64)> {
        let begin = first.checked_mul(self.stride)?.checked_add(self.low)?;
        let length = count.checked_sub(1)?.checked_mul(self.stride)?.checked_add(self.wide)?;
        (begin.checked_add(length)? <= len).then_some((begin, length))
    }

    /// Whether the tile holds all of a selection of each of the variables.
    pub(super) fn hold(&self, local: &Hyperslab) -> bool {
        self.layouts.iter().all(|layout| {
            layout.shape.len() == local.rank() && (0..local.rank()).all(|d| local.end(d) <= layout.shape[d])
        })
    }

    /// Reads a selection that it holds of each of the variables, some records at a time.
    pub(super) fn read(&self, store: &dyn ReadStore, local: &Hyperslab, part: &mut Part<'_>) -> Result<()> {
        let (first, count) = (local.start[0], local.count[0]);
        let Joining { gap, most } = Joining::of(&store.io_profile());
        let at_once = if self.stride.saturating_sub(self.wide) <= gap {
            (most / self.stride).clamp(1, count)
        } else {
            1
        };
        let mut rows = 0..at_once;
        while !rows.is_empty() {
            let wanted = self.bytes(first + rows.start, rows.end - rows.start, store.len());
            let Some((begin, length)) = wanted else {
                return Err(Error::corrupt(store.name(), None, "the file ends before its records"));
            };
            part.fetch(store, begin, length as usize, |part, bytes| self.give(bytes, local, &rows, part))?;
            rows = rows.end..(rows.end + at_once).min(count);
        }
        Ok(())
    }

    /// Brings the values of some records, whose bytes these are, to their places.
    fn give(&self, bytes: &[u8], local: &Hyperslab, rows: &Range<u64>, part: &mut Part<'_>) -> Result<()> {
        let mut steps = Vec::with_capacity(local.rank());
        for (array, layout) in self.layouts.iter().enumerate() {
            let Some(Runs { begin, .. }) = layout.runs() else { continue };
            steps_of(layout, self.stride, &mut steps);
            let inside: u64 = local.start.iter().zip(&steps).skip(1).map(|(s, step)| s * step).sum();
            let at = begin - self.low + inside;
            let element = &layout.element;
            part.take(array, &Rows { bytes, at, steps: &steps, element, rows: rows.clone() })?;
        }
        Ok(())
    }
}

/// Bytes from an element of a record variable to the next, along each dimension.
fn steps_of(layout: &VarLayout, stride: u64, steps: &mut Vec<u64>) {
    steps.clear();
    let mut step = layout.element.size as u64;
    for &n in layout.shape.iter().skip(1).rev() {
        steps.push(step);
        step *= n;
    }
    steps.push(stride);
    steps.reverse();
}
