//! Does what the plan says, step by step, and notes each step in the journal.

mod raw;
mod records;
mod resumed;
mod sparse;
mod var_group;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use self::resumed::Resumed;
use super::elsewhere::{self, Elsewhere, GroupId};
use super::journal::{Header, Journal, Step};
use super::lasting::Lasting;
use super::output::{chunk_grid, create};
use super::planned::{Memory, Plan, Route, VarWork};
use super::quantized;
use super::spill::Spill;
use crate::boxes::check_chunk;
use crate::progress::Progress;
use crate::written;
use ncforge::model::Storage;
use ncforge::raw::{Writer, coordinates, with_stop};
use ncforge::store::remote::shown_path;
use ncforge::store::zipped::{self, ZippedStore};
use ncforge::store::{Durability, OutputFile, ReadStore, WriteStore, free_space};
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Op, Result};
use ncforge_tune::words::bytes;

/// How many times smaller a file system may make a file.
const COMPRESSED: u64 = 4;

/// One copy.
pub(crate) struct Task<'a> {
    pub(crate) source: &'a Dataset,
    pub(crate) plan: &'a Plan,
    pub(crate) engine: &'a Engine,
    pub(crate) memory: Memory,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) header: Header,
    /// The interval at which finished steps are made durable.
    pub(crate) checkpoint: Duration,
    /// Whether the end waits for the disk.
    pub(crate) lasting: Lasting,
    /// Bytes kept free behind the header.
    pub(crate) header_room: Option<u64>,
    /// Whether the output is a zipped file, and how.
    pub(crate) zipped: Option<zipped::Options>,
    /// The encoder of chunks, if it is not this process.
    pub(crate) elsewhere: Option<&'a dyn Elsewhere>,
}

/// Writes the partial output from its beginning, or from behind the steps that are `done`.
pub(crate) fn run(task: Task<'_>, output: &mut OutputFile, done: Vec<Step>) -> Result<()> {
    check_budget(&task)?;
    check_disk(&task, output)?;
    if done.is_empty() {
        output.restart()?;
    }
    let journal = output.journal()?;
    let output = &*output;
    let file = output.store().clone();
    let resources = || task.engine.zipped_resources();
    let store: Arc<dyn WriteStore> = match (done.is_empty(), &task.zipped) {
        (true, None) => file.clone(),
        (false, None) => Arc::new(Resumed(file.clone())),
        (true, Some(zipped)) => Arc::new(ZippedStore::create(file.clone(), zipped, resources())?),
        (false, Some(_)) => Arc::new(Resumed(Arc::new(ZippedStore::open_rw(file.clone(), resources())?))),
    };
    let relaxed = task.lasting == Lasting::Relaxed;
    let container = create(Arc::clone(&store), task.plan.schema.clone(), task.header_room)?;
    let journal = Journal::begin(journal, shown_path(output.journal_path()), &task.header, &done)?;
    let mut run = Run {
        writer: Writer::new(task.engine.clone(), container),
        store,
        journal,
        output,
        buffer: Buffer::zeroed(0),
        last: Instant::now(),
        pending: Vec::new(),
        writing: false,
        counted: Cell::new(0),
        task,
    };
    run.writer.skip_fill(run.task.plan.skip_fill);
    run.task
        .progress
        .begin("copy", run.task.plan.work.iter().map(VarWork::bytes).fold(0, u64::saturating_add));
    match run.all(done) {
        Ok(()) => {
            if relaxed {
                file.promise(Durability::Process);
            }
            run.writer.finish().map(drop)
        }
        Err(e) => {
            // Stopped while a box was written, the writer has lost some of what earlier boxes left in it: then
            // the last checkpoint counts, as after a crash.
            if matches!(e, Error::Interrupted(_)) && !run.writing {
                run.checkpoint()?;
            }
            Err(e)
        }
    }
}

/// An error where the smallest unit of work, a chunk on either side, passes the whole budget.
fn check_budget(task: &Task<'_>) -> Result<()> {
    let budget = task.memory.total;
    for work in &task.plan.work {
        let name = task.plan.schema.var_path(work.moved.to);
        let too_small = |what: String, needed: u64| Err(Error::Budget { what, needed, budget });
        if work.largest_box() > budget {
            return too_small(format!("a box of whole chunks of `{name}`"), work.largest_box());
        }
        if work.route != Route::Nothing {
            check_chunk(task.source, work.moved.from)?;
        }
    }
    Ok(())
}

