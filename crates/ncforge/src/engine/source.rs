//! A variable's values where they are stored, and reading any box of them.

use std::sync::Arc;

use super::Engine;
use super::boxes::{self, Axis};
use super::chunked::{self, ChunkedRead};
use super::linear::{LinearBox, PastEnd};
use super::shared::SharedOut;
use super::tuning::FILL_BLOCK;
use crate::codec::kernels;
use crate::error::{Error, Result};
use crate::layout::{Place, VarLayout};
use crate::model::VarId;
use crate::select::Hyperslab;
use crate::store::Store;

/// A variable to read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) engine: &'a Engine,
    pub(super) store: &'a Arc<dyn Store>,
    pub(super) var: VarId,
    pub(super) layout: &'a VarLayout,
}

/// How a box is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// The number of the read, for the cache.
    pub(super) number: u64,
    /// Whether other threads may help.
    pub(super) parallel: bool,
    pub(super) keep: Keep,
}

/// What becomes of decoded chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Those that are read in part are kept.
    Parts,
    /// None is kept, and those that were found are let go: nobody will come back to them.
    Nothing,
}

/// One element in native byte order, as what was never written is read.
pub(crate) fn native_fill(layout: &VarLayout) -> Vec<u8> {
    let mut fill = layout.fill.clone();
    if fill.len() != layout.element.size {
        fill = vec![0; layout.element.size];
    }
    kernels::order_in_place(&mut fill, &layout.element);
    fill
}

impl Source<'_> {
    /// Reads elements: fixed-size ones into native order, heap ones as they are stored. `slab` lies inside the
    /// variable's shape; `steps` are the byte steps of the destination.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn read(
        &self,
        slab: &Hyperslab,
        steps: &[u64],
        out: &SharedOut<'_>,
        how: How,
    ) -> Result<()> {
        let (engine, layout, store) = (self.engine, self.layout, self.store);
        let size = layout.element.size;
        let fill = native_fill(layout);
        // SAFETY: as for us.
        let held = unsafe { fill_beyond(engine, layout, slab, steps, &fill, out)? };
        if held.is_empty() {
            return Ok(());
        }
        match &layout.place {
            Place::Nowhere => {
                // SAFETY: as for us.
                unsafe {
                    fill_parallel(engine, &fill, out, 0, chunked::memory_axes(&held.count, steps), size)
                }
            }
            Place::Inline(bytes) => {
                let (from, axes) = dense_axes(layout, &held, steps)?;
                let axes = boxes::merge(axes, size);
                let last: u64 = axes.iter().map(|a| (a.count - 1) * a.from).sum();
                if from + last + size as u64 > bytes.len() as u64 {
                    return Err(Error::corrupt(
                        store.name(),
                        None,
                        format!("`{}` stores {} bytes, its shape asks for more", layout.name, bytes.len()),
                    ));
                }
                // SAFETY: as for us.
                unsafe { boxes::move_box(bytes, from, out, 0, &axes, &layout.element) };
                Ok(())
            }
            Place::Contiguous { offset } => {
                let (from, axes) = dense_axes(layout, &held, steps)?;
                let part = self.linear(offset.saturating_add(from), axes);
                // SAFETY: as for us.
                unsafe { part.read(engine, out, how.parallel) }
            }
            Place::Records { begin, stride } => {
                let (from, axes) = record_axes(layout, &held, steps, *stride)?;
                let part = self.linear(begin.saturating_add(from), axes);
                // SAFETY: as for us.
                unsafe { part.read(engine, out, how.parallel) }
            }
            Place::Chunked { chunk, codecs, index } => {
                if chunk.len() != held.rank() || chunk.contains(&0) {
                    return Err(Error::corrupt(
                        store.name(),
                        None,
                        format!(
                            "`{}` has {} dimensions and chunks of shape {chunk:?}",
                            layout.name,
                            held.rank()
                        ),
                    ));
                }
                let read = ChunkedRead {
                    engine,
                    store,
                    var: self.var.0,
                    layout,
                    chunk,
                    codecs,
                    index: &**index,
                    fill: &fill,
                    how,
                };
                // SAFETY: as for us.
                unsafe { read.read(&held, steps, out) }
            }
            Place::Unsupported(what) => Err(Error::Unsupported {
                path: format!("{}: {}", store.name(), layout.name),
                what: what.clone(),
            }),
        }
    }

    fn linear(&self, offset: u64, axes: Vec<Axis>) -> LinearBox<'_> {
        LinearBox {
            store: &**self.store,
            offset,
            to: 0,
            axes,
            element: &self.layout.element,
            past_end: PastEnd::Zero,
        }
    }
}

