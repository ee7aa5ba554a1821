//! What stays open only because it may be needed again: the latest of each kind, and few in all of the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::PerProcess;

/// Entries of one list, at most.
const MOST: usize = 64;
/// The part of the descriptors that the process may have that all lists together take: the rest is for what the program opens.
const SHARE: u64 = 4;
/// Entries of all lists, at most.
const MOST_OF_ALL: u64 = 1024;

/// The number of entries of all lists. A forked child has none of its parent's.
static ENTRIES: LazyLock<PerProcess<AtomicUsize>> = LazyLock::new(PerProcess::default);

/// The latest values by their keys, the last one last.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    latest: PerProcess<Mutex<Vec<Entry<K, V>>>>,
}

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    _one: One,
}

/// One of all entries.
#[derive(Debug)]
struct One;

impl One {
    fn new() -> Self {
        ENTRIES.fetch_add(1, Ordering::Relaxed);
        One
    }
}

impl Drop for One {
    fn drop(&mut self) {
        ENTRIES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { latest: PerProcess::default() }
    }
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    /// Finds a value, which is the latest from now on.
    pub(crate) fn find<Q: ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: PartialEq<Q>,
    {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let at = latest.iter().position(|e| e.key == *key)?;
        let entry = latest.remove(at);
        let found = entry.value.clone();
        latest.push(entry);
        Some(found)
    }

    /// Keeps a value instead of an older one of the same key; the oldest ones are closed where there are too many.
    pub(crate) fn keep(&self, key: K, value: V) {
        let mut gone = Vec::new();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        gone.extend(latest.iter().position(|e| e.key == key).map(|at| latest.remove(at)));
        let others = ENTRIES.load(Ordering::Relaxed).saturating_sub(latest.len() + gone.len());
        let room = share().saturating_sub(others).clamp(1, MOST);
        let over = (latest.len() + 1).saturating_sub(room);
        gone.extend(latest.drain(..over));
        latest.push(Entry { key, value, _one: One::new() });
        drop(latest);
        // Files are closed after the lock is given back.
        drop(gone);
    }
}

/// The number of entries that all lists may have.
fn share() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call that writes into our own structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    let soft = if known { limit.rlim_cur } else { 0 };
    (soft / SHARE).clamp(1, MOST_OF_ALL) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept() {
        let kept = Kept::<usize, usize>::default();
        for i in 0..MOST {
            kept.keep(i, 10 * i);
        }
        assert_eq!(kept.find(&0), Some(0));
        kept.keep(MOST, 7);
        assert_eq!((kept.find(&0), kept.find(&1), kept.find(&MOST)), (Some(0), None, Some(7)));
        kept.keep(0, 8);
        assert_eq!((kept.find(&0), kept.find(&2)), (Some(8), Some(20)));
    }

    #[test]
    fn many_lists_keep_few_each() {
        let lists: Vec<Kept<usize, usize>> = (0..share() / 8).map(|_| Kept::default()).collect();
        for i in 0..20 {
            lists.iter().for_each(|list| list.keep(i, i));
        }
        assert!(ENTRIES.load(Ordering::Relaxed) <= share() + lists.len() + MOST);
        assert!(lists.iter().all(|list| list.find(&19) == Some(19)));
    }
}
