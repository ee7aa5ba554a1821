//! Results as Markdown: for notes, and for the summary page of a build.

use std::fmt::Write;

use super::table::{escaped, machine, phase, published, summary};
use crate::result::Results;

/// Everything but pictures.
///
/// ```
/// use ncforge_bench::report::results_markdown;
/// use ncforge_bench::result::{Measurement, Results, Row, Section};
///
/// let mut row = Row::new("by | hand", "write", 1000);
/// row.measurements = vec![Measurement::of(0.5)];
/// let results = Results::of(vec![Section { rows: vec![row], ..Section::new("example", "An example") }]);
/// assert!(results_markdown(&results).contains("| by \\| hand | 500 ms | 1 | 1.95 KiB/s |"));
/// ```
pub fn results_markdown(results: &Results) -> String {
    let mut out = String::from("# ncforge bench\n");
    let first = summary(results);
    if !first.is_empty() {
        out.push('\n');
        bullets(&mut out, &first);
    }
    for section in &results.sections {
        let _ = writeln!(out, "\n## {}", escaped(&section.title));
        for label in section.labels() {
            let _ = write!(out, "\n### {}\n\n{}", escaped(&label), phase(section, &label).markdown());
        }
        let others = published(section);
        if !others.rows.is_empty() {
            let _ = write!(out, "\n### Published figures\n\n{}", others.markdown());
        }
        if !section.words.is_empty() {
            out.push('\n');
            bullets(&mut out, &section.words);
        }
        for note in &section.notes {
            let _ = writeln!(out, "\nNote: {}", escaped(note));
        }
    }
    out.push_str("\n## Machine\n\n| | |\n|---|---|\n");
    for (name, value) in machine(results) {
        let _ = writeln!(out, "| {name} | {} |", escaped(&value));
    }
    out
}

fn bullets(out: &mut String, texts: &[String]) {
    for text in texts {
        let _ = writeln!(out, "* {}", escaped(text));
    }
}
