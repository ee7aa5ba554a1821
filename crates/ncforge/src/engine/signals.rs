//! Signals are the program's: its own threads get them, and those that ncforge starts do not.

/// Runs what starts threads. They have all signals blocked, as they inherit it from the calling one, which has its own mask back
/// when this returns.
#[cfg(unix)]
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    use std::mem::MaybeUninit;

    struct Restore(MaybeUninit<libc::sigset_t>);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set was written below.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, self.0.as_ptr(), std::ptr::null_mut()) };
        }
    }
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::zeroed());
    // SAFETY: the sets are written before they are read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let _restore = Restore(before);
    start()
}

/// Runs what starts threads.
#[cfg(not(unix))]
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_started_take_no_signals() {
        let blocked = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find_map(|l| l.strip_prefix("SigBlk:")).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        let before = blocked();
        let inside = without_signals(|| std::thread::spawn(blocked)).join().unwrap();
        // All but those that cannot be blocked, and the C library's own two.
        let usual = (libc::SIGHUP..=libc::SIGSYS).filter(|s| ![libc::SIGKILL, libc::SIGSTOP].contains(s));
        assert!(usual.map(|s| 1 << (s - 1)).all(|bit: u64| inside & bit != 0));
        assert_eq!(blocked(), before);
    }
}
