//! The blocks out of which small reads of one store were answered last.
//!
//! A program that takes values one by one asks for a few bytes a thousand times in a row, mostly out of blocks that it has just
//! asked for: a value of one variable, then of the next, then of the first again. Finding a byte's place in the map,
//! the block in its tree, and the decoded bytes among those of all files takes longer than everything else such a
//! read does. So a few places are known here, each with its block, and asked first.
//!
//! An answer is never out of date: every change of the store has a number, and a place holds for one number only.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Longer reads are answered otherwise.
const SMALL: usize = 1 << 10;
/// Variables that may be read in turn.
const PLACES: usize = 8;
/// Bytes of blocks that all stores together may know, besides those in the cache.
const MOST: u64 = 16 << 20;

/// Every answer is a point, up to so many, and every miss takes one. Where there is none left, reads are scattered over more
/// blocks than are known, and asking costs a quarter of such a read: then only the block of every such number of reads is
/// kept, and the few reads after it ask.
const PATIENCE: u32 = 32;

/// Bytes of the blocks that are known.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// Bytes of the image that lie in one tree as those of a column do: so many of every `stride`, from `at` bytes behind
/// `base` on. Those that are not in columns are a column of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Where they are shown.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Byte of the image in front of the first record's first byte; it may lie in front of the image, and is then a
    /// number that wraps around.
    pub(super) base: u64,
    pub(super) stride: u64,
    /// First byte in a record, and how many there are.
    pub(super) at: u64,
    pub(super) width: u64,
}

/// A block, and what it is of the image.
#[derive(Debug)]
struct Place {
    shown: Shown,
    /// First byte of the block in its tree.
    first: u64,
    /// Number of the change.
    changes: u64,
    block: Arc<[u8]>,
}

impl Place {
    /// The block's bytes for the `len` of the image from `offset` on, if it has them. `found` is the record, and the byte
    /// in it, as they were found for the base and stride before.
    fn answer(&self, offset: u64, len: usize, found: &mut Option<(u64, u64, u64, u64)>) -> Option<&[u8]> {
        let Shown { from, to, base, stride, at, width } = self.shown;
        if offset < from || offset.checked_add(len as u64)? > to {
            return None;
        }
        // Columns of one table agree in this; dividing is most of the work.
        let (record, inside) = match *found {
            Some((b, s, record, inside)) if (b, s) == (base, stride) => (record, inside),
            _ => {
                let place = offset.wrapping_sub(base);
                let (record, inside) = (place / stride, place % stride);
                *found = Some((base, stride, record, inside));
                (record, inside)
            }
        };
        let inside = inside.checked_sub(at)?;
        if inside.checked_add(len as u64)? > width {
            return None;
        }
        let start = (record.checked_mul(width)?.checked_add(inside)?).checked_sub(self.first)?;
        let start = usize::try_from(start).ok()?;
        self.block.get(start..start.checked_add(len)?)
    }
}

/// The places that are known of one store.
#[derive(Debug, Default)]
pub(super) struct Recent {
    places: Mutex<Places>,
    /// How often the store has changed.
    changes: AtomicU64,
    /// Points, and reads without any: counted without locks, so that they are not exact where threads read together.
    points: AtomicU32,
    without: AtomicU32,
}

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The bytes are there.
    Answered,
    /// They are not; the block that has them is worth keeping …
    Keep,
    /// … or it is not.
    Leave,
}

#[derive(Debug, Default)]
struct Places {
    all: [Option<Place>; PLACES],
    /// The one that answered last, or was kept since.
    latest: usize,
}

impl Recent {
    /// The number of the store's present state. Only what is looked up afterwards may be known by it.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The store changes: whoever calls this lets nobody read until it has changed.
    pub(super) fn change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Answers a read, if its block is known.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> Asked {
        if buf.len() > SMALL {
            return Asked::Leave;
        }
        let points = self.points.load(Ordering::Relaxed);
        let mut keep = points > 0;
        if points == 0 {
            let without = self.without.load(Ordering::Relaxed) % PATIENCE;
            self.without.store(without + 1, Ordering::Relaxed);
            keep = without == 0;
            if without > PLACES as u32 {
                return Asked::Leave;
            }
        }
        // Threads that read one file at the same time do not wait for each other.
        let Ok(mut places) = self.places.try_lock() else { return Asked::Leave };
        if places.answer(self.changes(), buf, offset) {
            self.points.store((points + 1).min(PATIENCE), Ordering::Relaxed);
            return Asked::Answered;
        }
        self.points.store(points.saturating_sub(1), Ordering::Relaxed);
        if keep { Asked::Keep } else { Asked::Leave }
    }

