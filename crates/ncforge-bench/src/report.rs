//! Results as tables for people.

pub mod access;
pub mod chunks;
pub mod io;
pub mod records;

use std::fmt::Write;

use crate::environment::Environment;

/// The machine in a few words.
fn machine(e: &Environment) -> String {
    let mut text =
        format!("{} cpus{}", e.cpus, e.cpu.as_ref().map_or_else(String::new, |c| format!(", {c}")));
    if !e.optimised {
        text.push_str("\nUNOPTIMISED BUILD: these numbers mean nothing");
    }
    text
}

/// Columns of equal width; the first `left` to the left, numbers to the right.
pub(crate) fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            let _ = if c < left || c + 1 == columns {
                write!(line, "{cell}{pad}  ")
            } else {
                write!(line, "{pad}{cell}  ")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// CSV as text.
pub(crate) fn finished(w: csv::Writer<Vec<u8>>) -> String {
    // Writing to memory cannot fail, and only text went in.
    w.into_inner().map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
}

/// A number of bytes as people write it: "5.5 MB" (decimal units).
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            return if unit == "B" || value >= 99.95 {
                format!("{value:.0} {unit}")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// A time as people write it: "1.24 ms".
pub fn seconds(s: f64) -> String {
    let (value, unit) = match s {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(5_549_472), "5.5 MB");
        assert_eq!(bytes(999_600), "1.0 MB");
        assert_eq!(bytes(132_000_000_000), "132 GB");
        assert_eq!(seconds(0.001_236), "1.24 ms");
        assert_eq!(seconds(0.000_045), "45.0 µs");
        assert_eq!(seconds(12.0), "12.0 s");
    }
}
