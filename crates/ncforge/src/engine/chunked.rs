//! Reads selections of chunked variables: look up, fetch in file order, decode, scatter.

mod apart;
mod changing;
mod ends;
mod groups;
mod partial;
mod segments;

pub use partial::PartialRequests;

use std::ops::Range;
use std::sync::Arc;

use super::Engine;
use super::boxes;
use super::cache::Key;
use super::fetch::{self, Joining};
use super::how::{How, Keep};
use super::linear::{LinearBox, PastEnd};
use super::newer::Newer;
use super::plan::{ChunkPlan, Piece};
use super::policy::{
    DECODE_PARALLEL, INFLATE_TWO, JOIN_MIN, JOIN_PLAIN, JOIN_TWO, KEEP_WHOLE, PLAN_WINDOW, STAGED_ROW,
};
use super::scratch::{Block, Scratch};
use super::shared::SharedOut;
use super::stats::add;
use crate::codec::{self, CodecChain, Stage, kernels};
use crate::codec::{PADDING, PaddedInput};
use crate::error::{Error, Op, Result};
use crate::layout::{ChunkIndex, ChunkRecord, Order, VarLayout};
use crate::model::shape;
use crate::select::Hyperslab;
use crate::store::{ReadStore, past_end};

/// One read of a chunked variable.
pub(super) struct ChunkedRead<'a> {
    pub(super) engine: &'a Engine,
    pub(super) store: &'a Arc<dyn ReadStore>,
    pub(super) var: usize,
    /// Where some of its chunks are newer than in the store.
    pub(super) newer: Option<&'a dyn Newer>,
    pub(super) layout: &'a VarLayout,
    pub(super) chunk: &'a [u64],
    pub(super) codecs: &'a CodecChain,
    pub(super) index: &'a dyn ChunkIndex,
    /// One element as it is in memory, for chunks that were never written.
    pub(super) fill: &'a [u8],
    pub(super) how: How,
}

/// A piece whose chunk is in the store.
#[derive(Clone, Copy)]
struct Stored {
    number: u64,
    record: ChunkRecord,
}

/// The unit of work of a thread.
enum Task<'a> {
    Fill(u64),
    Kept(u64, Arc<Block>),
    /// A chunk that is newer in memory.
    Newer(u64, &'a [u8]),
    /// A chunk with access points of which little is needed.
    Segments(Stored),
    /// A run of the stored pieces, fetched in one request.
    Fetch(Range<usize>),
}

