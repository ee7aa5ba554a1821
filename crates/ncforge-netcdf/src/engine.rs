//! The engine that reads, one for the process and each of its forks.
//!
//! Threads do not survive a fork. A file that was opened before it is left to netCDF-C in the child; one that the child opens
//! is read by an engine of the child's own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once};

use ncforge::{Engine, EngineOptions};

static FORKS: AtomicU32 = AtomicU32::new(0);
static ENGINE: Mutex<Option<(u32, Engine)>> = Mutex::new(None);

/// The number of forks of this process since the hook was installed in an ancestor.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Counts forks from now on.
pub(crate) fn watch_forks() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler is a function that is never unloaded and only adds to a counter.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// The engine; `None` where the lock cannot be had at once, which after a fork may be for ever.
pub(crate) fn engine() -> Option<Engine> {
    let mut engine = ENGINE.try_lock().ok()?;
    let now = forks();
    match &*engine {
        Some((fork, known)) if *fork == now => Some(known.clone()),
        _ => {
            let new = Engine::new(EngineOptions::default()).unwrap_or_else(|_| Engine::global());
            // The parent's is never dropped: its threads and locks are not here.
            std::mem::forget(engine.replace((now, new.clone())));
            Some(new)
        }
    }
}
