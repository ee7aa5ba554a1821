//! Chunks with access points: of a chunk of which little is needed, only the segments that hold it are fetched and decoded.
//!
//! Nothing that a table says is believed ([`crate::codec::deflate::access`]); where anything is in doubt, the chunk is decoded
//! whole, which says what is wrong with it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::boxes::{self, Axis};
use super::super::cache::Key;
use super::super::plan::{ChunkPlan, Piece};
use super::super::policy::{
    DECODE_PARALLEL, GROUP, GROUPED_CHUNK, PART_COST, SEGMENTED_CHUNK, TAIL_LEAST, TAIL_MOST,
};
use super::super::scratch::Scratch;
use super::super::shared::SharedOut;
use super::super::stats::add;
use super::{ChunkedRead, Stored};
use crate::codec::{AccessPoints, FOOTER, PADDING, PaddedInput, Segmented, Tail, kernels};
use crate::error::Result;
use crate::layout::ChunkRecord;
use crate::select::Hyperslab;

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
        self.outer.iter().fold(1, |n, a| n.saturating_mul(a.count))
    }

    /// Bytes of a run in the chunk.
    fn bytes(&self) -> u64 {
        self.row.count.saturating_mul(self.row.from)
    }

    /// Bytes of the chunk from the first run's begin to the last one's end.
    fn span(&self) -> u64 {
        self.outer.iter().fold(self.bytes(), |n, a| n.saturating_add((a.count - 1).saturating_mul(a.from)))
    }
}

/// The bytes of a chunk that a piece decodes at most, if segments have so many bytes.
fn decoded_bytes(piece: &Piece, size: usize, segment: u64) -> u64 {
    let runs = Runs::of(piece, size);
    let apart = runs.count().saturating_mul(runs.bytes().saturating_add(segment));
    apart.min(runs.span().saturating_add(segment))
}

