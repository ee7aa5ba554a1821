//! How long work tells what it has done, and hears that it shall stop.
//!
//! Work on whole files takes a [`Progress`]; the command draws a bar from it, a library caller may pass
//! [`Silent`]. Totals are bytes of values (what a program would see in memory), not of storage, so that the
//! rate means the same whatever the codec.

use std::sync::{Mutex, PoisonError};

/// Receives the state of a piece of work. Called from one or several threads, a few times a second or so for
/// large work.
pub trait Progress: Send + Sync {
    /// The work has this many bytes of values in all. May be called again when a new stage begins.
    fn begin(&self, stage: &str, total: u64);
    /// Adds bytes that are done.
    fn advance(&self, bytes: u64);
    /// Names the object in work: a variable's path.
    fn item(&self, name: &str) {
        let _ = name;
    }
    /// Whether the work shall stop at the next safe point. It then ends with [`ncforge::Error::Interrupted`].
    fn stop(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _bytes: u64) {}
}

/// Work in several parts, each of which tells of itself as if it were all: shown as one.
///
/// ```
/// use ncforge_ops::progress::{Parts, Progress, Silent};
/// // Three files of these sizes, each of which is gone through once.
/// let parts = Parts::of(&Silent, "copy", &[100, 50, 50], 1);
/// parts.part(0, "a.nc");
/// parts.begin("copy", 4000);
/// parts.advance(2000); // half of the first file is a quarter of all
/// ```
pub struct Parts<'a> {
    whole: &'a dyn Progress,
    /// The size of each part.
    sizes: &'a [u64],
    /// Stages that a part has, each through all of its values.
    stages: u64,
    now: Mutex<Part>,
}

/// The part that is worked on.
#[derive(Debug, Default)]
struct Part {
    size: u64,
    /// Bytes of its size that were told.
    told: u64,
    /// Bytes that its stage has in all, by its own count, and has done.
    total: u64,
    done: u64,
    /// Progress that was reported before its stage began.
    before: u64,
}

impl std::fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("sizes", &self.sizes).field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Parts<'a> {
    /// Begins work of this name, on parts of these sizes. A part goes through all of its values in `stages` stages.
    pub fn of(whole: &'a dyn Progress, name: &str, sizes: &'a [u64], stages: u64) -> Self {
        whole.begin(name, sizes.iter().copied().fold(0, u64::saturating_add));
        Parts { whole, sizes, stages, now: Mutex::default() }
    }

    /// The part of this number begins, and the one before is done, whatever it told.
    pub fn part(&self, number: usize, name: &str) {
        self.next(self.sizes.get(number).copied().unwrap_or(0));
        self.whole.item(name);
    }

    /// All parts are done.
    pub fn finish(&self) {
        self.next(0);
    }

    fn next(&self, size: u64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        self.whole.advance(now.size.saturating_sub(now.told));
        *now = Part { size, ..Part::default() };
    }
}

impl Progress for Parts<'_> {
    fn begin(&self, _stage: &str, total: u64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Part { total, done: 0, before: now.told, ..*now };
    }

    fn advance(&self, bytes: u64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.done = now.done.saturating_add(bytes).min(now.total);
        let stage = u128::from(now.size) * u128::from(now.done)
            / (u128::from(now.total) * u128::from(self.stages)).max(1);
        let told = now.before.saturating_add(stage as u64).min(now.size);
        let more = told.saturating_sub(now.told);
        now.told = now.told.max(told);
        self.whole.advance(more);
    }

    fn stop(&self) -> bool {
        self.whole.stop()
    }
}

/// The error with which stopped work ends.
pub(crate) fn check_stop(progress: &dyn Progress, what: &str) -> ncforge::Result<()> {
    if progress.stop() { Err(ncforge::Error::Interrupted(what.to_string())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU64, AtomicU64);

    impl Progress for Count {
        fn begin(&self, _stage: &str, total: u64) {
            self.1.store(total, Ordering::Relaxed);
        }
        fn advance(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn parts_are_told_as_one() {
        let count = Count::default();
        let done = || count.0.load(Ordering::Relaxed);
        let parts = Parts::of(&count, "split", &[100, 50, 50], 2);
        assert_eq!(count.1.load(Ordering::Relaxed), 200);
        parts.part(0, "a");
        parts.begin("copy", 10);
        parts.advance(5);
        assert_eq!(done(), 25);
        parts.advance(5);
        parts.begin("verify", 30);
        parts.advance(30);
        assert_eq!(done(), 100);
        // One that tells nothing, and one that tells too much.
        parts.part(1, "b");
        parts.part(2, "c");
        assert_eq!(done(), 150);
        parts.begin("copy", 1);
        (0..9).for_each(|_| parts.advance(1));
        assert!(done() <= 200);
        parts.finish();
        assert_eq!(done(), 200);
    }
}
