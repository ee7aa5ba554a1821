//! Counters: what the engine has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of an engine's work since it was made.
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
    /// Reads that were served from memory into which the engine had looked ahead; they touch no chunk and count
    /// neither as hits nor as misses.
    pub ahead_hits: u64,
    /// Bytes of coming requests whose chunks were decoded in the background.
    pub bytes_prefetched: u64,
    /// Bytes of decoded chunks that are kept now.
    pub bytes_kept: u64,
    /// Bytes of coming requests that are kept now.
    pub bytes_ahead: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) decoded: AtomicU64,
    pub(super) fetched: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) ahead_hits: AtomicU64,
    pub(super) prefetched: AtomicU64,
}

/// Adds to a counter that nobody synchronises on.
pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    pub(super) fn snapshot(&self, kept: u64, ahead: u64) -> EngineStats {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        EngineStats {
            hits: get(&self.hits),
            misses: get(&self.misses),
            bytes_decoded: get(&self.decoded),
            bytes_fetched: get(&self.fetched),
            bytes_delivered: get(&self.delivered),
            ahead_hits: get(&self.ahead_hits),
            bytes_prefetched: get(&self.prefetched),
            bytes_kept: kept,
            bytes_ahead: ahead,
        }
    }
}
