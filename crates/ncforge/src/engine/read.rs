//! Reading a selection, whatever the variable's place.

use std::sync::atomic::Ordering;

use super::boxes::{self, Axis};
use super::chunked::{self, ChunkedRead};
use super::linear::{LinearBox, PastEnd};
use super::shared::SharedOut;
use super::stats::add;
use super::tuning::FILL_BLOCK;
use super::{Engine, machine};
use crate::codec::kernels;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Place, VarLayout};
use crate::model::{Values, VarId};
use crate::select::Hyperslab;

pub(super) fn read_bytes(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
    out: &mut [u8],
) -> Result<()> {
    let layout = checked_layout(container, var, slab)?;
    if layout.element.heap {
        return Err(Error::Invalid(format!(
            "`{}` holds strings or ragged rows, which have no plain bytes",
            layout.name
        )));
    }
    read_stored(engine, container, var, &layout, slab, out)
}

pub(super) fn read(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
) -> Result<Values> {
    let layout = checked_layout(container, var, slab)?;
    let len = result_bytes(slab, &layout)?;
    // What no machine could hold is refused here instead of by the allocator.
    if len > machine::memory() {
        return Err(Error::Budget {
            what: format!("reading `{}`", layout.name),
            needed: len,
            budget: machine::memory(),
        });
    }
    // Every byte is overwritten, or the buffer is dropped by the error.
    let mut bytes = engine.inner.results.buffer(len as usize);
    read_stored(engine, container, var, &layout, slab, &mut bytes)?;
    if layout.element.heap {
        return Ok(Values::Heap(container.decode_heap(var, &bytes)?));
    }
    Ok(Values::Fixed(bytes))
}

pub(super) fn raw_chunk(container: &dyn Container, var: VarId, at: &[u64]) -> Result<Option<(Vec<u8>, u32)>> {
    let layout = container.layout(var)?;
    let Place::Chunked { chunk, index, .. } = &layout.place else {
        return Err(Error::Invalid(format!("`{}` is not stored in chunks", layout.name)));
    };
    if at.len() != chunk.len() {
        return Err(Error::Invalid(format!("`{}` has no chunk {at:?}", layout.name)));
    }
    let store = container.store();
    let explain = |e, offset| chunked::explain(e, store.name(), &layout.name, at, offset);
    let Some(record) = index.get(at).map_err(|e| explain(e, None))? else { return Ok(None) };
    let bytes = store.read_vec(record.offset, record.len).map_err(|e| explain(e, Some(record.offset)))?;
    Ok(Some((bytes, record.mask)))
}

/// The layout of a variable, once the selection is known to lie inside its current shape.
fn checked_layout(
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
) -> Result<std::sync::Arc<VarLayout>> {
    let schema = container.schema();
    if var.0 >= schema.vars.len() {
        return Err(Error::Invalid(format!("there is no variable number {}", var.0)));
    }
    let layout = container.layout(var)?;
    slab.check(&schema.shape(var), &layout.name)?;
    if layout.shape.len() != slab.rank() {
        return Err(Error::Invalid(format!("`{}`: {} stored dimensions", layout.name, layout.shape.len())));
    }
    Ok(layout)
}

fn result_bytes(slab: &Hyperslab, layout: &VarLayout) -> Result<u64> {
    slab.count
        .iter()
        .try_fold(layout.element.size as u64, |n, &c| n.checked_mul(c))
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or_else(|| Error::Invalid(format!("a selection of `{}` is too large to address", layout.name)))
}

/// Reads elements: fixed-size ones into native order, heap ones as they are stored.
fn read_stored(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    layout: &VarLayout,
    slab: &Hyperslab,
    out: &mut [u8],
) -> Result<()> {
    let want = result_bytes(slab, layout)?;
    if out.len() as u64 != want {
        return Err(Error::Invalid(format!(
            "`{}`: the selection has {want} bytes, the destination {}",
            layout.name,
            out.len()
        )));
    }
    if want == 0 {
        return Ok(());
    }
    let inner = &*engine.inner;
    let number = inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
    let size = layout.element.size;
    let steps = boxes::steps(&slab.count, size)?;
    let mut fill = layout.fill.clone();
    if fill.len() != size {
        fill = vec![0; size];
    }
    kernels::order_in_place(&mut fill, &layout.element);
    let out = SharedOut::new(out);
    let held = fill_beyond(engine, layout, slab, &steps, &fill, &out)?;
    add(&inner.counters.delivered, want);
    if held.is_empty() {
        return Ok(());
    }
    let store = container.store();
    match &layout.place {
        Place::Nowhere => {
            // SAFETY: `out` is ours.
            unsafe { fill_parallel(engine, &fill, &out, 0, chunked::memory_axes(&held.count, &steps), size) }
        }
        Place::Inline(bytes) => {
            let (from, axes) = dense_axes(layout, &held, &steps)?;
            let axes = boxes::merge(axes, size);
            let last: u64 = axes.iter().map(|a| (a.count - 1) * a.from).sum();
            if from + last + size as u64 > bytes.len() as u64 {
                return Err(Error::corrupt(
                    store.name(),
                    None,
                    format!("`{}` stores {} bytes, its shape asks for more", layout.name, bytes.len()),
                ));
            }
            // SAFETY: `out` is ours.
            unsafe { boxes::move_box(bytes, from, &out, 0, &axes, &layout.element) };
            Ok(())
        }
        Place::Contiguous { offset } => {
            let (from, axes) = dense_axes(layout, &held, &steps)?;
            let part = LinearBox {
                store: &**store,
                offset: offset.saturating_add(from),
                to: 0,
                axes,
                element: &layout.element,
                past_end: PastEnd::Zero,
            };
            // SAFETY: `out` is ours.
            unsafe { part.read(engine, &out, true) }
        }
        Place::Records { begin, stride } => {
            let (from, axes) = record_axes(layout, &held, &steps, *stride)?;
            let part = LinearBox {
                store: &**store,
                offset: begin.saturating_add(from),
                to: 0,
                axes,
                element: &layout.element,
                past_end: PastEnd::Zero,
            };
            // SAFETY: `out` is ours.
            unsafe { part.read(engine, &out, true) }
        }
        Place::Chunked { chunk, codecs, index } => {
            if chunk.len() != held.rank() || chunk.contains(&0) {
                return Err(Error::corrupt(
                    store.name(),
                    None,
                    format!("`{}` has {} dimensions and chunks of shape {chunk:?}", layout.name, held.rank()),
                ));
            }
            let read = ChunkedRead {
                engine,
                store,
                var: var.0,
                layout,
                chunk,
                codecs,
                index: &**index,
                fill: &fill,
                number,
            };
            // SAFETY: `out` is ours.
            unsafe { read.read(&held, &steps, &out) }
        }
        Place::Unsupported(what) => {
            Err(Error::Unsupported { path: format!("{}: {}", store.name(), layout.name), what: what.clone() })
        }
    }
}

/// Fills what lies beyond the extents that the file holds; gives the part that it holds.
fn fill_beyond(
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
        // SAFETY: the destination is borrowed by our caller, and nothing else runs on it.
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
    let too_far = || Error::Invalid(format!("`{name}` reaches beyond any file"));
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
