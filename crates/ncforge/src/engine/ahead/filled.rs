//! A window in memory, which several threads fill and then read.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::super::boxes::{self, Axis};
use super::super::budget::Held;
use super::super::shared::SharedOut;
use super::window::Plan;
use crate::layout::VarLayout;
use crate::select::Hyperslab;

/// Memory that several threads fill and then read, through its address only.
pub(super) struct Shared {
    held: Held,
    pub(super) ptr: *mut u8,
}

// SAFETY: plain bytes that the buffer owns. Parts of a window write to disjoint places of it, each taken by one
// thread; it is read only when all parts have ended, which the flag `ready` orders.
unsafe impl Sync for Shared {}
// SAFETY: as above; the address does not depend on a thread.
unsafe impl Send for Shared {}

impl Shared {
    fn new(mut held: Held) -> Self {
        let ptr = held.buffer.as_mut_ptr();
        Self { held, ptr }
    }
}

/// A box of coming requests in memory, or on its way there.
pub(super) struct Window {
    region: Hyperslab,
    /// Bytes from one index of the region to the next, per axis.
    pub(super) steps: Vec<u64>,
    /// Elements in memory form.
    pub(super) memory: Shared,
    pub(super) len: usize,
    pub(super) bytes: u64,
    /// Disjoint parts of the region and where they begin in memory.
    pub(super) parts: Vec<(Hyperslab, u64)>,
    /// Whether several threads help with one part.
    pub(super) shared: bool,
    /// The number of parts that are taken.
    pub(super) taken: AtomicUsize,
    pub(super) ended: Mutex<usize>,
    pub(super) changed: Condvar,
    pub(super) ready: AtomicBool,
    pub(super) failed: AtomicBool,
    /// True when the window is not wanted any more.
    pub(super) dropped: AtomicBool,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window({:?}, {} bytes)", self.region, self.bytes)
    }
}

impl Window {
    /// A window as planned, cut for `threads` along chunks of lengths `chunk`; or, of a store with latency, filled by one
    /// read, which makes its requests together.
    pub(super) fn new(
        plan: &Plan,
        size: u64,
        chunk: &[u64],
        threads: usize,
        latency: bool,
        memory: Held,
    ) -> Self {
        let mut steps = vec![0; plan.region.rank()];
        let mut step = size;
        for &d in plan.order.iter().rev() {
            steps[d] = step;
            step *= plan.region.count[d];
        }
        let wanted = if threads == 1 || latency { 1 } else { 8 * threads };
        let parts = cut(&plan.region, chunk, wanted)
            .into_iter()
            .map(|part| {
                let at = (0..part.rank())
                    .map(|d| (part.start[d] - plan.region.start[d]) / plan.region.stride[d] * steps[d])
                    .sum();
                (part, at)
            })
            .collect();
        Self {
            region: plan.region.clone(),
            steps,
            memory: Shared::new(memory),
            len: plan.bytes as usize,
            bytes: plan.bytes,
            parts,
            shared: latency,
            taken: AtomicUsize::new(0),
            ended: Mutex::new(0),
            changed: Condvar::new(),
            ready: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
        }
    }

    /// The place of a selection in the window; `None` if not all of it is there. Sizes are those of the window's variable, which the caller
    /// knows.
    pub(super) fn find(&self, slab: &Hyperslab) -> Option<u64> {
        let mut at = 0;
        for (d, &step) in self.steps.iter().enumerate() {
            let (lo, grid, n) = (self.region.start[d], self.region.stride[d], self.region.count[d]);
            let from = slab.start[d].checked_sub(lo)?;
            let on_grid = grid == 1
                || (from.is_multiple_of(grid) && (slab.count[d] <= 1 || slab.stride[d].is_multiple_of(grid)));
            if !on_grid || slab.end(d) > lo + (n - 1) * grid + 1 {
                return None;
            }
            at += from / grid * step;
        }
        Some(at)
    }

