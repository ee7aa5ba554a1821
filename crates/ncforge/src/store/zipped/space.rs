//! Free space of a zipped file: slots that no live extent covers.
//!
//! It is rebuilt from the index when a file is opened for writing, and never stored, so it cannot be out of date. Slots that
//! a commit frees may be allocated again only when the next root is durable, and no reader uses an older one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::format::{ROOT, ROOT_PLACES, SLOT};

/// Slots from `0` up to the second place for roots and its copies.
const RESERVED: [(u64, u64); 2] =
    [(ROOT_PLACES[0] / SLOT, 2 * ROOT as u64 / SLOT), (ROOT_PLACES[1] / SLOT, 2 * ROOT as u64 / SLOT)];

/// Whether an extent touches a place for roots.
pub(super) fn is_reserved(start: u64, slots: u64) -> bool {
    RESERVED.iter().any(|&(s, n)| start < s + n && s < start.saturating_add(slots))
}

/// An allocator of slots.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Free extents: first slot to length. Neighbours are merged.
    free: BTreeMap<u64, u64>,
    /// The free runs as (length, first slot), for the best fit.
    by_len: BTreeSet<(u64, u64)>,
    /// Everything from here on is free.
    end: u64,
    /// Allocated since the last commit: no root refers to these, so they are free immediately when released.
    fresh: HashSet<u64>,
    /// Freed since the last commit.
    freed: Vec<(u64, u64)>,
    /// Freed by earlier commits, but readers may still hold roots older than the given number.
    waiting: Vec<(u64, Vec<(u64, u64)>)>,
}

impl Space {
    /// The space of a file of `stored` slots with these live extents (first slot, slots) under the root of this number. What
    /// lies behind them may still belong to an older root that is read, as the holes between them may. The error is the first
    /// slot of an extent that overlaps another one.
    pub(super) fn rebuild(mut live: Vec<(u64, u64)>, sequence: u64, stored: u64) -> Result<Self, u64> {
        live.extend(RESERVED);
        live.sort_unstable();
        let mut space = Space::default();
        let mut holes = Vec::new();
        for (start, slots) in live {
            if start < space.end {
                return Err(start);
            }
            if start > space.end {
                holes.push((space.end, start - space.end));
            }
            space.end = start.saturating_add(slots);
        }
        if stored > space.end {
            holes.push((space.end, stored - space.end));
            space.end = stored;
        }
        space.waiting.push((sequence, holes));
        Ok(space)
    }

    /// One past the last slot in use.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Slots in holes that can be allocated now.
    #[cfg(test)]
    pub(super) fn available(&self) -> u64 {
        self.free.values().sum()
    }

    /// Whether no freed slots wait for readers.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Allocates consecutive slots: in the smallest hole that fits, else at the end of the file.
    pub(super) fn take(&mut self, slots: u64) -> u64 {
        let found = self.by_len.range((slots, 0)..).next().copied();
        let start = match found {
            Some((len, start)) => {
                self.remove(start, len);
                if len > slots {
                    self.insert(start + slots, len - slots);
                }
                start
            }
            None => {
                let start = self.end;
                self.end += slots;
                start
            }
        };
        self.fresh.insert(start);
        start
    }

    /// Releases an extent that the next commit does not need.
    pub(super) fn give(&mut self, start: u64, slots: u64) {
        if self.fresh.remove(&start) {
            self.release(start, slots);
        } else {
            self.freed.push((start, slots));
        }
    }

    /// The commit with this number is durable: slots that it freed wait for readers of older roots.
    pub(super) fn committed(&mut self, sequence: u64) {
        self.fresh.clear();
        let freed = std::mem::take(&mut self.freed);
        if !freed.is_empty() {
            self.waiting.push((sequence, freed));
        }
    }

    /// Makes waiting slots available; `is_read(n)` returns whether a reader uses a root older than number `n`.
    pub(super) fn recycle(&mut self, is_read: impl Fn(u64) -> bool) {
        let waiting = std::mem::take(&mut self.waiting);
        for (sequence, extents) in waiting {
            if is_read(sequence) {
                self.waiting.push((sequence, extents));
            } else {
                for (start, slots) in extents {
                    self.release(start, slots);
                }
            }
        }
    }

