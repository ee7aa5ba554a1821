//! Decoded chunks, kept under a byte limit.
//!
//! The enemy is the scan that comes round again and is a little larger than the cache: with least-recently-used
//! replacement it finds nothing, ever. So here
//! * what the current read has touched is never let go for what the same read still brings;
//! * the victim is the oldest of a few taken at random;
//! * when chunks come back that were let go before (a *returning miss*), the cache holds too little for what is
//!   going on: from then on it holds still and keeps serving its share; only one newcomer in sixty-four is let in,
//!   for a victim taken at random. How long returning chunks were away shows what is stale: entries that nobody
//!   touched for twice that time make room at once. Misses that are new end the holding still.
//!
//! Entries are found by the store and the chunk's place in it. A weak handle keeps the store's address from being
//! used again while an entry lives.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::budget::Budget;
use super::scratch::Block;
use crate::store::ReadStore;

const SHARDS: usize = 16;
/// Entries looked at to find a victim.
const SAMPLE: usize = 8;
/// Chunks remembered, per shard, kind and generation.
const GHOSTS: usize = 4096;
/// Returning misses, less new ones, from which on the cache holds still.
const RETURNING_FROM: i64 = 4;
const RETURNING_MAX: i64 = 64;

/// The key of a decoded chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    store: usize,
    var: usize,
    offset: u64,
}

impl Key {
    /// The chunk of a variable whose encoded bytes lie at `offset`.
    pub(super) fn new(store: &Arc<dyn ReadStore>, var: usize, offset: u64) -> Self {
        Self { store: address(store), var, offset }
    }

    /// The store's address.
    pub(super) fn store(&self) -> usize {
        self.store
    }

