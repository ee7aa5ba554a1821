//! Memory of large results that were dropped, retained for the next result of about the same size.
//!
//! The system clears fresh pages before a process gets them. Measured on one thread with 200 MB: reading a
//! classic variable from the page cache takes 57 ms into fresh huge pages and 43 ms into memory that was
//! in use before. The memory of results is therefore returned to the engine that made them.
//!
//! A part of the engine's memory budget limits the retained memory, and on Linux the system is advised that it
//! may reclaim large buffers whenever memory is short (`MADV_FREE`). That advice costs 50 µs for 200 MB;
//! memory that is reused after it was measured to be as fast as memory without the advice.

use std::sync::{Arc, Mutex};

use super::memory::Memory;

/// From this many bytes on, the memory of a result is retained for the next one.
pub(super) const RECYCLE_FROM: usize = 64 << 10;
/// The largest number of retained buffers, whatever their size.
const MAX_BUFFERS: usize = 32;

/// Memory of results that were dropped. See the module documentation.
#[derive(Debug)]
pub(crate) struct Recycler {
    limit: usize,
    free: Mutex<FreeBuffers>,
}

#[derive(Debug, Default)]
struct FreeBuffers {
    /// Oldest first.
    buffers: Vec<Memory>,
    bytes: usize,
}

impl Recycler {
    /// Retains at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Arc::new(Self { limit, free: Mutex::default() })
    }

    /// The smallest retained buffer that fits and wastes at most a quarter.
    pub(super) fn take(&self, len: usize) -> Option<Memory> {
        // It is not worth waiting for a lock that is held now, or was held when this process was forked.
        let mut free = self.free.try_lock().ok()?;
        let fit = (0..free.buffers.len())
            .filter(|&i| (len..=len.saturating_add(len / 4)).contains(&free.buffers[i].len()))
            .min_by_key(|&i| free.buffers[i].len())?;
        let buffer = free.buffers.remove(fit);
        free.bytes -= buffer.len();
        Some(buffer)
    }

    /// Retains a buffer within the limits; other buffers, the oldest first, are freed for it.
    pub(super) fn give(&self, buffer: Memory) {
        let size = buffer.len();
        if size < RECYCLE_FROM || size > self.limit {
            return;
        }
        let Ok(mut free) = self.free.try_lock() else { return };
        let mut leaving = Vec::new();
        while free.buffers.len() == MAX_BUFFERS || free.bytes + size > self.limit {
            let old = free.buffers.remove(0);
            free.bytes -= old.len();
            leaving.push(old);
        }
        buffer.offer();
        free.bytes += size;
        free.buffers.push(buffer);
        // Freeing memory takes a while: not under the lock.
        drop(free);
        drop(leaving);
    }

    /// Frees everything.
    pub(crate) fn clear(&self) {
        let all = self.free.try_lock().map(|mut free| std::mem::take(&mut *free));
        drop(all);
    }

    /// Bytes retained now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.free.lock().unwrap().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;

    const SIZES: [usize; 3] = [2 * RECYCLE_FROM, 1 << 20, 8 << 20];

    #[test]
    fn memory_comes_back_for_results_of_about_the_same_size() {
        for len in SIZES {
            let recycler = Recycler::new(64 << 20);
            let first = recycler.buffer(len).unwrap();
            let at = first.as_ptr();
            drop(first);
            assert!(recycler.bytes() >= len);
            let again = recycler.buffer(len - len / 8).unwrap();
            assert_eq!((again.as_ptr(), again.len()), (at, len - len / 8));
            assert_eq!(recycler.bytes(), 0);
            drop(again);
            // A buffer that a smaller result used is as large as before.
            let full = recycler.buffer(len).unwrap();
            assert_eq!((full.as_ptr(), full.len()), (at, len));
            drop(full);
            assert_ne!(recycler.buffer(len / 2).unwrap().as_ptr(), at, "half of it would be wasted");
            recycler.clear();
            assert_eq!(recycler.bytes(), 0);
        }
    }

    #[test]
    fn retained_memory_is_bounded() {
        let recycler = Recycler::new(12 << 20);
        let all: Vec<Buffer> = (0..5).map(|_| recycler.buffer(5 << 20).unwrap()).collect();
        drop(all);
        assert!((5 << 20..=12 << 20).contains(&recycler.bytes()), "{}", recycler.bytes());
        drop(recycler.buffer(20 << 20).unwrap());
        assert!(recycler.bytes() <= 12 << 20);
        let many: Vec<Buffer> =
            (0..2 * MAX_BUFFERS).map(|_| recycler.buffer(RECYCLE_FROM).unwrap()).collect();
        drop(many);
        assert!(recycler.bytes() <= MAX_BUFFERS * (6 << 20));
        assert!(recycler.free.lock().unwrap().buffers.len() <= MAX_BUFFERS);
    }

    #[test]
    fn zeroed_buffers_and_clones_never_hold_old_bytes() {
        for len in SIZES {
            let recycler = Recycler::new(64 << 20);
            let mut old = recycler.buffer(len).unwrap();
            old.fill(7);
            let copy = old.clone();
            drop(old);
            drop(copy);
            assert!(Buffer::zeroed(len).iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn buffers_outlive_their_recycler() {
        for len in SIZES {
            let recycler = Recycler::new(64 << 20);
            let mut free = recycler.buffer(len).unwrap();
            drop(recycler);
            free.fill(3);
            assert!(free.iter().all(|&b| b == 3));
        }
    }

    #[test]
    fn threads_share_one_recycler() {
        let recycler = Recycler::new(64 << 20);
        std::thread::scope(|s| {
            for t in 0..4u8 {
                let recycler = &recycler;
                s.spawn(move || {
                    for i in 0..50 {
                        let mut b = recycler.buffer(SIZES[i % 2]).unwrap();
                        b.fill(t);
                        assert!(b.iter().all(|&x| x == t));
                    }
                });
            }
        });
    }
}
