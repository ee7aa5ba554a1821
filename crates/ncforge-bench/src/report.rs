//! Results as tables, as Markdown, as a page.

pub mod access;
mod chart;
pub mod chunks;
pub mod combine;
pub mod convert;
mod html;
pub mod io;
mod markdown;
pub mod records;
mod table;
mod text;

use std::fmt::Write;

pub use ncforge_ops::words::{bytes, seconds};

use crate::environment::Environment;

pub use html::results_page;
pub use markdown::results_markdown;
pub use text::results_table;

/// The machine in a few words.
fn machine(e: &Environment) -> String {
    if e.system.is_empty() {
        return "of the machine nothing is known".to_owned();
    }
    let mut parts = vec![format!("{} cpus", e.cpus)];
    parts.extend(e.cpu.clone());
    parts.extend(e.memory.map(bytes));
    parts.push(format!("{} {}", e.system, e.kernel.as_deref().unwrap_or_default()).trim().to_owned());
    parts.extend(e.virtualisation.clone());
    if let Some(f) = &e.filesystem {
        let device = f.hardware.as_ref().map_or_else(String::new, |h| format!(" ({h})"));
        parts.push(format!("{}{device}", f.kind));
    }
    parts.extend(e.mpi_io.as_ref().map(|l| format!("MPI-IO by {l}")));
    let mut text = parts.join(", ");
    if !e.libraries.is_empty() {
        text = format!("{text}\nlibraries: {}", e.libraries.join("; "));
    }
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
