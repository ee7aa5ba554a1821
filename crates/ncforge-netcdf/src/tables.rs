//! NetCDF-C's own dispatch tables, by the numbers of the library and of the format: a process may have two netCDF-Cs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::Dispatch;

/// Copies of netCDF-C that are served in one process.
pub(crate) const LIBRARIES: usize = 4;
/// Numbers of the formats.
pub(crate) const HDF5: usize = 0;
pub(crate) const CLASSIC: usize = 1;

static ORIGINALS: [[AtomicPtr<Dispatch>; 2]; LIBRARIES] =
    [const { [const { AtomicPtr::new(null_mut()) }; 2] }; LIBRARIES];

/// NetCDF-C's own table.
#[inline]
pub(crate) fn original(library: usize, format: usize) -> &'static Dispatch {
    // SAFETY: set before any function of ours is in a table, and never freed.
    unsafe { &*ORIGINALS[library][format].load(Ordering::Acquire) }
}

/// Remembers a library's own tables, for ever.
pub(crate) fn remember(library: usize, own: [&Dispatch; 2]) {
    for (place, table) in ORIGINALS[library].iter().zip(own) {
        place.store(Box::into_raw(Box::new(*table)), Ordering::Release);
    }
}

/// Runs what must not panic into C; `None` if it panics.
pub(crate) fn guarded<T>(what: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(what)).ok().flatten()
}
