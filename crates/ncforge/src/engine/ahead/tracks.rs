//! The patterns and windows of an engine, by variable.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use rustc_hash::FxHashMap;

use super::super::budget::Held;
use super::super::cache::{Key, address};
use super::super::how::Keep;
use super::super::pool::lock;
use super::filled::Window;
use super::pattern::{Level, Pattern};
use crate::select::Hyperslab;
use crate::store::ReadStore;

const SHARDS: usize = 8;
/// Windows that were not used for this many reads of the engine make room.
pub(super) const IDLE_READS: u64 = 512;
/// Variables that were not read for this many reads are forgotten.
const FORGOTTEN_READS: u64 = 8192;

/// All patterns and windows of an engine.
#[derive(Debug)]
pub(in super::super) struct ReadAhead {
    pub(super) enabled: bool,
    shards: [Mutex<FxHashMap<Key, Track>>; SHARDS],
    /// The read at which idle windows were looked for last.
    pub(super) swept: AtomicU64,
}

/// One variable of an open file.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) store: Weak<dyn ReadStore>,
    pub(super) pattern: Pattern,
    /// The window that serves requests.
    pub(super) current: Option<Ready>,
    /// The window that is filled in the background.
    pub(super) next: Option<Ready>,
    /// Memory of the window before, for the window after.
    pub(super) spare: Option<Held>,
    /// The last read.
    pub(super) read: u64,
    /// Requests since one was served from a window.
    pub(super) misses: u32,
}

/// A window, and where its pattern goes on.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) window: Arc<Window>,
    pub(super) after: Option<Arc<(Vec<Level>, Hyperslab)>>,
    /// Whether decoded chunks of it are of later use.
    pub(super) keep: Keep,
}

impl ReadAhead {
    pub(in super::super) fn new(enabled: bool) -> Self {
        Self { enabled, shards: Default::default(), swept: AtomicU64::new(0) }
    }

    /// Forgets everything of one store, because it is being written or closed.
    pub(in super::super) fn forget_store(&self, store: &Arc<dyn ReadStore>) {
        let store = address(store);
        self.retain(|key, _| key.store() != store);
    }

    /// Drops all windows.
    pub(in super::super) fn clear(&self) {
        self.retain(|_, _| false);
    }

    fn retain(&self, keep: impl Fn(&Key, &mut Track) -> bool) {
        for shard in &self.shards {
            lock(shard).retain(|key, track| {
                let kept = keep(key, track);
                if !kept {
                    track.drop_windows();
                }
                kept
            });
        }
    }

    /// Drops the windows of closed stores, and those that nobody uses.
    pub(super) fn sweep(&self, number: u64) {
        self.swept.store(number, Ordering::Relaxed);
        self.retain(|_, track| {
            let age = number.saturating_sub(track.read);
            if age > IDLE_READS {
                track.drop_windows();
            }
            age <= FORGOTTEN_READS && track.store.strong_count() > 0
        });
    }

    pub(super) fn shard(&self, key: Key) -> MutexGuard<'_, FxHashMap<Key, Track>> {
        lock(&self.shards[key.spread() as usize % SHARDS])
    }
}

impl Track {
    pub(super) fn drop_windows(&mut self) {
        for ready in [self.current.take(), self.next.take()].into_iter().flatten() {
            ready.window.drop_it();
        }
        self.spare = None;
    }

    /// Lets go of the present window; its memory is for the one after.
    pub(super) fn retire(&mut self) {
        if let Some(old) = self.current.take() {
            old.window.drop_it();
            self.spare = old.window.into_memory();
        }
    }

    /// Bytes of its own windows, and how many there are.
    pub(super) fn own(&self) -> (u64, u64) {
        let windows = [&self.current, &self.next].into_iter().flatten().map(|r| r.window.held());
        windows.chain(self.spare.as_ref().map(Held::bytes)).fold((0, 0), |(all, n), b| (all + b, n + 1))
    }
}
