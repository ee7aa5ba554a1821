//! Reads segments of many chunks: their tables in one round of requests, the segments in the next.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::super::boxes;
use super::super::cache::Key;
use super::super::fetch::{self, Joining};
use super::super::plan::ChunkPlan;
use super::super::policy::{DECODE_PARALLEL, PART_COST, PART_GAP, PLAN_WINDOW};
use super::super::shared::SharedOut;
use super::super::stats::add;
use super::segments::Needed;
use super::{ChunkedRead, Stored, range_of};
use crate::codec::PaddedInput;
use crate::error::Result;
use crate::select::Hyperslab;
use crate::store::IoProfile;

/// A range of bytes that a piece needs.
struct Wanted {
    range: Range<u64>,
    /// The numbers of the piece, and of the range in it.
    piece: usize,
    number: usize,
}

/// The bytes of a piece that have arrived.
struct Come {
    parts: Vec<(Bytes, Range<usize>)>,
    missing: usize,
}

/// The bytes of the requests, round by round, of a read that decodes chunks by segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialRequests {
    /// The ends of chunks, with the tables.
    pub ends: Vec<Range<u64>>,
    /// The segments.
    pub segments: Vec<Range<u64>>,
    /// Chunks that are fetched whole, not joined.
    pub whole: Vec<Range<u64>>,
}

