//! The workload `combine` as a table.

use super::{aligned, bytes, seconds};
use crate::result::{Results, Row, Section};

/// A row of the table for every row of the section, a block for every phase.
pub fn combine_table(results: &Results) -> String {
    let mut out = String::new();
    for section in results.sections.iter().filter(|s| s.workload == "combine") {
        out.push_str(&table(section));
    }
    out
}

fn table(section: &Section) -> String {
    let mut out = format!("{}\n", section.title);
    for phase in section.labels() {
        let rows: Vec<&Row> = section.rows.iter().filter(|r| r.label() == phase).collect();
        let what = rows.first().and_then(|r| r.facts.get("what")).map_or("", String::as_str);
        out.push_str(&format!("\n{phase}: {what}\n"));
        let head = ["", "seconds", "min", "max", "x cat", "cpu", "memory", "size", "smaller", "values"];
        let mut lines = vec![head.map(String::from).to_vec()];
        lines.extend(rows.iter().map(|r| line(r)));
        out.push_str(&aligned(&lines, 1));
    }
    out.push('\n');
    for text in section.words.iter().chain(&section.notes) {
        out.push_str(text);
        out.push('\n');
    }
    out
}

fn line(row: &Row) -> Vec<String> {
    let fact = |name: &str| row.facts.get(name).cloned().unwrap_or_default();
    let summary = row.summary();
    let time =
        |f: fn(&crate::stats::Summary) -> f64| summary.as_ref().map_or(String::new(), |s| seconds(f(s)));
    let most = |f: fn(&crate::result::Measurement) -> Option<f64>| {
        row.counted().into_iter().filter_map(f).reduce(f64::max)
    };
    vec![
        if row.version.is_empty() { row.case.clone() } else { format!("{} {}", row.case, row.version) },
        time(|s| s.median),
        time(|s| s.min),
        time(|s| s.max),
        fact("times_cat"),
        most(|m| m.cpu).map_or(String::new(), seconds),
        most(|m| m.memory.map(|b| b as f64)).map_or(String::new(), |b| bytes(b as u64)),
        row.stored.map_or(String::new(), bytes),
        fact("smaller"),
        match row.right() {
            Some(true) => "right",
            Some(false) => "WRONG",
            None => "",
        }
        .to_owned(),
    ]
}
