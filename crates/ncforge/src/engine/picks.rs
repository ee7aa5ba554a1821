//! Reads positions that are picked one by one: scattered points, lists of rows and columns.
//!
//! The selection is cut along the cells of the variable (its chunks; runs of a row-major array) first: positions
//! that meet the same cell are served together. So every chunk is fetched and decoded once, whatever the order
//! of the positions, and cells nobody asked for are not touched.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::checks::{check_memory, check_plain, check_room, layout_if};
use super::how::{How, Keep};
use super::read::Reading;
use super::shared::SharedOut;
use super::source::Source;
use super::stats::add;
use super::{boxes, fetch};
use crate::buffer;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Place, VarLayout};
use crate::model::{Values, VarId, shape};
use crate::select::{Hyperslab, Pick, Picks};

/// Cells of arrays that are stored row by row have about this many bytes: positions in one are read by one request.
const RUN: u64 = 32 << 10;

impl Reading<'_> {
    /// See [`Engine::read_picks_bytes`](super::Engine::read_picks_bytes).
    pub(super) fn read_picks_bytes(&self, var: VarId, picks: &Picks, out: &mut [u8]) -> Result<()> {
        let layout = checked_layout(self.container, var, picks)?;
        check_plain(&layout)?;
        read_stored(self, var, &layout, picks, out)
    }

    /// See [`Engine::read_picks`](super::Engine::read_picks).
    pub(super) fn read_picks(&self, var: VarId, picks: &Picks) -> Result<Values> {
        let (engine, container) = (self.engine, self.container);
        let layout = checked_layout(container, var, picks)?;
        let bytes = picks.len().saturating_mul(layout.element.size as u64);
        check_memory(&layout, bytes)?;
        if layout.element.heap && layout.place.parts().is_some() {
            let how = How::new(engine.inner.reads.fetch_add(1, Ordering::Relaxed) + 1, true, Keep::Parts);
            let decode = |stored: &[u8]| container.decode_heap(var, stored);
            return Ok(Values::Heap(self.source(var, &layout).pick_values(picks, &decode, how)?));
        }
        let mut out = engine.inner.results.buffer(bytes as usize)?;
        read_stored(self, var, &layout, picks, &mut out)?;
        if layout.element.heap {
            return Ok(Values::Heap(container.decode_heap(var, &out)?));
        }
        Ok(Values::Fixed(out))
    }
}

fn checked_layout(container: &dyn Container, var: VarId, picks: &Picks) -> Result<Arc<VarLayout>> {
    layout_if(container, var, |shape, name| picks.check(shape, name))
}

fn read_stored(
    reading: &Reading<'_>,
    var: VarId,
    layout: &Arc<VarLayout>,
    picks: &Picks,
    out: &mut [u8],
) -> Result<()> {
    let (engine, container) = (reading.engine, reading.container);
    let size = layout.element.size;
    let out_steps = boxes::steps(&picks.shape(), size)?;
    let want = picks.len().saturating_mul(size as u64);
    check_room(layout, want, out)?;
    if want == 0 {
        return Ok(());
    }
    let cell = cell_of(layout, container.schema().shape(var).len());
    let axes: Vec<Axis<'_>> =
        picks.axes().iter().zip(&out_steps).map(|(pick, &step)| Axis::new(pick, &cell, step)).collect();
    let tasks = axes
        .iter()
        .try_fold(1usize, |n, a| n.checked_mul(a.groups.len()))
        .ok_or_else(|| Error::TooLarge(format!("a selection of `{}` is too large", layout.name)))?;
    let number = engine.inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
    let out = SharedOut::new(out);
    let work = Work {
        source: reading.source(var, layout),
        how: How::new(number, tasks == 1, Keep::Parts),
        rank: cell.len(),
        size,
        axes,
    };
    // SAFETY: every element of the result belongs to one task, and all of it is ours.
    let task = |task| unsafe { work.run(task, &out) };
    let profile = container.store().io_profile();
    match profile.has_latency() {
        true => fetch::side_by_side(tasks, profile.in_flight, task)?,
        false => engine.inner.pool.run(tasks, tasks > 1, task)?,
    }
    add(&engine.inner.counters.delivered, want);
    Ok(())
}

/// Lengths of the cells: chunks; for arrays that are stored row by row, runs of a page or several.
fn cell_of(layout: &VarLayout, rank: usize) -> Vec<u64> {
    if let Place::Chunked { chunk, .. } = &layout.place
        && chunk.len() == rank
        && !chunk.contains(&0)
    {
        return chunk.clone();
    }
    let mut room = (RUN / layout.element.size as u64).max(1);
    let mut cell = vec![1; rank];
    for (slot, &len) in cell.iter_mut().zip(&layout.shape).rev() {
        *slot = len.clamp(1, room);
        room /= *slot;
        if *slot < len {
            break;
        }
    }
    cell
}

/// One axis of the result.
struct Axis<'a> {
    pick: &'a Pick,
    /// The positions, those of one cell together.
    entries: Vec<Entry>,
    /// Runs of `entries` that lie in one cell.
    groups: Vec<std::ops::Range<usize>>,
}

