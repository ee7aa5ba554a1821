//! Reading a selection, whatever the variable's place.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::ahead::{Ahead, Request};
use super::boxes;
use super::chunked;
use super::direct;
use super::shared::SharedOut;
use super::source::{How, Keep, Source};
use super::stats::add;
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
    if var.0 < container.schema().vars.len() {
        let layout = container.layout(var)?;
        if let Some((offset, len)) = direct::run(&layout, slab)
            && len == out.len()
            && read_run(engine, container, &layout, offset, out)
        {
            return Ok(());
        }
    }
    let layout = checked_layout(container, var, slab)?;
    check_plain(&layout)?;
    read_stored(engine, container, var, &layout, slab, out)
}

/// Reads one run in the shortest way; whether it could be read so.
fn read_run(
    engine: &Engine,
    container: &dyn Container,
    layout: &VarLayout,
    offset: u64,
    out: &mut [u8],
) -> bool {
    if !direct::read(&**container.store(), offset, out) {
        return false;
    }
    kernels::order_in_place(out, &layout.element);
    let inner = &*engine.inner;
    inner.reads.fetch_add(1, Ordering::Relaxed);
    add(&inner.counters.fetched, out.len() as u64);
    add(&inner.counters.delivered, out.len() as u64);
    true
}

pub(super) fn read(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
) -> Result<Values> {
    if var.0 < container.schema().vars.len() {
        let layout = container.layout(var)?;
        if let Some((offset, len)) = direct::run(&layout, slab) {
            let mut bytes = engine.inner.results.buffer(len);
            if read_run(engine, container, &layout, offset, &mut bytes) {
                return Ok(Values::Fixed(bytes));
            }
        }
    }
    let layout = checked_layout(container, var, slab)?;
    let len = result_bytes(slab, &layout)?;
    check_memory(&layout, len)?;
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
        return Err(Error::not_chunked(&layout.name));
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
pub(super) fn checked_layout(
    container: &dyn Container,
    var: VarId,
    slab: &Hyperslab,
) -> Result<Arc<VarLayout>> {
    layout_if(container, var, |shape, name| slab.check(shape, name))
}

/// The layout of a variable, if a selection `fits` its current shape.
pub(super) fn layout_if(
    container: &dyn Container,
    var: VarId,
    fits: impl FnOnce(&[u64], &str) -> Result<()>,
) -> Result<Arc<VarLayout>> {
    let schema = container.schema();
    if var.0 >= schema.vars.len() {
        return Err(Error::NoSuchId { kind: "variable", id: var.0 });
    }
    let layout = container.layout(var)?;
    let shape = schema.shape(var);
    fits(&shape, &layout.name)?;
    if layout.shape.len() != shape.len() {
        return Err(Error::corrupt(
            container.store().name(),
            None,
            format!(
                "`{}` has {} dimensions and is stored with {}",
                layout.name,
                shape.len(),
                layout.shape.len()
            ),
        ));
    }
    Ok(layout)
}

/// An error for what has no plain bytes.
pub(super) fn check_plain(layout: &VarLayout) -> Result<()> {
    if layout.element.heap {
        let name = layout.name.clone();
        return Err(Error::WrongKind {
            name,
            what: "holds strings or ragged rows, which have no plain bytes",
        });
    }
    Ok(())
}

/// What no machine could hold is refused here instead of by the allocator, which would end the process.
pub(super) fn check_memory(layout: &VarLayout, needed: u64) -> Result<()> {
    let budget = machine::memory();
    if needed > budget {
        return Err(Error::Budget { what: format!("reading `{}`", layout.name), needed, budget });
    }
    Ok(())
}

/// An error unless the destination has as many bytes as the selection.
pub(super) fn check_room(layout: &VarLayout, want: u64, out: &[u8]) -> Result<()> {
    if out.len() as u64 != want {
        return Err(Error::Length(format!(
            "`{}`: the selection has {want} bytes, the destination {}",
            layout.name,
            out.len()
        )));
    }
    Ok(())
}

pub(super) fn result_bytes(slab: &Hyperslab, layout: &VarLayout) -> Result<u64> {
    slab.count
        .iter()
        .try_fold(layout.element.size as u64, |n, &c| n.checked_mul(c))
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or_else(|| Error::TooLarge(format!("a selection of `{}` is too large to address", layout.name)))
}

/// Reads elements: fixed-size ones into native order, heap ones as they are stored.
fn read_stored(
    engine: &Engine,
    container: &dyn Container,
    var: VarId,
    layout: &Arc<VarLayout>,
    slab: &Hyperslab,
    out: &mut [u8],
) -> Result<()> {
    let want = result_bytes(slab, layout)?;
    check_room(layout, want, out)?;
    if want == 0 {
        return Ok(());
    }
    let inner = &*engine.inner;
    let number = inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
    let steps = boxes::steps(&slab.count, layout.element.size)?;
    let out = SharedOut::new(out);
    let request = Request { engine, store: container.store(), var, layout, slab, number };
    // SAFETY: `out` is ours.
    let delivered = unsafe { request.read_ahead(&steps, &out) };
    if delivered == Ahead::Delivered {
        add(&inner.counters.delivered, want);
        return Ok(());
    }
    let source = Source { engine, store: container.store(), var, layout };
    let how = How { number, parallel: true, keep: Keep::Parts };
    // SAFETY: `out` is ours.
    unsafe { source.read(slab, &steps, &out, how)? };
    add(&inner.counters.delivered, want);
    if delivered == Ahead::Watched {
        request.look_further();
    }
    Ok(())
}
