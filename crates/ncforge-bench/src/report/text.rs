//! Any results as tables for a terminal.

use std::fmt::Write;

use super::aligned;
use super::table::{Table, phase, published};
use crate::result::Results;

/// Tables, what was found, notes, the machine.
///
/// ```
/// use ncforge_bench::report::results_table;
/// use ncforge_bench::result::{Measurement, Results, Row, Section};
///
/// let mut row = Row::new("by hand", "write", 1000);
/// row.measurements = vec![Measurement::of(0.5)];
/// let results = Results::of(vec![Section { rows: vec![row], ..Section::new("example", "An example") }]);
/// assert!(results_table(&results).contains("An example"));
/// ```
pub fn results_table(results: &Results) -> String {
    let mut out = String::new();
    for section in &results.sections {
        let _ = writeln!(out, "{}", section.title);
        for label in section.labels() {
            let _ = writeln!(out, "\n{label}:");
            write_table(&mut out, &phase(section, &label));
        }
        let beside = published(section);
        if !beside.rows.is_empty() {
            out.push_str("\nbeside published figures:\n");
            write_table(&mut out, &beside);
        }
        out.push('\n');
        for text in &section.words {
            let _ = writeln!(out, "{text}");
        }
        for note in &section.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", super::machine(&results.environment));
    out
}

fn write_table(out: &mut String, table: &Table) {
    let left = table.head.iter().take_while(|h| !h.starts_with('#')).count();
    let head = table.head.iter().map(|h| h.trim_start_matches('#').to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(table.rows.iter().cloned()).collect();
    out.push_str(&aligned(&rows, left));
}
