//! A selection on its way into chunks: what it covers whole goes to the encoder, the rest is gathered.

use std::sync::{Arc, Mutex};

use super::super::boxes::{self, Axis};
use super::super::cache::Key;
use super::super::chunked::{self, chunk_bytes};
use super::super::plan::{ChunkPlan, Piece};
use super::super::policy::{DIRECT_CHUNKS, GATHER_PARALLEL};
use super::super::scratch::Block;
use super::super::shared::SharedOut;
use super::super::{Engine, pool};
use super::Writer;
use super::encode::Encoded;
use super::gather::Part;
use crate::codec::CodecChain;
use crate::error::{Error, Result};
use crate::layout::{ChunkRecord, Place, VarLayout};
use crate::model::VarId;
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// The work on one piece.
enum Step {
    /// The selection covers the chunk.
    Whole,
    /// More of a chunk that is being gathered, or the first of one.
    Gather(Box<Begin>),
}

/// A part about to be written into.
struct Begin {
    /// The part, if there is one; once the work is done, always.
    part: Option<Part>,
    /// The chunk's place in the file, if it has one.
    record: Option<ChunkRecord>,
}

/// A chunk that is whole now.
enum Done {
    Covered(u64),
    Gathered(Part),
}

impl Writer {
    /// Writes a selection of a chunked variable; `steps` are the byte steps of `bytes`.
    pub(super) fn write_chunks(
        &mut self,
        var: VarId,
        slab: &Hyperslab,
        steps: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let layout = self.layout(var)?;
        let Place::Chunked { chunk, .. } = &layout.place else {
            return Err(Error::not_chunked(&layout.name));
        };
        let chunk = chunk.clone();
        if chunk.len() != slab.rank() || chunk.contains(&0) {
            return Err(Error::Internal(format!("`{}` has chunks of shape {chunk:?}", layout.name)));
        }
        // Where a dimension is growing, a chunk is whole only when it is full; so is one of strings, of which none shares what another
        // one refers to.
        let schema = self.schema();
        let shape: Vec<u64> = (schema.var(var).dims.iter().zip(&chunk))
            .map(|(&d, &c)| {
                let len = schema.dim(d).len;
                if self.growing.contains(&d) || layout.element.heap {
                    len.div_ceil(c).saturating_mul(c)
                } else {
                    len
                }
            })
            .collect();
        let size = layout.element.size;
        let bytes_each = chunk_bytes(&chunk, size)?;
        let plan = ChunkPlan::new(&shape, &chunk, slab, steps, size)?;
        let window = self.gather.window(bytes_each);
        let mut from = 0;
        while from < plan.len() {
            let to = plan.len().min(from + window);
            self.write_window(var, &plan, from..to, &shape, bytes)?;
            from = to;
        }
        Ok(())
    }

