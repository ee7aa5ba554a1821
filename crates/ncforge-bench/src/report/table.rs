//! Rows of results as tables, for pages of all kinds.

use ncforge_tune::words::{bytes, seconds};

use crate::result::{Measurement, Results, Row, Section};
use crate::stats::{Summary, distinct, outliers};

/// A table of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Names of the columns; those that begin with `#` hold numbers.
    pub(crate) head: Vec<&'static str>,
    /// The rows, as long as the head.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without the columns that are empty in every row.
    pub(crate) fn of(head: &[&'static str], rows: &[Vec<String>]) -> Self {
        let used: Vec<usize> = (0..head.len()).filter(|&c| rows.iter().any(|r| !r[c].is_empty())).collect();
        Table {
            head: used.iter().map(|&c| head[c]).collect(),
            rows: rows.iter().map(|r| used.iter().map(|&c| r[c].clone()).collect()).collect(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.head.iter().map(|h| h.trim_start_matches('#').to_owned()).collect()
    }

    /// The table for a terminal: columns of equal width, numbers to the right.
    pub(crate) fn text(&self) -> String {
        let rows: Vec<Vec<String>> = std::iter::once(self.names()).chain(self.rows.iter().cloned()).collect();
        let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut out = String::new();
        for row in &rows {
            let mut line = String::new();
            for ((cell, head), width) in row.iter().zip(&self.head).zip(&widths) {
                let pad = " ".repeat(width - cell.chars().count());
                line +=
                    &if head.starts_with('#') { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") };
            }
            out = out + line.trim_end() + "\n";
        }
        out
    }

    /// As Markdown.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let lines: Vec<&str> =
            self.head.iter().map(|h| if h.starts_with('#') { "--:" } else { "---" }).collect();
        let mut out = format!("{}|{}|\n", row(&self.names()), lines.join("|"));
        for cells in &self.rows {
            out += &row(&cells.iter().map(|c| escaped(c)).collect::<Vec<_>>());
        }
        out
    }
}

/// Signs that mean something in Markdown, so that they mean themselves.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '\\' | '#' | '[' | ']' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Facts of rows that have a column of their own in tables, and the columns' names.
const FACTS: [(&str, &str); 6] = [
    ("times_cat", "#× cat"),
    ("smaller", "#times smaller"),
    ("of_classic", "#× classic"),
    ("penalty", "#penalty (%)"),
    ("predicted_s", "#predicted (s)"),
    ("ratio", "#ratio"),
];

/// The rows of one phase.
pub(crate) fn phase(section: &Section, label: &str) -> Table {
    const HEAD: [&str; 13] = [
        "case",
        "#median",
        "#95 % interval",
        "#min … max",
        "#n",
        "#rate",
        "#with open+close",
        "#until on disk",
        "#of raw",
        "#stored",
        "#stored rate",
        "#cpu",
        "#memory",
    ];
    let head: Vec<&str> =
        HEAD.into_iter().chain(FACTS.map(|f| f.1)).chain(["cache", "remarks", "values"]).collect();
    let rows: Vec<Vec<String>> = section.labelled(label).into_iter().filter_map(cells).collect();
    Table::of(&head, &rows)
}

/// The table in a few columns.
pub(crate) fn brief(section: &Section, label: &str) -> Table {
    let rows: Vec<Vec<String>> = (section.labelled(label).into_iter())
        .filter_map(|row| {
            let rate = row.rate().map_or_else(String::new, |rate| format!("{}/s", bytes_of(rate)));
            let values = row.right().map_or("", |right| if right { "right" } else { "WRONG" }).to_owned();
            Some(vec![row.case.clone(), seconds(row.summary()?.median), rate, values])
        })
        .collect();
    Table::of(&["case", "#median", "#rate", "values"], &rows)
}

fn cells(row: &Row) -> Option<Vec<String>> {
    let s = row.summary()?;
    let counted = row.counted();
    // The median of what all repetitions have.
    let median = |of: &dyn Fn(&Measurement) -> Option<f64>| {
        let all: Option<Vec<f64>> = counted.iter().map(|m| of(m)).collect();
        all.and_then(|all| Summary::of(&all)).map(|s| s.median)
    };
    let text = |value: Option<f64>, shown: &dyn Fn(f64) -> String| value.map_or_else(String::new, shown);
    let rate = |bytes: f64| format!("{}/s", bytes_of(bytes));
    let opened = |m: &Measurement| m.open.map(|_| m.total());
    let disturbed = row.measurements.iter().filter(|m| m.disturbed).count();
    let far = outliers(&row.seconds()).len();
    let remarks = [
        row.is_whole().then(|| "with open and close".to_owned()),
        (disturbed > 0).then(|| format!("{disturbed} of {} disturbed", row.measurements.len())),
        (far > 0).then(|| format!("{far} far out")),
    ];
    let values = row.bytes as f64;
    let stored = row.facts.contains_key("ratio").then_some(row.stored).flatten().map(|n| n as f64);
    let mut cells = vec![
        row.case.clone(),
        seconds(s.median),
        row.interval().map_or_else(String::new, |(a, b)| format!("{} … {}", seconds(a), seconds(b))),
        if s.repetitions > 1 { format!("{} … {}", seconds(s.min), seconds(s.max)) } else { String::new() },
        s.repetitions.to_string(),
        text(row.rate(), &rate),
        text(median(&opened).filter(|_| row.bytes > 0), &|s| rate(values / s.max(1e-12))),
        text(median(&|m| Some(m.total() + m.sync?)), &seconds),
        text(row.of_ceiling, &|s| format!("{:.0} %", s * 100.0)),
        row.stored.map_or_else(String::new, bytes),
        text(stored.zip(median(&opened)).map(|(n, s)| n / s.max(1e-12)), &rate),
        text(median(&|m| m.cpu), &seconds),
        text(counted.iter().filter_map(|m| m.memory).max().map(|n| n as f64), &bytes_of),
    ];
    cells.extend(FACTS.map(|(name, _)| row.facts.get(name).cloned().unwrap_or_default()));
    cells.push(row.cache().map_or_else(String::new, |c| c.text()));
    cells.push(remarks.into_iter().flatten().collect::<Vec<_>>().join(", "));
    cells.push(row.right().map_or("", |right| if right { "right" } else { "WRONG" }).to_owned());
    Some(cells)
}

fn bytes_of(number: f64) -> String {
    bytes(number as u64)
}

/// Rows with the figures that others have published.
pub(crate) fn published(section: &Section) -> Table {
    const HEAD: [&str; 6] = ["case", "phase", "published by", "#theirs", "#ours", "#times better"];
    let number = |v: f64, unit: &str| match unit.split_once(' ') {
        _ if unit == "s" => seconds(v),
        Some(("s", of)) => format!("{} {of}", seconds(v)),
        _ => format!("{} {unit}", rounded(v)),
    };
    let rows: Vec<Vec<String>> = section
        .rows
        .iter()
        .filter_map(|r| {
            let f = r.published.as_ref()?;
            Some(vec![
                r.case.clone(),
                r.label(),
                f.source.clone(),
                number(f.value, &f.unit),
                number(f.ours, &f.unit),
                rounded(f.ratio()),
            ])
        })
        .collect();
    Table::of(&HEAD, &rows)
}

/// Three digits that count.
fn rounded(v: f64) -> String {
    match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

/// The date of a measurement, where it is known.
pub(crate) fn measured(results: &Results) -> String {
    if results.time == 0 { String::new() } else { ncforge_tune::words::iso_date(results.time) }
}

/// The machine, as pairs of a name and what is known.
pub(crate) fn machine(results: &Results) -> Vec<(&'static str, String)> {
    let e = &results.environment;
    let known = |v: &Option<String>| v.clone().unwrap_or_default();
    let mut card = vec![("measured", measured(results)), ("host", known(&e.host))];
    card.extend(e.facts());
    card.push(("load before", e.load.map_or_else(String::new, |l| format!("{l:.2}"))));
    if let Some(f) = &e.filesystem {
        let device = f.device.as_ref().map_or_else(String::new, |d| format!(" on {d}"));
        card.push(("file system", format!("{}{device} ({})", f.kind, f.options)));
        card.push(("device", known(&f.hardware)));
    }
    let hints: Vec<String> = e.hints.iter().map(|(n, v)| format!("{n}={v}")).collect();
    card.push(("hints", hints.join(", ")));
    let variables: Vec<String> = e.variables.iter().map(|(n, v)| format!("{n}={v}")).collect();
    card.push(("variables", variables.join(", ")));
    let rows = results.sections.iter().flat_map(|s| &s.rows);
    let mut engines = distinct(rows.map(|r| format!("{} {}", r.engine, r.version).trim().to_owned()));
    engines.retain(|text| !text.is_empty());
    engines.extend(e.libraries.iter().cloned());
    card.push(("libraries", engines.join("; ")));
    card.push(("revision of the folder", known(&e.revision)));
    if !results.arguments.is_empty() {
        let words: Vec<String> = results.arguments.iter().map(|w| ncforge_tune::words::quoted(w)).collect();
        card.push(("command", format!("ncforge {}", words.join(" "))));
    }
    card.retain(|(_, v)| !v.is_empty());
    card
}

/// The number of sentences in the summary from each of several sections …
const FROM_EACH: usize = 3;
/// … and from those of an only one.
pub(crate) const ONLY: usize = 8;

/// The summary above everything: whether values were wrong, numbers are to be doubted, and what each section found first.
pub(crate) fn summary(results: &Results) -> Vec<String> {
    let mut out = results.doubts();
    let several = results.sections.len() > 1;
    for section in &results.sections {
        for text in section.words.iter().take(if several { FROM_EACH } else { ONLY }) {
            out.push(if several { format!("{}: {text}", section.workload) } else { text.clone() });
        }
    }
    out
}
