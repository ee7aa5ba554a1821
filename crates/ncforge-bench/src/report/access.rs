//! The workload `access` in the terms that all workloads share.

use super::bytes;
use crate::cache::CacheState;
use crate::result::{Measurement, Row, Section, View};
use crate::stats::ratio_of_medians;
use crate::workload::access::{AccessReport, AccessRow, FileFacts};
use crate::workload::listed;

fn describe(file: &FileFacts) -> String {
    let list = |v: &[u64]| listed(v, " × ");
    let storage = match &file.chunks {
        Some(c) => format!("chunks {}", list(c)),
        None => "contiguous".to_owned(),
    };
    let filters =
        if file.filters.is_empty() { String::new() } else { format!(", {}", file.filters.join(" + ")) };
    format!(
        "{} ({}, {}): {} {}, {storage}{filters}; by {} {}",
        file.path.display(),
        file.format,
        bytes(file.bytes),
        file.variable,
        list(&file.shape),
        file.driver,
        file.driver_version
    )
}

fn circumstances(report: &AccessReport) -> String {
    let resident = report.rows.iter().filter_map(|r| r.resident_before).reduce(f64::max);
    let cache = match (report.options.cold, resident) {
        (true, Some(share)) => {
            format!("cold: at most {:.0} % of a file in the page cache before a read", share * 100.0)
        }
        (true, None) => "cold as far as the system allows; residency unknown".to_owned(),
        (false, _) => "warm page cache".to_owned(),
    };
    format!(
        "{} repetitions, interleaved; {cache}; file opened anew for each (not timed)",
        report.options.repetitions
    )
}

/// The report as a section.
pub fn access_section(report: &AccessReport) -> Section {
    let name = report.files.first().map_or_else(String::new, |f| f.variable.clone());
    let mut section = Section::new("access", format!("Reads of `{name}`"));
    section.words = words(report);
    section.rows = report.rows.iter().map(|r| row(report, r)).collect();
    let files = report.files.iter().enumerate();
    section.notes.extend(files.map(|(i, file)| format!("[{}] {}", i + 1, describe(file))));
    section.notes.push(circumstances(report));
    if report.files.len() > 1 && report.options.patterns.len() > 1 {
        section.views.push(View::Heat {
            title: "what each read costs from each storage".into(),
            phase: String::new(),
            only: std::collections::BTreeMap::new(),
            across: "pattern".into(),
            down: "layout".into(),
            columns: true,
        });
    }
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}

/// A file's name and number: the same file may be measured twice.
fn case(report: &AccessReport, file: usize) -> String {
    let name = report.files[file].path.file_name().unwrap_or_default();
    format!("[{}] {}", file + 1, name.to_string_lossy())
}

fn row(report: &AccessReport, r: &AccessRow) -> Row {
    let file = &report.files[r.file];
    let list = |v: &[u64]| listed(v, ":");
    let mut row = Row::new(case(report, r.file), r.pattern.name(), r.bytes)
        .with("engine", &file.driver)
        .with("format", &file.format)
        .with("data_shape", list(&file.shape))
        .with("block_shape", list(&r.count))
        .with("chunk_shape", file.chunks.as_deref().map_or_else(String::new, list))
        .with("codec", file.filters.join("+"))
        .with("pattern", r.pattern.name())
        .with(
            "layout",
            format!("[{}] {}", r.file + 1, file.chunks.as_deref().map_or("contiguous".into(), list)),
        )
        .with("cache", if report.options.cold { "cold" } else { "warm" });
    row.engine.clone_from(&file.driver);
    row.version.clone_from(&file.driver_version);
    row.stored = Some(file.bytes);
    // What was found before the reads; nobody counted what came from storage.
    let cache = r.resident_before.map(|share| CacheState {
        label: if report.options.cold { "cold-unverified" } else { "as-is" }.to_owned(),
        percent: Some(if report.options.cold { 1.0 - share } else { share } * 100.0),
    });
    row.measurements = r
        .seconds
        .iter()
        .enumerate()
        .map(|(rep, &s)| Measurement {
            rep,
            cache: cache.clone(),
            right: r.same_values,
            ..Measurement::of(s)
        })
        .collect();
    row
}

/// Every file against the first one.
fn words(report: &AccessReport) -> Vec<String> {
    let mut out = Vec::new();
    for other in report.rows.iter().filter(|r| r.file > 0) {
        let first = report.rows.iter().find(|r| r.file == 0 && r.pattern == other.pattern);
        let Some((ratio, interval)) = first.and_then(|f| ratio_of_medians(&other.seconds, &f.seconds)) else {
            continue;
        };
        let sure = interval.map_or_else(String::new, |(l, h)| {
            let chance = if l <= 1.0 && h >= 1.0 { ", which may be chance" } else { "" };
            format!(" [{l:.2}, {h:.2}]{chance}")
        });
        out.push(format!(
            "{}: {} takes {ratio:.2}×{sure} the time of {}",
            other.pattern.name(),
            case(report, other.file),
            case(report, 0)
        ));
    }
    out
}
