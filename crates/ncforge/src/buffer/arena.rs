//! Memory for very many blocks with a long lifetime: one range of addresses on huge pages, from which blocks of any
//! size are allocated and to which they are returned.
//!
//! Fresh memory is expensive: measured here (x86-64 Linux, a virtual machine), pages of 4 KiB are first touched at 2.8 GB/s, huge
//! ones at 20 GB/s, and either kind at 0.5 to 1 GB/s if the host had reclaimed memory that was unused for a few seconds. Chunks
//! decode at 1 to 5 GB/s. Returned blocks are therefore reused first, whatever their old sizes were, because neighbours
//! are merged; the owner limits how much memory stays free.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages;

/// Blocks are multiples of this many bytes, the unit of the system.
const PAGE: usize = 4096;

/// See the module documentation.
pub(crate) struct Arena {
    base: NonNull<u8>,
    len: usize,
    free: Mutex<Free>,
}

// SAFETY: the arena owns its mapping alone, as a Buffer does; its free ranges are behind a lock.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

/// The free ranges of an arena.
#[derive(Default)]
struct Free {
    /// Ranges with memory.
    used: Ranges,
    /// Ranges without memory.
    fresh: Ranges,
}

impl Arena {
    /// At least `len` bytes of addresses. `None` if the system has no such mappings, or refuses one of this size.
    pub(crate) fn new(len: usize) -> Option<Arc<Self>> {
        let len = pages::MAPS.then(|| pages::mapped_len(len.clamp(1, isize::MAX as usize / 2)))?;
        let base = pages::reserve(len)?;
        let mut free = Free::default();
        free.fresh.insert(0, len);
        Some(Arc::new(Arena { base, len, free: Mutex::new(free) }))
    }

    /// Memory for `len` bytes, and how much was allocated for them: memory that was used before, else fresh memory if
    /// `fresh` allows that. `None` if there is no space.
    pub(super) fn take(&self, len: usize, fresh: bool) -> Option<(NonNull<u8>, usize)> {
        let allocated = len.checked_next_multiple_of(PAGE).filter(|&allocated| allocated > 0)?;
        let mut free = self.lock();
        let at = match free.used.take(allocated) {
            None if fresh => free.fresh.take(allocated),
            found => found,
        }?;
        drop(free);
        // SAFETY: inside the mapping, which ranges never leave.
        Some((unsafe { self.base.add(at) }, allocated))
    }

    /// Returns the memory of a buffer.
    pub(super) fn give(&self, ptr: NonNull<u8>, allocated: usize) {
        let at = ptr.as_ptr() as usize - self.base.as_ptr() as usize;
        self.lock().used.insert(at, allocated);
    }

    /// Returns unused memory to the system, except for `spare` bytes.
    pub(crate) fn trim(&self, spare: usize) {
        let mut free = self.lock();
        while free.used.bytes > spare {
            let excess = (free.used.bytes - spare).next_multiple_of(pages::HUGE_PAGE);
            let Some((at, len)) = free.used.take_longest() else { break };
            // Whole huge pages: others would be split.
            let (from, to) = (at.next_multiple_of(pages::HUGE_PAGE), at + len);
            let to = to - to % pages::HUGE_PAGE;
            let (from, to) =
                if from < to { (from.max(to.saturating_sub(excess)), to) } else { (at, at + len) };
            // SAFETY: inside the mapping, and free, which the lock keeps so.
            unsafe { pages::discard(self.base.add(from), to - from) };
            free.used.insert(at, from - at);
            free.used.insert(to, at + len - to);
            free.fresh.insert(from, to - from);
        }
    }

    /// Bytes of unused memory.
    pub(crate) fn spare(&self) -> usize {
        self.lock().used.bytes
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: reserved in `new` with the same length; buffers of it hold the arena, so there are none.
        unsafe { pages::unmap(self.base, self.len) };
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arena({} bytes, {} spare)", self.len, self.spare())
    }
}

/// Ranges of bytes that do not touch one another.
#[derive(Default)]
struct Ranges {
    /// Lengths by first byte.
    by_place: BTreeMap<usize, usize>,
    /// The ranges, shortest first.
    by_len: BTreeSet<(usize, usize)>,
    /// The total length.
    bytes: usize,
}

impl Ranges {
    /// Adds a range, and merges it with its neighbours.
    fn insert(&mut self, at: usize, len: usize) {
        if len == 0 {
            return;
        }
        let (mut at, mut len) = (at, len);
        if let Some((&before, &length)) = self.by_place.range(..at).next_back()
            && before + length == at
        {
            self.remove(before, length);
            (at, len) = (before, length + len);
        }
        if let Some(&after) = self.by_place.get(&(at + len)) {
            self.remove(at + len, after);
            len += after;
        }
        self.by_place.insert(at, len);
        self.by_len.insert((len, at));
        self.bytes += len;
    }

