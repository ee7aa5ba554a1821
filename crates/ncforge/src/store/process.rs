//! Which process something belongs to.
//!
//! A forked child inherits what its parent has open: files, their locks, temporary names. They stay the parent's. The child
//! neither changes nor releases them, it only forgets.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that made something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

/// The number of forks since the first owner was noted in an ancestor. Costs less than asking the system for the number of the process,
/// which small writes would notice.
static FORKS: AtomicU32 = AtomicU32::new(0);

impl Process {
    /// This process.
    pub fn this() -> Self {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            extern "C" fn in_child() {
                FORKS.fetch_add(1, Ordering::Relaxed);
            }
            // SAFETY: the handler is a function that lives for ever and only adds to a counter.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether that is this process, and no parent of it.
    pub fn is_here(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}
