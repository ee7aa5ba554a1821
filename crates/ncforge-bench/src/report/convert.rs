//! Reports of the workload `convert`.

use std::fmt::Write;

use super::{aligned, seconds};
use crate::result::{Results, Row, Section};
use crate::stats::ratio_of_medians;
use crate::workload::convert::{ConvertReport, ConvertRow, WayName};

/// The report as a document of one section.
pub fn convert_results(report: &ConvertReport) -> Results {
    let section = convert_section(report);
    Results { environment: report.environment.clone(), ..Results::of(vec![section]) }
}

/// The report as a section.
pub fn convert_section(report: &ConvertReport) -> Section {
    let sizes: Vec<String> = report.options.floats.iter().map(|&n| count(n)).collect();
    let title = format!("Conversion: {} floats to disk in a portable format", sizes.join(" and "));
    let mut section = Section::new("convert", title);
    section.rows = report.rows.iter().map(|r| row(report, r)).collect();
    section.words = words(report);
    section.notes.clone_from(&report.notes);
    section.notes.push(format!(
        "seconds from creating the file to closing it, {} floats a call; raw is what system calls take for the same floats as they lie in memory, and the penalty is what a way takes longer",
        report.options.block
    ));
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}

/// The penalty of portability: how much longer than raw a row takes, as a share, with its 95 % interval.
pub(crate) fn penalty(report: &ConvertReport, row: &ConvertRow) -> Option<(f64, Option<(f64, f64)>)> {
    let raw = report.rows.iter().find(|r| r.floats == row.floats && r.way == WayName::Raw)?;
    let (ratio, interval) = ratio_of_medians(&counted(row), &counted(raw))?;
    Some((ratio - 1.0, interval.map(|(l, h)| (l - 1.0, h - 1.0))))
}

/// Seconds of the repetitions that count.
fn counted(row: &ConvertRow) -> Vec<f64> {
    Row { measurements: row.measurements.clone(), ..Row::default() }.seconds()
}

fn row(report: &ConvertReport, r: &ConvertRow) -> Row {
    let mut row = Row::new(r.way.text(), format!("write {} floats", count(r.floats)), r.floats * 4)
        .with("engine", &r.engine)
        .with("floats", r.floats)
        .with("dtype", "f4")
        .with("pattern", "write");
    row = match &r.way {
        WayName::Library { format, .. } => row.with("format", format),
        other => row.with("format", other.text()),
    };
    if let Some((share, _)) = penalty(report, r).filter(|_| r.way != WayName::Raw) {
        row = row.with("penalty", format!("{:.1}", share * 100.0));
        row.of_ceiling = Some(1.0 / (1.0 + share));
    }
    row.engine.clone_from(&r.engine);
    row.version.clone_from(&r.version);
    row.stored = Some(r.stored);
    row.measurements.clone_from(&r.measurements);
    row
}

fn words(report: &ConvertReport) -> Vec<String> {
    let mut out = Vec::new();
    for &floats in &report.options.floats {
        let told: Vec<String> = report
            .rows
            .iter()
            .filter(|r| r.floats == floats && r.way != WayName::Raw)
            .filter_map(|r| {
                let (share, interval) = penalty(report, r)?;
                let sure = interval
                    .map_or_else(String::new, |(l, h)| format!(" [{:.0}, {:.0}]", l * 100.0, h * 100.0));
                Some(format!("{} {:.0} %{sure}", r.way.text(), share * 100.0))
            })
            .collect();
        out.push(format!(
            "{} floats: penalty of portability against raw writing: {}",
            count(floats),
            told.join("; ")
        ));
    }
    out
}

/// The tables.
pub fn convert_table(report: &ConvertReport) -> String {
    const HEAD: [&str; 9] = [
        "way",
        "version",
        "median",
        "95 % interval",
        "Mfloats/s",
        "penalty",
        "until on disk",
        "bytes",
        "values",
    ];
    let mut out = String::new();
    for &floats in &report.options.floats {
        let _ = writeln!(out, "{} floats:", count(floats));
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        for r in report.rows.iter().filter(|r| r.floats == floats) {
            let row = row(report, r);
            let Some(s) = row.summary() else { continue };
            let disk: Vec<f64> = row.counted().iter().map(|m| m.seconds + m.sync.unwrap_or(0.0)).collect();
            let disk = crate::stats::Summary::of(&disk).map_or(0.0, |s| s.median);
            let share = penalty(report, r).filter(|_| r.way != WayName::Raw);
            rows.push(vec![
                r.way.text(),
                r.version.clone(),
                seconds(s.median),
                row.interval().map_or_else(String::new, |(a, b)| format!("{} … {}", seconds(a), seconds(b))),
                format!("{:.1}", floats as f64 / s.median.max(1e-12) / 1e6),
                share.map_or_else(String::new, |(p, _)| format!("{:.0} %", p * 100.0)),
                seconds(disk),
                super::bytes(r.stored),
                if r.right { "right" } else { "WRONG" }.to_owned(),
            ]);
        }
        let _ = writeln!(out, "{}", aligned(&rows, 2));
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "{}", super::machine(&report.environment));
    out
}

/// 10 M.
fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n.is_multiple_of(100_000) => format!("{} M", n as f64 / 1e6),
        n if n >= 1_000 && n.is_multiple_of(100) => format!("{} k", n as f64 / 1e3),
        n => n.to_string(),
    }
}