    fn write_window(
        &mut self,
        var: VarId,
        plan: &ChunkPlan,
        numbers: std::ops::Range<u64>,
        shape: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let layout = self.layout(var)?;
        let Place::Chunked { chunk, codecs, index } = &layout.place else {
            return Err(Error::not_chunked(&layout.name));
        };
        let (mut todo, mut unknown) = (Vec::new(), None);
        let mut at = Vec::new();
        for number in numbers.clone() {
            plan.at(number, &mut at);
            if plan.is_whole(number) {
                self.gather.drop_chunk(&self.engine, var, &at);
                todo.push(Step::Whole);
                continue;
            }
            let part = self.gather.take(var, &at);
            let mut record = None;
            if part.is_none() {
                self.gather.note_begin(&(var, at.clone()));
                let explain = |e| chunked::explain(e, self.container.store().name(), &layout.name, &at, None);
                record = match index.get(&at).map_err(explain) {
                    Ok(record) => record,
                    Err(e) => {
                        unknown = Some(e);
                        break;
                    }
                };
            }
            todo.push(Step::Gather(Box::new(Begin { part, record })));
        }

        let store = self.container.store().clone();
        let job = Job { engine: &self.engine, store: &store, layout: &layout, chunk, codecs, bytes };
        let todo: Vec<Mutex<Step>> = todo.into_iter().map(Mutex::new).collect();
        let weight = todo.len() as u64 * chunk_bytes(chunk, layout.element.size)?;
        let gathered = match unknown {
            Some(e) => Err(e),
            None => self.engine.inner.pool.run(todo.len(), weight >= GATHER_PARALLEL, |i| {
                let mut step = pool::lock(&todo[i]);
                let Step::Gather(begin) = &mut *step else { return Ok(()) };
                job.gather(var, &plan.piece(numbers.start + i as u64), begin)
            }),
        };

        let mut done = Vec::new();
        for (step, number) in todo.into_iter().zip(numbers) {
            match step.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
                Step::Whole => done.push(Done::Covered(number)),
                Step::Gather(begin) => {
                    let Some(part) = begin.part else { continue };
                    // Parts may hold values of earlier calls, which must not be lost with those of this one.
                    if gathered.is_ok() && part.written >= elements_inside(&part.id.1, chunk, shape) {
                        done.push(Done::Gathered(part));
                    } else {
                        self.gather.put(part);
                    }
                }
            }
        }
        gathered?;
        self.finish_chunks(var, plan, &layout, chunk, codecs, bytes, done)?;
        while let Some(part) = self.gather.overflow() {
            self.enqueue(part)?;
        }
        Ok(())
    }

    /// Encodes and places whole chunks: many of them at once straight from the caller's memory, few of them
    /// when more have come.
    #[allow(clippy::too_many_arguments)]
    fn finish_chunks(
        &mut self,
        var: VarId,
        plan: &ChunkPlan,
        layout: &VarLayout,
        chunk: &[u64],
        codecs: &CodecChain,
        bytes: &[u8],
        done: Vec<Done>,
    ) -> Result<()> {
        let engine = self.engine.clone();
        let store = self.container.store().clone();
        let job = Job { engine: &engine, store: &store, layout, chunk, codecs, bytes };
        if (done.len() as u64) < DIRECT_CHUNKS {
            let mut done = done.into_iter();
            while let Some(one) = done.next() {
                let part = match one {
                    Done::Gathered(part) => Ok(part),
                    Done::Covered(number) => {
                        let piece = plan.piece(number);
                        job.cover(&piece).map(|block| Part { id: (var, piece.at), block, written: 0 })
                    }
                };
                if let Err(e) = part.and_then(|part| self.enqueue(part)) {
                    self.put_back(done);
                    return Err(e);
                }
            }
            return Ok(());
        }
        let placed = self.flush_pending().and_then(|()| self.place_whole(var, plan, &job, &done));
        if placed.is_err() {
            self.put_back(done.into_iter());
            return placed;
        }
        for one in done {
            if let Done::Gathered(part) = one {
                engine.inner.scratch.give(part.block);
            }
        }
        Ok(())
    }

    /// Parts that could not be placed go on waiting.
    fn put_back(&mut self, done: impl Iterator<Item = Done>) {
        for one in done {
            if let Done::Gathered(part) = one {
                self.gather.put(part);
            }
        }
    }

    /// Encodes and places whole chunks, straight from where they are.
    fn place_whole(&mut self, var: VarId, plan: &ChunkPlan, job: &Job<'_>, done: &[Done]) -> Result<()> {
        let Job { engine, layout, chunk, codecs, .. } = *job;
        let id = |i: usize| match &done[i] {
            Done::Gathered(part) => part.id.clone(),
            Done::Covered(number) => {
                let mut at = Vec::new();
                plan.at(*number, &mut at);
                (var, at)
            }
        };
        let bytes_each = chunk_bytes(chunk, layout.element.size)?;
        if codecs.is_empty() && !self.skip_fill {
            self.container.will_place(bytes_each.saturating_mul(done.len() as u64))?;
        }
        let skip = self.skip(var)?;
        let leave_out = |at: &[u64], raw: &[u8]| skip.as_ref().map_or(Ok(false), |s| s.leaves_out(at, raw));
        self.place(done.len(), bytes_each, id, |i| match &done[i] {
            Done::Gathered(part) if leave_out(&part.id.1, &part.block)? => Ok(Encoded::LeftOut),
            Done::Gathered(part) => Encoded::of(codecs, &part.block),
            Done::Covered(number) => {
                let piece = plan.piece(*number);
                if let Some(raw) = job.as_it_is(&piece) {
                    if leave_out(&piece.at, raw)? {
                        return Ok(Encoded::LeftOut);
                    }
                    return Encoded::of(codecs, raw);
                }
                let block = job.cover(&piece)?;
                if leave_out(&piece.at, &block)? {
                    engine.inner.scratch.give(block);
                    return Ok(Encoded::LeftOut);
                }
                Encoded::of_block(codecs, engine.inner.scratch.adopt(block))
            }
        })
    }
}