    /// Remembers a block (its first byte in the tree is `first`) that answered a read at a place that is shown so, in the
    /// state of this number.
    pub(super) fn keep(&self, shown: Shown, first: u64, changes: u64, block: &Arc<[u8]>) {
        let Ok(mut places) = self.places.try_lock() else { return };
        let n = (places.latest + 1) % PLACES;
        places.latest = n;
        let len = block.len() as u64;
        let before = places.all[n].take().map_or(0, |p| p.block.len() as u64);
        KNOWN.fetch_sub(before, Ordering::Relaxed);
        if KNOWN.fetch_add(len, Ordering::Relaxed) + len > MOST {
            KNOWN.fetch_sub(len, Ordering::Relaxed);
            return;
        }
        places.all[n] = Some(Place { shown, first, changes, block: block.clone() });
    }
}

impl Places {
    /// Answers a read in the state of this number; whether one of the places could.
    fn answer(&mut self, changes: u64, buf: &mut [u8], offset: u64) -> bool {
        let mut found = None;
        // Variables that are read in turn stand one after the other.
        for i in [1, 0].into_iter().chain(2..PLACES) {
            let n = (self.latest + i) % PLACES;
            let Some(place) = &self.all[n] else { continue };
            if place.changes == changes
                && let Some(bytes) = place.answer(offset, buf.len(), &mut found)
            {
                buf.copy_from_slice(bytes);
                self.latest = n;
                return true;
            }
        }
        false
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let bytes = self.all.iter().flatten().map(|p| p.block.len() as u64).sum();
        KNOWN.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(from: u8) -> Arc<[u8]> {
        (from..from + 64).collect()
    }

    #[test]
    fn columns_answer_what_they_have_and_nothing_else() {
        let recent = Recent::default();
        // Records of 12 bytes from byte 100 on, of which the second four are this column; its block begins with record 16.
        let shown = Shown { from: 100, to: 100 + 12 * 40, base: 100, stride: 12, at: 4, width: 4 };
        recent.keep(shown, 64, recent.changes(), &block(0));
        let read = |len: usize, offset: u64| {
            let mut buf = vec![0xEE; len];
            (recent.read(&mut buf, offset) == Asked::Answered).then_some(buf)
        };
        let at = |record: u64| 100 + record * 12 + 4;
        assert_eq!(read(4, at(16)), Some(vec![0, 1, 2, 3]));
        assert_eq!(read(2, at(31) + 2), Some(vec![62, 63]));
        for (len, offset) in [(4, at(15)), (4, at(32)), (5, at(16)), (4, at(16) - 1), (4, 0), (1, u64::MAX)] {
            assert_eq!(read(len, offset), None, "{len} at {offset}");
        }
        assert_eq!(read(SMALL + 1, at(16)), None);
        // Bytes side by side, shown from the middle of their tree on.
        let plain = Shown {
            from: 20,
            to: 50,
            base: 20u64.wrapping_sub(128),
            stride: u64::MAX,
            at: 0,
            width: u64::MAX,
        };
        recent.keep(plain, 128, recent.changes(), &block(100));
        assert_eq!(read(3, 20), Some(vec![100, 101, 102]));
        assert_eq!((read(3, 48), read(3, 19)), (None, None));
        assert_eq!(read(4, at(20)), Some(vec![16, 17, 18, 19]));
        recent.change();
        assert_eq!((read(3, 20), read(4, at(16))), (None, None));
    }

    #[test]
    fn variables_in_turn_are_all_known() {
        let recent = Recent::default();
        let column = |at: u64| Shown { from: 0, to: 1000, base: 0, stride: 4 * PLACES as u64, at, width: 4 };
        for n in 0..PLACES as u64 {
            recent.keep(column(4 * n), 0, recent.changes(), &block(n as u8));
        }
        for record in 0..3u64 {
            for n in 0..PLACES as u64 {
                let mut buf = [0; 1];
                let asked = recent.read(&mut buf, (record * PLACES as u64 + n) * 4);
                assert_eq!(asked, Asked::Answered, "{record} {n}");
                assert_eq!(u64::from(buf[0]), n + record * 4);
            }
        }
    }

    #[test]
    fn scattered_reads_are_left_alone_and_rows_are_found_again() {
        let recent = Recent::default();
        let shown = Shown { from: 0, to: u64::MAX, base: 0, stride: u64::MAX, at: 0, width: u64::MAX };
        let mut kept = 0;
        let mut read = |offset: u64| {
            let asked = recent.read(&mut [0; 4], offset);
            if asked == Asked::Keep {
                recent.keep(shown, offset / 64 * 64, recent.changes(), &block(0));
                kept += 1;
            }
            asked == Asked::Answered
        };
        assert!((0..1000).all(|i| !read(i * 6400)));
        let row = (0..200).filter(|i| !read((1 << 40) + i % 16 * 4)).count();
        assert!(row <= 2 * PATIENCE as usize, "{row}");
        assert!(kept < 100, "{kept}");
    }
}