/// Fills what lies beyond the extents that the file holds; gives the part that it holds.
///
/// # Safety
/// Nobody else may touch the selection's elements in the destination meanwhile.
unsafe fn fill_beyond(
    engine: &Engine,
    layout: &VarLayout,
    slab: &Hyperslab,
    steps: &[u64],
    fill: &[u8],
    out: &SharedOut<'_>,
) -> Result<Hyperslab> {
    let mut held = slab.clone();
    for (d, &len) in layout.shape.iter().enumerate() {
        let inside = match len.checked_sub(slab.start[d]) {
            None | Some(0) => 0,
            Some(room) => (room - 1) / slab.stride[d] + 1,
        };
        if inside >= slab.count[d] {
            continue;
        }
        // Dimensions before this one are cut to what is held already: the filled boxes do not overlap.
        let mut count = held.count.clone();
        count[d] -= inside;
        held.count[d] = inside;
        if count.contains(&0) {
            continue;
        }
        let axes = chunked::memory_axes(&count, steps);
        // SAFETY: as for us.
        unsafe { fill_parallel(engine, fill, out, inside * steps[d], axes, layout.element.size)? };
    }
    Ok(held)
}

/// # Safety
/// Nobody else may touch the box's elements in the destination meanwhile.
unsafe fn fill_parallel(
    engine: &Engine,
    fill: &[u8],
    out: &SharedOut<'_>,
    to: u64,
    axes: Vec<Axis>,
    size: usize,
) -> Result<()> {
    let axes = boxes::merge(axes, size);
    let (first, rest) = axes.split_first().expect("merged axes are never empty");
    let row_bytes = rest.iter().fold(size as u64, |n, a| n.saturating_mul(a.count));
    let group = (FILL_BLOCK / row_bytes).max(1);
    let tasks = first.count.div_ceil(group);
    engine.inner.pool.run(tasks as usize, tasks > 1, |task| {
        let start = task as u64 * group;
        let mut part = vec![Axis { count: group.min(first.count - start), ..*first }];
        part.extend_from_slice(rest);
        // SAFETY: the parts are disjoint, and the whole is the caller's alone.
        unsafe { boxes::fill_box(fill, out, to + start * first.to, &part, size) };
        Ok(())
    })
}

/// A selection of a dense row-major array: byte of its first element, and its axes.
pub(super) fn dense_axes(
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
) -> Result<(u64, Vec<Axis>)> {
    axes_of(&boxes::steps(&layout.shape, layout.element.size)?, slab, memory_steps, &layout.name)
}

/// A selection of classic records: byte of its first element from record 0, and its axes.
pub(super) fn record_axes(
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
    stride: u64,
) -> Result<(u64, Vec<Axis>)> {
    let mut steps = boxes::steps(layout.shape.get(1..).unwrap_or(&[]), layout.element.size)?;
    steps.insert(0, stride);
    axes_of(&steps, slab, memory_steps, &layout.name)
}

fn axes_of(
    file_steps: &[u64],
    slab: &Hyperslab,
    memory_steps: &[u64],
    name: &str,
) -> Result<(u64, Vec<Axis>)> {
    let too_far = || Error::TooLarge(format!("`{name}` reaches beyond any file"));
    let mut first = 0u64;
    let mut axes = Vec::with_capacity(slab.rank());
    for d in 0..slab.rank() {
        let last = slab.end(d).saturating_sub(1).checked_mul(file_steps[d]);
        last.and_then(|n| n.checked_add(first)).filter(|&n| i64::try_from(n).is_ok()).ok_or_else(too_far)?;
        first += slab.start[d] * file_steps[d];
        let from = if slab.count[d] > 1 { file_steps[d] * slab.stride[d] } else { 0 };
        axes.push(Axis { count: slab.count[d], from, to: memory_steps[d] });
    }
    Ok((first, axes))
}
