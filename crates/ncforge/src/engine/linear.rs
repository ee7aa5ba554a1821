//! Reads boxes of row-major arrays that are stored as they are: contiguous variables, records, and chunks
//! without filters.

use std::ops::Range;

use super::align::{self, Aligned};
use super::boxes::{self, Axis};
use super::columns::Column;
use super::fetch::strips::{Side, Strips, Unit};
use super::fetch::{self, Joining};
use super::policy::{
    APART_UNITS, DECODE_PARALLEL, DETOUR_FROM, READ_BLOCK, READ_PARALLEL, READ_TASK, REQUEST_COST,
};
use super::shared::SharedOut;
use super::stats::add;
use super::{Engine, Inner};
use crate::codec::kernels;
use crate::error::{Error, Op, Result};
use crate::layout::Element;
use crate::model::shape;
use crate::store::{ReadStore, past_end};

/// The treatment of a box that runs past the end of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PastEnd {
    /// The missing bytes are zero: classic files may be shorter than their header says.
    Zero,
    /// An error.
    Error,
}

/// A box in the store, ready to be read.
pub(super) struct LinearBox<'a> {
    pub(super) store: &'a dyn ReadStore,
    /// Byte offset of the box's first element in the store.
    pub(super) offset: u64,
    /// Byte offset of the box's first element in the destination.
    pub(super) to: u64,
    /// The box; unmerged, no count is 0.
    pub(super) axes: Vec<Axis>,
    /// The variable's name, for messages.
    pub(super) name: &'a str,
    pub(super) element: &'a Element,
    pub(super) past_end: PastEnd,
}

/// The cost of the whole read, in bytes: of one run no more than the run has. (Counting its last request whole made runs of three
/// quarters of the least that is shared look large enough, and helpers cost more than they brought.)
fn total_cost(run: Option<u64>, strips: &Strips) -> u64 {
    match run {
        Some(bytes) => bytes.saturating_add(strips.len().saturating_mul(REQUEST_COST)),
        None => strips.unit_bytes().saturating_add(REQUEST_COST).saturating_mul(strips.len()),
    }
}