impl ChunkedRead<'_> {
    /// The requests of a partial read of a selection. Only tables of access points are fetched.
    pub(in super::super) fn partial_requests(&self, slab: &Hyperslab) -> Result<Option<PartialRequests>> {
        let steps = boxes::steps(&slab.count, self.layout.element.size)?;
        let plan = ChunkPlan::new(&self.layout.shape, self.chunk, slab, &steps, self.layout.element.size)?;
        let (profile, len) = (self.store.io_profile(), self.chunk_bytes()?);
        let (mut stored, mut at) = (Vec::new(), Vec::new());
        self.index.prepare(&plan.touched())?;
        for number in 0..plan.len().min(PLAN_WINDOW) {
            plan.at(number, &mut at);
            stored.extend(self.index.get(&at)?.map(|record| Stored { number, record }));
        }
        stored.sort_by_key(|s| (s.record.offset, s.number));
        let segmented = self.take_segmented(&plan, &mut stored, &profile);
        if segmented.is_empty() {
            return Ok(None);
        }
        let mut all = PartialRequests::default();
        let mut needed = Vec::with_capacity(segmented.len());
        for (s, points) in segmented.iter().zip(self.tables(&segmented)?) {
            all.ends.extend(self.end(s, len));
            match points.and_then(|points| self.needed(&plan, s, points)) {
                Some(piece) => needed.push(piece),
                None => stored.push(*s),
            }
        }
        all.segments = joined(&wanted(&needed), &needed, &profile).into_iter().map(|r| r.bytes).collect();
        all.whole = stored.iter().map(|s| range_of(s.record)).collect();
        Ok(Some(all))
    }

    /// Reads pieces from the segments of their chunks. Gives the chunks that are to be decoded whole.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    pub(super) unsafe fn read_segments(
        &self,
        plan: &ChunkPlan,
        stored: &[Stored],
        profile: &IoProfile,
        out: &SharedOut<'_>,
    ) -> Result<Vec<Stored>> {
        let mut whole = Vec::new();
        for together in self.together(stored) {
            let mut needed = Vec::with_capacity(together.len());
            for (s, points) in together.iter().zip(self.tables(together)?) {
                match points.and_then(|points| self.needed(plan, s, points)) {
                    Some(piece) => needed.push(piece),
                    None => whole.push(*s),
                }
            }
            // SAFETY: the pieces are the caller's alone.
            whole.extend(unsafe { self.fetch_needed(plan, &needed, profile, out)? });
        }
        Ok(whole)
    }

    /// Cuts chunks into those that are read together: what is fetched of them waits in memory. At most half of a chunk is.
    fn together<'s>(&self, stored: &'s [Stored]) -> Vec<&'s [Stored]> {
        let memory = self.engine.fetch_memory();
        let (mut all, mut rest) = (Vec::new(), stored);
        while !rest.is_empty() {
            let mut bytes = 0u64;
            let fits = rest.iter().take_while(|s| {
                bytes = bytes.saturating_add(s.record.len / 2);
                bytes <= memory
            });
            let (these, others) = rest.split_at(fits.count().max(1));
            all.push(these);
            rest = others;
        }
        all
    }

    /// Fetches what pieces need in one round of requests, and decodes each when all of it has come. Gives the chunks that are to be decoded
    /// whole.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    unsafe fn fetch_needed(
        &self,
        plan: &ChunkPlan,
        needed: &[Needed],
        profile: &IoProfile,
        out: &SharedOut<'_>,
    ) -> Result<Vec<Stored>> {
        let inner = &*self.engine.inner;
        let wanted = wanted(needed);
        let mut come: Vec<Come> = needed.iter().map(|_| Come { parts: Vec::new(), missing: 0 }).collect();
        for w in &wanted {
            come[w.piece].missing += 1;
            come[w.piece].parts.push((Bytes::new(), 0..0));
        }
        let requests = joined(&wanted, needed, profile);
        let explain = |e, r: &fetch::Request| {
            let piece = &needed[wanted[r.parts.start].piece];
            self.of_chunk(plan, &piece.stored, e)
        };
        let failed = Mutex::new(Vec::new());
        fetch::stream(&**self.store, &requests, self.engine.fetch_memory(), explain, |arrived| {
            add(&inner.counters.fetched, fetch::bytes_of(arrived));
            let mut complete = Vec::new();
            for (request, part) in fetch::parts(arrived) {
                let Wanted { range, piece, number } = &wanted[part];
                let (request, own) = (&arrived[request], &mut come[*piece]);
                own.parts[*number] = (request.bytes.clone(), request.request.within(range));
                own.missing -= 1;
                if own.missing == 0 {
                    complete.push((&needed[*piece], std::mem::take(&mut own.parts)));
                }
            }
            let parallel = self.how.parallel
                && complete.len() > 1
                && inner.pool.shares(PART_COST.saturating_mul(complete.len() as u64), DECODE_PARALLEL);
            inner.pool.run(complete.len(), parallel, |i| {
                let (piece, parts) = &complete[i];
                let parts: Vec<_> =
                    parts.iter().map(|(bytes, at)| PaddedInput::within(bytes, at.clone())).collect();
                let fetched: u64 = parts.iter().map(|p| p.len() as u64).sum();
                let key = Key::new(self.store, self.var, piece.stored.record.offset);
                inner.points.add_part(self.store, key, piece.cost() + fetched);
                // SAFETY: every piece is complete once, and pieces are disjoint parts of the selection.
                if !unsafe { self.decode_needed(piece, &parts, out)? } {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(piece.stored);
                }
                Ok(())
            })
        })?;
        Ok(failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The ranges that pieces need, in the order of the store.
fn wanted(needed: &[Needed]) -> Vec<Wanted> {
    let of_piece = |(piece, n): (usize, &Needed)| {
        let ranges = n.ranges().into_iter().enumerate();
        ranges.map(move |(number, range)| Wanted { range, piece, number })
    };
    let mut wanted: Vec<Wanted> = needed.iter().enumerate().flat_map(of_piece).collect();
    wanted.sort_by_key(|w| w.range.start);
    wanted
}

/// Requests for the ranges that pieces need. The bytes between ranges are few beside the chunks, even where all of them have neighbours.
fn joined(wanted: &[Wanted], needed: &[Needed], profile: &IoProfile) -> Vec<fetch::Request> {
    let stored = needed.iter().fold(0, |n: u64, p| n.saturating_add(p.stored.record.len));
    let mut joining = Joining::of(profile);
    if profile.has_latency() {
        joining.gap = joining.gap.min(stored / (needed.len() as u64).max(1) / PART_GAP);
    }
    let mut requests = Vec::new();
    fetch::join(wanted.len(), |i| wanted[i].range.clone(), joining, |_| false, |r| requests.push(r));
    requests
}
