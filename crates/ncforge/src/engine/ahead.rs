//! Looking ahead: coming requests, served from memory before they are made.
//!
//! A request that follows a pattern ([`pattern`]) mostly needs a part of each of its chunks, and the next requests
//! need the rest. So when chunks must be decoded, the parts of the next requests are taken out of them as well, into
//! a *window* ([`window`]): a box of coming requests in the order in which they will come. With room for a whole row
//! of chunks each chunk is decoded once, and nothing else of it is kept; with room for a fraction of the row each is
//! decoded as often as the fraction goes into the row. Once a pattern is sure, the window after the present one is
//! filled in the background ([`job`]), if the budget holds both and threads are idle.
//!
//! A window is only ever a copy of what a read would give. Whatever goes wrong with one, the request is read in the
//! ordinary way. Windows are dropped when their pattern breaks off, when the store is written, when nobody used
//! them for long, and with their store.

mod filled;
mod job;
mod pattern;
mod tracks;
mod window;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Engine;
use super::budget::Held;
use super::cache::Key;
use super::how::{How, Keep};
use super::policy::{AHEAD_FETCH, AHEAD_PAGE};
use super::shared::SharedOut;
use super::source::Source;
use super::stats::add;
use crate::layout::{Place, VarLayout};
use crate::model::VarId;
use crate::select::Hyperslab;
use crate::select::Row;
use crate::store::ReadStore;

pub(super) use tracks::ReadAhead;

use filled::Window;
use job::Work;
use pattern::{Level, Pattern};
use tracks::{IDLE_READS, Ready, Track};
use window::{Grid, Limit, Plan, Purpose, plan};

/// Requests that a window did not serve, one after the other, before it is dropped.
const MISSES: u32 = 8;
/// Requests that followed a pattern before chunks are decoded that nobody asked for.
const SURE: u32 = 2;
/// The part of the chunks' cost that requests must have cost before chunks with access points are read ahead: one in this many.
const PATIENCE: u64 = 32;
/// While the cache holds a pattern's chunks, windows hold this many times the requests that followed it so far.
const GROWTH: u64 = 8;

/// The effect of read-ahead on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The request is served.
    Delivered,
    /// The request is to be read; afterwards [`Request::look_further`] may see to the next ones.
    Watched,
    /// The request is to be read; requests of this kind are not watched.
    Passed,
}

/// A request of a variable.
pub(super) struct Request<'a> {
    pub(super) engine: &'a Engine,
    pub(super) store: &'a Arc<dyn ReadStore>,
    pub(super) var: VarId,
    pub(super) layout: &'a Arc<VarLayout>,
    pub(super) slab: &'a Hyperslab,
    pub(super) number: u64,
}

