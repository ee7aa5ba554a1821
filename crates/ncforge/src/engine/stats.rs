//! Counters: what the engine has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// What an engine has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Chunks that were found decoded in memory.
    pub hits: u64,
    /// Chunks that had to be fetched and decoded.
    pub misses: u64,
    /// Bytes that came out of decoders.
    pub bytes_decoded: u64,
    /// Bytes that were fetched from stores.
    pub bytes_fetched: u64,
    /// Bytes that were handed to callers.
    pub bytes_delivered: u64,
    /// Bytes of decoded chunks that are kept now.
    pub bytes_kept: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) decoded: AtomicU64,
    pub(super) fetched: AtomicU64,
    pub(super) delivered: AtomicU64,
}

/// Adds to a counter that nobody synchronises on.
pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn snapshot(&self, kept: u64) -> EngineStats {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        EngineStats {
            hits: get(&self.hits),
            misses: get(&self.misses),
            bytes_decoded: get(&self.decoded),
            bytes_fetched: get(&self.fetched),
            bytes_delivered: get(&self.delivered),
            bytes_kept: kept,
        }
    }
}
