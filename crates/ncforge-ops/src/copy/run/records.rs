//! Records that source and output hold alike: moved as they are, those of all variables at once.
//!
//! A record of a classic file holds a piece of every variable that grows. Variable by variable, each piece is a request:
//! 40,000 for the 8 MB of a file of weather reports. Two files of the same variables in the same order differ only in where
//! their records begin.

use std::ops::Range;

use super::super::planned::Route;
use super::Run;
use ncforge::model::VarId;
use ncforge::raw::{Records, Runs};
use ncforge::store::ReadStore;
use ncforge::{Hyperslab, Result};

/// Bytes of a request, about.
const BLOCK: u64 = 2 << 20;
/// Requests between two looks at whether the work was stopped.
const MOST_REQUESTS: usize = 256;

/// The records of source and output, which are the same bytes but for the padding.
pub(super) struct Alike {
    source: Records,
    /// The beginning of record 0 in the output.
    to: u64,
    /// Bytes of a record without the padding at its end.
    len: u64,
    /// The numbers of the work on their variables.
    pub(super) work: Vec<usize>,
}

/// Records of one file that are moved by one request.
struct Request {
    /// The number of the file, and the records' place in it.
    file: usize,
    offset: u64,
    /// The records of the output.
    records: Range<u64>,
}

impl Alike {
    fn bytes(&self, records: u64) -> u64 {
        records.saturating_sub(1).saturating_mul(self.source.stride).saturating_add(self.len)
    }

    /// The requests for all records, in order.
    fn requests(&self) -> impl Iterator<Item = Request> + '_ {
        let each = (BLOCK / self.source.stride).max(1);
        let mut first = 0;
        self.source.files.iter().enumerate().flat_map(move |(file, &(count, begin))| {
            let base = first;
            first += count;
            (0..count).step_by(each as usize).map(move |at| Request {
                file,
                offset: begin + at * self.source.stride,
                records: base + at..base + (at + each).min(count),
            })
        })
    }
}

impl Run<'_> {
    /// The records of the source and the output, if they are alike.
    pub(super) fn records(&self) -> Result<Option<Alike>> {
        let (source, plan) = (self.task.source, self.task.plan);
        if self.task.zipped.is_some() {
            return Ok(None);
        }
        let (mut vars, mut work, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for var in 0..plan.schema.vars.len() {
            let output = self.writer.container().layout(VarId(var))?;
            let Some(Runs { stride: Some(_), .. }) = output.runs() else { continue };
            let Some(i) = plan.work.iter().position(|w| w.moved.to == VarId(var)) else { return Ok(None) };
            let one = &plan.work[i];
            let layout = source.layout(one.moved.from)?;
            let alike = output.shape == layout.shape && output.element == layout.element;
            if !alike || one.route != Route::Boxes || one.quantize.is_some() {
                return Ok(None);
            }
            vars.push(one.moved.from);
            work.push(i);
            outputs.push(output);
        }
        // The records of one variable are one run of bytes in any case.
        let Some(ours) = Records::of(&outputs).filter(|_| vars.len() > 1) else { return Ok(None) };
        let Some(source) = source.container().records(&vars)? else { return Ok(None) };
        let (count, to) = ours.files[0];
        let ends = ours.behind.iter().zip(outputs.iter().filter_map(|o| o.runs()));
        let len = ends.map(|(behind, runs)| behind.saturating_add(runs.each)).max().unwrap_or(0);
        let same = ours.stride == source.stride
            && ours.behind == source.behind
            && source.files.iter().map(|f| f.0).sum::<u64>() == count;
        let fits = len <= ours.stride && ours.stride <= self.task.memory.boxes / 2;
        Ok((same && fits && count > 0 && len > 0).then_some(Alike { source, to, len, work }))
    }

    /// Moves all records.
    pub(super) fn move_records(&mut self, alike: &Alike) -> Result<()> {
        let plan = self.task.plan;
        // As many bytes as are in memory at a time.
        let memory = (self.task.memory.boxes / 2).min(BLOCK * 2 * self.task.engine.threads() as u64);
        let mut moved = vec![0; plan.work.len()];
        let mut requests = alike.requests().peekable();
        while requests.peek().is_some() {
            let (mut these, mut bytes) = (Vec::new(), 0u64);
            while let Some(next) = requests.peek() {
                bytes = bytes.saturating_add(alike.bytes(next.records.end - next.records.start));
                if !these.is_empty() && (bytes > memory || these.len() == MOST_REQUESTS) {
                    break;
                }
                these.extend(requests.next());
            }
            let end = these.last().map_or(0, |r: &Request| r.records.end);
            self.unless_stopped(0, |run| run.move_some(alike, &these))?;
            for &i in &alike.work {
                let walk = &plan.work[i].walk;
                let ends = |b: u64| walk.box_at(b).end(0) <= end;
                while moved[i] < walk.len() && ends(moved[i]) {
                    self.done(i, moved[i])?;
                    moved[i] += 1;
                }
            }
        }
        Ok(())
    }

    /// Moves the records of some requests, which follow each other.
    fn move_some(&mut self, alike: &Alike, these: &[Request]) -> Result<()> {
        let (task, writer) = (&self.task, &mut self.writer);
        let (Some(first), Some(last)) = (these.first(), these.last()) else { return Ok(()) };
        for &i in &alike.work {
            let var = task.plan.work[i].moved.to;
            let shape = writer.container().layout(var)?.shape.clone();
            let (mut start, mut count) = (vec![0; shape.len()], shape);
            (start[0], count[0]) = (first.records.start, last.records.end - first.records.start);
            writer.adopt_region(var, &Hyperslab::new(&start, &count))?;
        }
        self.writing = true;
        let store = &self.store;
        task.engine.for_each(these.len(), |i| {
            let Request { file, offset, records } = &these[i];
            let mut bytes = vec![0; alike.bytes(records.end - records.start) as usize];
            read_or_zeros(&*task.source.container().record_file(*file)?, &mut bytes, *offset)?;
            store.write_at(&bytes, alike.to + records.start * alike.source.stride)
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
