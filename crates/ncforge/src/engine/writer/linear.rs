//! Writes into variables that are stored as they are: contiguous, records, inline.

use super::super::align::{self, Aligned};
use super::super::boxes::{self, Axis};
use super::super::columns::Column;
use super::super::fetch::Joining;
use super::super::fetch::strips::{Side, Strips, Unit};
use super::super::policy::{DETOUR_FROM, WRITE_BLOCK, WRITE_PARALLEL, WRITE_PLAIN_BLOCK, WRITE_RESERVE};
use super::super::shared::SharedOut;
use super::super::{Engine, axes};
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::layout::{NotFollowed, Order, Place, VarLayout};
use crate::model::VarId;
use crate::select::Hyperslab;
use crate::store::WriteStore;

/// Writes a selection that was announced to the container already.
///
/// `gap`: up to this many bytes of others between two runs are read and written back, so that there are
/// fewer requests; 0 where others may be writing them at the same time.
#[expect(clippy::too_many_arguments, reason = "the two callers have them apart")]
pub(super) fn write(
    engine: &Engine,
    container: &mut dyn ContainerMut,
    var: VarId,
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
    bytes: &[u8],
    gap: u64,
) -> Result<()> {
    slab.check(&layout.shape, &layout.name)?;
    let (offset, box_axes) = match &layout.place {
        Place::Contiguous { offset } => {
            let (from, axes) = axes::dense_axes(layout, slab, memory_steps)?;
            (offset.saturating_add(from), axes)
        }
        Place::Records { begin, stride } => {
            let (from, axes) = axes::record_axes(layout, slab, memory_steps, *stride)?;
            (begin.saturating_add(from), axes)
        }
        Place::Inline(old) => return write_inline(container, var, layout, slab, memory_steps, bytes, old),
        Place::Nowhere | Place::Chunked { .. } | Place::Parts(_) => {
            return Err(Error::Unsupported {
                path: format!("{}: {}", container.store().name(), layout.name),
                what: "writing to a variable without a place in the file".to_owned(),
            });
        }
        Place::Unsupported(what) | Place::NotFollowed(NotFollowed { why: what, .. }) => {
            return Err(Error::Unsupported {
                path: format!("{}: {}", container.store().name(), layout.name),
                what: what.clone(),
            });
        }
    };
    let size = layout.element.size;
    let axes = boxes::merge(box_axes.into_iter().map(Axis::reversed), size);
    let plain = layout.element.order == Order::Keep;
    let block = if plain { WRITE_PLAIN_BLOCK } else { WRITE_BLOCK };
    let job = Job { engine, store: &**container.write_store(), offset, layout, bytes };
    if let Some(len) = boxes::single_run(&axes, size) {
        return job.write_run(len, block, plain);
    }
    if let Some(column) = Column::of(job.store, offset, &axes, Side::To, size) {
        return column.write(engine, offset, &axes, bytes, &layout.element);
    }
    let strips = Strips::new(axes, Side::To, size, Joining { gap, most: block });
    let per_task = (block / strips.unit_bytes().max(1)).max(1);
    let tasks = strips.len().div_ceil(per_task);
    // A store that works in parallel itself takes what it gets in order: its bytes depend on it.
    let parallel = bytes.len() as u64 >= WRITE_PARALLEL && job.store.blocks().is_none();
    engine.inner.pool.run(tasks as usize, parallel, |task| {
        let first = task as u64 * per_task;
        (first..(first + per_task).min(strips.len())).try_for_each(|u| job.write_unit(&strips.unit(u)))
    })
}

struct Job<'a> {
    engine: &'a Engine,
    store: &'a dyn WriteStore,
    offset: u64,
    layout: &'a VarLayout,
    bytes: &'a [u8],
}

impl Job<'_> {
    /// Writes a selection that is one run of bytes on both sides.
    ///
    /// It is cut where the *file's* blocks end, as far as elements allow: the system keeps what is written in the
    /// largest pages that fit between the ends of a request, and those must begin at multiples of their size.
    /// (Measured, 200 MB in requests of 512 KiB from byte 184 on: 54 ms, cut at multiples 48 ms, with the space
    /// reserved as well 36 ms.)
    fn write_run(&self, len: u64, block: u64, plain: bool) -> Result<()> {
        if len >= WRITE_RESERVE {
            self.store.reserve(self.offset, len)?;
        }
        let size = self.layout.element.size as u64;
        let step = (block / size * size).max(size);
        let lead = (step - self.offset % step) / size * size;
        let tasks = len.saturating_sub(lead).div_ceil(step) + u64::from(lead > 0);
        // Requests to write one file wait for each other: other threads help only where there is work besides.
        let pays = len >= WRITE_PARALLEL && !plain && self.store.blocks().is_none();
        self.engine.inner.pool.run(tasks as usize, pays, |task| {
            let cut = |n: u64| (lead + n * step).min(len);
            let n = task as u64;
            let (from, to) =
                if lead == 0 { (cut(n), cut(n + 1)) } else { (n.checked_sub(1).map_or(0, cut), cut(n)) };
            let axes = vec![Axis { count: (to - from) / size, from: size, to: size }];
            self.write_unit(&Unit { from, to: from, axes, span: to - from })
        })
    }

    fn write_unit(&self, unit: &Unit) -> Result<()> {
        let element = &self.layout.element;
        let offset = self.offset.saturating_add(unit.to);
        let run = boxes::single_run(&unit.axes, element.size);
        if let (Some(len), Order::Keep) = (run, &element.order) {
            let from = unit.from as usize;
            let plain = &self.bytes[from..from + len as usize];
            if plain.len() < DETOUR_FROM || !align::slow_to_write(plain, offset) {
                return self.store.write_at(plain, offset);
            }
            let mut at = offset;
            for part in plain.chunks(WRITE_BLOCK as usize) {
                let mut block = Aligned::detour(&self.engine.inner.scratch, part.len(), at)?;
                block.bytes().copy_from_slice(part);
                self.store.write_at(block.bytes(), at)?;
                at += part.len() as u64;
            }
            return Ok(());
        }
        let mut block = Aligned::new(&self.engine.inner.scratch, unit.span as usize, offset)?;
        let block = block.bytes();
        if run.is_none() && unit.span > element.size as u64 {
            // There are gaps: what stands in them stays.
            let there = self.store.len().saturating_sub(offset).min(unit.span) as usize;
            if there > 0 {
                self.store.read_at(&mut block[..there], offset)?;
            }
            block[there..].fill(0);
        }
        // SAFETY: the block is this thread's own.
        unsafe {
            boxes::move_box(self.bytes, unit.from, &SharedOut::new(block), 0, &unit.axes, element);
        }
        self.store.write_at(block, offset)
    }
}

fn write_inline(
    container: &mut dyn ContainerMut,
    var: VarId,
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
    bytes: &[u8],
    old: &[u8],
) -> Result<()> {
    let size = layout.element.size;
    let (to, axes) = axes::dense_axes(layout, slab, memory_steps)?;
    let whole = Hyperslab::all(&layout.shape).len().saturating_mul(size as u64);
    if old.len() as u64 != whole {
        return Err(Error::corrupt(
            container.store().name(),
            None,
            format!("`{}` stores {} bytes, its shape asks for {whole}", layout.name, old.len()),
        ));
    }
    let mut new = old.to_vec();
    let axes = boxes::merge(axes.into_iter().map(Axis::reversed), size);
    // SAFETY: `new` is ours alone.
    unsafe { boxes::move_box(bytes, 0, &SharedOut::new(&mut new), to, &axes, &layout.element) };
    container.place_inline(var, &new)
}
