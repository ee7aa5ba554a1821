//! The plan of one call: the parts of its ranges that are held, those that it requests, and those that other threads wait for.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// A part of a range.
#[derive(Debug)]
enum Part {
    Held(Bytes),
    /// The bytes come with a request of this call, here.
    Requested(Range<u64>),
}

/// A range whose parts are all held or requested.
#[derive(Debug, Default)]
struct Wanted {
    parts: Vec<Part>,
    /// Parts that have not come.
    missing: usize,
}

#[derive(Debug)]
struct Request {
    bytes: Range<u64>,
    /// Bytes that ranges of this call need.
    needed: u64,
    /// The ranges that it serves: their places in the plan, and the part.
    serves: Vec<(usize, usize)>,
}

/// The plan of a call.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The ranges' numbers, and their parts.
    wanted: Vec<(usize, Wanted)>,
    /// Requests that serve ranges first, then those of neighbours.
    requests: Vec<Request>,
    own: usize,
    /// Ranges of which other threads are bringing a part.
    of_others: BTreeSet<usize>,
    /// Whether what the call asks for is held afterwards.
    pub(super) keep: bool,
}

impl Plan {
    /// From now on parts belong to the range of this number.
    pub(super) fn begin(&mut self, range: usize) {
        self.wanted.push((range, Wanted::default()));
    }

    /// A part of the latest range that is held.
    pub(super) fn held(&mut self, bytes: Bytes) {
        if let Some((_, wanted)) = self.wanted.last_mut() {
            wanted.parts.push(Part::Held(bytes));
        }
    }

    /// A part of the latest range that a request of this call brings.
    pub(super) fn requested(&mut self, request: usize, bytes: Range<u64>) {
        let Some((at, (_, wanted))) = self.wanted.iter_mut().enumerate().next_back() else { return };
        let request = &mut self.requests[request];
        request.serves.push((at, wanted.parts.len()));
        request.needed += bytes.end - bytes.start;
        wanted.missing += 1;
        wanted.parts.push(Part::Requested(bytes));
    }

    /// Another thread brings a part of the latest range: the range is planned again when that has come.
    pub(super) fn left_to_another(&mut self) {
        self.of_others.extend(self.wanted.last().map(|(range, _)| *range));
    }

    /// Adds a request; its number.
    pub(super) fn request(&mut self, bytes: Range<u64>) -> usize {
        self.requests.push(Request { bytes, needed: 0, serves: Vec::new() });
        self.requests.len() - 1
    }

    /// All requests that serve ranges are made; those that follow are for neighbours.
    pub(super) fn neighbours_follow(&mut self) {
        self.own = self.requests.len();
    }

    /// Lets the request that ends at `end` go on to `to`.
    pub(super) fn lengthen(&mut self, number: usize, to: u64) {
        self.requests[number].bytes.end = to;
    }

    /// Requests.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Requests that serve ranges.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// The bytes of all requests.
    pub(super) fn requests(&self) -> Vec<Range<u64>> {
        self.requests.iter().map(|r| r.bytes.clone()).collect()
    }

    /// The bytes of a request.
    pub(super) fn range(&self, number: usize) -> Range<u64> {
        self.requests[number].bytes.clone()
    }

    /// Leaves out of the requests that have not come what no range needs; whether there was anything.
    pub(super) fn strip(&mut self) -> bool {
        if (0..self.len()).all(|n| self.unasked(n) == 0) {
            return false;
        }
        for request in &mut self.requests {
            let parts =
                request.serves.iter().filter_map(|&(at, part)| match &self.wanted[at].1.parts[part] {
                    Part::Requested(bytes) => Some(bytes.clone()),
                    Part::Held(_) => None,
                });
            let hull = parts.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
            request.bytes = hull.unwrap_or_default();
            request.needed = request.bytes.end - request.bytes.start;
        }
        self.requests.truncate(self.own);
        true
    }

    /// Bytes of a request that nobody has asked for.
    pub(super) fn unasked(&self, number: usize) -> u64 {
        let request = &self.requests[number];
        (request.bytes.end - request.bytes.start).saturating_sub(request.needed)
    }

    /// Whether a request's bytes are held.
    pub(super) fn keeps(&self, number: usize) -> bool {
        self.keep || self.unasked(number) > 0
    }

    /// The number of the first range that a request serves.
    pub(super) fn first_of(&self, number: usize) -> usize {
        let serves = self.requests.get(number).and_then(|r| r.serves.first());
        serves.map_or(0, |&(at, _)| self.wanted[at].0)
    }

    /// Ranges that another thread is bringing a part of.
    pub(super) fn of_others(&self) -> Vec<usize> {
        self.of_others.iter().copied().collect()
    }

    /// The ranges all of which is held.
    pub(super) fn take_held(&mut self) -> Vec<(usize, Bytes)> {
        let others = &self.of_others;
        let held = self.wanted.iter_mut().filter(|(i, w)| w.missing == 0 && !others.contains(i));
        held.map(|(i, wanted)| (*i, whole(std::mem::take(&mut wanted.parts)))).collect()
    }

    /// A request has come: the ranges that are complete now. A request whose answer is too short leaves them too short.
    pub(super) fn arrived(&mut self, number: usize, bytes: &Bytes) -> Vec<(usize, Bytes)> {
        let start = self.requests[number].bytes.start;
        let within = |at: u64| usize::try_from(at - start).map_or(bytes.len(), |at| at.min(bytes.len()));
        let mut complete = Vec::new();
        for (at, part) in std::mem::take(&mut self.requests[number].serves) {
            let (range, wanted) = &mut self.wanted[at];
            let Some(Part::Requested(r)) = wanted.parts.get(part) else { continue };
            let piece = bytes.slice(within(r.start)..within(r.end));
            wanted.parts[part] = Part::Held(piece);
            wanted.missing -= 1;
            if wanted.missing == 0 && !self.of_others.contains(range) {
                complete.push((*range, whole(std::mem::take(&mut wanted.parts))));
            }
        }
        complete
    }
}

/// The bytes of a range, in one piece.
fn whole(parts: Vec<Part>) -> Bytes {
    let mut held = parts.into_iter().filter_map(|part| match part {
        Part::Held(bytes) => Some(bytes),
        Part::Requested(_) => None,
    });
    let first = held.next().unwrap_or_default();
    let Some(second) = held.next() else { return first };
    let mut all = BytesMut::from(&first[..]);
    all.extend_from_slice(&second);
    held.for_each(|bytes| all.extend_from_slice(&bytes));
    all.freeze()
}
