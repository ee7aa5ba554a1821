//! The process's own memory, where it disturbs what is timed.

/// Blocks up to this size come from what the process holds; glibc takes no larger number.
#[cfg(target_env = "gnu")]
const HELD: libc::c_int = 32 << 20;

/// Has the allocator hold on to what is given back to it, for the rest of the process.
///
/// Otherwise it gives some of it to the system, depending on what lies behind it, and a read then has its pages cleared
/// anew: some 2 µs for each 4 KiB on a virtual machine whose host takes free memory back. The same read of one chunk of 126 KiB
/// took 88 µs in one run and 211 µs in the next. Every library that is measured in the process has the same allocator.
///
/// glibc only; elsewhere nothing happens.
///
/// ```
/// ncforge_bench::memory::hold();
/// ```
pub fn hold() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers of the allocator, which it takes at any time, under its own lock.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, HELD);
    }
}
