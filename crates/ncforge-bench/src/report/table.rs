//! Rows of results as tables, for pages of all kinds.

use crate::report::{bytes, seconds};
use crate::result::{Row, Section};

/// A table of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Names of the columns; those that begin with `#` hold numbers.
    pub(crate) head: Vec<&'static str>,
    /// The rows, as long as the head.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Without columns in which nothing stands.
    fn of(head: &[&'static str], rows: &[Vec<String>]) -> Self {
        let used: Vec<usize> = (0..head.len()).filter(|&c| rows.iter().any(|r| !r[c].is_empty())).collect();
        Table {
            head: used.iter().map(|&c| head[c]).collect(),
            rows: rows.iter().map(|r| used.iter().map(|&c| r[c].clone()).collect()).collect(),
        }
    }
}

/// The rows of one phase.
pub(crate) fn phase(section: &Section, label: &str) -> Table {
    const HEAD: [&str; 13] = [
        "case",
        "#median",
        "#95 % interval",
        "#min … max",
        "#n",
        "#rate",
        "#until on disk",
        "#of raw",
        "#stored",
        "#ratio",
        "cache",
        "values",
        "remarks",
    ];
    let rows: Vec<Vec<String>> =
        section.rows.iter().filter(|r| r.label() == label).filter_map(cells).collect();
    Table::of(&HEAD, &rows)
}

fn cells(row: &Row) -> Option<Vec<String>> {
    let s = row.summary()?;
    let synced: Option<Vec<f64>> = row
        .counted()
        .iter()
        .map(|m| Some(m.open.unwrap_or(0.0) + m.seconds + m.close.unwrap_or(0.0) + m.sync?))
        .collect();
    let synced = synced.and_then(|all| crate::stats::Summary::of(&all)).map(|s| s.median);
    let disturbed = row.measurements.iter().filter(|m| m.disturbed).count();
    let mut remarks = Vec::new();
    if let Some(penalty) = row.facts.get("penalty") {
        remarks.push(format!("penalty {penalty} %"));
    }
    if row.is_whole() {
        remarks.push("with open and close".to_owned());
    }
    if disturbed > 0 {
        remarks.push(format!("{disturbed} of {} disturbed", row.measurements.len()));
    }
    let far = crate::stats::outliers(&row.seconds()).len();
    if far > 0 {
        remarks.push(format!("{far} far out"));
    }
    Some(vec![
        row.case.clone(),
        seconds(s.median),
        row.interval().map_or_else(String::new, |(a, b)| format!("{} … {}", seconds(a), seconds(b))),
        if s.repetitions > 1 { format!("{} … {}", seconds(s.min), seconds(s.max)) } else { String::new() },
        s.repetitions.to_string(),
        row.rate().map_or_else(String::new, |r| format!("{}/s", bytes(r as u64))),
        synced.map_or_else(String::new, seconds),
        row.of_ceiling.map_or_else(String::new, |s| format!("{:.0} %", s * 100.0)),
        row.stored.map_or_else(String::new, bytes),
        row.facts.get("ratio").cloned().unwrap_or_default(),
        row.cache().map_or_else(String::new, |c| c.text()),
        row.right().map_or_else(String::new, |r| if r { "right" } else { "WRONG" }.to_owned()),
        remarks.join(", "),
    ])
}

/// Rows beside what somebody else has published.
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

/// When something was measured, where that is known.
pub(crate) fn measured(results: &crate::result::Results) -> String {
    if results.time == 0 { String::new() } else { ncforge_ops::words::iso_date(results.time) }
}

/// The machine, as pairs of a name and what is known.
pub(crate) fn machine(results: &crate::result::Results) -> Vec<(&'static str, String)> {
    let e = &results.environment;
    let known = |v: &Option<String>| v.clone().unwrap_or_default();
    let cpu = e.cpu.as_deref().unwrap_or("unknown");
    let mut card = vec![
        ("measured", measured(results)),
        ("host", known(&e.host)),
        ("system", format!("{} {}", e.system, known(&e.kernel)).trim().to_owned()),
        ("processor", if e.cpus == 0 { String::new() } else { format!("{} × {cpu}", e.cpus) }),
        ("memory", e.memory.map_or_else(String::new, bytes)),
        ("virtualisation", known(&e.virtualisation)),
        ("frequency governor", known(&e.governor)),
        ("load before", e.load.map_or_else(String::new, |l| format!("{l:.2}"))),
        ("ncforge", format!("{}{}", e.ncforge, if e.optimised { "" } else { " (NOT OPTIMISED)" })),
    ];
    if let Some(f) = &e.filesystem {
        let device = f.device.as_ref().map_or_else(String::new, |d| format!(" on {d}"));
        card.push(("file system", format!("{}{device} ({})", f.kind, f.options)));
        card.push(("device", known(&f.hardware)));
    }
    card.push(("MPI-IO", known(&e.mpi_io)));
    let hints: Vec<String> = e.hints.iter().map(|(n, v)| format!("{n}={v}")).collect();
    card.push(("hints", hints.join(", ")));
    let variables: Vec<String> = e.variables.iter().map(|(n, v)| format!("{n}={v}")).collect();
    card.push(("variables", variables.join(", ")));
    let mut engines: Vec<String> = Vec::new();
    for row in results.sections.iter().flat_map(|s| &s.rows) {
        let text = format!("{} {}", row.engine, row.version).trim().to_owned();
        if !text.is_empty() && !engines.contains(&text) {
            engines.push(text);
        }
    }
    engines.extend(e.libraries.iter().cloned());
    card.push(("libraries", engines.join("; ")));
    card.push(("revision of the folder", known(&e.revision)));
    if !results.arguments.is_empty() {
        let words: Vec<String> = results.arguments.iter().map(|w| ncforge_ops::words::quoted(w)).collect();
        card.push(("command", format!("ncforge {}", words.join(" "))));
    }
    card.retain(|(_, v)| !v.is_empty());
    card
}

/// From the words of each of several sections, so many stand in the summary …
const FROM_EACH: usize = 3;
/// … and from those of an only one.
pub(crate) const ONLY: usize = 8;

/// What stands above everything: whether values were wrong, numbers are to be doubted, and what each section found first.
pub(crate) fn summary(results: &crate::result::Results) -> Vec<String> {
    let mut out = results.doubts();
    let several = results.sections.len() > 1;
    for section in &results.sections {
        for text in section.words.iter().take(if several { FROM_EACH } else { ONLY }) {
            out.push(if several { format!("{}: {text}", section.workload) } else { text.clone() });
        }
    }
    out
}
