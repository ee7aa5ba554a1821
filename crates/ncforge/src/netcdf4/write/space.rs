//! The allocator of space in the file.
//!
//! Space to which the last committed state refers is never allocated again: released space becomes free only with
//! the commit that no longer refers to it. Requests are served first fit, lowest address first, so the same
//! sequence of requests always gives the same offsets.

/// A run of bytes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) len: u64,
}

impl Extent {
    pub(super) fn end(self) -> u64 {
        self.offset + self.len
    }
}

/// The allocator.
#[derive(Debug)]
pub(super) struct FileSpace {
    /// One past the last allocated byte.
    end: u64,
    /// Free, sorted by offset, never adjacent.
    free: Vec<Extent>,
    /// Free after the next commit.
    dying: Vec<Extent>,
    /// Bytes from this one on were allocated since the last commit.
    committed_end: u64,
}

impl FileSpace {
    /// A file that is in use up to `end`.
    pub(super) fn new(end: u64) -> Self {
        Self { end, free: Vec::new(), dying: Vec::new(), committed_end: end }
    }

    /// One past the last allocated byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// `len` bytes at a multiple of `align`; `None` when the file would pass 2^63 bytes.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        self.take_or_end(len, align, true)
    }

    /// [`Self::take`] for many consecutive allocations: the alignment gap before each is not reused. The next ones would not
    /// fit there, and checking all of these gaps would take longer with every allocation.
    pub(super) fn take_of_many(&mut self, len: u64, align: u64) -> Option<u64> {
        self.take_or_end(len, align, false)
    }

    fn take_or_end(&mut self, len: u64, align: u64, keep_gap: bool) -> Option<u64> {
        for i in 0..self.free.len() {
            let f = self.free[i];
            let at = f.offset.next_multiple_of(align);
            if at + len > f.end() || len == 0 {
                continue;
            }
            let (before, after) = (at - f.offset, f.end() - at - len);
            self.free.remove(i);
            if after > 0 {
                self.free.insert(i, Extent { offset: at + len, len: after });
            }
            if before > 0 {
                self.free.insert(i, Extent { offset: f.offset, len: before });
            }
            return Some(at);
        }
        let at = self.end.checked_next_multiple_of(align)?;
        let end = at.checked_add(len).filter(|&e| e <= i64::MAX as u64)?;
        if at > self.end && keep_gap {
            self.add_free(Extent { offset: self.end, len: at - self.end });
        }
        self.end = end;
        Some(at)
    }

    /// Whether space was allocated at the end of the file since the last commit, so that no state on disk
    /// refers to it.
    pub(super) fn is_new(&self, offset: u64) -> bool {
        offset >= self.committed_end
    }

    /// Releases space without references: it is free at once if it is new, else after the next commit.
    pub(super) fn release(&mut self, extent: Extent) {
        if extent.len == 0 {
        } else if self.is_new(extent.offset) {
            self.add_free(extent);
        } else {
            self.dying.push(extent);
        }
    }

    /// Releases space to which the committed state does not refer: it is free at once.
    pub(super) fn give_back(&mut self, extent: Extent) {
        if extent.len > 0 {
            self.add_free(extent);
        }
    }

    /// Whether `len` bytes are free somewhere before the end.
    pub(super) fn has_free(&self, len: u64) -> bool {
        self.free.iter().any(|f| f.len >= len)
    }

    /// `len` bytes that end at or before `limit`, from space that is free now.
    pub(super) fn take_below(&mut self, len: u64, align: u64, limit: u64) -> Option<u64> {
        let f = self.free.iter().find(|f| f.offset.next_multiple_of(align) + len <= f.end())?;
        if f.offset.next_multiple_of(align) + len > limit { None } else { self.take(len, align) }
    }

    /// The end of the file after the next commit: released space, and `freed`, are not part of it.
    pub(super) fn end_after(&self, freed: Option<Extent>) -> u64 {
        let mut gone: Vec<Extent> =
            self.free.iter().chain(&self.dying).copied().chain(freed).filter(|e| e.len > 0).collect();
        gone.sort_unstable_by_key(|e| e.end());
        let mut end = self.end;
        for e in gone.iter().rev() {
            if e.end() < end {
                break;
            }
            end = end.min(e.offset);
        }
        end
    }

    /// Everything but these extents is free: they are all that the committed state refers to.
    pub(super) fn set_live(&mut self, mut live: Vec<Extent>, start: u64) {
        live.sort_unstable();
        self.free.clear();
        self.dying.clear();
        let mut at = start;
        for e in live.into_iter().filter(|e| e.len > 0) {
            if e.offset > at {
                self.free.push(Extent { offset: at, len: e.offset - at });
            }
            at = at.max(e.end());
        }
        self.end = at;
        self.committed_end = at;
    }

    /// Removes free space at the end of the file.
    fn trim(&mut self) {
        if let Some(last) = self.free.last().copied().filter(|f| f.end() == self.end) {
            self.free.pop();
            self.end = last.offset;
        }
    }

    /// Releases the tail of the last allocation.
    pub(super) fn shrink_end(&mut self, from: u64, to: u64) -> bool {
        let last = self.end == from && to <= from && self.is_new(to);
        if last {
            self.end = to;
        }
        last
    }

    /// The new state is durable: space that was released before is free now.
    pub(super) fn commit(&mut self) {
        for e in std::mem::take(&mut self.dying) {
            self.add_free(e);
        }
        self.trim();
        self.committed_end = self.end;
    }

    fn add_free(&mut self, e: Extent) {
        let i = self.free.partition_point(|f| f.offset < e.offset);
        self.free.insert(i, e);
        if i + 1 < self.free.len() && self.free[i].end() == self.free[i + 1].offset {
            self.free[i].len += self.free.remove(i + 1).len;
        }
        if i > 0 && self.free[i - 1].end() == self.free[i].offset {
            self.free[i - 1].len += self.free.remove(i).len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_before_many_allocations_are_not_reused() {
        let mut s = FileSpace::new(100);
        assert_eq!(s.take_of_many(10, 64), Some(128));
        assert_eq!(s.take_of_many(10, 64), Some(192));
        assert_eq!(s.take(5, 1), Some(202));
        s.release(Extent { offset: 128, len: 10 });
        assert_eq!(s.take_of_many(10, 64), Some(128), "released space is used");
        assert_eq!(s.take_of_many(1, 1 << 62), Some(1 << 62));
        assert_eq!(s.take_of_many(u64::MAX / 2, 1), None);
    }

    #[test]
    fn dead_space_is_reused_only_after_a_commit() {
        let mut s = FileSpace::new(100);
        let a = s.take(50, 1).unwrap();
        let b = s.take(10, 64).unwrap();
        assert_eq!((a, b), (100, 192));
        assert_eq!(s.take(42, 1), Some(150));
        s.commit();
        s.release(Extent { offset: a, len: 50 });
        assert_eq!(s.take(20, 1), Some(202));
        s.release(Extent { offset: 202, len: 20 });
        assert_eq!(s.take(20, 1), Some(202));
        s.commit();
        assert_eq!(s.take(50, 1), Some(100));
    }

    #[test]
    fn the_end_moves_back_over_free_space() {
        let ext = |offset, len| Extent { offset, len };
        let mut s = FileSpace::new(1000);
        s.set_live(vec![ext(200, 100), ext(600, 100)], 48);
        assert_eq!(s.end(), 700);
        assert_eq!(s.end_after(Some(ext(600, 100))), 300);
        assert_eq!(s.take_below(310, 8, 600), None);
        assert_eq!(s.take_below(150, 8, 200), Some(48));
        s.commit();
        s.release(ext(600, 100));
        s.commit();
        assert_eq!(s.end(), 300);
    }
    #[test]
    fn the_next_state_ends_where_it_will_be_cut() {
        let ext = |offset, len| Extent { offset, len };
        let mut s = FileSpace::new(48);
        let places: Vec<u64> = (0..6).map(|_| s.take(100, 1).unwrap()).collect();
        s.commit();
        // The tail is released piece by piece, in arbitrary order, and with it the space of the metadata.
        for i in [5, 3] {
            s.release(ext(places[i], 100));
        }
        assert_eq!(s.end_after(None), places[5]);
        assert_eq!(s.end_after(Some(ext(places[4], 100))), places[3]);
        s.release(ext(places[4], 100));
        let end = s.end_after(None);
        s.commit();
        assert_eq!((end, s.end()), (places[3], places[3]));
    }
}