    fn remove(&mut self, at: usize, len: usize) {
        self.by_place.remove(&at);
        self.by_len.remove(&(len, at));
        self.bytes -= len;
    }

    /// Takes `len` bytes from the shortest range that is long enough.
    fn take(&mut self, len: usize) -> Option<usize> {
        let &(found, at) = self.by_len.range((len, 0)..).next()?;
        self.remove(at, found);
        if found > len {
            self.by_place.insert(at + len, found - len);
            self.by_len.insert((found - len, at + len));
            self.bytes += found - len;
        }
        Some(at)
    }

    fn take_longest(&mut self) -> Option<(usize, usize)> {
        let &(len, at) = self.by_len.last()?;
        self.remove(at, len);
        Some((at, len))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::Buffer;

    const HUGE: usize = pages::HUGE_PAGE;

    #[test]
    fn blocks_of_other_sizes_use_the_same_memory() {
        let arena = Arena::new(64 << 20).unwrap();
        let all: Vec<Buffer> = (0..8).map(|_| arena.buffer(HUGE, true).unwrap()).collect();
        let first = all.iter().map(|b| b.as_ptr()).min().unwrap();
        assert!((first as usize).is_multiple_of(HUGE));
        drop(all);
        assert_eq!(arena.spare(), 8 * HUGE);
        let large = arena.buffer(5 * HUGE + 1, false).unwrap();
        assert_eq!((large.as_ptr(), large.len()), (first, 5 * HUGE + 1));
        assert!(arena.buffer(3 * HUGE, false).is_none());
        assert!(arena.buffer(3 * HUGE, true).is_some());
        assert!(arena.buffer(64 << 20, true).is_none());
        assert!(arena.buffer(0, true).is_none() && arena.buffer(usize::MAX, true).is_none());
    }

    #[test]
    fn what_is_spare_can_be_given_back() {
        let arena = Arena::new(64 << 20).unwrap();
        let mut all: Vec<Buffer> = (0..10).map(|_| arena.buffer(HUGE - PAGE, true).unwrap()).collect();
        all.iter_mut().for_each(|b| b.fill(7));
        let block = all.swap_remove(4);
        drop(all);
        arena.trim(3 * HUGE);
        assert!((HUGE..=3 * HUGE).contains(&arena.spare()), "no more than necessary");
        arena.trim(0);
        assert_eq!(arena.spare(), 0);
        assert!(block.iter().all(|&b| b == 7));
        drop(block);
        let mut all = arena.buffer(64 << 20, true);
        assert!(all.is_none(), "a used block is between fresh ranges");
        arena.trim(0);
        all = arena.buffer(64 << 20, true);
        assert!(all.is_some_and(|b| b[4 * HUGE] == 0));
    }

    #[test]
    fn blocks_outlive_their_owner_and_serve_all_threads() {
        let arena = Arena::new(64 << 20).unwrap();
        std::thread::scope(|s| {
            for t in 0..4u8 {
                let arena = &arena;
                s.spawn(move || {
                    for i in 1..60 {
                        let mut own = arena.buffer(i * 5000, true).unwrap();
                        own.fill(t);
                        if i % 7 == 0 {
                            arena.trim(1 << 16);
                        }
                        assert!(own.iter().all(|&b| b == t));
                    }
                });
            }
        });
        let mut last = arena.buffer(100, true).unwrap();
        drop(arena);
        last.fill(1);
        assert_eq!(last.clone(), last);
    }

    proptest! {
        /// Nothing is allocated twice, nothing is lost, and neighbours are merged.
        #[test]
        fn ranges_are_whole(steps in prop::collection::vec((any::<bool>(), 1usize..40), 1..200)) {
            let mut ranges = Ranges::default();
            ranges.insert(0, 1000);
            let mut out: Vec<(usize, usize)> = Vec::new();
            for (take, n) in steps {
                if take {
                    if let Some(at) = ranges.take(n) {
                        prop_assert!(at + n <= 1000 && out.iter().all(|&(a, m)| at + n <= a || a + m <= at));
                        out.push((at, n));
                    }
                } else if !out.is_empty() {
                    let (at, n) = out.swap_remove(n % out.len());
                    ranges.insert(at, n);
                }
                let given: usize = out.iter().map(|o| o.1).sum();
                prop_assert_eq!(ranges.bytes + given, 1000);
                let list: Vec<_> = ranges.by_place.iter().collect();
                prop_assert!(list.windows(2).all(|w| w[0].0 + w[0].1 < *w[1].0));
                prop_assert_eq!(list.len(), ranges.by_len.len());
            }
            for (at, n) in out {
                ranges.insert(at, n);
            }
            prop_assert_eq!(ranges.take_longest(), Some((0, 1000)));
        }
    }
}
