//! The program's heap, where ncforge decodes or encodes chunks in place of netCDF-C.
//!
//! glibc returns the free end of the heap to the system when it is longer than a threshold, which begins at 128 KiB and
//! follows the largest block that was freed of those outside of the heap. NetCDF-C frees such blocks with the first large
//! chunk that it reads or writes. ncforge reuses its memory, so the threshold would stay, and zlib, which takes 260 KiB for each
//! chunk that netCDF-C encodes, would grow and shrink the heap for every one: two thirds more processor time.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// glibc's threshold at the beginning, and the largest block that it follows.
const FIRST: usize = 128 << 10;
const LAST: usize = 32 << 20;

/// Leaves the heap as netCDF-C does when it reads or writes a chunk of `bytes` bytes: a block of them was allocated and freed.
pub(crate) fn note_chunk(bytes: u64) {
    static LARGEST: AtomicUsize = AtomicUsize::new(FIRST);
    let Ok(bytes) = usize::try_from(bytes) else { return };
    if bytes < LAST && LARGEST.fetch_max(bytes, Ordering::Relaxed) < bytes {
        // SAFETY: the block is not touched, and `free` takes null.
        unsafe { libc::free(black_box(libc::malloc(bytes))) };
    }
}
