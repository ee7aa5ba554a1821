//! A cache of decoded blocks with one budget for all zipped files that share it.
//!
//! The key of a block is where it is stored. Live bytes are never overwritten, so cached blocks are never out of date.
//! Blocks to evict are chosen at random: a repeated scan over more blocks than fit finds some of them again, whereas
//! least-recently-used would find none.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::store::PerProcess;

/// A store, a slot, a checksum.
pub(super) type Key = (u64, u64, u32);

const SHARDS: usize = 16;

/// Decoded blocks of zipped files. One is enough for a process; an engine has one
/// ([`crate::engine::Engine`]).
#[derive(Debug)]
pub struct BlockCache {
    limit: u64,
    kept: PerProcess<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    shards: [Mutex<Shard>; SHARDS],
    bytes: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    /// Blocks that are being decoded in the background.
    coming: Mutex<HashSet<Key>>,
}

#[derive(Debug, Default)]
struct Shard {
    /// A lookup is most of the cost of a small read, and std's hash was most of that. Keys consist of slots and
    /// checksums; an attacker who chose colliding ones would only slow down reads of that file.
    blocks: FxHashMap<Key, (usize, Arc<[u8]>)>,
    order: Vec<Key>,
    /// State of the random generator.
    seed: u64,
}

impl Shard {
    fn remove_at(&mut self, i: usize) -> u64 {
        let key = self.order.swap_remove(i);
        if let Some(moved) = self.order.get(i)
            && let Some(entry) = self.blocks.get_mut(moved)
        {
            entry.0 = i;
        }
        self.blocks.remove(&key).map_or(0, |(_, b)| b.len() as u64)
    }

    fn remove_any(&mut self) -> u64 {
        if self.order.is_empty() {
            return 0;
        }
        // Any generator is sufficient; this is Steele's SplitMix64.
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^= z >> 27;
        self.remove_at((z % self.order.len() as u64) as usize)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BlockCache {
    /// A cache of at most `limit` bytes of decoded blocks.
    pub fn new(limit: u64) -> Self {
        BlockCache { limit, kept: PerProcess::default() }
    }

    /// Bytes of the blocks that are cached now.
    pub fn bytes(&self) -> u64 {
        self.kept.bytes.load(Ordering::Relaxed)
    }

    /// The largest number of bytes in the cache.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Hits and misses since the cache was created.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.kept.hits.load(Ordering::Relaxed), self.kept.misses.load(Ordering::Relaxed))
    }

    /// Evicts everything.
    pub fn clear(&self) {
        for mut shard in self.kept.shards.iter().map(lock) {
            let freed: u64 = shard.blocks.values().map(|(_, b)| b.len() as u64).sum();
            shard.blocks.clear();
            shard.order.clear();
            self.kept.bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        &self.kept.shards[(key.1.wrapping_mul(0x9E37_79B9).wrapping_add(key.0) >> 4) as usize % SHARDS]
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        let found = lock(self.shard(key)).blocks.get(key).map(|(_, b)| b.clone());
        let counter = if found.is_some() { &self.kept.hits } else { &self.kept.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Whether a block is cached, or being decoded in the background.
    pub(super) fn has(&self, key: &Key) -> bool {
        lock(self.shard(key)).blocks.contains_key(key) || lock(&self.kept.coming).contains(key)
    }

    pub(super) fn put(&self, key: Key, block: Arc<[u8]>) {
        let len = block.len() as u64;
        if len > self.limit {
            return;
        }
        let mut shard = lock(self.shard(&key));
        let i = shard.order.len();
        if shard.blocks.contains_key(&key) {
            return;
        }
        let mut now = self.kept.bytes.fetch_add(len, Ordering::Relaxed) + len;
        while now > self.limit && !shard.order.is_empty() {
            let freed = shard.remove_any();
            now = self.kept.bytes.fetch_sub(freed, Ordering::Relaxed) - freed;
        }
        if now > self.limit {
            // Other shards use the whole budget: one of their blocks is evicted later.
            self.kept.bytes.fetch_sub(len, Ordering::Relaxed);
            drop(shard);
            self.remove_from_fullest();
            return;
        }
        let i = i.min(shard.order.len());
        shard.order.push(key);
        shard.blocks.insert(key, (i, block));
    }

    fn remove_from_fullest(&self) {
        if let Some(shard) = self.kept.shards.iter().max_by_key(|shard| lock(shard).order.len()) {
            let freed = lock(shard).remove_any();
            self.kept.bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// Evicts the blocks of one store.
    pub(super) fn forget(&self, store: u64) {
        for mut shard in self.kept.shards.iter().map(lock) {
            let mut i = 0;
            while i < shard.order.len() {
                if shard.order[i].0 == store {
                    let freed = shard.remove_at(i);
                    self.kept.bytes.fetch_sub(freed, Ordering::Relaxed);
                } else {
                    i += 1;
                }
            }
        }
    }

    pub(super) fn begin(&self, key: Key) -> bool {
        lock(&self.kept.coming).insert(key)
    }

    pub(super) fn end(&self, key: &Key) {
        lock(&self.kept.coming).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_respected_and_a_scan_has_hits() {
        let cache = BlockCache::new(64 * 100);
        for round in 0..20 {
            for slot in 0..128u64 {
                let key = (1, slot, 7);
                if cache.get(&key).is_none() {
                    cache.put(key, vec![slot as u8; 100].into());
                }
                assert!(cache.bytes() <= 6400, "round {round}");
            }
        }
        let (hits, misses) = cache.hits_and_misses();
        assert!(hits * 6 > hits + misses, "{hits} of {}", hits + misses);
        assert_eq!(cache.get(&(2, 1, 7)), None);
        cache.forget(1);
        assert_eq!(cache.bytes(), 0);
    }
}
