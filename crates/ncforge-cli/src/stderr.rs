//! The path of every message of the command to stderr.

use std::io::Write;

/// Writes to stderr. (`eprintln!` panics where its reader is gone, and nobody is left to read it then.)
pub(crate) fn to_stderr(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(text);
}
