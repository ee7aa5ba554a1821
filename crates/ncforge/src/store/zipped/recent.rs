//! A small cache of the blocks that served the last small reads of one store.
//!
//! A program that reads values one by one requests a few bytes a thousand times in a row, mostly from recently used
//! blocks: a value of one variable, then of the next, then of the first again. Finding a byte's position in the map,
//! the block in its tree, and the decoded bytes in the cache of all files takes longer than the rest of such a
//! read. So a few positions are cached here, each with its block, and checked first.
//!
//! An answer is never out of date: every change of the store has a number, and an entry is valid for one number only.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The longest read that uses this cache.
const SMALL: usize = 1 << 10;
/// Variables that may be read in turn.
const PLACES: usize = 8;
/// The largest number of bytes of blocks that all stores may hold here, in addition to the block cache.
const MOST: u64 = 16 << 20;

/// Every hit adds a point, up to this many, and every miss subtracts one. Without points, reads are scattered over more
/// blocks than there are entries, and a lookup costs a quarter of such a read: then only the block of one in this many
/// reads is cached, and only the few reads after it use the cache.
const PATIENCE: u32 = 32;

/// Bytes of the blocks that are held by all stores.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Bytes of the image that are stored in one tree like those of a column: `len` of every `stride`, from `at` bytes after
/// `base` on. Bytes that are not in columns are a column of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Their range in the image.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Byte of the image at which the first record begins; it may be before the image, and is then a
    /// number that wraps around.
    pub(super) base: u64,
    pub(super) stride: u64,
    /// First byte in a record, and the number of bytes.
    pub(super) at: u64,
    pub(super) width: u64,
}

