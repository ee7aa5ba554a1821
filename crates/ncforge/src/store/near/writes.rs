//! How often this process has written to a file, whichever handle it used.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counters for all files. Files that share one take each other's writes for their own, which costs a block now and
/// then and harms nothing.
const COUNTERS: usize = 64;

/// A counter in a cache line of its own: writers of one file shall not disturb readers of others.
#[repr(align(64))]
struct Counter(AtomicU64);

static WRITES: [Counter; COUNTERS] = [const { Counter(AtomicU64::new(0)) }; COUNTERS];

/// The counter of one file, known by device and inode.
#[derive(Debug)]
pub(in super::super) struct Writes {
    counter: AtomicUsize,
}

impl Writes {
    /// The counter of an open file.
    pub(in super::super) fn of(file: &File) -> Self {
        file.metadata().map_or(Self { counter: AtomicUsize::new(0) }, |meta| Self::of_metadata(&meta))
    }

    /// The counter of the file that these are the facts of.
    pub(in super::super) fn of_metadata(meta: &Metadata) -> Self {
        Self { counter: AtomicUsize::new(counter(meta)) }
    }

    /// The descriptor means another file now.
    pub(in super::super) fn switched(&self, file: &File) {
        self.note();
        self.counter.store(file.metadata().map_or(0, |meta| counter(&meta)), Ordering::Relaxed);
        self.note();
    }

    /// Says that something was written.
    pub(in super::super) fn note(&self) {
        self.get().fetch_add(1, Ordering::Release);
    }

    /// Writes so far.
    pub(super) fn count(&self) -> u64 {
        self.get().load(Ordering::Acquire)
    }

    fn get(&self) -> &'static AtomicU64 {
        &WRITES[self.counter.load(Ordering::Relaxed) % COUNTERS].0
    }
}

fn counter(meta: &Metadata) -> usize {
    let mixed = (meta.ino() ^ meta.dev().rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 58) as usize
}
