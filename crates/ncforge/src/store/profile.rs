//! The cost of requests to a store, so that plans fit it: a local disk wants each read as it comes, an object store few
//! large ones, many at a time.

use std::time::Duration;

/// The cost of requests to a store, and the limits within which they are joined and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoProfile {
    /// Time until the first byte of an answer; zero where requests are as cheap as memory or a page cache.
    pub latency: Duration,
    /// Bytes per second of one request.
    pub bandwidth: u64,
    /// Requests that are worth having under way at the same time, at least 1.
    pub in_flight: usize,
    /// Bytes between two ranges that are read through rather than left out with a second request.
    pub read_gap: u64,
    /// Bytes of one request at most.
    pub largest_request: u64,
}

/// Bytes of the first request to a store of which nothing is known: all of a small file, and the metadata of most that were
/// written for stores. More takes longer to come than it saves: on a connection of 100 MB/s, 3 MB take 20 ms more, as long as
/// the second round that few files need.
pub const FIRST_REQUEST: u64 = 1 << 20;

/// Bytes that are fetched ahead at most, whatever the store: they are held until they are asked for.
const MOST_AHEAD: f64 = 16e6;

impl IoProfile {
    /// A file of this machine: the caller's thread reads, and the page cache answers.
    pub const LOCAL: IoProfile = IoProfile {
        latency: Duration::ZERO,
        bandwidth: 4 << 30,
        in_flight: 1,
        // A request of 4 bytes takes 0.6 µs from the page cache, one of 8 KiB 1.0 µs.
        read_gap: 8 << 10,
        largest_request: 1 << 20,
    };

    /// An object store in the same region as the program. Further away, latency is larger and bandwidth smaller, which
    /// favours the same plans.
    pub const OBJECT: IoProfile = IoProfile {
        latency: Duration::from_millis(30),
        bandwidth: 100 << 20,
        in_flight: 32,
        // With many requests under way, one more costs a millisecond.
        read_gap: 256 << 10,
        largest_request: 16 << 20,
    };

    /// Bytes that are fetched ahead of reads that go forward, at most: as many as come in the time that a request takes to be
    /// answered, on an eighth of the connections.
    pub fn read_ahead(&self) -> u64 {
        let one = self.latency.as_secs_f64() * self.bandwidth as f64;
        (one * (self.in_flight as f64 / 8.0).max(1.0)).min(MOST_AHEAD) as u64
    }

    /// Bytes that a round of requests costs: what comes meanwhile by one connection that has a third of the bandwidth, since bytes
    /// must be decoded, too, and servers that are further away send fewer of them.
    pub fn round(&self) -> u64 {
        (self.latency.as_secs_f64() * self.bandwidth as f64 / 3.0) as u64
    }

    /// Bytes that one more request of few bytes costs in a round of many. Nothing where requests have no latency.
    pub fn small_request(&self) -> u64 {
        if self.has_latency() { self.read_gap / 8 } else { 0 }
    }

    /// Whether a request costs so much that several are better sent at the same time, and none is made twice.
    pub fn has_latency(&self) -> bool {
        !self.latency.is_zero()
    }
}