    fn insert(&mut self, start: u64, slots: u64) {
        self.free.insert(start, slots);
        self.by_len.insert((slots, start));
    }

    fn remove(&mut self, start: u64, slots: u64) {
        self.free.remove(&start);
        self.by_len.remove(&(slots, start));
    }

    fn release(&mut self, mut start: u64, mut slots: u64) {
        if slots == 0 {
            return;
        }
        if let Some((&s, &n)) = self.free.range(..start).next_back()
            && s + n == start
        {
            self.remove(s, n);
            (start, slots) = (s, slots + n);
        }
        if let Some(&n) = self.free.get(&(start + slots)) {
            self.remove(start + slots, n);
            slots += n;
        }
        if start + slots == self.end {
            self.end = start;
        } else {
            self.insert(start, slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holes_are_the_complement() {
        let mut s = Space::rebuild(vec![(20, 4), (3, 2)], 5, 0).unwrap();
        assert_eq!((s.end(), s.available()), (24, 0));
        s.recycle(|n| n <= 4);
        // Slots 2, 5, 6, 7 and 10 to 19.
        assert_eq!(s.available(), 1 + 3 + 10);
        assert_eq!((s.take(2), s.take(1), s.take(1), s.take(11)), (5, 2, 7, 24));
        assert_eq!(Space::rebuild(vec![(20, 4), (23, 2)], 1, 0).unwrap_err(), 23);
        assert_eq!(Space::rebuild(vec![(7, 2)], 1, 0).unwrap_err(), 8);
    }

    #[test]
    fn what_lies_behind_the_last_extent_waits_for_readers() {
        let mut s = Space::rebuild(vec![(20, 4)], 5, 60).unwrap();
        s.recycle(|n| n == 5);
        assert_eq!((s.end(), s.take(100)), (60, 60));
        let mut s = Space::rebuild(vec![(20, 4)], 5, 60).unwrap();
        s.recycle(|_| false);
        assert_eq!((s.end(), s.take(100)), (24, 24));
    }

    #[test]
    fn slots_freed_by_a_commit_wait() {
        let mut s = Space::rebuild(vec![(20, 4)], 1, 0).unwrap();
        s.give(20, 4);
        let fresh = s.take(1);
        s.give(fresh, 1);
        assert_eq!(s.take(1), fresh, "no root refers to it");
        s.committed(2);
        s.recycle(|n| n == 2);
        assert_ne!(s.take(4), 20);
        s.recycle(|_| false);
        assert!((10..24).contains(&s.take(4)));
    }

    proptest! {
        /// Nothing is allocated twice, and everything is released.
        #[test]
        fn no_two_owners(steps in prop::collection::vec((1..9u64, any::<prop::sample::Index>(), 0..4u8), 1..200)) {
            let mut s = Space::rebuild(Vec::new(), 1, 0).unwrap();
            s.recycle(|_| false);
            let mut held: Vec<(u64, u64)> = Vec::new();
            let mut sequence = 1;
            for (n, i, what) in steps {
                match what {
                    0 if !held.is_empty() => {
                        let (start, slots) = held.swap_remove(i.index(held.len()));
                        s.give(start, slots);
                    }
                    1 => {
                        sequence += 1;
                        s.committed(sequence);
                        s.recycle(|_| n % 2 == 0);
                    }
                    _ => {
                        let start = s.take(n);
                        prop_assert!(!is_reserved(start, n));
                        prop_assert!(held.iter().all(|&(a, m)| start >= a + m || a >= start + n));
                        held.push((start, n));
                    }
                }
            }
            for (start, slots) in held.drain(..) {
                s.give(start, slots);
            }
            s.committed(sequence + 1);
            s.recycle(|_| false);
            prop_assert_eq!(s.end() - s.available(), 4);
        }
    }
}
