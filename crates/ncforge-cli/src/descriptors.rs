//! Raises the limit of open files as far as the system lets this process.
//!
//! Systems give a process a soft limit (often 1,024) and a hard one, up to which it may help itself. Combining a
//! thousand tiles is faster when all of them stay open.

/// More are never asked for: some systems have no hard limit, and others count what a limit allows.
const MOST: libc::rlim_t = 1 << 16;

/// Raises the soft limit. Where that cannot be done, less is open at a time and all else is the same.
pub(crate) fn raise() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on our own structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return;
        }
        let wanted = limit.rlim_max.min(MOST);
        if limit.rlim_cur < wanted {
            limit.rlim_cur = wanted;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
