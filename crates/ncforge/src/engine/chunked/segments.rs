//! Chunks with access points: of a chunk of which little is needed, only the segments that hold it are decoded.
//!
//! [`ends`](super::ends) and [`partial`](super::partial) say which bytes are fetched, and in which rounds.
//!
//! Nothing that a table says is believed ([`crate::codec::deflate::access`]); where anything is in doubt, the chunk is decoded
//! whole, which says what is wrong with it.

use std::ops::Range;
use std::sync::Arc;

use super::super::boxes::{self, Axis};
use super::super::cache::Key;
use super::super::plan::{ChunkPlan, Piece};
use super::super::policy::{ASKED, GUESSED_SEGMENTS, PART_COST, SEGMENTED_CHUNK};
use super::super::scratch::Scratch;
use super::super::shared::SharedOut;
use super::super::stats::add;
use super::{ChunkedRead, Stored};
use crate::codec::{AccessPoints, PaddedInput, kernels};
use crate::error::Result;
use crate::model::shape;
use crate::select::Hyperslab;
use crate::store::IoProfile;

/// A run of elements that a piece takes of its chunk.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Its first byte in the decoded chunk, and in memory.
    from: u64,
    to: u64,
}

/// The runs of a piece: the outer axes step from one to the next.
struct Runs<'a> {
    outer: &'a [Axis],
    row: Axis,
}

impl<'a> Runs<'a> {
    fn of(piece: &'a Piece, size: usize) -> Self {
        let (row, outer) = piece.axes.split_last().expect("merged axes are never empty");
        if row.from == size as u64 {
            return Runs { outer, row: *row };
        }
        // Elements that do not lie side by side in the chunk.
        Runs { outer: &piece.axes, row: Axis { count: 1, from: size as u64, to: size as u64 } }
    }

    fn count(&self) -> u64 {
        shape::product(self.outer.iter().map(|a| a.count))
    }

    /// Bytes of a run in the chunk.
    fn bytes(&self) -> u64 {
        self.row.count.saturating_mul(self.row.from)
    }

    /// Bytes of the chunk from the first run's beginning to the last one's end.
    fn span(&self) -> u64 {
        self.outer.iter().fold(self.bytes(), |n, a| n.saturating_add((a.count - 1).saturating_mul(a.from)))
    }
}

/// The bytes of a chunk that a piece decodes at most, if segments have `segment` bytes.
fn decoded_bytes(piece: &Piece, size: usize, segment: u64) -> u64 {
    let runs = Runs::of(piece, size);
    let apart = runs.count().saturating_mul(runs.bytes().saturating_add(segment));
    apart.min(runs.span().saturating_add(segment))
}

/// The segments of a chunk that a piece needs.
pub(super) struct Needed {
    pub(super) stored: Stored,
    pub(super) points: Arc<AccessPoints>,
    piece: Piece,
    /// Runs of segments, in their order.
    segments: Vec<Range<usize>>,
}

impl Needed {
    /// The bytes of the store that hold it: in the order of [`ChunkedRead::decode_needed`].
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        let begin = self.stored.record.offset;
        let place = |r: Range<u64>| begin.saturating_add(r.start)..begin.saturating_add(r.end);
        self.segments.iter().flat_map(|s| self.points.ranges(s)).map(place).collect()
    }

    /// The cost of decoding, in bytes: [`PART_COST`] for each run of segments, and their elements.
    pub(super) fn cost(&self) -> u64 {
        let bytes = |s: &Range<usize>| PART_COST + (self.points.bytes(s).len() * self.points.planes()) as u64;
        self.segments.iter().map(bytes).sum()
    }
}

/// Chunks of a read that are asked whether they have access points: a round of them. Others may have stored the first ones anew.
fn asked(profile: &IoProfile) -> usize {
    profile.in_flight.max(ASKED)
}

