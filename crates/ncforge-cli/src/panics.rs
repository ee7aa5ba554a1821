//! A panic is a bug: it is reported in one line that can be pasted into a report, never as a raw dump.

use std::panic;

use crate::stderr::to_stderr;

/// Replaces Rust's panic message. `RUST_BACKTRACE=1` brings the usual one back, for developers.
pub(crate) fn install() {
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
        return;
    }
    panic::set_hook(Box::new(|info| {
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| info.payload().downcast_ref::<String>().map(String::as_str))
            .unwrap_or("unknown");
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        to_stderr(format_args!(
            "ncforge: internal error: {what}{place}\nhint: this is a bug in ncforge {}; please report it with the \
             command line and this message\n",
            env!("CARGO_PKG_VERSION")
        ));
    }));
}
