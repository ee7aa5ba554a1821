//! How often this process has written to a file, whichever handle it used; and moments, in which nothing is asked twice.

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

/// The moment of the last question about a file: a tick of the clock, and this process' writes until then, in one number.
#[derive(Debug)]
pub(in super::super) struct Moment(AtomicU64);

impl Moment {
    /// The present one of a file.
    pub(in super::super) fn of(writes: &Writes) -> Self {
        Self(AtomicU64::new(Self::now(writes)))
    }

    /// The number of the present moment of a file; it is never 0.
    pub(in super::super) fn now(writes: &Writes) -> u64 {
        let mixed = tick().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed.wrapping_add(writes.count().wrapping_mul(0xD1B5_4A32_D192_ED03)) | 1
    }

    /// True if this is the moment.
    pub(in super::super) fn is(&self, moment: u64) -> bool {
        self.0.load(Ordering::Acquire) == moment
    }

    /// Sets the moment.
    pub(in super::super) fn set(&self, moment: u64) {
        self.0.store(moment, Ordering::Release);
    }
}

/// The clock as of its last tick. Linux has a clock that does not look further, and costs a quarter of the other.
fn tick() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a plain call that fills the structure.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
        (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64
    }
}
