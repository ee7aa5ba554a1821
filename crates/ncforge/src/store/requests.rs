//! Which byte ranges of a store are read in one request: the only place where ranges are joined.
//!
//! Ranges that are close together are read in one request if reading the gap costs less than a second request, and a
//! request has a largest length. Both come from the store's [`IoProfile`].

use std::ops::Range;

use super::IoProfile;

/// Requests of a store with latency are not cut below this many bytes so that as many as shall be under way fit in memory, …
const SMALL: u64 = 256 << 10;
/// … nor below this many for the sake of having more of them under way: one connection moves it in a third of a latency.
pub(super) const EVEN: u64 = 1 << 20;

/// How ranges are joined into requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joining {
    /// Bytes between two ranges that are read through.
    pub gap: u64,
    /// Bytes of a request at most, unless one range has more.
    pub most: u64,
}

impl Joining {
    /// As a store's profile says.
    pub fn of(profile: &IoProfile) -> Self {
        Joining { gap: profile.read_gap, most: profile.largest_request }
    }

    /// As a store's profile says, for reading `total` bytes of it with `memory` bytes: as many requests as shall be under way
    /// fit there, and have equal parts of the bytes, unless that makes them small.
    pub fn apart(profile: &IoProfile, memory: u64, total: u64) -> Self {
        let in_flight = profile.in_flight.max(1) as u64;
        let fits = (memory / in_flight).max(SMALL).min(memory);
        Joining::of(profile).at_most(fits.min((total / in_flight).max(EVEN)))
    }

    /// The requests, of at most `most` bytes each.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Joining { most: self.most.min(most), ..self }
    }
}

/// One request, and the ranges it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The bytes of the store.
    pub bytes: Range<u64>,
    /// The numbers of the ranges that lie in it.
    pub parts: Range<usize>,
}

impl Request {
    /// The place of a served range in the bytes that the request brings.
    pub fn within(&self, range: &Range<u64>) -> Range<usize> {
        (range.start - self.bytes.start) as usize..(range.end - self.bytes.start) as usize
    }

    /// Bytes that it fetches.
    pub fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }

    /// True if nothing is fetched.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Joins `n` ranges, which begin at rising offsets, into requests. Ranges that are `alone` are not joined with others.
///
/// ```
/// use ncforge::store::requests::{Joining, join};
/// let ranges = [0..10, 12..20, 500..510];
/// let mut requests = Vec::new();
/// join(3, |i| ranges[i].clone(), Joining { gap: 16, most: 1 << 20 }, |_| false, |r| requests.push(r.bytes));
/// assert_eq!(requests, [0..20, 500..510]);
/// ```
pub fn join(
    n: usize,
    range: impl Fn(usize) -> Range<u64>,
    joining: Joining,
    alone: impl Fn(usize) -> bool,
    mut request: impl FnMut(Request),
) {
    let mut open: Option<Request> = None;
    for i in 0..n {
        let next = range(i);
        if let Some(r) = &mut open {
            let end = r.bytes.end.max(next.end);
            let joined = next.start <= r.bytes.end.saturating_add(joining.gap)
                && end - r.bytes.start <= joining.most
                && !alone(i - 1)
                && !alone(i);
            if joined {
                (r.bytes.end, r.parts.end) = (end, i + 1);
                continue;
            }
        }
        let one = Request { bytes: next.start..next.end.max(next.start), parts: i..i + 1 };
        if let Some(done) = open.replace(one) {
            request(done);
        }
    }
    open.into_iter().for_each(request);
}
