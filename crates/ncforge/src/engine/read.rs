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
use super::newer::Newer;
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

/// A container to read from, and where some of its chunks are newer than in its store.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) engine: &'a Engine,
    pub(super) container: &'a dyn Container,
    pub(super) newer: Option<&'a dyn Newer>,
}

impl<'a> Reading<'a> {
    /// A variable of it.
    pub(super) fn source(&self, var: VarId, layout: &'a VarLayout) -> Source<'a> {
        Source { engine: self.engine, store: self.container.store(), var, layout, newer: self.newer }
    }

    /// See [`Engine::read_bytes`].
    pub(super) fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let container = self.container;
        if var.0 < container.schema().vars.len() {
            let layout = container.layout(var)?;
            if let Some((offset, len)) = axes::run(&layout, slab)
                && len == out.len()
                && read_run(self.engine, container, &layout, offset, out)
            {
                return Ok(());
            }
        }
        let layout = checked_layout(container, var, slab)?;
        check_plain(&layout)?;
        self.read_stored(var, &layout, slab, out)
    }

    /// See [`Engine::read`].
    pub(super) fn read(&self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        let (engine, container) = (self.engine, self.container);
        if var.0 < container.schema().vars.len() {
            let layout = container.layout(var)?;
            if let Some((offset, len)) = axes::run(&layout, slab) {
                let mut bytes = engine.inner.results.buffer(len)?;
                if read_run(engine, container, &layout, offset, &mut bytes) {
                    return Ok(Values::Fixed(bytes));
                }
            }
        }
        let layout = checked_layout(container, var, slab)?;
        let len = result_bytes(slab, &layout)?;
        check_memory(&layout, len)?;
        if layout.element.heap && layout.place.parts().is_some() {
            let how = How::new(engine.inner.reads.fetch_add(1, Ordering::Relaxed) + 1, true, Keep::Parts);
            let decode = |stored: &[u8]| container.decode_heap(var, stored);
            return Ok(Values::Heap(self.source(var, &layout).read_values(slab, &decode, how)?));
        }
        // Every byte is overwritten, or the buffer is dropped by the error.
        let mut bytes = engine.inner.results.buffer(len as usize)?;
        self.read_stored(var, &layout, slab, &mut bytes)?;
        if layout.element.heap {
            return Ok(Values::Heap(container.decode_heap(var, &bytes)?));
        }
        Ok(Values::Fixed(bytes))
    }

    /// Reads elements: fixed-size ones into native order, heap ones as they are stored.
    fn read_stored(
        &self,
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
        let inner = &*self.engine.inner;
        let number = inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
        let steps = boxes::steps(&slab.count, layout.element.size)?;
        let out = SharedOut::new(out);
        let store = self.container.store();
        let request = Request { engine: self.engine, store, var, layout, slab, number };
        let source = self.source(var, layout);
        let how = How::new(number, true, Keep::Parts);
        let is_changing = match source.chunked(&[], how) {
            Some(read) => read.is_changing(slab)?,
            None => false,
        };
        let delivered = match is_changing {
            true => Ahead::Passed,
            // SAFETY: `out` is ours.
            false => unsafe { request.read_ahead(&steps, &out) },
        };
        if delivered == Ahead::Delivered {
            add(&inner.counters.delivered, want);
            return Ok(());
        }
        // SAFETY: `out` is ours.
        unsafe { source.read(slab, &steps, &out, how)? };
        add(&inner.counters.delivered, want);
        if delivered == Ahead::Watched {
            request.look_further();
        }
        Ok(())
    }
}

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
        self.reading(container).read_bytes(var, slab, out)
    }

    /// Reads a selection of a variable of any type.
    pub fn read(&self, container: &dyn Container, var: VarId, slab: &Hyperslab) -> Result<Values> {
        self.reading(container).read(var, slab)
    }

    /// Reads from a container whose store has the newest of everything.
    pub(super) fn reading<'a>(&'a self, container: &'a dyn Container) -> Reading<'a> {
        Reading { engine: self, container, newer: None }
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
        let reading = self.reading(container);
        let source = reading.source(var, &layout);
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
