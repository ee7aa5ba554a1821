//! Which process something belongs to.
//!
//! A forked child inherits what its parent has open: files, their locks, temporary names. They stay the parent's. The child
//! neither changes nor releases them, it only forgets.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

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

    /// A number that its parents and children do not have.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether that is this process, and no parent of it.
    pub fn is_here(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

/// A value that each process has for itself: a forked child gets a new one. Threads of the parent may have held locks in the parent's when
/// it forked, and nobody unlocks them in the child.
pub struct PerProcess<T, Make = fn() -> T> {
    first: Owned<T>,
    make: Make,
}

/// The value of one process, and those of its descendants.
struct Owned<T> {
    owner: Process,
    value: ManuallyDrop<T>,
    descendant: OnceLock<Box<Owned<T>>>,
}

impl<T, Make: Fn() -> T> PerProcess<T, Make> {
    /// The value of this process, which a child does not get; that of a child is made when the child first asks.
    pub fn new(value: T, make: Make) -> Self {
        Self { first: Owned::new(value), make }
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new(T::default(), T::default)
    }
}

impl<T> Owned<T> {
    fn new(value: T) -> Self {
        Self { owner: Process::this(), value: ManuallyDrop::new(value), descendant: OnceLock::new() }
    }
}

impl<T, Make: Fn() -> T> Deref for PerProcess<T, Make> {
    type Target = T;

    fn deref(&self) -> &T {
        let mut owned = &self.first;
        while !owned.owner.is_here() {
            owned = owned.descendant.get().unwrap_or_else(|| {
                // Made before the cell is locked: a fork meanwhile leaves it empty, not locked.
                let made = Box::new(Owned::new((self.make)()));
                owned.descendant.get_or_init(|| made)
            });
        }
        &owned.value
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // The value of a parent is only forgotten: to drop it might wait for its locks.
        if self.owner.is_here() {
            // SAFETY: the value is not used after this, and dropped nowhere else.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

impl<T: fmt::Debug, Make: Fn() -> T> fmt::Debug for PerProcess<T, Make> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_child_waits_for_no_lock_of_its_parent() {
        let value = PerProcess::new(Mutex::new(1), || Mutex::new(2));
        let held = value.lock().unwrap();
        // SAFETY: the child takes a lock of its own, and ends without any handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let own = value.try_lock().map_or(0, |own| *own);
            // SAFETY: as above.
            unsafe { libc::_exit(own) };
        }
        let mut status = 0;
        // SAFETY: the status is this function's own.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status));
        assert_eq!((libc::WEXITSTATUS(status), *held), (2, 1));
    }
}