/// A position.
struct Entry {
    /// The position of its first number in the pick.
    at: usize,
    /// Its place on the axis, in bytes of the result.
    to: u64,
}

impl<'a> Axis<'a> {
    fn new(pick: &'a Pick, cell: &[u64], step: u64) -> Self {
        let dims = pick.dims.len();
        let mut entries: Vec<Entry> = (0..pick.at.len() / dims)
            .zip(0u64..)
            .map(|(i, number)| Entry { at: i * dims, to: number * step })
            .collect();
        let cells: Vec<u64> =
            pick.at.iter().zip(pick.dims.iter().cycle()).map(|(&at, &d)| at / cell[d]).collect();
        let of = |e: &Entry| &cells[e.at..][..dims];
        let order = |a: &Entry, b: &Entry| of(a).cmp(of(b));
        // Keeps the order inside a cell, so that what is adjacent stays so.
        entries.sort_by(order);
        let mut groups = Vec::new();
        let mut first = 0;
        for i in 1..=entries.len() {
            if i == entries.len() || order(&entries[first], &entries[i]).is_ne() {
                groups.push(first..i);
                first = i;
            }
        }
        Self { pick, entries, groups }
    }

    /// The dimensions and numbers of a position.
    fn position(&self, entry: &Entry) -> impl Iterator<Item = (usize, u64)> {
        self.pick.dims.iter().copied().zip(self.pick.at[entry.at..].iter().copied())
    }
}

struct Work<'a> {
    source: Source<'a>,
    how: How,
    rank: usize,
    size: usize,
    axes: Vec<Axis<'a>>,
}

/// Elements that are adjacent in a cell's box and in the result.
struct Run {
    from: u64,
    to: u64,
    len: u64,
}

impl Work<'_> {
    /// Reads the smallest box that holds what is wanted of one cell, and takes it out of there.
    ///
    /// # Safety
    /// Nobody else may touch this task's elements of the result meanwhile.
    unsafe fn run(&self, task: usize, out: &SharedOut<'_>) -> Result<()> {
        let mut rest = task;
        let mut parts: Vec<&[Entry]> = vec![&[]; self.axes.len()];
        for (part, axis) in parts.iter_mut().zip(&self.axes).rev() {
            *part = &axis.entries[axis.groups[rest % axis.groups.len()].clone()];
            rest /= axis.groups.len();
        }
        let (mut first, mut last) = (vec![u64::MAX; self.rank], vec![0; self.rank]);
        for (part, axis) in parts.iter().zip(&self.axes) {
            for entry in *part {
                for (d, at) in axis.position(entry) {
                    first[d] = first[d].min(at);
                    last[d] = last[d].max(at);
                }
            }
        }
        let count: Vec<u64> = first.iter().zip(&last).map(|(&f, &l)| l - f + 1).collect();
        let steps = boxes::steps(&count, self.size)?;
        let bytes = shape::bytes(&count, self.size as u64);
        // A damaged chunk shape must not become an allocation.
        check_memory(self.source.layout, bytes)?;
        let mut held = buffer::filled(0, bytes as usize)?;
        let slab = Hyperslab::new(&first, &count);
        // SAFETY: the box is this task's own.
        unsafe { self.source.read(&slab, &steps, &SharedOut::new(&mut held), self.how)? };
        let runs: Vec<Vec<Run>> = parts
            .iter()
            .zip(&self.axes)
            .enumerate()
            .map(|(a, (part, axis))| {
                let from =
                    |e: &Entry| -> u64 { axis.position(e).map(|(d, at)| (at - first[d]) * steps[d]).sum() };
                let joined = a + 1 == self.axes.len();
                runs(part.iter().map(|e| (from(e), e.to)), self.size as u64, joined)
            })
            .collect();
        // SAFETY: as for us.
        unsafe { copy(&runs, 0, 0, &held, out) };
        Ok(())
    }
}

/// Single elements, or those of the last axis `joined` where they are adjacent.
fn runs(entries: impl Iterator<Item = (u64, u64)>, size: u64, joined: bool) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (from, to) in entries {
        match out.last_mut() {
            Some(run) if joined && from == run.from + run.len && to == run.to + run.len => run.len += size,
            _ => out.push(Run { from, to, len: size }),
        }
    }
    out
}

/// # Safety
/// Nobody else may touch these elements of the result meanwhile.
unsafe fn copy(runs: &[Vec<Run>], from: u64, to: u64, held: &[u8], out: &SharedOut<'_>) {
    match runs {
        // An array of no dimensions: its one element.
        // SAFETY: as for us.
        [] => unsafe { out.slice(to as usize, held.len()) }.copy_from_slice(held),
        [last] => {
            for run in last {
                let source = &held[(from + run.from) as usize..][..run.len as usize];
                // SAFETY: as for us.
                unsafe { out.slice((to + run.to) as usize, source.len()) }.copy_from_slice(source);
            }
        }
        [first, inner @ ..] => {
            for run in first {
                // SAFETY: as for us.
                unsafe { copy(inner, from + run.from, to + run.to, held, out) };
            }
        }
    }
}
