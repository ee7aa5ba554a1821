//! What every message of the command goes through on its way to stderr.

use std::io::Write;

/// Writes to stderr. (`eprintln!` panics where its reader is gone, and nobody is left to read it then.)
pub(crate) fn to_stderr(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(text);
}
