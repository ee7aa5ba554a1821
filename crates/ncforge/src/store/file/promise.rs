//! The durability that a file's writer promises, and whether it can be kept: every change, sync and close passes here.

use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Op, Result};
use crate::store::Process;
use crate::store::durability::Durability;

/// The promise of one open file.
#[derive(Debug)]
pub(super) struct Promise {
    owner: Process,
    /// Whether syncs wait for the disk.
    waits: AtomicBool,
    /// Whether all that others wrote before is on disk: else it comes there before the first change, which may take the place of
    /// bytes that the state on disk needs.
    settled: AtomicBool,
    /// Whether something was changed since the last sync.
    changed: AtomicBool,
    /// The reason why a sync failed. The changes before may or may not be on disk, and the system does not say it again.
    broken: OnceLock<String>,
}

impl Promise {
    /// The promise for a file that was just opened, or made; it waits for the disk until something else is chosen.
    pub(super) fn new(is_new: bool) -> Self {
        Self {
            owner: Process::this(),
            waits: AtomicBool::new(true),
            settled: AtomicBool::new(is_new),
            changed: AtomicBool::new(false),
            broken: OnceLock::new(),
        }
    }

    pub(super) fn choose(&self, durability: Durability) {
        self.waits.store(durability == Durability::Machine, Ordering::Relaxed);
    }

    /// Whether the file belongs to a process that this one was forked from.
    pub(super) fn is_inherited(&self) -> bool {
        !self.owner.is_here()
    }

    /// Whether the file may be changed.
    ///
    /// # Errors
    /// [`Error::Inherited`] in a forked child, [`Error::Lost`] after a sync that failed.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        if self.is_inherited() {
            return Err(Error::Inherited { path: name.to_owned() });
        }
        match self.broken.get() {
            None => Ok(()),
            Some(why) => Err(Error::Lost {
                path: name.to_owned(),
                what: format!(
                    "it is not known what is on disk of the changes before a sync that failed ({why})"
                ),
            }),
        }
    }

    /// Before each change.
    pub(super) fn will_change(&self, file: &File, name: &str) -> Result<()> {
        self.check(name)?;
        if !self.settled.load(Ordering::Acquire) && self.waits.load(Ordering::Relaxed) {
            self.wait(file, name)?;
            self.settled.store(true, Ordering::Release);
        }
        self.changed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Brings all changes so far to disk, if that was promised.
    pub(super) fn keep(&self, file: &File, name: &str) -> Result<()> {
        self.check(name)?;
        if self.waits.load(Ordering::Relaxed) && self.changed.swap(false, Ordering::Relaxed) {
            self.wait(file, name)?;
        }
        Ok(())
    }

    fn wait(&self, file: &File, name: &str) -> Result<()> {
        file.sync_data().map_err(|e| {
            let _ = self.broken.set(e.to_string());
            Error::io(Op::Other("sync"), name, e)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_sync_left_is_never_called_good() {
        // The system has no way to bring a device without a disk to disk.
        let null = File::options().write(true).open("/dev/null").unwrap();
        let promise = Promise::new(true);
        promise.keep(&null, "f").unwrap();
        promise.will_change(&null, "f").unwrap();
        assert!(matches!(promise.keep(&null, "f"), Err(Error::Io { .. })));
        for _ in 0..2 {
            let error = promise.keep(&null, "f").unwrap_err();
            assert!(
                matches!(error, Error::Lost { .. }) && error.to_string().contains("not known"),
                "{error}"
            );
            assert!(promise.will_change(&null, "f").is_err());
        }
        let relaxed = Promise::new(false);
        relaxed.choose(Durability::Process);
        relaxed.will_change(&null, "f").unwrap();
        relaxed.keep(&null, "f").unwrap();
        let opened = Promise::new(false);
        assert!(opened.will_change(&null, "f").is_err(), "what was there before comes to disk first");
    }
}
