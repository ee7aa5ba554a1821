//! What `NCFORGE_NETCDF` asks for, and what is said when it asks for a log.
//!
//! `off`: nothing is done. `log`: standard error gets a line for each library found and for each file closed. `status`: what is
//! found is printed when the library is preloaded, and the program does not begin. `always`: reads and writes of every size are
//! served, and reads of files that were written just now, and logged, which is slower; for tests. Everything else: silence.

use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

/// What the environment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Serve, and say nothing.
    Serve,
    /// Serve, and say what was done.
    Log,
    /// Serve reads of every size, and say what was done.
    Always,
    /// Print what is found, and end.
    Status,
    /// Do nothing.
    Off,
}

/// The wish, read once. Programs that run with other rights than their caller's do nothing.
pub(crate) fn wish() -> Wish {
    static WISH: OnceLock<Wish> = OnceLock::new();
    *WISH.get_or_init(|| {
        // SAFETY: asks the kernel's auxiliary vector, no memory is involved.
        if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
            return Wish::Off;
        }
        match std::env::var("NCFORGE_NETCDF").unwrap_or_default().trim() {
            "off" | "0" | "no" => Wish::Off,
            "log" => Wish::Log,
            "always" => Wish::Always,
            "status" => Wish::Status,
            _ => Wish::Serve,
        }
    })
}

/// A line for the log, if there is one. One write, so that lines of several threads do not mix.
pub(crate) fn log(line: Arguments<'_>) {
    if matches!(wish(), Wish::Log | Wish::Always) {
        let mut text = String::new();
        let _ = writeln!(text, "ncforge: {line}");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
