//! Fill values for elements that were never written.

use super::Engine;
use super::axes::memory_axes;
use super::boxes::{self, Axis};
use super::policy::FILL_BLOCK;
use super::shared::SharedOut;
use crate::error::Result;
use crate::layout::VarLayout;
use crate::model::shape;
use crate::select::Hyperslab;

/// Fills what lies beyond the extents that the file holds; gives the part that it holds.
///
/// # Safety
/// Nobody else may touch the selection's elements in the destination meanwhile.
pub(super) unsafe fn fill_beyond(
    engine: &Engine,
    layout: &VarLayout,
    slab: &Hyperslab,
    steps: &[u64],
    out: &SharedOut<'_>,
) -> Result<Hyperslab> {
    let mut held = slab.clone();
    let fill = layout.past_end();
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
        let axes = memory_axes(&count, steps);
        // SAFETY: as for us.
        unsafe { fill_parallel(engine, &fill, out, inside * steps[d], axes, layout.element.size)? };
    }
    Ok(held)
}

/// # Safety
/// Nobody else may touch the box's elements in the destination meanwhile.
pub(super) unsafe fn fill_parallel(
    engine: &Engine,
    fill: &[u8],
    out: &SharedOut<'_>,
    to: u64,
    axes: Vec<Axis>,
    size: usize,
) -> Result<()> {
    let axes = boxes::merge(axes, size);
    let (first, rest) = axes.split_first().expect("merged axes are never empty");
    let row_bytes = shape::product(rest.iter().map(|a| a.count)).saturating_mul(size as u64);
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