    /// A number that differs from variable to variable.
    pub(super) fn spread(&self) -> u64 {
        (self.store as u64 / 16).wrapping_add(self.var as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
    }
}

pub(super) fn address(store: &Arc<dyn ReadStore>) -> usize {
    Arc::as_ptr(store).cast::<u8>() as usize
}

#[derive(Debug)]
pub(super) struct Cache {
    budget: Arc<Budget>,
    bytes: AtomicU64,
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    /// State of a small generator of random numbers.
    random: AtomicU64,
    /// Returning misses less new ones, bounded.
    returning: AtomicI64,
    /// The number of reads for which returning chunks were away, lately.
    away: AtomicU64,
}

/// The entries that may go when room is needed.
#[derive(Clone, Copy)]
enum Mode {
    /// Anything that the current read has not touched, the oldest first.
    Free,
    /// Only entries older than this many reads.
    StaleOnly(u64),
    /// Entries older than this many reads, else any.
    Any(u64),
}

#[derive(Debug, Default)]
struct Shard {
    places: HashMap<Key, usize>,
    entries: Vec<Entry>,
    /// Chunks that were let go or not let in, and the read that touched them last.
    ghosts: Remembered<u64>,
    /// Chunks that were wanted whole, and not kept.
    whole: Remembered<Weak<dyn ReadStore>>,
}

/// The chunks of which something was noted lately, in two generations.
#[derive(Debug)]
struct Remembered<T> {
    new: HashMap<Key, T>,
    old: HashMap<Key, T>,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    store: Weak<dyn ReadStore>,
    block: Arc<Block>,
    /// The last read that touched it.
    read: u64,
}

impl Cache {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            bytes: AtomicU64::new(0),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            random: AtomicU64::new(0x9E37_79B9_7F4A_7C15),
            returning: AtomicI64::new(0),
            away: AtomicU64::new(0),
        }
    }

    /// Bytes that may be kept at most.
    pub(super) fn limit(&self) -> u64 {
        self.budget.for_chunks()
    }

    /// Lets go of what is more than the limit, which may have sunk.
    pub(super) fn trim(&self) {
        if self.bytes() > self.limit() {
            self.make_room(0, u64::MAX, Mode::Free, &mut Vec::new());
        }
    }

    /// Bytes kept now.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A decoded chunk, if it is here. `read` is the number of the current read.
    pub(super) fn get(&self, key: Key, read: u64) -> Option<Arc<Block>> {
        if self.bytes() == 0 {
            return None;
        }
        let mut shard = self.shard(key);
        let place = *shard.places.get(&key)?;
        let entry = &mut shard.entries[place];
        entry.read = entry.read.max(read);
        Some(Arc::clone(&entry.block))
    }

    /// Takes a decoded chunk out, if it is here.
    pub(super) fn take(&self, key: Key) -> Option<Arc<Block>> {
        if self.bytes() == 0 {
            return None;
        }
        let mut shard = self.shard(key);
        let place = *shard.places.get(&key)?;
        Some(self.remove(&mut shard, place).block)
    }

    /// Whether a chunk that is wanted whole, and is not here, was wanted so before: what is read again may be once more. The first time, a
    /// copy for the cache would be for nothing.
    pub(super) fn comes_back(&self, key: Key, store: &Arc<dyn ReadStore>) -> bool {
        let mut shard = self.shard(key);
        let known = shard.whole.get(key).is_some();
        if !known {
            shard.whole.note(key, Arc::downgrade(store));
        }
        known
    }

    /// Whether a chunk of `size` bytes that was missed shall be kept. When it shall, room has been made, and
    /// blocks that were let go for it are in `freed` if nobody uses them.
    pub(super) fn admit(&self, key: Key, size: u64, read: u64, freed: &mut Vec<Block>) -> bool {
        if size > self.limit() {
            return false;
        }
        self.note_miss(key, read);
        if self.bytes() + size <= self.limit() {
            return true;
        }
        let stale = self.away.load(Ordering::Relaxed).saturating_mul(2);
        let mode = if self.returning.load(Ordering::Relaxed) < RETURNING_FROM {
            Mode::Free
        } else if self.next_random().is_multiple_of(64) {
            Mode::Any(stale)
        } else {
            Mode::StaleOnly(stale)
        };
        let admitted = self.make_room(size, read, mode, freed);
        if !admitted {
            self.shard(key).ghosts.note(key, read);
        }
        admitted
    }

    /// Keeps a decoded chunk that was admitted.
    pub(super) fn insert(&self, key: Key, store: &Arc<dyn ReadStore>, block: Arc<Block>, read: u64) {
        let size = block.footprint();
        let mut shard = self.shard(key);
        if shard.places.contains_key(&key) {
            return;
        }
        self.bytes.fetch_add(size, Ordering::Relaxed);
        let place = shard.entries.len();
        shard.places.insert(key, place);
        shard.entries.push(Entry { key, store: Arc::downgrade(store), block, read });
        drop(shard);
        // The limit may have come down while the chunk was decoded, or others admitted into the same room.
        self.trim();
    }

    /// Forgets everything of one store, because it is being written.
    pub(super) fn forget_store(&self, store: &Arc<dyn ReadStore>) {
        let store = address(store);
        self.retain(|e| e.key.store != store);
    }

    pub(super) fn clear(&self) {
        self.retain(|_| false);
    }

    fn retain(&self, keep: impl Fn(&Entry) -> bool) {
        if self.bytes() == 0 {
            return;
        }
        for shard in &self.shards {
            let mut shard = lock(shard);
            let mut i = 0;
            while i < shard.entries.len() {
                if keep(&shard.entries[i]) {
                    i += 1;
                } else {
                    self.remove(&mut shard, i);
                }
            }
        }
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        lock(&self.shards[self.hasher.hash_one(key) as usize % SHARDS])
    }

    fn remove(&self, shard: &mut Shard, place: usize) -> Entry {
        let entry = shard.entries.swap_remove(place);
        shard.places.remove(&entry.key);
        if let Some(moved) = shard.entries.get(place) {
            shard.places.insert(moved.key, place);
        }
        self.bytes.fetch_sub(entry.block.footprint(), Ordering::Relaxed);
        entry
    }

    /// Lets go of chunks until `size` bytes fit; false when what is left belongs to the current read.
    fn make_room(&self, size: u64, read: u64, mode: Mode, freed: &mut Vec<Block>) -> bool {
        let mut shards_tried = 0;
        let mut at = self.next_random() as usize;
        while self.bytes() + size > self.limit() {
            if shards_tried >= SHARDS {
                return false;
            }
            let mut shard = lock(&self.shards[at % SHARDS]);
            let Some(victim) = self.victim(&shard, read, mode) else {
                at = at.wrapping_add(1);
                // Looking through all of them is for when anything would do.
                shards_tried += if matches!(mode, Mode::StaleOnly(_)) { SHARDS / 2 } else { 1 };
                continue;
            };
            let entry = self.remove(&mut shard, victim);
            if entry.store.strong_count() > 0 {
                shard.ghosts.note(entry.key, entry.read);
            }
            drop(shard);
            freed.extend(Arc::into_inner(entry.block));
            // Spread the loss over all shards.
            at = self.next_random() as usize;
            shards_tried = 0;
        }
        true
    }

    /// One of some entries that the current read has not touched, as the mode says.
    fn victim(&self, shard: &Shard, read: u64, mode: Mode) -> Option<usize> {
        let n = shard.entries.len();
        if n == 0 {
            return None;
        }
        let candidate = |i: usize| {
            let e = &shard.entries[i];
            let age = if e.store.strong_count() == 0 { u64::MAX } else { read.saturating_sub(e.read) };
            (age > 0).then_some((age, i))
        };
        let start = self.next_random() as usize;
        let mut sampled = Vec::with_capacity(SAMPLE);
        // Neighbours in the list came at about the same time: the sample is spread over all of it.
        sampled
            .extend((0..SAMPLE.min(n)).filter_map(|k| candidate((start % n + k * (n / SAMPLE).max(1)) % n)));
        let oldest = sampled.iter().copied().max();
        match mode {
            Mode::Free => oldest.or_else(|| (0..n).find_map(candidate)),
            Mode::StaleOnly(stale) => oldest.filter(|(age, _)| *age > stale),
            Mode::Any(stale) => oldest
                .filter(|(age, _)| *age > stale)
                .or_else(|| sampled.first().copied())
                .or_else(|| (0..n).find_map(candidate)),
        }
        .map(|(_, i)| i)
    }

    fn note_miss(&self, key: Key, read: u64) {
        let last = self.shard(key).ghosts.get(key).copied();
        if let Some(last) = last {
            // The longest absence counts, and is forgotten slowly.
            let now = read.saturating_sub(last);
            let _ = self.away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                Some(now.max(old - old.div_ceil(32)))
            });
        }
        let _ = self.returning.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            Some(if last.is_some() { (n + 1).min(RETURNING_MAX) } else { (n - 2).max(0) })
        });
    }

    fn next_random(&self) -> u64 {
        // SplitMix64, whose state is a plain counter and so needs no lock.
        let mut z = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Remembered { new: HashMap::new(), old: HashMap::new() }
    }
}

