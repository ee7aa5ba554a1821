//! Ctrl-C and termination requests.
//!
//! Commands that only read leave the signals alone: the process ends, the shell sees 130 or 143. A command that
//! writes asks for [`catch`]: the first signal is only noted, and the work looks for it between two pieces, so that it
//! can stop at a point from which it can be resumed (exit code 5) or clean up ([`exit`]); a second signal ends the
//! process at once.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::exit::Exit;

/// The first signal after [`catch`]; 0: none came.
static FIRST: AtomicI32 = AtomicI32::new(0);

const STOPPING: &[u8] = b"\nncforge: stopping (Ctrl-C again: at once)\n";
const TERMINATING: &[u8] = b"\nncforge: stopping, because of SIGTERM (a second one: at once)\n";

extern "C" fn on_signal(signal: libc::c_int) {
    if FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        // SAFETY: `_exit` is async-signal-safe and takes no pointer.
        unsafe { libc::_exit(code(signal) as i32) }
    }
    let text = if signal == libc::SIGTERM { TERMINATING } else { STOPPING };
    // SAFETY: `write` is async-signal-safe; the text is ours and lives for ever.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// The code of a process that a signal ended: 128 + its number.
fn code(signal: libc::c_int) -> Exit {
    if signal == libc::SIGTERM { Exit::Sigterm } else { Exit::Sigint }
}

/// The code of a command that the first signal ended, and that has nothing to go on with.
pub(crate) fn exit() -> Exit {
    code(FIRST.load(Ordering::SeqCst))
}

/// Lets SIGINT and SIGTERM be noted instead of ending the process, from now on; SIGXFSZ does nothing.
pub(crate) fn catch() {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler touches an atomic, and calls `write` and `_exit` only, all async-signal-safe.
        unsafe { libc::signal(signal, handler) };
    }
    ncforge::store::remote::give_up_when(requested);
    // Too long a file is an error of writing, with a message, not the end of the process.
    // SAFETY: nothing is called when the signal comes.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether a signal came since [`catch`].
pub(crate) fn requested() -> bool {
    FIRST.load(Ordering::SeqCst) != 0
}
