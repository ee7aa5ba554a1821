//! Boxes of records whose variables a store holds apart: a variable is moved without what lies between its records.

use super::align::Aligned;
use super::boxes::{self, Axis};
use super::fetch::strips::Side;
use super::policy::{READ_PARALLEL, READ_TASK, WRITE_BLOCK};
use super::shared::SharedOut;
use super::stats::add;
use super::{Engine, Inner};
use crate::error::Result;
use crate::layout::Element;
use crate::store::{BlockStore, ReadStore};

/// Equal runs of bytes at equal distances in a store.
pub(super) struct Column<'a> {
    /// How many.
    n: u64,
    /// Bytes of each.
    run: u64,
    /// Bytes from one to the next.
    step: u64,
    /// The store that has it.
    blocks: &'a dyn BlockStore,
}

impl<'a> Column<'a> {
    /// The column that merged axes are, if they are one and the store holds it together.
    pub(super) fn of(
        store: &'a dyn ReadStore,
        offset: u64,
        axes: &[Axis],
        side: Side,
        size: usize,
    ) -> Option<Self> {
        let blocks = store.blocks()?;
        let size = size as u64;
        let (first, run) = match axes {
            [a] => (a, size),
            [a, b] if side.step(b) == size => (a, size.checked_mul(b.count)?),
            _ => return None,
        };
        let (n, step) = (first.count, side.step(first));
        (n > 1 && step > run && blocks.has_column(offset, run, step, n)).then_some(Column {
            n,
            run,
            step,
            blocks,
        })
    }

    /// Bytes from the first run's first to the last one's last.
    pub(super) fn span(&self) -> u64 {
        (self.n - 1) * self.step + self.run
    }

    /// Reads the box.
    ///
    /// # Safety
    /// Nobody else may touch the box's elements in the destination meanwhile.
    pub(super) unsafe fn read(
        &self,
        offset: u64,
        axes: &[Axis],
        element: &Element,
        engine: &Engine,
        (out, to): (&SharedOut<'_>, u64),
        parallel: bool,
    ) -> Result<()> {
        let inner: &Inner = &engine.inner;
        let each = (READ_TASK / self.run).max(1);
        let many = parallel && self.n * self.run >= READ_PARALLEL;
        inner.pool.run(self.n.div_ceil(each) as usize, many, |task| {
            let first = task as u64 * each;
            let n = each.min(self.n - first);
            let bytes = n * self.run;
            let mut scratch = Aligned::new(&inner.scratch, bytes as usize, 0)?;
            add(&inner.counters.fetched, bytes);
            let offset = offset + first * self.step;
            self.blocks.read_column(scratch.bytes(), offset, self.run as usize, self.step)?;
            let mut own = axes.to_vec();
            own[0] = Axis { count: n, from: self.run, to: axes[0].to };
            let own = boxes::merge(own, element.size);
            // SAFETY: tasks have disjoint parts of the caller's box.
            unsafe {
                boxes::move_box(scratch.bytes(), 0, out, to + first * axes[0].to, &own, element);
            }
            Ok(())
        })
    }

    /// Writes the box `axes` from `bytes`.
    pub(super) fn write(
        &self,
        engine: &Engine,
        offset: u64,
        axes: &[Axis],
        bytes: &[u8],
        element: &Element,
    ) -> Result<()> {
        let each = (WRITE_BLOCK / self.run).max(1);
        let mut first = 0;
        while first < self.n {
            let n = each.min(self.n - first);
            let mut scratch = Aligned::new(&engine.inner.scratch, (n * self.run) as usize, 0)?;
            let mut own = axes.to_vec();
            own[0] = Axis { count: n, from: axes[0].from, to: self.run };
            let own = boxes::merge(own, element.size);
            let from = first * axes[0].from;
            // SAFETY: the scratch memory is this function's own.
            unsafe { boxes::move_box(bytes, from, &SharedOut::new(scratch.bytes()), 0, &own, element) };
            self.blocks.write_column(
                scratch.bytes(),
                offset + first * self.step,
                self.run as usize,
                self.step,
            )?;
            first += n;
        }
        Ok(())
    }
}