/// Elements of a chunk that lie inside an array.
fn elements_inside(at: &[u64], chunk: &[u64], shape: &[u64]) -> u64 {
    at.iter().zip(chunk).zip(shape).map(|((&i, &c), &n)| c.min(n.saturating_sub(i * c))).product()
}

struct Job<'a> {
    engine: &'a Engine,
    store: &'a Arc<dyn ReadStore>,
    layout: &'a VarLayout,
    chunk: &'a [u64],
    codecs: &'a CodecChain,
    bytes: &'a [u8],
}

impl Job<'_> {
    /// The caller's bytes of a chunk, where they are already what the encoder wants.
    fn as_it_is(&self, piece: &Piece) -> Option<&[u8]> {
        let element = &self.layout.element;
        let len = chunk_bytes(self.chunk, element.size).ok()?;
        let same = element.order == crate::layout::Order::Keep
            && boxes::single_run(&piece.axes, element.size) == Some(len);
        same.then(|| &self.bytes[piece.to as usize..][..len as usize])
    }

    /// A block with all of a chunk that the selection covers; fill where the chunk sticks out of the array.
    fn cover(&self, piece: &Piece) -> Result<Block> {
        let len = chunk_bytes(self.chunk, self.layout.element.size)?;
        let mut block = self.engine.inner.scratch.take(len as usize)?;
        if elements(piece) * self.layout.element.size as u64 != len {
            self.fill(&mut block);
        }
        self.move_in(piece, &mut block);
        Ok(block)
    }

    /// Makes a block what a chunk is in which nobody wrote.
    fn fill(&self, block: &mut Block) {
        boxes::fill_run(self.layout.absent.inside().unwrap_or_default(), block);
    }

    /// Writes a piece into its part, which starts as what the file holds, or as fill.
    fn gather(&self, var: VarId, piece: &Piece, begin: &mut Begin) -> Result<()> {
        let part = match &mut begin.part {
            Some(part) => part,
            none => {
                let len = chunk_bytes(self.chunk, self.layout.element.size)?;
                let explain = |e: Error, offset| {
                    chunked::explain(e, self.store.name(), &self.layout.name, &piece.at, offset)
                };
                let block = match begin.record {
                    Some(record) => {
                        self.load(var, record, len).map_err(|e| explain(e, Some(record.offset)))?
                    }
                    None => {
                        let mut block = self.engine.inner.scratch.take(len as usize)?;
                        self.fill(&mut block);
                        block
                    }
                };
                none.insert(Part { id: (var, piece.at.clone()), block, written: 0 })
            }
        };
        self.move_in(piece, &mut part.block);
        part.written += elements(piece);
        Ok(())
    }

    fn load(&self, var: VarId, record: ChunkRecord, len: u64) -> Result<Block> {
        // A chunk that was just read need not be decoded again, and nobody reads it from the cache from now on.
        let kept = self.engine.inner.cache.take(Key::new(self.store, var.0, record.offset));
        if let Some(block) = kept.and_then(Arc::into_inner).filter(|block| block.len() as u64 == len) {
            return Ok(block);
        }
        let encoded = self.store.read_vec(record.offset, record.len)?;
        self.codecs.check_len(encoded.len(), record.mask, len as usize)?;
        let mut block = self.engine.inner.scratch.take(len as usize)?;
        self.codecs.decode(&encoded, record.mask, &mut block)?;
        Ok(block)
    }

    fn move_in(&self, piece: &Piece, block: &mut [u8]) {
        let axes: Vec<Axis> = piece.axes.iter().map(|a| a.reversed()).collect();
        // SAFETY: the block is this thread's own.
        unsafe {
            let out = SharedOut::new(block);
            boxes::move_box(self.bytes, piece.to, &out, piece.within, &axes, &self.layout.element);
        }
    }
}

fn elements(piece: &Piece) -> u64 {
    piece.axes.iter().map(|a| a.count).product()
}