impl ChunkedRead<'_> {
    /// Bytes of a segment of the variable's chunks, if they have access points. Where that is not known, and reading these chunks by
    /// segments would pay, the ends of the first ones are fetched.
    fn segment(&self, plan: &ChunkPlan, stored: &[Stored], profile: &IoProfile) -> Option<u64> {
        let len = self.chunk_bytes().ok()?;
        let first = stored.first()?;
        self.codecs.segmented(first.record.mask).filter(|_| len >= SEGMENTED_CHUNK)?;
        let points = &self.engine.inner.points;
        if let Some(known) = points.segment(self.store, self.var) {
            return known;
        }
        if !self.pays(plan, stored, len / GUESSED_SEGMENTS, profile) {
            return None;
        }
        let tables = self.tables(&stored[..stored.len().min(asked(profile))]).ok()?;
        let bytes = tables.iter().flatten().next().map(|points| (points.segment() * points.planes()) as u64);
        points.note_segment(self.store, self.var, bytes);
        bytes
    }

    /// Bytes of the store that need not be fetched of a chunk if its segments are; `None` if it is better decoded whole.
    fn saved(&self, plan: &ChunkPlan, s: &Stored, segment: u64, profile: &IoProfile) -> Option<u64> {
        let len = self.chunk_bytes().ok()?;
        let own = self.codecs.segmented(s.record.mask)?;
        if plan.is_whole(s.number) || matches!(self.table(s), Some(None)) {
            return None;
        }
        let decoded = decoded_bytes(&plan.piece(s.number), self.layout.element.size, segment);
        if decoded > len / 2 {
            return None;
        }
        let inner = &*self.engine.inner;
        // Parts of one chunk, again and again: if it can be kept, it is decoded whole once they took as long.
        let parts = inner.points.in_parts(Key::new(self.store, self.var, s.record.offset));
        if parts >= len && inner.cache.bytes() + Scratch::footprint(len) <= inner.cache.limit() {
            return None;
        }
        let bytes = (u128::from(s.record.len) * u128::from(decoded) / u128::from(len.max(1))) as u64;
        // The end of the chunk, and in each plane a header and the symbols.
        let requests = 1 + 2 * own.planes as u64;
        s.record.len.checked_sub(bytes.saturating_add(requests.saturating_mul(profile.small_request())))
    }

    /// Whether reading chunks by segments saves more than the round of requests costs that the tables take.
    fn pays(&self, plan: &ChunkPlan, stored: &[Stored], segment: u64, profile: &IoProfile) -> bool {
        let mut left = profile.round();
        stored.iter().any(|s| {
            let saved = self.saved(plan, s, segment, profile);
            left = left.saturating_sub(saved.unwrap_or(0));
            saved.is_some() && left == 0
        })
    }

    /// Takes those chunks out of `stored` whose segments are read.
    pub(super) fn take_segmented(
        &self,
        plan: &ChunkPlan,
        stored: &mut Vec<Stored>,
        profile: &IoProfile,
    ) -> Vec<Stored> {
        match self.segment(plan, stored, profile) {
            Some(segment) if self.pays(plan, stored, segment, profile) => {
                stored.extract_if(.., |s| self.saved(plan, s, segment, profile).is_some()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many times less a selection decodes of its first chunk if it decodes segments; `None` if it decodes whole chunks.
    pub(in super::super) fn cheapness(&self, slab: &Hyperslab) -> Option<u64> {
        let (size, len) = (self.layout.element.size, self.chunk_bytes().ok()?);
        if len < SEGMENTED_CHUNK || self.codecs.segmented(0).is_none() {
            return None;
        }
        let profile = self.store.io_profile();
        let steps = boxes::steps(&slab.count, size).ok()?;
        let plan = ChunkPlan::new(&self.layout.shape, self.chunk, slab, &steps, size).ok()?;
        let mut stored = Vec::new();
        self.index.prepare(&plan.touched()).ok()?;
        for number in 0..plan.len().min(asked(&profile) as u64) {
            let mut at = Vec::new();
            plan.at(number, &mut at);
            stored.extend(self.index.get(&at).ok()?.map(|record| Stored { number, record }));
        }
        let segment = self.segment(&plan, &stored, &profile)?;
        if !self.pays(&plan, &stored, segment, &profile) {
            return None;
        }
        let piece = plan.piece(stored.first()?.number);
        Some(len / decoded_bytes(&piece, size, segment).max(1))
    }

    /// The segments that a piece needs, if they are a small part of the chunk.
    pub(super) fn needed(&self, plan: &ChunkPlan, s: &Stored, points: Arc<AccessPoints>) -> Option<Needed> {
        let size = self.layout.element.size;
        let piece = plan.piece(s.number);
        let runs = Runs::of(&piece, size);
        let each = (points.segment() * points.planes()) as u64;
        let mut segments: Vec<Range<usize>> = Vec::new();
        boxes::for_each_origin(runs.outer, piece.within, piece.to, |from, _| {
            let first = (from / each) as usize;
            let end = ((from + runs.bytes()).div_ceil(each) as usize).min(points.len());
            match segments.last_mut() {
                Some(last) if first <= last.end => last.end = last.end.max(end),
                _ => segments.push(first..end),
            }
        });
        let few = 2 * segments.iter().map(Range::len).sum::<usize>() <= points.len();
        few.then_some(Needed { stored: *s, points, piece, segments })
    }

    /// Decodes what a piece needs of its chunk from the bytes of its ranges; whether it could.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    pub(super) unsafe fn decode_needed(
        &self,
        needed: &Needed,
        parts: &[PaddedInput<'_>],
        out: &SharedOut<'_>,
    ) -> Result<bool> {
        let (inner, size) = (&*self.engine.inner, self.layout.element.size);
        let Needed { points, piece, segments, .. } = needed;
        let runs = Runs::of(piece, size);
        let mut all = Vec::with_capacity(runs.count() as usize);
        boxes::for_each_origin(runs.outer, piece.within, piece.to, |from, to| all.push(Run { from, to }));
        let mut rest = &all[..];
        let each = (parts.len() / segments.len().max(1)).max(1);
        for (range, parts) in segments.iter().zip(parts.chunks(each)) {
            let bytes = points.bytes(range);
            let width = points.planes();
            let (begin, len) = ((bytes.start * width) as u64, bytes.len() * width);
            let mut planes = inner.scratch.lease(len)?;
            if !points.decode(range, parts, &mut planes[..len]) {
                return Ok(false);
            }
            add(&inner.counters.decoded, len as u64);
            let mut block = inner.scratch.lease(len)?;
            kernels::unshuffle(&planes[..len], &mut block[..len], width);
            let (these, others) = rest.split_at(rest.partition_point(|run| run.from < begin + len as u64));
            rest = others;
            for run in these {
                // SAFETY: the piece is the caller's alone.
                unsafe {
                    boxes::move_box(&block, run.from - begin, out, run.to, &[runs.row], &self.layout.element);
                }
            }
        }
        Ok(true)
    }
}
