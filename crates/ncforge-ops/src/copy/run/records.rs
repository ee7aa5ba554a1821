//! Records that source and output hold alike: moved as they are, those of all variables at once.
//!
//! A record of a classic file holds a piece of every variable that grows. Variable by variable, each piece is a request:
//! 40,000 for the 8 MB of a file of weather reports. Two files of the same variables in the same order differ only in where
//! their records begin.

use std::ops::Range;

use super::super::planned::Route;
use super::Run;
use ncforge::model::VarId;
use ncforge::raw::Runs;
use ncforge::store::ReadStore;
use ncforge::{Hyperslab, Result};

/// Bytes of a request.
const BLOCK: u64 = 2 << 20;

/// The records of two files, which are the same bytes but for the padding.
pub(super) struct Records {
    /// The beginning of record 0 in the source, and in the output.
    from: u64,
    to: u64,
    /// Bytes from one record to the next.
    stride: u64,
    /// Bytes of a record without the padding at its end.
    len: u64,
    count: u64,
    /// The numbers of the work on their variables.
    pub(super) work: Vec<usize>,
}

impl Run<'_> {
    /// The records of the source and the output, if they are alike.
    pub(super) fn records(&self) -> Result<Option<Records>> {
        let (source, plan) = (self.task.source, self.task.plan);
        let plain = self.task.zipped.is_none() && source.store().is_some_and(|s| s.blocks().is_none());
        if !plain {
            return Ok(None);
        }
        let mut all: Option<Records> = None;
        let mut grow = 0;
        for var in 0..plan.schema.vars.len() {
            let output = self.writer.container().layout(VarId(var))?;
            let Some(Runs { begin: to, stride: Some(stride), each, .. }) = output.runs() else { continue };
            grow += 1;
            let Some(i) = plan.work.iter().position(|w| w.moved.to == VarId(var)) else { return Ok(None) };
            let work = &plan.work[i];
            let layout = source.layout(work.moved.from)?;
            let Some(Runs { begin: from, stride: Some(same), .. }) = layout.runs() else { return Ok(None) };
            let alike = stride == same && output.shape == layout.shape && output.element == layout.element;
            if !alike || work.route != Route::Boxes || work.quantize.is_some() {
                return Ok(None);
            }
            let records = all.get_or_insert_with(|| Records {
                from,
                to,
                stride,
                len: each,
                count: output.shape[0],
                work: Vec::new(),
            });
            // Behind the first, as far in the one file as in the other.
            let Some(behind) = to.checked_sub(records.to) else { return Ok(None) };
            if records.from.checked_add(behind) != Some(from) {
                return Ok(None);
            }
            records.len = records.len.max(behind + each);
            records.work.push(i);
        }
        // The records of one variable are one run of bytes in any case.
        Ok(all.filter(|r| {
            grow > 1 && r.count > 0 && r.len <= r.stride && r.stride <= self.task.memory.boxes / 2
        }))
    }

    /// Moves all records.
    pub(super) fn move_records(&mut self, records: &Records) -> Result<()> {
        let plan = self.task.plan;
        let memory = self.task.memory.boxes;
        let each = (BLOCK.min(memory / 2) / records.stride).max(1);
        let most = (memory / (each * records.stride)).clamp(1, 2 * self.task.engine.threads() as u64);
        let mut moved = vec![0; plan.work.len()];
        let mut first = 0;
        while first < records.count {
            let end = (first + each * most).min(records.count);
            self.unless_stopped(0, |run| run.records_between(records, first..end, each))?;
            for &i in &records.work {
                let walk = &plan.work[i].walk;
                let ends = |b: u64| walk.box_at(b).end(0) <= end;
                while moved[i] < walk.len() && ends(moved[i]) {
                    self.done(i, moved[i])?;
                    moved[i] += 1;
                }
            }
            first = end;
        }
        Ok(())
    }

    /// Moves some of the records, `each` in a request.
    fn records_between(&mut self, records: &Records, these: Range<u64>, each: u64) -> Result<()> {
        let (task, writer) = (&self.task, &mut self.writer);
        let Some(from) = task.source.store() else { return Ok(()) };
        for &i in &records.work {
            let var = task.plan.work[i].moved.to;
            let shape = writer.container().layout(var)?.shape.clone();
            let (mut start, mut count) = (vec![0; shape.len()], shape);
            (start[0], count[0]) = (these.start, these.end - these.start);
            writer.adopt_region(var, &Hyperslab::new(&start, &count))?;
        }
        self.writing = true;
        let parts = (these.end - these.start).div_ceil(each);
        let offset = |part: u64| (these.start + part * each) * records.stride;
        let read = |part: usize| {
            let part = part as u64;
            let n = each.min(these.end - these.start - part * each);
            let mut bytes = vec![0; ((n - 1) * records.stride + records.len) as usize];
            read_or_zeros(&**from, &mut bytes, records.from + offset(part))?;
            Ok(bytes)
        };
        let store = &self.store;
        task.engine.ordered(parts as usize, parts as usize, read, |part, bytes| {
            store.write_at(&bytes, records.to + offset(part as u64))
        })
    }
}

/// Reads from a file that may be shorter than its header says; what is missing is zero.
fn read_or_zeros(store: &dyn ReadStore, zeros: &mut [u8], offset: u64) -> Result<()> {
    let there = store.len().saturating_sub(offset).min(zeros.len() as u64);
    if there > 0 {
        store.read_at(&mut zeros[..there as usize], offset)?;
    }
    Ok(())
}