impl Request<'_> {
    /// Serves the request from a window if it can.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn read_ahead(&self, out_steps: &[u64], out: &SharedOut<'_>) -> Ahead {
        let inner = &*self.engine.inner;
        if !inner.ahead.enabled || !self.is_watched() {
            return Ahead::Passed;
        }
        if self.number.saturating_sub(inner.ahead.swept.load(Ordering::Relaxed)) >= IDLE_READS / 2 {
            inner.ahead.sweep(self.number);
        }
        if self.store.io_profile().has_latency() && inner.points.segment(self.store, self.var.0).is_none() {
            // Slow stores are not asked under a lock.
            self.cheapness();
        }
        let Some((ready, at, further)) = self.window() else { return Ahead::Watched };
        if !ready.window.is_ready() && !self.work(&ready.window).finish(ready.keep) {
            self.drop_windows();
            return Ahead::Watched;
        }
        // SAFETY: the caller's promise.
        unsafe { ready.window.copy(self.slab, at, self.layout, out_steps, out) };
        add(&inner.counters.ahead_hits, 1);
        drop(ready);
        if further {
            self.look_further();
        }
        Ahead::Delivered
    }

    /// Has the next window filled in the background, where there is a pattern, room and an idle thread.
    pub(super) fn look_further(&self) {
        let inner = &*self.engine.inner;
        if !self.is_encoded() || !inner.pool.is_idle() {
            return;
        }
        let key = self.key();
        let mut shard = inner.ahead.shard(key);
        let Some(track) = shard.get_mut(&key) else { return };
        if track.pattern.matched() < SURE || track.next.is_some() {
            return;
        }
        let after = match &track.current {
            Some(ready) if ready.window.find(self.slab).is_some() => ready.after.clone(),
            _ => {
                // From the present request on.
                let one = vec![1; track.pattern.levels().len()];
                window::advance(track.pattern.levels(), &one, &self.grid(), self.slab).map(Arc::new)
            }
        };
        let Some(after) = after else { return };
        let present = track.current.as_ref().map_or(0, |r| r.window.held());
        let room = self.share(track).saturating_sub(present);
        let spare = track.spare.take();
        let grid = self.grid();
        let Some(plan) = plan(&grid, &after.0, &after.1, Limit::bytes(room), Purpose::Fetch(AHEAD_FETCH))
        else {
            return;
        };
        // Chunks that a later request comes back to are decoded when they can be kept.
        if plan.returns {
            return;
        }
        let Some(ready) = self.ready(&plan, &grid, Keep::Nothing, spare) else { return };
        track.next = Some(ready.clone());
        drop(shard);
        if self.work(&ready.window).begin() {
            add(&inner.counters.prefetched, plan.bytes);
        } else {
            let mut shard = inner.ahead.shard(key);
            if let Some(track) = shard.get_mut(&key) {
                track.next.take_if(|r| Arc::ptr_eq(&r.window, &ready.window));
            }
        }
    }

    /// The window that holds the request, made now if that pays; where the request lies in it; and whether to look
    /// further afterwards.
    fn window(&self) -> Option<(Ready, u64, bool)> {
        let inner = &*self.engine.inner;
        let key = self.key();
        let mut shard = inner.ahead.shard(key);
        let track = shard.entry(key).or_insert_with(|| Track {
            store: Arc::downgrade(self.store),
            pattern: Pattern::default(),
            current: None,
            next: None,
            spare: None,
            read: 0,
            misses: 0,
        });
        let is_new = track.read == 0;
        track.read = self.number;
        let follows = track.pattern.observe(self.slab);
        if let Some(at) = track.current.as_ref().and_then(|r| r.window.find(self.slab)) {
            track.misses = 0;
            let further = track.next.is_none() && track.pattern.matched() >= SURE;
            return Some((track.current.clone()?, at, further));
        }
        if let Some(at) = track.next.as_ref().and_then(|r| r.window.find(self.slab)) {
            track.misses = 0;
            track.retire();
            track.current = track.next.take();
            return Some((track.current.clone()?, at, true));
        }
        track.misses += 1;
        if let Some(broken_off) = track.next.take_if(|_| !follows) {
            broken_off.window.drop_it();
        }
        if track.misses > MISSES {
            track.drop_windows();
        }
        let ready = self.make(track, is_new)?;
        let at = ready.window.find(self.slab)?;
        track.misses = 0;
        Some((ready, at, true))
    }

    /// A window that begins with the request, if there is a pattern and the window serves more than this one.
    fn make(&self, track: &mut Track, is_new: bool) -> Option<Ready> {
        let inner = &*self.engine.inner;
        let mut levels = track.pattern.levels().to_vec();
        if let Some(level) = levels.first() {
            let d = level.axis;
            // The second request makes a pattern if it begins where the first ended.
            let adjacent =
                level.step.unsigned_abs() == self.slab.count[d].saturating_mul(self.slab.stride[d]);
            if track.pattern.matched() < SURE && !adjacent {
                return None;
            }
            // Where this request alone costs little, all that follow are decoded when that is less than has been spent.
            if u64::from(track.pattern.matched()) < self.cheapness() / PATIENCE {
                return None;
            }
        } else if !is_new {
            return None;
        }
        let grid = self.grid();
        if levels.is_empty() {
            levels.push(self.guess(&grid)?);
        }
        // Cheap in the usual case that requests take whole chunks.
        let all = plan(&grid, &levels, self.slab, Limit::bytes(u64::MAX), Purpose::Keep)?;
        if all.requests < 2 {
            return None;
        }
        track.retire();
        let share = self.share(track);
        let spare = track.spare.take();
        let mut limit = Limit::bytes(share);
        // Where the cache holds the chunks meanwhile, windows grow with what was seen of the pattern: who reads two
        // slabs need not wait for a thousand.
        if !is_new && self.chunks_of(&grid, &all.region).is_some_and(|n| n <= inner.cache.limit() / 2) {
            limit.requests = u64::from(track.pattern.matched()) * GROWTH + GROWTH;
        }
        let plan = plan(&grid, &levels, self.slab, limit, Purpose::Keep)?;
        if plan.requests < 2 {
            return None;
        }
        if let Some(next) = track.next.take() {
            next.window.drop_it();
        }
        let keep = if plan.returns { Keep::Parts } else { Keep::Nothing };
        let ready = self.ready(&plan, &grid, keep, spare)?;
        track.current = Some(ready.clone());
        Some(ready)
    }

    /// The first request of all: one thin slab of a row of chunks that the cache cannot hold is most likely followed
    /// by the next slab.
    fn guess(&self, grid: &Grid<'_>) -> Option<Level> {
        if !self.is_encoded() || self.cheapness() >= PATIENCE {
            return None;
        }
        if self.chunks_of(grid, self.slab).is_some_and(|row| row <= self.engine.inner.cache.limit()) {
            return None;
        }
        let whole = |d: usize| self.slab.end(d) - self.slab.start[d] >= grid.chunk[d].min(grid.shape[d]);
        let mut thin = (0..self.slab.rank()).filter(|&d| !whole(d));
        let (Some(axis), None) = (thin.next(), thin.next()) else { return None };
        let step = i64::try_from(self.slab.end(axis) - self.slab.start[axis]).ok()?;
        Some(Level { axis, step, first: self.slab.start[axis], index: 0, len: None })
    }

    /// How many times less the request decodes if its chunks have access points: 1 if they have none.
    fn cheapness(&self) -> u64 {
        let source = Source {
            engine: self.engine,
            store: self.store,
            var: self.var,
            layout: self.layout,
            newer: None,
        };
        let how = How::new(self.number, false, Keep::Nothing);
        source.chunked(&[], how).and_then(|read| read.cheapness(self.slab)).unwrap_or(1)
    }

    /// Bytes of the chunks that a region meets, if it is stored in encoded ones.
    fn chunks_of(&self, grid: &Grid<'_>, region: &Hyperslab) -> Option<u64> {
        if !self.is_encoded() {
            return None;
        }
        let bounds = (0..region.rank()).map(|d| (region.start[d], region.end(d)));
        Some(Row::at(bounds, &grid.chunk, grid.size).bytes)
    }

    /// `None` where there is no memory for it.
    fn ready(&self, plan: &Plan, grid: &Grid<'_>, keep: Keep, spare: Option<Held>) -> Option<Ready> {
        let inner = &*self.engine.inner;
        let threads = self.engine.threads();
        let latency = self.store.io_profile().has_latency();
        let memory = Held::new(plan.bytes, spare, &inner.budget)?;
        // Coming requests go before decoded chunks and spare buffers.
        inner.cache.trim();
        inner.scratch.trim();
        let window = Window::new(plan, grid.size, &grid.chunk, threads, latency, memory);
        Some(Ready { window: Arc::new(window), after: plan.next.clone().map(Arc::new), keep })
    }

    /// Bytes that all windows of this variable may take.
    fn share(&self, track: &Track) -> u64 {
        let budget = &self.engine.inner.budget;
        let (own_bytes, own) = track.own();
        let others = budget.windows().saturating_sub(own);
        let taken = budget.ahead().saturating_sub(own_bytes);
        let all = budget.for_ahead();
        (all / (others + 1)).min(all.saturating_sub(taken))
    }

    fn work(&self, window: &Arc<Window>) -> Work {
        Work {
            engine: self.engine.clone(),
            store: Arc::clone(self.store),
            var: self.var,
            layout: Arc::clone(self.layout),
            window: Arc::clone(window),
            number: self.number,
        }
    }

    fn drop_windows(&self) {
        let key = self.key();
        if let Some(track) = self.engine.inner.ahead.shard(key).get_mut(&key) {
            track.drop_windows();
        }
    }

    fn key(&self) -> Key {
        // Of some rows of a variable others are those of the same numbers.
        let rows = self.layout.runs().map_or(0, |r| r.begin.rotate_left(32) ^ r.stride.unwrap_or(0));
        Key::new(self.store, self.var.0, rows)
    }

    fn is_encoded(&self) -> bool {
        matches!(&self.layout.place, Place::Chunked { codecs, .. } if !codecs.is_empty())
    }

    /// Whether requests like this are worth watching: those of chunks, and those that plain storage answers in
    /// short runs.
    fn is_watched(&self) -> bool {
        let layout = &**self.layout;
        let (slab, rank) = (self.slab, layout.shape.len());
        if rank == 0 || layout.element.heap || (0..rank).any(|d| slab.end(d) > layout.shape[d]) {
            return false;
        }
        match &layout.place {
            Place::Chunked { chunk, codecs, .. } => {
                chunk.len() == rank && !chunk.contains(&0) && (!codecs.is_empty() || self.is_scattered(chunk))
            }
            Place::Contiguous { .. } | Place::Records { .. } => self.is_scattered(&layout.shape),
            Place::Nowhere
            | Place::Inline(_)
            | Place::Parts(_)
            | Place::NotFollowed(_)
            | Place::Unsupported(_) => false,
        }
    }

    /// Whether the request meets boxes that are stored plainly in many runs shorter than a page.
    fn is_scattered(&self, stored: &[u64]) -> bool {
        let mut run = self.layout.element.size as u64;
        let mut d = stored.len();
        while d > 0 {
            d -= 1;
            run = run.saturating_mul(self.slab.count[d]);
            if self.slab.count[d] < stored[d] || self.slab.stride[d] > 1 {
                break;
            }
        }
        run < AHEAD_PAGE && self.slab.count[..d].iter().any(|&n| n > 1)
    }

    fn grid(&self) -> Grid<'_> {
        let layout = &**self.layout;
        let size = layout.element.size as u64;
        let chunk = match &layout.place {
            Place::Chunked { chunk, codecs, .. } if !codecs.is_empty() => chunk.clone(),
            Place::Chunked { chunk, .. } => page(chunk, size),
            _ => page(&layout.shape, size),
        };
        Grid { shape: &layout.shape, chunk, size }
    }
}

/// The part of a plainly stored box that is read in one go at no more cost than a few bytes of it.
fn page(stored: &[u64], size: u64) -> Vec<u64> {
    let mut left = (AHEAD_PAGE / size).max(1);
    let mut page = vec![1; stored.len()];
    for (slot, &n) in page.iter_mut().zip(stored).rev() {
        *slot = left.min(n).max(1);
        left /= n.max(1);
        if left <= 1 {
            break;
        }
    }
    page
}
