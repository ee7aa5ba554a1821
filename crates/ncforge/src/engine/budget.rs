//! One memory budget, and who takes what of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::buffer::Buffer;
use crate::store::zipped::BlockCache;

/// The memory that an engine may keep, and the part of it for coming requests, for which decoded chunks and spare buffers make room.
#[derive(Debug)]
pub(super) struct Budget {
    memory: u64,
    ahead: AtomicU64,
    windows: AtomicU64,
    writers: AtomicUsize,
    /// Decoded blocks of zipped files.
    blocks: Arc<BlockCache>,
}

impl Budget {
    pub(super) fn new(memory: u64) -> Arc<Self> {
        Arc::new(Self {
            memory,
            ahead: AtomicU64::new(0),
            windows: AtomicU64::new(0),
            writers: AtomicUsize::new(0),
            blocks: Arc::new(BlockCache::new(memory / 4)),
        })
    }

    /// All of it.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Bytes of decoded chunks at most, now: blocks of zipped files are part of them.
    pub(super) fn for_chunks(&self) -> u64 {
        let all = (self.memory / 2).min(self.memory.saturating_sub(self.ahead()));
        all.saturating_sub(self.blocks.bytes())
    }

    /// The cache of decoded blocks of zipped files: a quarter of the memory at most.
    pub(super) fn blocks(&self) -> &Arc<BlockCache> {
        &self.blocks
    }

    /// Bytes of spare buffers at most, now.
    pub(super) fn for_spares(&self) -> u64 {
        (self.memory / 8).min(self.memory.saturating_sub(self.ahead()))
    }

    /// Bytes of coming requests at most: everything, but half while writers may be gathering.
    pub(super) fn for_ahead(&self) -> u64 {
        if self.writers.load(Ordering::Relaxed) > 0 { self.memory / 2 } else { self.memory }
    }

    /// Bytes of coming requests that are kept now.
    pub(super) fn ahead(&self) -> u64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// The number of windows.
    pub(super) fn windows(&self) -> u64 {
        self.windows.load(Ordering::Relaxed)
    }

    /// A writer begins.
    pub(super) fn writer_begins(&self) {
        self.writers.fetch_add(1, Ordering::Relaxed);
    }

    /// A writer has ended.
    pub(super) fn writer_ended(&self) {
        self.writers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Memory for coming requests, counted while it lives.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) buffer: Buffer,
    budget: Arc<Budget>,
}

impl Held {
    /// At least `bytes` bytes with any contents: `old` ones if they are not much more.
    pub(super) fn new(bytes: u64, old: Option<Held>, budget: &Arc<Budget>) -> Option<Self> {
        let fits = |h: &Held| (bytes..=bytes.saturating_add(bytes / 4)).contains(&h.bytes());
        if let Some(held) = old.filter(fits) {
            return Some(held);
        }
        let buffer = Buffer::try_zeroed(usize::try_from(bytes).ok()?).ok()?;
        budget.ahead.fetch_add(bytes, Ordering::Relaxed);
        budget.windows.fetch_add(1, Ordering::Relaxed);
        Some(Self { buffer, budget: Arc::clone(budget) })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.buffer.len() as u64
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.ahead.fetch_sub(self.bytes(), Ordering::Relaxed);
        self.budget.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_once_and_others_make_room() {
        let budget = Budget::new(1000);
        assert_eq!((budget.for_chunks(), budget.for_spares(), budget.for_ahead()), (500, 125, 1000));
        let held = Held::new(600, None, &budget).unwrap();
        assert_eq!((budget.ahead(), budget.windows(), budget.for_chunks()), (600, 1, 400));
        let held = Held::new(500, Some(held), &budget).unwrap();
        assert_eq!((budget.ahead(), held.bytes()), (600, 600), "used again");
        let held = Held::new(950, Some(held), &budget).unwrap();
        assert_eq!((budget.ahead(), budget.for_spares(), held.bytes()), (950, 50, 950));
        drop(held);
        budget.writer_begins();
        assert_eq!((budget.ahead(), budget.windows(), budget.for_ahead()), (0, 0, 500));
        budget.writer_ended();
        assert_eq!(budget.for_ahead(), 1000);
    }
}
