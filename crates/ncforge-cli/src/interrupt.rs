//! Ctrl-C and termination requests.
//!
//! Commands that only read leave the signals alone: the process ends, the shell sees 130. A command that
//! writes asks for [`catch`]: the first signal then only raises a flag, which the work looks at between two
//! pieces, so that it can stop at a point from which it can be resumed (exit code 5) or clean up (130); a
//! second signal ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

/// Raised by the first signal after [`catch`].
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a process that Ctrl-C ended: 128 + SIGINT.
const ENDED_BY_SIGINT: i32 = 130;

const STOPPING: &[u8] =
    b"\nncforge: stopping at the next point from which the work can go on (Ctrl-C again: at once)\n";

extern "C" fn on_signal(_signal: libc::c_int) {
    if REQUESTED.swap(true, Ordering::SeqCst) {
        // SAFETY: `_exit` is async-signal-safe and takes no pointer.
        unsafe { libc::_exit(ENDED_BY_SIGINT) }
    }
    // SAFETY: `write` is async-signal-safe; the text is ours and lives for ever.
    unsafe { libc::write(libc::STDERR_FILENO, STOPPING.as_ptr().cast(), STOPPING.len()) };
}

/// Lets SIGINT and SIGTERM raise the returned flag instead of ending the process, from now on; SIGXFSZ does nothing.
pub(crate) fn catch() -> &'static AtomicBool {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler touches an atomic and calls `write` and `_exit` only, all async-signal-safe.
        unsafe { libc::signal(signal, handler) };
    }
    // Too long a file is an error of writing, with a message, not the end of the process.
    // SAFETY: nothing is called when the signal comes.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    &REQUESTED
}

/// Whether a signal came since [`catch`].
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