/// A block, and its position in the image.
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
    /// The block's bytes for the `len` bytes of the image from `offset` on, if it contains them. `found` is the record, and
    /// the byte in it, computed before for the same base and stride.
    fn answer(&self, offset: u64, len: usize, found: &mut Option<(u64, u64, u64, u64)>) -> Option<&[u8]> {
        let Shown { from, to, base, stride, at, width } = self.shown;
        if offset < from || offset.checked_add(len as u64)? > to {
            return None;
        }
        // Columns of one table have the same record; the division is most of the work.
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

/// The cached blocks of one store.
#[derive(Debug, Default)]
pub(super) struct Recent {
    places: Mutex<Places>,
    /// The number of changes of the store.
    changes: AtomicU64,
    /// Points, and reads without points: counted without locks, so they are not exact if threads read at the same time.
    points: AtomicU32,
    without: AtomicU32,
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The bytes were copied.
    Answered,
    /// The bytes are not cached; their block should be …
    Keep,
    /// … or should not be.
    Leave,
}

#[derive(Debug, Default)]
struct Places {
    all: [Option<Place>; PLACES],
    /// The entry that was used or added last.
    latest: usize,
}

impl Recent {
    /// The number of the store's present state. Only blocks that are looked up afterwards may be added with it.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Marks a change of the store: the caller must exclude readers until the change is complete.
    pub(super) fn change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Serves a read, if its block is cached here.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> Lookup {
        if buf.len() > SMALL {
            return Lookup::Leave;
        }
        let points = self.points.load(Ordering::Relaxed);
        let mut keep = points > 0;
        if points == 0 {
            let without = self.without.load(Ordering::Relaxed) % PATIENCE;
            self.without.store(without + 1, Ordering::Relaxed);
            keep = without == 0;
            if without > PLACES as u32 {
                return Lookup::Leave;
            }
        }
        // Threads that read one file at the same time must not wait for each other.
        let Ok(mut places) = self.places.try_lock() else { return Lookup::Leave };
        if places.answer(self.changes(), buf, offset) {
            self.points.store((points + 1).min(PATIENCE), Ordering::Relaxed);
            return Lookup::Answered;
        }
        self.points.store(points.saturating_sub(1), Ordering::Relaxed);
        if keep { Lookup::Keep } else { Lookup::Leave }
    }

    /// Adds a block (its first byte in the tree is `first`) that served a read at the position `shown`, in the
    /// state of this number.
    pub(super) fn keep(&self, shown: Shown, first: u64, changes: u64, block: &Arc<[u8]>) {
        let Ok(mut places) = self.places.try_lock() else { return };
        let n = (places.latest + 1) % PLACES;
        places.latest = n;
        let len = block.len() as u64;
        let before = places.all[n].take().map_or(0, |p| p.block.len() as u64);
        HELD.fetch_sub(before, Ordering::Relaxed);
        if HELD.fetch_add(len, Ordering::Relaxed) + len > MOST {
            HELD.fetch_sub(len, Ordering::Relaxed);
            return;
        }
        places.all[n] = Some(Place { shown, first, changes, block: block.clone() });
    }
}

impl Places {
    /// Serves a read in the state of this number; returns whether one of the entries could.
    fn answer(&mut self, changes: u64, buf: &mut [u8], offset: u64) -> bool {
        let mut found = None;
        // Entries of variables that are read in turn are adjacent.
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
        HELD.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(from: u8) -> Arc<[u8]> {
        (from..from + 64).collect()
    }

    #[test]
    fn columns_serve_only_their_own_bytes() {
        let recent = Recent::default();
        // Records of 12 bytes from byte 100 on, of which the second four are this column; its block begins with record 16.
        let shown = Shown { from: 100, to: 100 + 12 * 40, base: 100, stride: 12, at: 4, width: 4 };
        recent.keep(shown, 64, recent.changes(), &block(0));
        let read = |len: usize, offset: u64| {
            let mut buf = vec![0xEE; len];
            (recent.read(&mut buf, offset) == Lookup::Answered).then_some(buf)
        };
        let at = |record: u64| 100 + record * 12 + 4;
        assert_eq!(read(4, at(16)), Some(vec![0, 1, 2, 3]));
        assert_eq!(read(2, at(31) + 2), Some(vec![62, 63]));
        for (len, offset) in [(4, at(15)), (4, at(32)), (5, at(16)), (4, at(16) - 1), (4, 0), (1, u64::MAX)] {
            assert_eq!(read(len, offset), None, "{len} at {offset}");
        }
        assert_eq!(read(SMALL + 1, at(16)), None);
        // Contiguous bytes, from the middle of their tree on.
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
    fn variables_in_turn_are_all_cached() {
        let recent = Recent::default();
        let column = |at: u64| Shown { from: 0, to: 1000, base: 0, stride: 4 * PLACES as u64, at, width: 4 };
        for n in 0..PLACES as u64 {
            recent.keep(column(4 * n), 0, recent.changes(), &block(n as u8));
        }
        for record in 0..3u64 {
            for n in 0..PLACES as u64 {
                let mut buf = [0; 1];
                let lookup = recent.read(&mut buf, (record * PLACES as u64 + n) * 4);
                assert_eq!(lookup, Lookup::Answered, "{record} {n}");
                assert_eq!(u64::from(buf[0]), n + record * 4);
            }
        }
    }

    #[test]
    fn scattered_reads_bypass_the_cache_and_consecutive_ones_use_it_again() {
        let recent = Recent::default();
        let shown = Shown { from: 0, to: u64::MAX, base: 0, stride: u64::MAX, at: 0, width: u64::MAX };
        let mut cached = 0;
        let mut read = |offset: u64| {
            let lookup = recent.read(&mut [0; 4], offset);
            if lookup == Lookup::Keep {
                recent.keep(shown, offset / 64 * 64, recent.changes(), &block(0));
                cached += 1;
            }
            lookup == Lookup::Answered
        };
        assert!((0..1000).all(|i| !read(i * 6400)));
        let row = (0..200).filter(|i| !read((1 << 40) + i % 16 * 4)).count();
        assert!(row <= 2 * PATIENCE as usize, "{row}");
        assert!(cached < 100, "{cached}");
    }
}
