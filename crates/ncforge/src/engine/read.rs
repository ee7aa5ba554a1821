//! Reading a selection, whatever the variable's place.
//!
//! A selection that is one run of bytes in the store is read straight into its place. Single values, rows and whole
//! slabs of variables that are stored as they are (classic ones above all) need no plan, no pool and no scratch memory:
//! with them a read of four bytes would cost twice the system call. All others are served from what was read ahead, or
//! read as the variable is stored ([`Source`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::ahead::{Ahead, Request};
use super::checks::{check_memory, check_plain, check_room, checked_layout, result_bytes};
use super::chunked::PartialRequests;
use super::how::{How, Keep};
use super::shared::SharedOut;
use super::source::Source;
use super::stats::add;
use super::{Engine, axes, boxes};
use crate::codec::kernels;
use crate::container::Container;
use crate::error::Result;
use crate::layout::VarLayout;
use crate::model::{Values, VarId};
use crate::select::Hyperslab;

impl Engine {
    /// Reads a selection of a variable of a fixed-size type into `out`: row-major, no gaps, native byte order.
    /// `out` must have exactly the selection's size.
    pub fn read_bytes(
        &self,
        container: &dyn Container,
        var: VarId,
        slab: &Hyperslab,
        out: &mut [u8],
    ) -> Result<()> {
        if var.0 < container.schema().vars.len() {
            let layout = container.layout(var)?;
            if let Some((offset, len)) = axes::run(&layout, slab)
                && len == out.len()
                && read_run(self, container, &layout, offset, out)
            {
                return Ok(());
            }
        }
        let layout = checked_layout(container, var, slab)?;
        check_plain(&layout)?;
        read_stored(self, container, var, &layout, slab, out)
    }

    /// Reads a selection of a variable of any type.
    pub fn read(&self, container: &dyn Container, var: VarId, slab: &Hyperslab) -> Result<Values> {
        if var.0 < container.schema().vars.len() {
            let layout = container.layout(var)?;
            if let Some((offset, len)) = axes::run(&layout, slab) {
                let mut bytes = self.inner.results.buffer(len)?;
                if read_run(self, container, &layout, offset, &mut bytes) {
                    return Ok(Values::Fixed(bytes));
                }
            }
        }
        let layout = checked_layout(container, var, slab)?;
        let len = result_bytes(slab, &layout)?;
        check_memory(&layout, len)?;
        if layout.element.heap && layout.place.parts().is_some() {
            let source = Source { engine: self, store: container.store(), var, layout: &layout };
            let how = How::new(self.inner.reads.fetch_add(1, Ordering::Relaxed) + 1, true, Keep::Parts);
            let decode = |stored: &[u8]| container.decode_heap(var, stored);
            return Ok(Values::Heap(source.read_values(slab, &decode, how)?));
        }
        // Every byte is overwritten, or the buffer is dropped by the error.
        let mut bytes = self.inner.results.buffer(len as usize)?;
        read_stored(self, container, var, &layout, slab, &mut bytes)?;
        if layout.element.heap {
            return Ok(Values::Heap(container.decode_heap(var, &bytes)?));
        }
        Ok(Values::Fixed(bytes))
    }

    /// The requests of a read that decodes segments of chunks with access points; `None` if whole chunks would be read, or there are none.
    /// Tables of access points and places of chunks are fetched for that; no values are.
    pub fn partial_requests(
        &self,
        container: &dyn Container,
        var: VarId,
        slab: &Hyperslab,
    ) -> Result<Option<PartialRequests>> {
        let layout = checked_layout(container, var, slab)?;
        let source = Source { engine: self, store: container.store(), var, layout: &layout };
        let how = How::new(0, false, Keep::Nothing);
        match source.chunked(&[], how) {
            Some(read) if (0..slab.rank()).all(|d| slab.end(d) <= layout.shape[d]) => {
                read.partial_requests(slab)
            }
            _ => Ok(None),
        }
    }
}

/// Reads one run in the shortest way; whether it could be read so.
fn read_run(
    engine: &Engine,
    container: &dyn Container,
    layout: &VarLayout,
    offset: u64,
    out: &mut [u8],
) -> bool {
    // A run that is not there as a whole is handled elsewhere.
    if container.store().read_value(out, offset).is_err() {
        return false;
    }
    kernels::order_in_place(out, &layout.element);
    let inner = &*engine.inner;
    inner.reads.fetch_add(1, Ordering::Relaxed);
    add(&inner.counters.fetched, out.len() as u64);
    add(&inner.counters.delivered, out.len() as u64);
    true
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
    let how = How::new(number, true, Keep::Parts);
    // SAFETY: `out` is ours.
    unsafe { source.read(slab, &steps, &out, how)? };
    add(&inner.counters.delivered, want);
    if delivered == Ahead::Watched {
        request.look_further();
    }
    Ok(())
}
