//! How many files ncforge has open at a time.
//!
//! A descriptor of ours is one that the program lacks: a program that has a thousand files open must not reach its limit sooner
//! than without us. So ncforge has open at most a sixteenth of the files that the process may open; the one that was not read
//! for longest is closed first, and opened again when it is read again. When few descriptors are left, ncforge has none: netCDF-C
//! looks into a file before any function of ours is called, so it is too late when an opening fails.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ncforge::Dataset;

/// ncforge's side of a file: open or not.
#[derive(Default)]
pub(crate) struct Slot {
    dataset: Mutex<Option<Dataset>>,
    open: AtomicBool,
    used: AtomicU64,
}

/// Counts uses of files, which orders them.
static USES: AtomicU64 = AtomicU64::new(0);
static OPEN: Mutex<Vec<Arc<Slot>>> = Mutex::new(Vec::new());

impl Slot {
    /// The dataset, if it is open.
    pub(crate) fn get(&self) -> Option<Dataset> {
        self.used.store(USES.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.dataset.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Closes it; a read that is under way ends first.
    pub(crate) fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
        drop(self.dataset.lock().unwrap_or_else(PoisonError::into_inner).take());
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|s| !std::ptr::eq(&raw const **s, self));
    }
}

/// Most files that are open at a time.
fn most() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is written only.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
        let files = if known { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 256 };
        (files / 16).clamp(2, 256)
    })
}

/// Descriptors that are left to the program.
const LEFT: u64 = 16;

/// Whether the process is about to reach its limit. A new descriptor gets the lowest number that is free: as long as none of them was
/// high, most are free; then they are counted.
pub(crate) fn are_few_left() -> bool {
    static HIGHEST: AtomicU64 = AtomicU64::new(0);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is written only.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return false;
    }
    let are_few = |open: u64| open.saturating_add(LEFT) >= limit.rlim_cur;
    let Ok(next) = std::fs::File::open("/") else { return true };
    let number = u64::try_from(next.as_raw_fd()).unwrap_or(0);
    let highest = HIGHEST.fetch_max(number, Ordering::Relaxed).max(number);
    are_few(highest) && std::fs::read_dir("/proc/self/fd").map_or(true, |all| are_few(all.count() as u64))
}

/// NetCDF-C has opened a file: closes ours if few descriptors are left.
pub(crate) fn after_opening() {
    let any = !OPEN.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
    if any && are_few_left() {
        let all = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
        all.iter().for_each(|slot| slot.close());
    }
}

/// Stores a dataset that was opened; closes others if there are too many.
pub(crate) fn opened(slot: &Arc<Slot>, dataset: &Dataset) {
    *slot.dataset.lock().unwrap_or_else(PoisonError::into_inner) = Some(dataset.clone());
    slot.open.store(true, Ordering::Relaxed);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.push(Arc::clone(slot));
    let mut closed = Vec::new();
    while open.len() > most() {
        let oldest = (0..open.len() - 1).min_by_key(|&i| open[i].used.load(Ordering::Relaxed));
        let Some(oldest) = oldest else { break };
        closed.push(open.swap_remove(oldest));
    }
    drop(open);
    closed.iter().for_each(|slot| slot.close());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_was_not_read_for_longest_is_closed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sst30e_netcdf.nc");
        let slots: Vec<_> = (0..most() + 2).map(|_| Arc::new(Slot::default())).collect();
        for slot in &slots {
            let _ = slot.get();
            opened(slot, &Dataset::open(path).unwrap());
            // The first one is in use all the time.
            assert!(slots[0].get().is_some());
        }
        let open: Vec<bool> = slots.iter().map(|s| s.is_open()).collect();
        assert_eq!(open.iter().filter(|&&o| o).count(), most());
        assert!(open[0] && !open[1] && !open[2]);
        slots.iter().for_each(|slot| slot.close());
        assert!(OPEN.lock().unwrap().is_empty());
    }
}
