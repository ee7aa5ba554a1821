//! The bytes of one file that are held, and those that are on their way.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;

use super::super::requests::EVEN;
use super::super::{IoProfile, PerProcess};
use super::plan::Plan;
use super::runs::Runs;

/// Bytes of all files of the process that are held; those of the files that began first go when there are more.
const ROOM_OF_ALL: u64 = 256 << 20;
/// Pieces of one file.
const MOST: usize = 8192;
/// A thread that waits for another's request checks at this interval whether that request is still under way.
const TICK: Duration = Duration::from_millis(100);

/// The pieces of a file: disjoint, by their first byte.
#[derive(Debug)]
pub(super) struct Pieces {
    /// Bytes that are held at most.
    room: u64,
    state: PerProcess<Mutex<State>>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pieces: BTreeMap<u64, Piece>,
    /// Bytes that are held.
    bytes: u64,
    /// Whether the file is among those that hold something.
    listed: bool,
    calls: u64,
    runs: Runs,
}

#[derive(Debug)]
struct Piece {
    end: u64,
    /// The latest call that used it.
    used: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Held {
        bytes: Bytes,
        /// The number of them that nobody has asked for.
        unasked: u64,
    },
    /// The bytes are requested, by a call.
    Coming { call: u64, request: usize },
}

/// What all files hold.
static ALL: LazyLock<PerProcess<All>> = LazyLock::new(PerProcess::default);

#[derive(Default)]
struct All {
    /// The files that hold something, in the order in which they began to.
    listed: Mutex<VecDeque<Weak<Pieces>>>,
    /// Their bytes.
    held: AtomicU64,
}