impl LinearBox<'_> {
    /// Reads the box into the destination, on several threads where it pays.
    ///
    /// # Safety
    /// Nobody else may touch the box's elements in the destination meanwhile.
    pub(super) unsafe fn read(self, engine: &Engine, out: &SharedOut<'_>, parallel: bool) -> Result<()> {
        let inner = &*engine.inner;
        let axes = boxes::merge(self.axes.iter().copied(), self.element.size);
        let column = Column::of(self.store, self.offset, &axes, Side::From, self.element.size);
        if let Some(column) = column.filter(|c| self.offset + c.span() <= self.store.len()) {
            // SAFETY: as for us.
            return unsafe {
                column.read(self.offset, &axes, self.element, engine, (out, self.to), parallel)
            };
        }
        let profile = self.store.io_profile();
        if profile.has_latency() {
            let total = shape::product(axes.iter().map(|a| a.count)).saturating_mul(self.element.size as u64);
            let joining = Joining::apart(&profile, engine.fetch_memory(), total);
            let strips = Strips::new(axes, Side::From, self.element.size, joining);
            // SAFETY: as for us.
            return unsafe { self.read_apart(engine, out, parallel, &strips, joining) };
        }
        let run = boxes::single_run(&axes, self.element.size);
        let strips =
            Strips::new(axes, Side::From, self.element.size, Joining::of(&profile).at_most(READ_BLOCK));
        let cost = strips.unit_bytes().saturating_add(REQUEST_COST);
        let total = total_cost(run, &strips);
        // At least four tasks a thread, so that all threads end at about the same time.
        let share = total / (4 * engine.threads() as u64);
        let per_task = (READ_TASK.min(share) / cost).max(1);
        let tasks = strips.len().div_ceil(per_task);
        inner.pool.run(tasks as usize, parallel && total >= READ_PARALLEL, |task| {
            let first = task as u64 * per_task;
            for number in first..(first + per_task).min(strips.len()) {
                // SAFETY: units are disjoint parts of the caller's box.
                unsafe { self.read_unit(inner, out, &strips.unit(number))? };
            }
            Ok(())
        })
    }

    /// Reads the box from a store with latency: fetches ahead of those who move what has come.
    ///
    /// # Safety
    /// As for [`LinearBox::read`].
    unsafe fn read_apart(
        &self,
        engine: &Engine,
        out: &SharedOut<'_>,
        parallel: bool,
        strips: &Strips,
        joining: Joining,
    ) -> Result<()> {
        let inner = &*engine.inner;
        let explain = |e, r: &fetch::Request| match e {
            Error::Io { op, path, source } => {
                let place = format!("variable `{}` at byte {}", self.name, r.bytes.start);
                let op = Op::ReadPart { place, op: Box::new(op) };
                Error::Io { op, path, source }
            }
            Error::Corrupt { path, offset, what } => {
                Error::Corrupt { path, offset, what: format!("variable `{}`: {what}", self.name) }
            }
            other => other,
        };
        let mut from = 0;
        while from < strips.len() {
            let to = strips.len().min(from + APART_UNITS);
            let units =
                (from..to).map(|number| self.unit(strips.unit(number))).collect::<Result<Vec<_>>>()?;
            let mut requests = Vec::new();
            fetch::join(units.len(), |i| units[i].1.clone(), joining, |_| false, |r| requests.push(r));
            fetch::stream(self.store, &requests, engine.fetch_memory(), explain, |arrived| {
                let parts = fetch::parts(arrived);
                let many = fetch::bytes_of(arrived);
                add(&inner.counters.fetched, many);
                inner.pool.run(parts.len(), parallel && many >= DECODE_PARALLEL, |i| {
                    let (request, part) = parts[i];
                    let (unit, range) = &units[part];
                    // SAFETY: units are disjoint parts of the caller's box.
                    unsafe { self.place(inner, arrived[request].range(range), out, unit)? };
                    Ok(())
                })
            })?;
            from = to;
        }
        Ok(())
    }

    /// A unit, and those of its bytes that the store has.
    ///
    /// # Errors
    /// Where missing bytes are an error.
    pub(super) fn unit(&self, unit: Unit) -> Result<(Unit, Range<u64>)> {
        let (offset, len) = (self.offset.saturating_add(unit.from), self.store.len());
        let end = offset.saturating_add(unit.span);
        if end > len && self.past_end == PastEnd::Error {
            return Err(past_end(self.store.name(), unit.span, offset, len));
        }
        Ok((unit, offset.min(len)..end.min(len)))
    }

    /// Moves the elements of a unit to their places; bytes that the store does not have are zero.
    ///
    /// # Safety
    /// As for [`LinearBox::read`].
    pub(super) unsafe fn place(
        &self,
        inner: &Inner,
        bytes: &[u8],
        out: &SharedOut<'_>,
        unit: &Unit,
    ) -> Result<()> {
        let to = self.to + unit.to;
        if bytes.len() as u64 >= unit.span {
            // SAFETY: the unit is the caller's alone.
            unsafe { boxes::move_box(bytes, 0, out, to, &unit.axes, self.element) };
            return Ok(());
        }
        let mut whole = Aligned::new(&inner.scratch, unit.span as usize, 0)?;
        let (there, missing) = whole.bytes().split_at_mut(bytes.len());
        there.copy_from_slice(bytes);
        missing.fill(0);
        // SAFETY: as above.
        unsafe { boxes::move_box(whole.bytes(), 0, out, to, &unit.axes, self.element) };
        Ok(())
    }

    /// These bytes, where the whole store is in memory.
    fn in_memory(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let all = self.store.as_slice()?;
        all.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(len).ok()?)
    }

    /// # Safety
    /// As for [`LinearBox::read`].
    unsafe fn read_unit(&self, inner: &Inner, out: &SharedOut<'_>, unit: &Unit) -> Result<()> {
        let offset = self.offset.saturating_add(unit.from);
        let to = self.to + unit.to;
        let size = self.element.size;
        add(&inner.counters.fetched, unit.span);
        if let Some(src) = self.in_memory(offset, unit.span) {
            // SAFETY: the unit is the caller's alone.
            unsafe { boxes::move_box(src, 0, out, to, &unit.axes, self.element) };
            return Ok(());
        }
        if boxes::single_run(&unit.axes, size).is_some() {
            // SAFETY: the unit is the caller's alone.
            let dst = unsafe { out.slice(to as usize, unit.span as usize) };
            if dst.len() >= DETOUR_FROM && align::slow_to_read(dst, offset) {
                let mut scratch = Aligned::detour(&inner.scratch, dst.len(), offset)?;
                self.fetch(offset, scratch.bytes())?;
                kernels::order_copy(scratch.bytes(), dst, self.element);
                return Ok(());
            }
            self.fetch(offset, dst)?;
            // In place, where the system's copy has just left it in the cache: a copy from scratch would make
            // the processor fetch the destination before overwriting it (measured: 4.9 against 4.4 GB/s).
            kernels::order_in_place(dst, self.element);
            return Ok(());
        }
        let mut scratch = Aligned::new(&inner.scratch, unit.span as usize, offset)?;
        self.fetch(offset, scratch.bytes())?;
        // SAFETY: the unit is the caller's alone.
        unsafe { boxes::move_box(scratch.bytes(), 0, out, to, &unit.axes, self.element) };
        Ok(())
    }

    fn fetch(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let refused = match self.store.read_at(buf, offset) {
            Ok(()) => return Ok(()),
            Err(e) => e,
        };
        // Asking for the length first would cost every small read a second system call.
        let there = self.store.len().saturating_sub(offset);
        if self.past_end == PastEnd::Error || there >= buf.len() as u64 {
            return Err(refused);
        }
        let (bytes, missing) = buf.split_at_mut(there as usize);
        if !bytes.is_empty() {
            self.store.read_at(bytes, offset)?;
        }
        missing.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::boxes::Axis;

    #[test]
    fn the_last_request_of_a_run_costs_what_it_reads() {
        let of = |count, step| {
            let axes = vec![Axis { count, from: step, to: 4 }];
            let run = boxes::single_run(&axes, 4);
            let strips = Strips::new(axes, Side::From, 4, Joining { gap: 16, most: 64 });
            (run, strips.len(), total_cost(run, &strips))
        };
        // Three requests of 64 bytes, and one of 4.
        assert_eq!(of(49, 4), (Some(196), 4, 196 + 4 * REQUEST_COST));
        assert_eq!(of(16, 4), (Some(64), 1, 64 + REQUEST_COST));
        // With gaps, requests are what is known.
        let (run, requests, total) = of(49, 8);
        assert!(run.is_none() && total >= requests * (32 + REQUEST_COST));
    }
}
