//! Large results that their owners gave up, kept for the next result of about the same size.
//!
//! The system clears fresh pages before a process sees them. Measured on one thread with 200 MB: reading a
//! classic variable from the system's cache takes 57 ms into fresh huge pages and 43 ms into memory that was
//! in use before. So memory of results goes back to the engine that made them.
//!
//! What is kept is bounded by a share of the engine's memory budget, and on Linux the system is told that it
//! may take large pieces back whenever memory is short (`MADV_FREE`). That advice costs 50 µs for 200 MB, and
//! memory used again after it was measured to be as fast as memory that nobody offered.

use std::sync::{Arc, Mutex};

use super::{Buffer, Home, RECYCLE_FROM};

/// Buffers kept at most, whatever their size.
const MAX_KEPT: usize = 32;

/// Memory of results that were dropped. See the module's introduction.
#[derive(Debug)]
pub(crate) struct Recycler {
    limit: usize,
    kept: Mutex<FreeBuffers>,
}

#[derive(Debug, Default)]
struct FreeBuffers {
    /// Oldest first.
    buffers: Vec<Buffer>,
    bytes: usize,
}

impl Recycler {
    /// Keeps at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Arc::new(Self { limit, kept: Mutex::default() })
    }

    /// A buffer of `len` bytes **with any contents**, some of which may be those of an earlier result: for
    /// callers that overwrite every byte, or drop the buffer on the way. It comes back here when it is dropped.
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Buffer {
        let found = if len >= RECYCLE_FROM { self.take(len) } else { None };
        let mut buffer = found.unwrap_or_else(|| Buffer::zeroed(len));
        buffer.len = len;
        buffer.home = Home::Recycler(Arc::downgrade(self));
        // Tests, which compare results with models, see the bytes that nobody wrote.
        #[cfg(debug_assertions)]
        buffer.fill(0xA5);
        buffer
    }

    /// The smallest kept buffer that fits and wastes at most a quarter.
    fn take(&self, len: usize) -> Option<Buffer> {
        // A lock that is taken just now, or was when this process was forked, is not worth waiting for.
        let mut kept = self.kept.try_lock().ok()?;
        let fit = (0..kept.buffers.len())
            .filter(|&i| (len..=len.saturating_add(len / 4)).contains(&kept.buffers[i].room))
            .min_by_key(|&i| kept.buffers[i].room)?;
        let buffer = kept.buffers.remove(fit);
        kept.bytes -= buffer.room;
        Some(buffer)
    }

    /// Keeps a buffer if it may; what must leave for it, the oldest first, is dropped.
    pub(super) fn give(&self, buffer: Buffer) {
        let size = buffer.room;
        if size < RECYCLE_FROM || size > self.limit {
            return;
        }
        let Ok(mut kept) = self.kept.try_lock() else { return };
        let mut leaving = Vec::new();
        while kept.buffers.len() == MAX_KEPT || kept.bytes + size > self.limit {
            let old = kept.buffers.remove(0);
            kept.bytes -= old.room;
            leaving.push(old);
        }
        buffer.offer();
        kept.bytes += size;
        kept.buffers.push(buffer);
        // Giving memory back to the system takes a while: not under the lock.
        drop(kept);
        drop(leaving);
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let all = self.kept.try_lock().map(|mut kept| std::mem::take(&mut *kept));
        drop(all);
    }

    /// Bytes kept now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.kept.lock().unwrap().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 3] = [2 * RECYCLE_FROM, 1 << 20, 8 << 20];

    #[test]
    fn memory_comes_back_for_results_of_about_the_same_size() {
        for len in SIZES {
            let home = Recycler::new(64 << 20);
            let first = home.buffer(len);
            let at = first.as_ptr();
            drop(first);
            assert!(home.bytes() >= len);
            let again = home.buffer(len - len / 8);
            assert_eq!((again.as_ptr(), again.len()), (at, len - len / 8));
            assert_eq!(home.bytes(), 0);
            drop(again);
            // What a smaller result leaves is as large as before.
            let full = home.buffer(len);
            assert_eq!((full.as_ptr(), full.len()), (at, len));
            drop(full);
            assert_ne!(home.buffer(len / 2).as_ptr(), at, "half of it would be wasted");
            home.clear();
            assert_eq!(home.bytes(), 0);
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let home = Recycler::new(12 << 20);
        let all: Vec<Buffer> = (0..5).map(|_| home.buffer(5 << 20)).collect();
        drop(all);
        assert!((5 << 20..=12 << 20).contains(&home.bytes()), "{}", home.bytes());
        drop(home.buffer(20 << 20));
        assert!(home.bytes() <= 12 << 20);
        let many: Vec<Buffer> = (0..2 * MAX_KEPT).map(|_| home.buffer(RECYCLE_FROM)).collect();
        drop(many);
        assert!(home.bytes() <= MAX_KEPT * (6 << 20));
        assert!(home.kept.lock().unwrap().buffers.len() <= MAX_KEPT);
    }

    #[test]
    fn zeroed_buffers_and_clones_never_hold_old_bytes() {
        for len in SIZES {
            let home = Recycler::new(64 << 20);
            let mut old = home.buffer(len);
            old.fill(7);
            let copy = old.clone();
            drop(old);
            drop(copy);
            assert!(Buffer::zeroed(len).iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn buffers_outlive_their_home() {
        for len in SIZES {
            let home = Recycler::new(64 << 20);
            let mut kept = home.buffer(len);
            drop(home);
            kept.fill(3);
            assert!(kept.iter().all(|&b| b == 3));
        }
    }

    #[test]
    fn threads_share_one_home() {
        let home = Recycler::new(64 << 20);
        std::thread::scope(|s| {
            for t in 0..4u8 {
                let home = &home;
                s.spawn(move || {
                    for i in 0..50 {
                        let mut b = home.buffer(SIZES[i % 2]);
                        b.fill(t);
                        assert!(b.iter().all(|&x| x == t));
                    }
                });
            }
        });
    }
}
