//! A store with latency whose requests bring their neighbours: what lies next in the file comes along.
//!
//! A program that reads one variable after the other makes a request for each and waits for each. Where its reads go forward
//! through the file, the next bytes are fetched in the same round and held until they are asked for. How many follows from the
//! store's [`IoProfile`]: at first as many as cost less than another request ([`IoProfile::read_gap`]), and twice as many with
//! each further read of the run, up to [`IoProfile::read_ahead`].
//!
//! Guarantees:
//! * A read that continues no other fetches what it asks for and nothing else (of a store that is read by pages: their rest).
//! * Bytes that nobody has asked for are at most as many as those that were asked for, and a megabyte.
//! * Bytes that are held, or on their way for another thread, are not requested again. How many are held of one file is bounded,
//!   by [`ROOM`] at most, and how many of all; the latest used stay.
//! * A neighbour that cannot be had is no error of the read that it came with.

mod pieces;
mod plan;
mod runs;

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{IoProfile, Origin, ReadStore, in_order, past_end};
use crate::error::{Error, Result};

use pieces::{Arriving, Pieces};
use plan::Plan;

/// Bytes that are held of one file at most, …
pub(crate) const ROOM: u64 = 64 << 20;
/// … and with little memory.
const LEAST_ROOM: u64 = 4 << 20;

/// A range that could not be read: its number, and why.
type Failed = (usize, Error);

/// The store, and its bytes that are held.
#[derive(Debug)]
pub(crate) struct NeighbourStore {
    inner: Arc<dyn ReadStore>,
    profile: IoProfile,
    /// Requests are rounded to pages of this many bytes: for formats whose reader asks for one small structure after the other.
    page: u64,
    pieces: Arc<Pieces>,
}

impl NeighbourStore {
    /// Holds what `inner` sends, `room` bytes of it, if requests to it have latency; otherwise it is `inner` itself.
    pub(crate) fn over(inner: Arc<dyn ReadStore>, page: u64, room: u64) -> Arc<dyn ReadStore> {
        match inner.io_profile().has_latency() {
            true => Arc::new(Self::new(inner, page, room)),
            false => inner,
        }
    }

    fn new(inner: Arc<dyn ReadStore>, page: u64, room: u64) -> Self {
        let pieces = Arc::new(Pieces::new(room.clamp(LEAST_ROOM, ROOM)));
        NeighbourStore { profile: inner.io_profile(), inner, page: page.max(1), pieces }
    }

    /// Makes the requests of a plan, and gives each range on when all of it has come; whether to go on.
    fn fetch(
        &self,
        plan: &mut Plan,
        arriving: &mut Arriving<'_>,
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<bool, Failed> {
        let mut go_on = true;
        let mut asked: Vec<usize> = (0..plan.len()).collect();
        while !asked.is_empty() && go_on {
            let ranges: Vec<Range<u64>> = asked.iter().map(|&n| plan.range(n)).collect();
            let fetched = self.inner.read_each(&ranges, &mut |i, bytes| {
                let n = asked[i];
                arriving.arrived(n, &bytes, plan.unasked(n), plan.keeps(n));
                for (range, whole) in plan.arrived(n, &bytes) {
                    go_on = go_on && give(range, whole);
                }
                go_on
            });
            asked = match fetched {
                Ok(()) => break,
                // The ranges that were asked for are requested again, without their neighbours.
                Err(_) if plan.strip() => (0..plan.len()).filter(|&n| arriving.is_absent(n)).collect(),
                Err((i, e)) => return Err((asked.get(i).map_or(0, |&n| plan.first_of(n)), e)),
            };
        }
        Ok(go_on)
    }

    fn check(&self, ranges: &[Range<u64>]) -> std::result::Result<(), Failed> {
        let len = self.inner.len();
        match ranges.iter().position(|r| r.end > len || r.start > r.end) {
            Some(i) => {
                let r = &ranges[i];
                Err((i, past_end(self.name(), r.end.saturating_sub(r.start), r.start, len)))
            }
            None => Ok(()),
        }
    }
}

impl ReadStore for NeighbourStore {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let range = offset..offset.saturating_add(buf.len() as u64);
        let mut got = Bytes::new();
        let give = &mut |_: usize, bytes: Bytes| {
            got = bytes;
            true
        };
        self.read_each(std::slice::from_ref(&range), give).map_err(|(_, e)| e)?;
        if got.len() != buf.len() {
            return Err(past_end(self.name(), buf.len() as u64, offset, offset + got.len() as u64));
        }
        buf.copy_from_slice(&got);
        Ok(())
    }

    fn io_profile(&self) -> IoProfile {
        self.profile
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        in_order(self, ranges)
    }

    fn read_each(
        &self,
        ranges: &[Range<u64>],
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<(), Failed> {
        self.check(ranges)?;
        let mut todo: Vec<usize> = (0..ranges.len()).collect();
        let mut neighbours = Some(self.profile);
        while !todo.is_empty() {
            // Neighbours come with the first round only: the others are for what another thread failed to bring.
            let mut plan = self.pieces.plan(ranges, &todo, self.page, self.inner.len(), neighbours.take());
            let mut arriving = Arriving::of(&self.pieces, plan.requests());
            let held = plan.take_held();
            if !held.into_iter().all(|(i, bytes)| give(i, bytes))
                || !self.fetch(&mut plan, &mut arriving, give)?
            {
                return Ok(());
            }
            drop(arriving);
            todo = plan.of_others();
            self.pieces.wait_for(todo.iter().map(|&i| &ranges[i]));
        }
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.inner.as_any()
    }

    fn origin(&self) -> Origin<'_> {
        self.inner.origin()
    }
}

impl Drop for NeighbourStore {
    fn drop(&mut self) {
        self.pieces.clear();
    }
}

#[cfg(test)]
mod tests;