impl Pieces {
    pub(super) fn new(room: u64) -> Self {
        Pieces { room, state: PerProcess::default(), came: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans a call for some of the ranges, which lie inside the `len` bytes of the store. Requests are rounded to pages, and
    /// neighbours come along as the profile says, if there is one.
    pub(super) fn plan(
        &self,
        ranges: &[Range<u64>],
        numbers: &[usize],
        page: u64,
        len: u64,
        profile: Option<IoProfile>,
    ) -> Plan {
        let mut state = self.lock();
        state.calls += 1;
        let mut plan = Plan::default();
        for &i in numbers {
            plan.begin(i);
            state.plan(&mut plan, &ranges[i], page, len);
        }
        plan.neighbours_follow();
        let asked = plan.requests().iter().fold(0, |n: u64, r| n + (r.end - r.start));
        // Larger requests would push out everything else.
        plan.keep = asked <= self.room / 2;
        if let Some(profile) = profile {
            state.neighbours(&mut plan, numbers.iter().map(|&i| &ranges[i]), len, &profile, self.room / 4);
        }
        let unasked = (0..plan.len()).map(|n| plan.unasked(n)).sum();
        state.runs.fetches(unasked);
        plan
    }

    /// Waits until no other thread is bringing parts of these ranges.
    pub(super) fn wait_for<'a>(&self, ranges: impl Iterator<Item = &'a Range<u64>>) {
        let mut state = self.lock();
        for range in ranges {
            while state.is_coming(range) {
                state = self.came.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Lets go of everything that is held.
    pub(super) fn clear(self: &Arc<Self>) {
        self.lock().clear();
        let this = Arc::as_ptr(self);
        ALL.listed.lock().unwrap_or_else(PoisonError::into_inner).retain(|p| p.as_ptr() != this);
    }

    /// Takes in bytes that have come.
    fn hold(self: &Arc<Self>, start: u64, bytes: Bytes, unasked: u64) {
        let mut state = self.lock();
        let (end, used) = (start + bytes.len() as u64, state.calls);
        state.bytes += bytes.len() as u64;
        ALL.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        state.pieces.insert(start, Piece { end, used, content: Content::Held { bytes, unasked } });
        state.shrink(self.room);
        let is_new = !std::mem::replace(&mut state.listed, true);
        drop(state);
        if is_new || ALL.held.load(Ordering::Relaxed) > ROOM_OF_ALL {
            let mut listed = ALL.listed.lock().unwrap_or_else(PoisonError::into_inner);
            if is_new {
                listed.push_back(Arc::downgrade(self));
            }
            while ALL.held.load(Ordering::Relaxed) > ROOM_OF_ALL && listed.len() > 1 {
                let Some(first) = listed.pop_front() else { break };
                let Some(pieces) = first.upgrade() else { continue };
                match pieces.state.try_lock() {
                    Ok(mut state) => state.clear(),
                    // It is in use just now.
                    Err(_) => {
                        listed.push_back(first);
                        break;
                    }
                }
            }
        }
    }
}

impl State {
    /// The piece that a byte lies in.
    fn at(&mut self, byte: u64) -> Option<(u64, &mut Piece)> {
        let (&start, piece) = self.pieces.range_mut(..=byte).next_back()?;
        (piece.end > byte).then_some((start, piece))
    }

    /// The end and the beginning of the pieces around an absent byte.
    fn around(&self, byte: u64) -> (u64, u64) {
        let before = self.pieces.range(..=byte).next_back().map_or(0, |(_, piece)| piece.end);
        (before, self.pieces.range(byte..).next().map_or(u64::MAX, |(&start, _)| start))
    }

    /// Cuts a range into what is held, what is coming and what is to be requested.
    fn plan(&mut self, plan: &mut Plan, range: &Range<u64>, page: u64, len: u64) {
        let (mut at, now) = (range.start, self.calls);
        while at < range.end {
            let Some((start, piece)) = self.at(at) else {
                let (before, behind) = self.around(at);
                let end = range.end.min(behind);
                let up = end.div_ceil(page).saturating_mul(page).min(behind).min(len).max(end);
                let rounded = (at / page * page).max(before)..up;
                let request = plan.request(rounded.clone());
                let content = Content::Coming { call: now, request };
                self.pieces.insert(rounded.start, Piece { end: rounded.end, used: now, content });
                plan.requested(request, at..end);
                at = end;
                continue;
            };
            let end = piece.end.min(range.end);
            piece.used = now;
            match &mut piece.content {
                Content::Held { bytes, unasked } => {
                    let used = (end - at).min(*unasked);
                    *unasked -= used;
                    plan.held(bytes.slice((at - start) as usize..(end - start) as usize));
                    self.runs.used(used);
                }
                Content::Coming { call, request, .. } if *call == now => plan.requested(*request, at..end),
                Content::Coming { .. } => plan.left_to_another(),
            }
            at = end;
        }
    }

    /// Adds to a plan what lies next in the file, at most so many bytes of it, where the call goes on with a run.
    fn neighbours<'a>(
        &mut self,
        plan: &mut Plan,
        ranges: impl Iterator<Item = &'a Range<u64>> + Clone,
        len: u64,
        profile: &IoProfile,
        most: u64,
    ) {
        let wanted = ranges.filter(|r| !r.is_empty());
        let Some(last) = wanted.clone().max_by_key(|r| r.end) else { return };
        let first = wanted.clone().map(|r| r.start).min().unwrap_or(last.start);
        let (count, bytes) =
            wanted.fold((0, 0u64), |(n, b), r| (n + 1u64, b.saturating_add(r.end - r.start)));
        // Ranges that lie apart are many requests, and their gaps no neighbours.
        let is_dense = last.end - first <= bytes.saturating_add(profile.read_gap.saturating_mul(count - 1));
        let from = if is_dense { first } else { last.start };
        let ahead = self.runs.read(from, last.end, bytes, profile).min(most);
        let free = profile.in_flight.saturating_sub(plan.own()) as u64;
        if plan.own() == 0 || free == 0 || ahead == 0 {
            return;
        }
        let (mut at, end) = (last.end, len.min(last.end.saturating_add(ahead)));
        // Bytes of one request: as many requests as may be under way, but no small ones.
        let most = (ahead / free).max(EVEN).min(profile.largest_request.max(1));
        let now = self.calls;
        while at < end && plan.len() < profile.in_flight {
            if let Some((_, piece)) = self.at(at) {
                at = piece.end;
                continue;
            }
            let to = end.min(self.around(at).1).min(at + most);
            let behind = plan.len().checked_sub(1).filter(|&n| {
                let before = plan.range(n);
                before.end == at && to - before.start <= most
            });
            if let Some(n) = behind
                && let Some(piece) = self.pieces.get_mut(&plan.range(n).start)
            {
                piece.end = to;
                plan.lengthen(n, to);
            } else {
                let content = Content::Coming { call: now, request: plan.request(at..to) };
                self.pieces.insert(at, Piece { end: to, used: now, content });
            }
            at = to;
        }
    }

    /// Whether another thread is bringing a part of a range.
    fn is_coming(&self, range: &Range<u64>) -> bool {
        let from = self.pieces.range(..=range.start).next_back().map_or(range.start, |(&start, _)| start);
        let mut met = self.pieces.range(from..range.end.max(from)).filter(|(_, p)| p.end > range.start);
        met.any(|(_, p)| matches!(p.content, Content::Coming { .. }))
    }

    /// Drops what was used longest ago, if there is too much; then a quarter of it, so that this is seldom.
    fn shrink(&mut self, room: u64) {
        if self.bytes <= room && self.pieces.len() <= MOST {
            return;
        }
        let held = self.pieces.iter().filter(|(_, p)| matches!(p.content, Content::Held { .. }));
        let mut oldest: Vec<(u64, u64)> = held.map(|(&start, p)| (p.used, start)).collect();
        oldest.sort_unstable();
        let mut oldest = oldest.into_iter();
        while self.bytes > room / 4 * 3 || self.pieces.len() > MOST / 4 * 3 {
            let Some((_, start)) = oldest.next() else { break };
            self.drop_piece(start);
        }
    }

    fn drop_piece(&mut self, start: u64) {
        if let Some(Piece { content: Content::Held { bytes, .. }, .. }) = self.pieces.remove(&start) {
            self.bytes -= bytes.len() as u64;
            ALL.held.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
        }
    }

    fn clear(&mut self) {
        self.pieces.retain(|_, p| matches!(p.content, Content::Coming { .. }));
        ALL.held.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
        self.listed = false;
    }
}

/// The requests of a call. Whatever ends the call, no other thread waits for what it does not bring.
pub(super) struct Arriving<'a> {
    pieces: &'a Arc<Pieces>,
    /// Absent ranges by number; `None` when one has come.
    absent: Vec<Option<Range<u64>>>,
}

impl<'a> Arriving<'a> {
    pub(super) fn of(pieces: &'a Arc<Pieces>, requests: Vec<Range<u64>>) -> Self {
        Arriving { pieces, absent: requests.into_iter().map(Some).collect() }
    }

    /// Whether a request has not come.
    pub(super) fn is_absent(&self, number: usize) -> bool {
        self.absent[number].is_some()
    }

    /// A request has come, with `unasked` bytes that were not asked for.
    pub(super) fn arrived(&mut self, number: usize, bytes: &Bytes, unasked: u64, keep: bool) {
        let Some(range) = self.absent[number].take() else { return };
        match keep && bytes.len() as u64 == range.end - range.start {
            true => self.pieces.hold(range.start, bytes.clone(), unasked),
            false => drop(self.pieces.lock().pieces.remove(&range.start)),
        }
        self.pieces.came.notify_all();
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        let absent: Vec<u64> = self.absent.iter().flatten().map(|r| r.start).collect();
        if !absent.is_empty() {
            let mut state = self.pieces.lock();
            for start in absent {
                state.pieces.remove(&start);
            }
            drop(state);
            self.pieces.came.notify_all();
        }
    }
}