impl ChunkedRead<'_> {
    /// Bytes of a segment of the variable's chunks, if they have access points; `record` is one of them.
    fn segment(&self, record: ChunkRecord, len: u64) -> Option<u64> {
        let own = self.codecs.segmented(record.mask).filter(|_| len >= SEGMENTED_CHUNK)?;
        let look = || {
            let need = FOOTER + own.behind;
            let from = record.offset.saturating_add(record.len.checked_sub(need as u64)?);
            let mut tail = [0; FOOTER + 4];
            self.store.read_at(&mut tail[..need], from).ok()?;
            own.segment(&tail[..need]).map(|n| n as u64)
        };
        let bytes = self.engine.inner.points.known(self.store, self.var, look)?;
        Some(bytes.saturating_mul(own.planes as u64))
    }

    /// How many times less a selection decodes of its first chunk if it decodes segments; `None` if that chunk has no access points.
    pub(in super::super) fn cheapness(&self, slab: &Hyperslab) -> Option<u64> {
        let (size, len) = (self.layout.element.size, self.chunk_bytes().ok()?);
        if len < SEGMENTED_CHUNK || self.codecs.segmented(0).is_none() {
            return None;
        }
        let steps = boxes::steps(&slab.count, size).ok()?;
        let plan = ChunkPlan::new(&self.layout.shape, self.chunk, slab, &steps, size).ok()?;
        let piece = plan.piece(0);
        let record = self.index.get(&piece.at).ok()??;
        let segment = self.segment(record, len)?;
        Some(len / decoded_bytes(&piece, size, segment).max(1))
    }

    /// Whether little is needed of a stored chunk, so that its segments are tried.
    pub(super) fn takes_segments(&self, plan: &ChunkPlan, s: &Stored) -> bool {
        let Ok(len) = self.chunk_bytes() else { return false };
        if plan.is_whole(s.number) {
            return false;
        }
        let Some(segment) = self.segment(s.record, len) else { return false };
        if decoded_bytes(&plan.piece(s.number), self.layout.element.size, segment) > len / 2 {
            return false;
        }
        let inner = &*self.engine.inner;
        // Parts of one chunk, again and again: if it can be kept, it is decoded whole once they took as long.
        let parts = inner.points.in_parts(Key::new(self.store, self.var, s.record.offset));
        parts < len || inner.cache.bytes() + Scratch::footprint(len) > inner.cache.limit()
    }

    /// Reads a piece from the segments of its chunk; whether it could.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    pub(super) unsafe fn read_segments(
        &self,
        plan: &ChunkPlan,
        s: &Stored,
        out: &SharedOut<'_>,
    ) -> Result<bool> {
        let Some(own) = self.codecs.segmented(s.record.mask) else { return Ok(false) };
        let Some(points) = self.points(own, s.record) else { return Ok(false) };
        let size = self.layout.element.size;
        let piece = plan.piece(s.number);
        let runs = Runs::of(&piece, size);
        let mut all = Vec::with_capacity(runs.count() as usize);
        boxes::for_each_origin(runs.outer, piece.within, piece.to, |from, to| all.push(Run { from, to }));
        let each = (points.segment() * own.planes) as u64;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for run in &all {
            let first = (run.from / each) as usize;
            let end = ((run.from + runs.bytes()).div_ceil(each) as usize).min(points.len());
            match ranges.last_mut() {
                Some(last) if first <= last.end => last.end = last.end.max(end),
                _ => ranges.push(first..end),
            }
        }
        if 2 * ranges.iter().map(Range::len).sum::<usize>() > points.len() {
            return Ok(false);
        }
        let mut rest = &all[..];
        for range in ranges {
            let end = range.end as u64 * each;
            let (these, others) = rest.split_at(rest.partition_point(|run| run.from < end));
            rest = others;
            let Some(block) = self.decode_segments(own, &points, &range, s.record) else { return Ok(false) };
            let begin = range.start as u64 * each;
            for run in these {
                // SAFETY: the piece is the caller's alone.
                unsafe {
                    boxes::move_box(&block, run.from - begin, out, run.to, &[runs.row], &self.layout.element);
                }
            }
        }
        Ok(true)
    }

    /// Whether a chunk that is decoded whole has access points and is long enough to be decoded in groups of segments.
    pub(super) fn has_groups(&self, record: ChunkRecord, encoded: &[u8], len: usize) -> bool {
        let own = self.codecs.segmented(record.mask).filter(|_| len >= GROUPED_CHUNK as usize);
        own.is_some_and(|own| own.segment(encoded).is_some())
    }

    /// Decodes all of a chunk into memory that is its own, if it has access points and is long enough: group after group of segments, each
    /// of them by any thread, so that what is inflated is still in a cache when it is unshuffled. Returns whether it could.
    pub(super) fn decode_groups(
        &self,
        record: ChunkRecord,
        encoded: PaddedInput<'_>,
        out: &mut [u8],
    ) -> Result<bool> {
        let len = out.len();
        let own = self.codecs.segmented(record.mask).filter(|_| self.has_groups(record, &encoded, len));
        let Some(own) = own else { return Ok(false) };
        let Tail::Points(points) = own.points(&encoded, encoded.len() as u64, len) else { return Ok(false) };
        let size = own.planes;
        let inner = &*self.engine.inner;
        let each = (GROUP as usize / (points.segment() * size)).max(1);
        let groups = points.len().div_ceil(each);
        let parallel = self.how.parallel && inner.pool.shares(len as u64, DECODE_PARALLEL);
        let (whole, out) = (AtomicBool::new(true), SharedOut::new(out));
        inner.pool.run(groups, parallel, |group| {
            let segments = group * each..((group + 1) * each).min(points.len());
            let part = |r: &Range<u64>| encoded.part(r.start as usize..r.end as usize);
            let parts: Vec<_> = points.ranges(&segments).iter().map(part).collect();
            let bytes = points.bytes(&segments);
            let len = bytes.len() * size;
            let mut planes = inner.scratch.lease(len)?;
            if points.decode(&segments, &parts, &mut planes[..len]) {
                // SAFETY: groups are disjoint parts of the chunk.
                let dst = unsafe { out.slice(bytes.start * size, len) };
                kernels::unshuffle(&planes[..len], dst, size);
            } else {
                whole.store(false, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(whole.into_inner())
    }

    /// The access points of a chunk, from its last bytes.
    fn points(&self, own: Segmented, record: ChunkRecord) -> Option<AccessPoints> {
        let len = self.chunk_bytes().ok()? as usize;
        // A table takes some thousandths of the chunk.
        let mut need = (len / 512).clamp(TAIL_LEAST, TAIL_MOST);
        for _ in 0..2 {
            need = need.min(usize::try_from(record.len).ok()?);
            let mut tail = self.engine.inner.scratch.lease(need).ok()?;
            self.store.read_at(&mut tail, record.offset + (record.len - need as u64)).ok()?;
            add(&self.engine.inner.counters.fetched, need as u64);
            match own.points(&tail, record.len, len) {
                Tail::Points(points) => return Some(points),
                Tail::Longer(n) if n as u64 <= record.len => need = n,
                _ => return None,
            }
        }
        None
    }

    /// The bytes of some segments, in stored byte order.
    fn decode_segments(
        &self,
        own: Segmented,
        points: &AccessPoints,
        segments: &Range<usize>,
        record: ChunkRecord,
    ) -> Option<super::super::scratch::Lease<'_>> {
        let inner = &*self.engine.inner;
        let ranges = points.ranges(segments);
        let fetched: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let mut bytes = inner.scratch.lease(fetched as usize + PADDING).ok()?;
        let mut at = 0;
        let mut places = Vec::with_capacity(ranges.len());
        for range in &ranges {
            let to = at + (range.end - range.start) as usize;
            self.store.read_at(&mut bytes[at..to], record.offset + range.start).ok()?;
            places.push(at..to);
            at = to;
        }
        add(&inner.counters.fetched, fetched);
        let parts: Vec<_> = places.into_iter().map(|place| PaddedInput::within(&bytes, place)).collect();
        let len = points.bytes(segments).len() * own.planes;
        let mut planes = inner.scratch.lease(len).ok()?;
        if !points.decode(segments, &parts, &mut planes[..len]) {
            return None;
        }
        add(&inner.counters.decoded, len as u64);
        let spent = PART_COST + fetched + len as u64;
        inner.points.add_part(Key::new(self.store, self.var, record.offset), spent);
        if own.planes == 1 {
            return Some(planes);
        }
        let mut block = inner.scratch.lease(len).ok()?;
        kernels::unshuffle(&planes[..len], &mut block[..len], own.planes);
        Some(block)
    }
}