/// An error where the output cannot have room on its disk, even if the file system compresses.
fn check_disk(task: &Task<'_>, output: &OutputFile) -> Result<()> {
    let (least, own) = (task.plan.least_bytes(), output.store().len());
    match free_space(output.destination()) {
        Some(free) if task.zipped.is_none() && least / COMPRESSED > free.saturating_add(own) => {
            let what = format!("it takes at least {}, and {} are free", bytes(least), bytes(free));
            let full = std::io::Error::new(std::io::ErrorKind::StorageFull, what);
            Err(Error::io(Op::Write, shown_path(output.destination()), full))
        }
        _ => Ok(()),
    }
}

struct Run<'a> {
    task: Task<'a>,
    output: &'a OutputFile,
    writer: Writer,
    store: Arc<dyn WriteStore>,
    journal: Journal,
    /// One box; as large as the largest so far.
    buffer: Buffer,
    last: Instant,
    /// Steps that are done but not in the journal: variable and box.
    pending: Vec<(usize, u64)>,
    /// Whether the writer has begun with the current box.
    writing: bool,
    /// Bytes of the current box that progress has heard of.
    counted: Cell<u64>,
}

impl Run<'_> {
    fn all(&mut self, done: Vec<Step>) -> Result<()> {
        let (plan, source) = (self.task.plan, self.task.source);
        let order = order(plan);
        // Heap values are written again from their beginning: the same bytes at the same places, in less time than
        // it takes to account for every one of them.
        for &i in order.iter().filter(|&&i| plan.work[i].route == Route::Heap) {
            self.variable(i, 0)?;
        }
        let mut first = vec![0u64; plan.work.len()];
        for step in done {
            self.adopt(&step)?;
            first[step.var] = step.at + 1;
        }
        let mut rest: Vec<usize> = order.into_iter().filter(|&i| plan.work[i].route != Route::Heap).collect();
        if first.iter().all(|&n| n == 0)
            && let Some(records) = self.records()?
        {
            self.move_records(&records)?;
            rest.retain(|i| !records.work.contains(i));
        }
        for group in rest.chunk_by(|&a, &b| in_one_group(source, plan, a, b)) {
            match group {
                &[i] => self.variable(i, first[i])?,
                several => self.several(several, &first)?,
            }
        }
        Ok(())
    }

    /// Takes over a step of an earlier run: its bytes are in the file.
    fn adopt(&mut self, step: &Step) -> Result<()> {
        let damaged =
            || Error::corrupt(shown_path(self.output.journal_path()), None, "a step that is not in the plan");
        let work = self.task.plan.work.get(step.var).ok_or_else(damaged)?;
        if step.at >= work.walk.len() {
            return Err(damaged());
        }
        let slab = work.walk.box_at(step.at);
        match chunk_grid(self.task.plan, work) {
            None => self.writer.adopt_region(work.moved.to, &slab)?,
            Some(grid) => {
                let at: Vec<Vec<u64>> = coordinates(&grid.touched(&slab)).collect();
                if at.len() != step.chunks.len() {
                    return Err(damaged());
                }
                for (at, record) in at.iter().zip(&step.chunks) {
                    if let Some(record) = Step::record_of(*record) {
                        self.writer.adopt_chunk(work.moved.to, at, record)?;
                    }
                }
            }
        }
        self.task.progress.advance(slab.len().saturating_mul(work.element));
        Ok(())
    }

    /// Copies one variable from box `first` on.
    fn variable(&mut self, i: usize, first: u64) -> Result<()> {
        let work = &self.task.plan.work[i];
        self.task.progress.item(&self.task.plan.schema.var_path(work.moved.to));
        let todo = first..work.walk.len();
        if todo.is_empty() || work.route == Route::Nothing {
            return Ok(());
        }
        // The output needs what was not written as well, unless it reads the same without.
        let shape = &work.walk.grid.shape;
        let by_chunks = matches!(work.route, Route::Boxes | Route::Raw | Route::Points | Route::Spill(_));
        let written = match work.sparse && by_chunks {
            true => written::boxes(self.task.source, work.moved.from, &work.walk.grid)?,
            false => None,
        };
        let sparse = work.sparse
            && !matches!(work.route, Route::Raw | Route::Points)
            && (written.is_some() || !written::is_complete(self.task.source, work.moved.from, shape)?);
        let spill = match &work.route {
            Route::Spill(bands) if written.is_none() && self.has_room(work) => Some(Spill::fill(
                self.task.source,
                work.moved.from,
                work.element,
                bands,
                &work.walk,
                todo.clone(),
                self.output.destination(),
                self.task.engine,
                self.task.progress,
            )?),
            _ => None,
        };
        let walked: Box<dyn Iterator<Item = u64>> = match &written {
            Some(boxes) => {
                let unwritten = written::elements_outside(&work.walk, boxes);
                self.task.progress.advance(unwritten.saturating_mul(work.element));
                Box::new(boxes.range(first..).copied())
            }
            None => Box::new(todo),
        };
        for b in walked {
            let slab = work.walk.box_at(b);
            self.unless_stopped(slab.len().saturating_mul(work.element), |run| match run.task.elsewhere {
                Some(e) if elsewhere::is_encoded_elsewhere(run.task.plan, work) => run.place_encoded(i, b, e),
                _ => run.box_of(work, b, &slab, spill.as_ref(), sparse),
            })?;
            self.done(i, b)?;
        }
        // The next variable's place must not depend on which chunks of this one still wait for the encoder.
        self.writer.flush()
    }

    /// Does a part of the work, of `bytes` bytes of values, unless somebody wants it to end, then or meanwhile. Progress hears of
    /// each chunk that is encoded; chunks may come from an earlier part, so that no more than this one's bytes are counted.
    fn unless_stopped(&mut self, bytes: u64, part: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let progress = self.task.progress;
        self.counted.set(0);
        let placed = self.writer.placed();
        let before = placed.load(Ordering::Relaxed);
        let counted = Cell::new(0u64);
        let stop = || {
            let now = placed.load(Ordering::Relaxed).saturating_sub(before).min(bytes);
            progress.advance(now.saturating_sub(counted.replace(now)));
            progress.stop()
        };
        if progress.stop() {
            return Err(self.stopped());
        }
        let result = with_stop(&stop, || part(self));
        self.counted.set(counted.get());
        result.map_err(|e| match e {
            Error::Interrupted(_) => self.stopped(),
            e => e,
        })?;
        self.writing = false;
        Ok(())
    }

    /// Notes that a box of a variable is moved.
    fn done(&mut self, i: usize, b: u64) -> Result<()> {
        let work = &self.task.plan.work[i];
        if work.route != Route::Heap {
            self.pending.push((i, b));
            if self.last.elapsed() >= self.task.checkpoint {
                self.checkpoint()?;
            }
        }
        let bytes = work.walk.box_at(b).len().saturating_mul(work.element);
        self.task.progress.advance(bytes.saturating_sub(self.counted.take()));
        Ok(())
    }

    fn stopped(&self) -> Error {
        Error::Interrupted(format!("`{}` is not finished", shown_path(self.output.destination())))
    }

    /// Moves one box; `sparse` says that the output may lack what the source does.
    fn box_of(
        &mut self,
        work: &VarWork,
        b: u64,
        slab: &Hyperslab,
        spill: Option<&Spill>,
        sparse: bool,
    ) -> Result<()> {
        match &work.route {
            Route::Heap => {
                let values = self.task.source.read(work.moved.from, slab)?;
                self.writing = true;
                self.writer.write(work.moved.to, slab, &values)
            }
            Route::Raw | Route::Points => self.raw(work, slab),
            Route::Fill => self.fill(work, slab),
            Route::Boxes | Route::Spill(_) => match spill {
                None if sparse => self.sparse(work, b, slab),
                _ => self.boxed(work, b, slab, spill),
            },
            Route::Nothing => Ok(()),
        }
    }

    /// Places the chunks of a box that somebody else encodes, group by group.
    fn place_encoded(&mut self, var: usize, step: u64, from: &dyn Elsewhere) -> Result<()> {
        let plan = self.task.plan;
        let work = &plan.work[var];
        let Some(grid) = chunk_grid(plan, work) else { return Ok(()) };
        if elsewhere::is_unwritten(self.task.source, work, step)? {
            return Ok(());
        }
        let parts = elsewhere::groups(self.task.source, plan, work, step, from.group_bytes())?;
        for (group, part) in parts.iter().enumerate() {
            if self.task.progress.stop() {
                return Err(self.stopped());
            }
            let id = GroupId { var, step, group: group as u64 };
            let chunks = from.group(id)?;
            let at: Vec<Vec<u64>> = coordinates(&grid.touched(part)).collect();
            if chunks.len() != at.len() {
                return Err(Error::Internal(format!(
                    "{} chunks came for {id:?}, which has {}",
                    chunks.len(),
                    at.len()
                )));
            }
            self.writing = true;
            for (at, chunk) in at.iter().zip(chunks) {
                if let Some((bytes, mask)) = chunk {
                    self.writer.write_chunk_raw(work.moved.to, at, &bytes, mask)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the disk holds a temporary file of the variable's size; if it does not, the source is decoded
    /// several times instead.
    fn has_room(&self, work: &VarWork) -> bool {
        free_space(self.output.destination()).is_none_or(|free| free > work.bytes().saturating_mul(2))
    }

    fn boxed(&mut self, work: &VarWork, b: u64, slab: &Hyperslab, spill: Option<&Spill>) -> Result<()> {
        self.with_buffer(slab.len() * work.element, |run, bytes| {
            match spill {
                Some(spill) => spill.get(b, bytes)?,
                None => run.task.source.read_bytes(work.moved.from, slab, bytes)?,
            }
            run.quantize(work, bytes)?;
            run.writing = true;
            run.writer.write_bytes(work.moved.to, slab, bytes)
        })
    }

    /// Rounds values that shall lose bits, on all threads.
    fn quantize(&self, work: &VarWork, bytes: &mut [u8]) -> Result<()> {
        match &work.quantize {
            Some(rounding) => {
                let dtype = self.task.plan.schema.var(work.moved.to).dtype;
                quantized::round(self.task.engine, rounding, dtype, bytes)
            }
            None => Ok(()),
        }
    }

    fn fill(&mut self, work: &VarWork, slab: &Hyperslab) -> Result<()> {
        let fill = self.task.plan.schema.fill_value(work.moved.to);
        if fill.is_empty() {
            return Ok(());
        }
        self.with_buffer(slab.len() * work.element, |run, bytes| {
            bytes.chunks_exact_mut(fill.len().max(1)).for_each(|e| e.copy_from_slice(&fill));
            run.writing = true;
            run.writer.write_bytes(work.moved.to, slab, bytes)
        })
    }

    /// The journal's line for a step whose chunks are placed.
    fn step(&self, var: usize, at: u64) -> Result<Step> {
        let work = &self.task.plan.work[var];
        let slab = work.walk.box_at(at);
        let mut chunks = Vec::new();
        if let Some(grid) = chunk_grid(self.task.plan, work) {
            let layout = self.writer.container().layout(work.moved.to)?;
            let index = layout.place.chunks().map(|c| c.index);
            for c in coordinates(&grid.touched(&slab)) {
                chunks.push(Step::noted(match index {
                    Some(index) => index.get(&c)?,
                    None => None,
                }));
            }
        }
        Ok(Step { var, at, bytes: self.output.store().len(), chunks })
    }

    /// Makes durable what is done, and then says so.
    fn checkpoint(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.writer.flush()?;
            self.store.sync()?;
            self.journal.commit(self.pending.iter().map(|&(var, at)| self.step(var, at)))?;
            self.pending.clear();
        }
        self.last = Instant::now();
        Ok(())
    }

    /// Lends the buffer, so that large boxes touch fresh memory only once.
    fn with_buffer(
        &mut self,
        bytes: u64,
        use_it: impl FnOnce(&mut Self, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let len = bytes as usize;
        let mut buffer = std::mem::replace(&mut self.buffer, Buffer::zeroed(0));
        if buffer.len() < len {
            // The old one first: two at once would pass the budget.
            drop(buffer);
            buffer = Buffer::try_zeroed(len)?;
        }
        let done = use_it(self, &mut buffer[..len]);
        self.buffer = buffer;
        done
    }
}

/// Whether two variables are moved together, box by box.
fn in_one_group(source: &Dataset, plan: &Plan, a: usize, b: usize) -> bool {
    let (a, b) = (&plan.work[a], &plan.work[b]);
    let plain =
        |w: &VarWork| w.route == Route::Boxes && plan.schema.var(w.moved.to).storage == Storage::Contiguous;
    let with = |w: &VarWork| source.container().var_group(w.moved.from);
    plain(a) && plain(b) && a.walk == b.walk && with(a).is_some() && with(a) == with(b)
}

/// The order in which variables are copied: heap types first (see [`Run::all`]), else as in the file.
fn order(plan: &Plan) -> Vec<usize> {
    let all: Range<usize> = 0..plan.work.len();
    let heap = |i: &usize| plan.work[*i].route == Route::Heap;
    all.clone().filter(heap).chain(all.filter(|i| !heap(i))).collect()
}