impl ChunkedRead<'_> {
    /// Reads `slab`, which lies inside the layout's shape, into memory with the given byte steps.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn read(&self, slab: &Hyperslab, out_steps: &[u64], out: &SharedOut<'_>) -> Result<()> {
        let size = self.layout.element.size;
        let plan = ChunkPlan::new(&self.layout.shape, self.chunk, slab, out_steps, size)?;
        if plan.len() > 0 {
            let mut first = Vec::new();
            plan.at(0, &mut first);
            self.index.prepare(&plan.touched()).map_err(|e| self.explain(e, &first, None))?;
        }
        let mut from = 0;
        while from < plan.len() {
            let to = plan.len().min(from + PLAN_WINDOW);
            // SAFETY: windows are disjoint parts of the selection.
            let read = unsafe { self.read_window(&plan, from..to, out) };
            let mut chunks = (from..to).map(|number| {
                let mut at = Vec::new();
                plan.at(number, &mut at);
                at
            });
            if let Err(e) = self.index.check_places(self.store.name(), &mut chunks) {
                // Chunks that were decoded may be others than their places say.
                self.engine.forget_store(self.store);
                return Err(e);
            }
            read?;
            from = to;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn read_window(&self, plan: &ChunkPlan, numbers: Range<u64>, out: &SharedOut<'_>) -> Result<()> {
        let inner = &*self.engine.inner;
        let chunk_bytes = self.chunk_bytes()?;
        let mut stored = Vec::new();
        let mut tasks = Vec::new();
        let mut at = Vec::new();
        let kept_possible = !self.codecs.is_empty();
        for number in numbers.clone() {
            plan.at(number, &mut at);
            if let Some(chunk) = self.newer_chunk(&at)? {
                tasks.push(Task::Newer(number, chunk));
                continue;
            }
            let Some(record) = self.index.get(&at).map_err(|e| self.explain(e, &at, None))? else {
                tasks.push(Task::Fill(number));
                continue;
            };
            let key = Key::new(self.store, self.var, record.offset);
            let kept = || match self.how.keep {
                Keep::Parts => inner.cache.get(key, self.how.number),
                Keep::Nothing => inner.cache.take(key),
            };
            match kept_possible.then(kept).flatten() {
                Some(block) if block.len() as u64 == chunk_bytes => tasks.push(Task::Kept(number, block)),
                _ => stored.push(Stored { number, record }),
            }
        }
        let count = |f: fn(&Task<'_>) -> bool| tasks.iter().filter(|t| f(t)).count() as u64;
        add(&inner.counters.hits, count(|t| matches!(t, Task::Kept(..))));
        add(&inner.counters.misses, stored.len() as u64);

        stored.sort_by_key(|s| (s.record.offset, s.number));
        let profile = self.store.io_profile();
        let apart = profile.has_latency();
        let segmented = self.take_segmented(plan, &mut stored, &profile);
        if apart {
            // SAFETY: every piece is read once, and pieces are disjoint parts of the selection.
            stored.extend(unsafe { self.read_segments(plan, &segmented, &profile, out)? });
        } else {
            tasks.extend(segmented.into_iter().map(Task::Segments));
        }
        let total: u64 = stored.iter().fold(0, |n, s| n.saturating_add(s.record.len));
        let share = total / (4 * self.engine.threads() as u64);
        // Of chunks without filters only what is needed is read, unless that is most of it.
        let alone =
            |s: &Stored| self.codecs.is_empty() && chunk_bytes > JOIN_PLAIN && !plan.is_whole(s.number);
        if !apart {
            let mut joining = Joining::of(&profile).at_most(share.max(JOIN_MIN));
            if self.inflates_in_turn()? {
                // Two chunks, somewhat longer than most.
                let two = (total / (stored.len() as u64).max(1)).saturating_mul(9) / 4;
                joining.most = joining.most.max(two.min(share).min(JOIN_TWO));
            }
            let range = |i: usize| range_of(stored[i].record);
            let mut request = |r: fetch::Request| tasks.push(Task::Fetch(r.parts));
            fetch::join(stored.len(), range, joining, |i| alone(&stored[i]), &mut request);
        }

        let weight = chunk_bytes.saturating_mul(numbers.end - numbers.start);
        let parallel = self.how.parallel && tasks.len() > 1 && inner.pool.shares(weight, DECODE_PARALLEL);
        inner.pool.run(tasks.len(), parallel, |i| {
            // SAFETY: every piece is in one task, and pieces are disjoint parts of the selection.
            unsafe {
                match &tasks[i] {
                    Task::Fill(number) => {
                        let piece = plan.piece(*number);
                        boxes::fill_box(self.fill, out, piece.to, &piece.axes, self.layout.element.size);
                        Ok(())
                    }
                    Task::Kept(number, block) => {
                        self.scatter(&plan.piece(*number), block, out);
                        Ok(())
                    }
                    Task::Newer(number, chunk) => {
                        self.scatter(&plan.piece(*number), chunk, out);
                        Ok(())
                    }
                    Task::Segments(s) => match self.read_segments(plan, &[*s], &profile, out)? {
                        whole if whole.is_empty() => Ok(()),
                        whole => self.fetch(plan, &whole, out),
                    },
                    Task::Fetch(range) => self.fetch(plan, &stored[range.clone()], out),
                }
            }
        })?;
        if apart && !stored.is_empty() {
            // SAFETY: as for us.
            unsafe { self.fetch_apart(plan, &stored, alone, &profile, out)? };
        }
        Ok(())
    }

    /// Fetches and decodes a run of neighbouring chunks.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn fetch(&self, plan: &ChunkPlan, run: &[Stored], out: &SharedOut<'_>) -> Result<()> {
        let inner = &*self.engine.inner;
        if let ([one], true) = (run, self.codecs.is_empty()) {
            // SAFETY: the piece is the caller's alone.
            return unsafe { self.read_plain(plan, one, out) };
        }
        let first = run[0].record.offset;
        let end = run.iter().map(|s| s.record.offset.saturating_add(s.record.len)).max().unwrap_or(first);
        let explain = |e| {
            let mut at = Vec::new();
            plan.at(run[0].number, &mut at);
            self.explain(e, &at, Some(first))
        };
        let mapped = self.store.as_slice();
        let fetched;
        let bytes: &[u8] = match mapped {
            Some(all) => all
                .get(first as usize..)
                .filter(|rest| rest.len() as u64 >= end - first)
                .ok_or_else(|| explain(past_end(self.store.name(), end - first, first, self.store.len())))?,
            None => {
                // A damaged length must not become an allocation.
                if end > self.store.len() {
                    return Err(explain(past_end(self.store.name(), end - first, first, self.store.len())));
                }
                let len = (end - first) as usize;
                let mut lease = inner.scratch.lease(len + PADDING)?;
                self.store.read_at(&mut lease[..len], first).map_err(explain)?;
                fetched = lease;
                &fetched
            }
        };
        add(&inner.counters.fetched, end - first);
        let encoded = |s: &Stored| {
            let from = (s.record.offset - first) as usize;
            PaddedInput::within(bytes, from..from + s.record.len as usize)
        };
        let mut left: Vec<&Stored> = run.iter().collect();
        if run.len() > 1 && self.inflates_in_turn()? {
            // SAFETY: the pieces are the caller's alone.
            unsafe { self.decode_in_turn(plan, &mut left, encoded, out)? };
        }
        for s in left {
            // SAFETY: the piece is the caller's alone.
            unsafe { self.decode_stored(plan, s, s.record, encoded(s), out)? };
        }
        Ok(())
    }

    /// Decodes a chunk, of which `record` says what is left to decode.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn decode_stored(
        &self,
        plan: &ChunkPlan,
        s: &Stored,
        record: ChunkRecord,
        encoded: PaddedInput<'_>,
        out: &SharedOut<'_>,
    ) -> Result<()> {
        let piece = plan.piece(s.number);
        // SAFETY: the piece is the caller's alone.
        unsafe { self.decode(&piece, record, encoded, out) }
            .map_err(|e| self.explain(e, &piece.at, Some(s.record.offset)))
    }

    /// A chunk without filters is a small row-major array in the store: only what is needed is read.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn read_plain(&self, plan: &ChunkPlan, one: &Stored, out: &SharedOut<'_>) -> Result<()> {
        let piece = plan.piece(one.number);
        let explain = |e| self.explain(e, &piece.at, Some(one.record.offset));
        let part = self.checked_plain(&piece, one.record).map_err(explain)?;
        // SAFETY: the piece is the caller's alone.
        unsafe { part.read(self.engine, out, false) }.map_err(explain)
    }

    /// The part of an unfiltered chunk that a piece takes, if the chunk has its full length.
    fn checked_plain(&self, piece: &Piece, record: ChunkRecord) -> Result<LinearBox<'_>> {
        let want = self.chunk_bytes()?;
        if record.len != want {
            return Err(wrong_length(self.store.name(), record, want));
        }
        Ok(self.plain(piece, record))
    }

    fn plain(&self, piece: &Piece, record: ChunkRecord) -> LinearBox<'_> {
        LinearBox {
            store: &**self.store,
            offset: record.offset.saturating_add(piece.within),
            to: piece.to,
            axes: piece.axes.clone(),
            name: &self.layout.name,
            element: &self.layout.element,
            past_end: PastEnd::Error,
        }
    }

    /// Decodes a chunk and moves the selected part of it to its place.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn decode(
        &self,
        piece: &Piece,
        record: ChunkRecord,
        encoded: PaddedInput<'_>,
        out: &SharedOut<'_>,
    ) -> Result<()> {
        let inner = &*self.engine.inner;
        let element = &self.layout.element;
        let chunk_bytes = self.chunk_bytes()?;
        if self.codecs.is_empty() {
            if record.len != chunk_bytes {
                return Err(wrong_length(self.store.name(), record, chunk_bytes));
            }
            // SAFETY: the piece is the caller's alone.
            unsafe { self.scatter(piece, encoded.bytes(), out) };
            return Ok(());
        }
        let len = chunk_bytes as usize;
        // A damaged chunk shape must not become an allocation.
        self.codecs.check_len(encoded.len(), record.mask, len)?;
        add(&inner.counters.decoded, chunk_bytes);
        let key = Key::new(self.store, self.var, record.offset);
        let mut freed = Vec::new();
        let keep = self.how.keep == Keep::Parts
            && (!piece.whole || self.is_small() && inner.cache.comes_back(key, self.store))
            && inner.cache.admit(key, Scratch::footprint(chunk_bytes), self.how.number, &mut freed);
        freed.into_iter().for_each(|block| inner.scratch.give(block));
        let is_in_place = boxes::single_run(&piece.axes, element.size) == Some(chunk_bytes);
        if !keep && is_in_place && element.order == Order::Keep {
            // SAFETY: the piece is the caller's alone.
            let dst = unsafe { out.slice(piece.to as usize, len) };
            return self.decode_whole(record, encoded, dst);
        }
        if !keep && self.has_groups(record, &encoded, len) {
            let mut block = inner.scratch.lease(len)?;
            self.decode_whole(record, encoded, &mut block[..len])?;
            // SAFETY: the piece is the caller's alone.
            unsafe { self.scatter(piece, &block, out) };
            return Ok(());
        }
        if !keep {
            return codec::Scratch::with(|scratch| {
                let stage = self.codecs.decode_staged_padded(encoded, record.mask, len, scratch)?;
                // SAFETY: the piece is the caller's alone.
                unsafe { self.scatter_stage(piece, stage, out) }
            });
        }
        let mut block = inner.scratch.take_tight(len, inner.cache.bytes())?;
        let decoded = self.decode_whole(record, encoded, &mut block);
        if decoded.is_ok() {
            // SAFETY: the piece is the caller's alone.
            unsafe { self.scatter(piece, &block, out) };
            inner.cache.insert(key, self.store, Arc::new(block), self.how.number);
        } else {
            inner.scratch.give(block);
        }
        decoded
    }

    /// Decodes all of a chunk.
    fn decode_whole(&self, record: ChunkRecord, encoded: PaddedInput<'_>, out: &mut [u8]) -> Result<()> {
        if self.decode_groups(record, encoded, out)? {
            return Ok(());
        }
        Ok(self.codecs.decode_padded(encoded, record.mask, out)?)
    }

    /// Moves the selected part of a chunk whose shuffle is not undone yet.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn scatter_stage(&self, piece: &Piece, stage: Stage<'_>, out: &SharedOut<'_>) -> Result<()> {
        let element = &self.layout.element;
        let size = element.size;
        let bytes = match stage {
            Stage::Plain(bytes) => bytes,
            Stage::Shuffled(planes, width) => {
                let (row, outer) = piece.axes.split_last().expect("merged axes are never empty");
                let row_bytes = row.count * size as u64;
                if row.from == size as u64 && row.to == size as u64 && row_bytes >= STAGED_ROW {
                    boxes::for_each_origin(outer, piece.within, piece.to, |from, to| {
                        // SAFETY: the piece is the caller's alone.
                        let dst = unsafe { out.slice(to as usize, row_bytes as usize) };
                        stage.read(element, from as usize / size, dst);
                    });
                } else {
                    // Short rows: all at once into scratch, which stays in cache, and from there.
                    let mut block = self.engine.inner.scratch.lease(planes.len())?;
                    kernels::unshuffle(planes, &mut block, width);
                    // SAFETY: the piece is the caller's alone.
                    unsafe { self.scatter(piece, &block, out) };
                }
                return Ok(());
            }
        };
        // SAFETY: the piece is the caller's alone.
        unsafe { self.scatter(piece, bytes, out) };
        Ok(())
    }

    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn scatter(&self, piece: &Piece, chunk: &[u8], out: &SharedOut<'_>) {
        // SAFETY: the piece is the caller's alone.
        unsafe { boxes::move_box(chunk, piece.within, out, piece.to, &piece.axes, &self.layout.element) };
    }

    /// Whether chunks may be inflated two at a time.
    fn inflates_in_turn(&self) -> Result<bool> {
        Ok(self.codecs.inflates_in_turn() && INFLATE_TWO.contains(&self.chunk_bytes()?))
    }

    /// Whether all of the variable may be kept.
    fn is_small(&self) -> bool {
        shape::bytes(&self.layout.shape, self.layout.element.size as u64) <= KEEP_WHOLE
    }

    fn chunk_bytes(&self) -> Result<u64> {
        chunk_bytes(self.chunk, self.layout.element.size)
    }

    /// Adds the variable and the chunk to what a lower layer said.
    fn explain(&self, error: Error, at: &[u64], offset: Option<u64>) -> Error {
        explain(error, self.store.name(), &self.layout.name, at, offset)
    }
}

