//! Any results as tables for a terminal.

use std::fmt::Write;

use super::table::{brief, machine, phase, published};
use crate::result::{Results, Section};

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
    text(results, true)
}

/// The medians and what was found, without notes and the machine: for those who want the answer only.
pub fn results_brief(results: &Results) -> String {
    let mut out = String::new();
    for section in &results.sections {
        let _ = writeln!(out, "{}", section.title);
        for label in section.labels() {
            let _ = write!(out, "\n{label}:\n{}", brief(section, &label).text());
        }
        out.push('\n');
        for text in &section.words {
            let _ = writeln!(out, "{text}");
        }
    }
    for doubt in results.doubts() {
        let _ = writeln!(out, "{doubt}");
    }
    out
}

/// The results without the tables of single rows.
pub fn results_words(results: &Results) -> String {
    text(results, false)
}

fn text(results: &Results, with_rows: bool) -> String {
    let mut out = String::new();
    for section in &results.sections {
        let _ = writeln!(out, "{}", section.title);
        if with_rows {
            tables(section, &mut out);
        }
        out.push('\n');
        for text in section.words.iter().chain(&section.notes) {
            let _ = writeln!(out, "{text}");
        }
        out.push('\n');
    }
    for doubt in results.doubts() {
        let _ = writeln!(out, "{doubt}");
    }
    for (name, value) in machine(results) {
        let _ = writeln!(out, "{name}: {value}");
    }
    out
}

fn tables(section: &Section, out: &mut String) {
    for label in section.labels() {
        let _ = write!(out, "\n{label}:\n{}", phase(section, &label).text());
        for text in section.labelled(&label).iter().flat_map(|r| &r.words) {
            let _ = writeln!(out, "{text}");
        }
    }
    let others = published(section);
    if !others.rows.is_empty() {
        let _ = write!(out, "\npublished figures:\n{}", others.text());
    }
}
