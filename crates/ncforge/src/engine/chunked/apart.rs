//! Chunks of a store with latency: fetched by requests of their own, and decoded by the engine's threads as they come.

use std::ops::Range;

use super::super::fetch::strips::{Side, Strips, Unit};
use super::super::fetch::{self, Joining};
use super::super::plan::ChunkPlan;
use super::super::policy::{APART_UNITS_OF_CHUNK, DECODE_PARALLEL};
use super::super::shared::SharedOut;
use super::super::stats::add;
use super::{ChunkedRead, Stored, range_of};
use crate::codec::PaddedInput;
use crate::error::{Error, Result};
use crate::store::{IoProfile, past_end};

/// Bytes that are fetched apart from their decoding: a stored piece, or a part of one without filters.
struct Apart {
    stored: usize,
    unit: Option<Unit>,
    range: Range<u64>,
}

impl ChunkedRead<'_> {
    /// Fetches chunks of a store with latency ahead of the threads that decode them.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    pub(super) unsafe fn fetch_apart(
        &self,
        plan: &ChunkPlan,
        stored: &[Stored],
        in_part: impl Fn(&Stored) -> bool,
        profile: &IoProfile,
        out: &SharedOut<'_>,
    ) -> Result<()> {
        let inner = &*self.engine.inner;
        let total = stored.iter().fold(0, |n: u64, s| n.saturating_add(s.record.len));
        let joining = Joining::apart(profile, self.engine.fetch_memory(), total);
        let mut parts: Vec<Apart> = Vec::with_capacity(stored.len());
        for (i, s) in stored.iter().enumerate() {
            if in_part(s) {
                let mut push = |unit, range| parts.push(Apart { stored: i, unit: Some(unit), range });
                self.units(plan, s, joining, &mut push)?;
            } else {
                // A damaged length must not become an allocation.
                let range = range_of(s.record);
                if range.end > self.store.len() {
                    let missing = past_end(self.store.name(), s.record.len, range.start, self.store.len());
                    return Err(self.of_chunk(plan, s, missing));
                }
                parts.push(Apart { stored: i, unit: None, range });
            }
        }
        parts.sort_by_key(|p| p.range.start);
        let mut requests = Vec::new();
        fetch::join(parts.len(), |i| parts[i].range.clone(), joining, |_| false, |r| requests.push(r));
        let explain = |e, r: &fetch::Request| self.of_chunk(plan, &stored[parts[r.parts.start].stored], e);
        fetch::stream(&**self.store, &requests, self.engine.fetch_memory(), explain, |arrived| {
            let these = fetch::parts(arrived);
            add(&inner.counters.fetched, fetch::bytes_of(arrived));
            let weight = self.chunk_bytes()?.saturating_mul(these.len() as u64);
            let parallel = self.how.parallel && inner.pool.shares(weight, DECODE_PARALLEL);
            inner.pool.run(these.len(), parallel, |i| {
                let (request, part) = these[i];
                let Apart { stored: number, unit, range } = &parts[part];
                let (s, come) = (&stored[*number], &arrived[request]);
                let piece = plan.piece(s.number);
                let done = match unit {
                    Some(unit) => {
                        let plain = self.plain(&piece, s.record);
                        // SAFETY: units are disjoint parts of the piece, which is the caller's alone.
                        unsafe { plain.place(inner, come.range(range), out, unit)? };
                        Ok(())
                    }
                    // SAFETY: every piece is in one part, and pieces are disjoint parts of the selection.
                    None => unsafe {
                        self.decode(
                            &piece,
                            s.record,
                            PaddedInput::within(&come.bytes, come.request.within(range)),
                            out,
                        )
                    },
                };
                done.map_err(|e| self.explain(e, &piece.at, Some(s.record.offset)))
            })
        })
    }

    /// The needed bytes of an unfiltered chunk, in few ranges.
    fn units(
        &self,
        plan: &ChunkPlan,
        s: &Stored,
        joining: Joining,
        mut unit: impl FnMut(Unit, Range<u64>),
    ) -> Result<()> {
        let piece = plan.piece(s.number);
        let part = self.checked_plain(&piece, s.record).map_err(|e| self.of_chunk(plan, s, e))?;
        let size = self.layout.element.size;
        let mut strips = Strips::new(piece.axes.clone(), Side::From, size, joining);
        if strips.len() > APART_UNITS_OF_CHUNK {
            strips =
                Strips::new(piece.axes.clone(), Side::From, size, Joining { gap: u64::MAX, most: u64::MAX });
        }
        for number in 0..strips.len() {
            let (own, range) = part.unit(strips.unit(number)).map_err(|e| self.of_chunk(plan, s, e))?;
            unit(own, range);
        }
        Ok(())
    }

    pub(super) fn of_chunk(&self, plan: &ChunkPlan, s: &Stored, error: Error) -> Error {
        let mut at = Vec::new();
        plan.at(s.number, &mut at);
        self.explain(error, &at, Some(s.record.offset))
    }
}