/// Bytes of one decoded chunk.
pub(super) fn chunk_bytes(chunk: &[u64], size: usize) -> Result<u64> {
    chunk
        .iter()
        .try_fold(size as u64, |n, &c| n.checked_mul(c))
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or_else(|| Error::TooLarge(format!("chunks of shape {chunk:?} are too large to address")))
}

/// Adds the variable and the chunk to what a lower layer said.
pub(super) fn explain(error: Error, store: &str, var: &str, at: &[u64], offset: Option<u64>) -> Error {
    let place = format!("variable `{var}`, chunk {at:?}");
    match codec::locate(error, store, offset) {
        Error::Corrupt { path, offset: own, what } => {
            Error::Corrupt { path, offset: own.or(offset), what: format!("{place}: {what}") }
        }
        Error::Unsupported { path, what } => Error::Unsupported { path: format!("{path}: {place}"), what },
        Error::Invalid(what) => Error::Invalid(format!("`{store}`, {place}: {what}")),
        Error::BadFilter(what) => Error::BadFilter(format!("`{store}`, {place}: {what}")),
        Error::Internal(what) => Error::Internal(format!("`{store}`, {place}: {what}")),
        // Writers name their operation themselves.
        Error::Io { op, path, source } if !op.writes() => {
            let byte = offset.map(|o| format!(" at byte {o}")).unwrap_or_default();
            let op = Op::ReadPart { place: place + &byte, op: Box::new(op) };
            Error::Io { op, path, source }
        }
        other => other,
    }
}

fn wrong_length(store: &str, record: ChunkRecord, want: u64) -> Error {
    Error::corrupt(
        store,
        record.offset,
        format!("{} stored bytes cannot be a chunk of {want} bytes", record.len),
    )
}

/// The bytes of a chunk in the store.
fn range_of(record: ChunkRecord) -> Range<u64> {
    record.offset..record.offset.saturating_add(record.len)
}
