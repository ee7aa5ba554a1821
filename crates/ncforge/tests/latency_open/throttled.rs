//! A store in memory that says it has latency, and counts what it is asked for.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ncforge::store::{IoProfile, MemoryStore, ReadStore};
use ncforge::{Error, Result};

/// What a store was asked for. A round is one call: its requests are made at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) rounds: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

/// The store. Nothing sleeps: requests are counted, not timed.
#[derive(Debug)]
pub(crate) struct Throttled {
    inner: MemoryStore,
    profile: IoProfile,
    rounds: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Throttled {
    /// An object store, as one reads it over the internet.
    pub(crate) const PROFILE: IoProfile = IoProfile {
        latency: Duration::from_millis(30),
        bandwidth: 32 << 20,
        in_flight: 16,
        read_gap: 256 << 10,
        largest_request: 8 << 20,
    };

    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let inner = MemoryStore::new("throttled", bytes);
        let (rounds, requests, bytes) = Default::default();
        Throttled { inner, profile: Self::PROFILE, rounds, requests, bytes }
    }

    /// What it was asked for since the last call.
    pub(crate) fn take(&self) -> Asked {
        Asked {
            rounds: self.rounds.swap(0, Ordering::Relaxed),
            requests: self.requests.swap(0, Ordering::Relaxed),
            bytes: self.bytes.swap(0, Ordering::Relaxed),
        }
    }

    fn count(&self, requests: u64, bytes: u64) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl ReadStore for Throttled {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn io_profile(&self) -> IoProfile {
        self.profile
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.count(1, buf.len() as u64);
        self.inner.read_at(buf, offset)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        let bytes = |r: &Range<u64>| r.end.saturating_sub(r.start);
        if let Some(odd) = ranges.iter().find(|r| bytes(r) == 0 || bytes(r) > self.profile.largest_request) {
            return Err(Error::Invalid(format!("a request for bytes {odd:?}")));
        }
        self.count(ranges.len() as u64, ranges.iter().map(bytes).sum());
        self.inner.read_ranges(ranges)
    }
}
