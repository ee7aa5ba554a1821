//! Results as Markdown: for notes, and for the summary page of a build.

use std::fmt::Write;

use super::table::{Table, machine, phase, published, summary};
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
            let _ = writeln!(out, "\n### {}\n", escaped(&label));
            write_table(&mut out, &phase(section, &label));
        }
        let beside = published(section);
        if !beside.rows.is_empty() {
            out.push_str("\n### Beside published figures\n\n");
            write_table(&mut out, &beside);
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

fn write_table(out: &mut String, table: &Table) {
    let names: Vec<&str> = table.head.iter().map(|h| h.trim_start_matches('#')).collect();
    let _ = writeln!(out, "| {} |", names.join(" | "));
    let lines: Vec<&str> =
        table.head.iter().map(|h| if h.starts_with('#') { "--:" } else { "---" }).collect();
    let _ = writeln!(out, "|{}|", lines.join("|"));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|c| escaped(c)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Signs that mean something in Markdown, so that they mean themselves.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '\\' | '#' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