    /// Copies a selection that [`Window::find`] found to lie at `at`, once the window is ready. `out_steps` are the
    /// byte steps of the destination.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn copy(
        &self,
        slab: &Hyperslab,
        at: u64,
        layout: &VarLayout,
        out_steps: &[u64],
        out: &SharedOut<'_>,
    ) {
        assert!(self.is_ready(), "the window is filled");
        // SAFETY: all parts have ended: nobody writes any more. The buffer has at least this length.
        let bytes = unsafe { std::slice::from_raw_parts(self.memory.ptr, self.len) };
        let axes = (0..slab.rank()).map(|d| Axis {
            count: slab.count[d],
            from: if slab.count[d] > 1 {
                self.steps[d] * (slab.stride[d] / self.region.stride[d])
            } else {
                0
            },
            to: out_steps[d],
        });
        let element = layout.element.in_memory();
        let axes = boxes::merge(axes, element.size);
        // SAFETY: the caller's promise.
        unsafe { boxes::move_box(bytes, at, out, 0, &axes, &element) };
    }

    /// Whether all of it is there.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Lets go of it: threads that fill it stop.
    pub(super) fn drop_it(&self) {
        self.dropped.store(true, Ordering::Relaxed);
    }

    /// Bytes of its memory.
    pub(super) fn held(&self) -> u64 {
        self.memory.held.bytes()
    }

    /// Its memory, if nobody else uses it.
    pub(super) fn into_memory(self: Arc<Self>) -> Option<Held> {
        Some(Arc::into_inner(self)?.memory.held)
    }
}

/// Cuts a region into about `wanted` parts, along borders of chunks.
fn cut(region: &Hyperslab, chunk: &[u64], wanted: usize) -> Vec<Hyperslab> {
    // Rows of chunks that the region crosses along an axis: the first, and one past the last.
    let rows = |d: usize| (region.start[d] / chunk[d], (region.end(d) - 1) / chunk[d] + 1);
    let mut axes: Vec<usize> = (0..region.rank()).collect();
    axes.sort_by_key(|&d| {
        let (first, end) = rows(d);
        std::cmp::Reverse((end - first).min(region.count[d]))
    });
    let mut parts = vec![region.clone()];
    // Along the axis that crosses most chunks, and along a second one if that was not enough.
    for &d in axes.iter().take(2) {
        let (first, end) = rows(d);
        let groups = (end - first).min(wanted.div_ceil(parts.len()) as u64);
        let mut from = 0;
        let mut cuts = Vec::new();
        for g in 1..=groups {
            // Strides may reach over more rows than times the parts fit a number.
            let row = u128::from(end - first) * u128::from(g) / u128::from(groups);
            let edge = (first + row as u64) * chunk[d];
            let to = (edge - region.start[d]).div_ceil(region.stride[d]).min(region.count[d]);
            if to > from {
                cuts.push((region.start[d] + from * region.stride[d], to - from));
                from = to;
            }
        }
        let cut_one = |part: Hyperslab| {
            cuts.iter().map(move |&(start, count)| {
                let mut piece = part.clone();
                (piece.start[d], piece.count[d]) = (start, count);
                piece
            })
        };
        parts = parts.into_iter().flat_map(cut_one).collect();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_region_once_along_chunk_borders() {
        for (region, chunk) in [
            (Hyperslab::new(&[3, 2], &[20, 9]), vec![4u64, 3]),
            (Hyperslab::strided(&[1, 0], &[7, 2], &[5, 6]), vec![3, 4]),
            (Hyperslab::new(&[0, 0], &[1, 1]), vec![8, 8]),
        ] {
            for wanted in [1, 2, 5, 16, 100] {
                let parts = cut(&region, &chunk, wanted);
                assert!(parts.len() <= 2 * wanted);
                assert_eq!(parts.iter().map(Hyperslab::len).sum::<u64>(), region.len());
                for p in &parts {
                    for (d, &chunk) in chunk.iter().enumerate() {
                        let off = p.start[d] - region.start[d];
                        assert!(off.is_multiple_of(region.stride[d]) && p.end(d) <= region.end(d));
                        // The element before a part's first one lies in another row of chunks.
                        if off > 0 {
                            assert_ne!((p.start[d] - region.stride[d]) / chunk, p.start[d] / chunk);
                        }
                    }
                }
            }
        }
    }
}