impl<T> Remembered<T> {
    fn get(&self, key: Key) -> Option<&T> {
        self.new.get(&key).or_else(|| self.old.get(&key))
    }

    fn note(&mut self, key: Key, what: T) {
        if self.new.len() >= GHOSTS {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, what);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;
    use crate::store::MemoryStore;

    const SIZE: u64 = 4096;

    struct Rig {
        cache: Cache,
        scratch: Scratch,
        store: Arc<dyn ReadStore>,
        read: u64,
    }

    impl Rig {
        fn new(chunks: u64) -> Self {
            let store: Arc<dyn ReadStore> = Arc::new(MemoryStore::new("m", Vec::new()));
            Self {
                cache: Cache::new(&Budget::new(2 * chunks * SIZE)),
                scratch: Scratch::new(&Budget::new(0)),
                store,
                read: 0,
            }
        }

        /// One read of these chunks: all are looked up first, as the engine does. Gives the hits.
        fn read(&mut self, chunks: std::ops::Range<u64>) -> usize {
            self.read += 1;
            let keys: Vec<Key> = chunks.map(|c| Key::new(&self.store, 0, c)).collect();
            let missed: Vec<Key> =
                keys.iter().copied().filter(|k| self.cache.get(*k, self.read).is_none()).collect();
            for key in &missed {
                if self.cache.admit(*key, SIZE, self.read, &mut Vec::new()) {
                    let block = Arc::new(self.scratch.take(SIZE as usize).unwrap());
                    self.cache.insert(*key, &self.store, block, self.read);
                }
            }
            assert!(self.cache.bytes() <= self.cache.limit());
            keys.len() - missed.len()
        }
    }

    #[test]
    fn a_scan_within_one_read_hits_its_share() {
        let mut rig = Rig::new(100);
        rig.read(0..200);
        for _ in 0..10 {
            assert_eq!(rig.read(0..200), 100);
        }
    }

    #[test]
    fn a_cyclic_scan_of_many_reads_hits_nearly_its_share() {
        for held in [25, 50, 100, 180] {
            let mut rig = Rig::new(held);
            let mut hits = 0;
            for cycle in 0..20 {
                let got: usize = (0..200).map(|c| rig.read(c..c + 1)).sum();
                if cycle >= 10 {
                    hits += got;
                }
            }
            let share = hits as f64 / 2000.0;
            assert!(share > 0.8 * held as f64 / 200.0, "{held} of 200 held, {share} hit");
        }
    }

    #[test]
    fn a_new_row_of_chunks_takes_the_place_of_the_old_one() {
        let mut rig = Rig::new(100);
        for row in 0..20u64 {
            for pass in 0..8 {
                let hits = rig.read(row * 60..row * 60 + 60);
                assert!(pass == 0 || hits == 60, "row {row}, pass {pass}: {hits} hits");
            }
        }
    }

    #[test]
    fn a_scan_takes_the_place_of_what_is_stale() {
        let mut rig = Rig::new(100);
        // Something else filled the cache, and is over.
        rig.read(10_000..10_100);
        for _ in 0..12 {
            let _: usize = (0..200).map(|c| rig.read(c..c + 1)).sum();
        }
        let hits: usize = (0..200).map(|c| rig.read(c..c + 1)).sum();
        assert!(hits > 75, "{hits} hits of 100 possible");
    }

    #[test]
    fn closed_stores_go_first_and_written_stores_are_forgotten() {
        let mut rig = Rig::new(10);
        rig.read(0..10);
        let other: Arc<dyn ReadStore> = Arc::new(MemoryStore::new("n", Vec::new()));
        let key = Key::new(&other, 0, 0);
        assert!(rig.cache.get(key, 2).is_none());
        rig.cache.forget_store(&other);
        assert_eq!(rig.cache.bytes(), 10 * SIZE);
        rig.cache.forget_store(&rig.store);
        assert_eq!(rig.cache.bytes(), 0);
        rig.read(0..10);
        rig.store = other;
        assert!(rig.cache.admit(key, SIZE, rig.read, &mut Vec::new()));
    }
}
