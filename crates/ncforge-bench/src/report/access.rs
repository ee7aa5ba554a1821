//! The workload `access` in the terms that all workloads share.

use ncforge_tune::words::times;

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
    section.notes.extend(intervals(report));
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
    // The state before the reads; nobody counted the bytes that came from storage.
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
        let (read, name) = (other.pattern.name(), case(report, other.file));
        // Where the interval holds 1, chance explains the difference.
        out.push(match interval {
            Some((low, high)) if low <= 1.0 && high >= 1.0 => {
                format!("{read}: no difference that could be measured between {name} and {}", case(report, 0))
            }
            _ => format!("{read}: {name} is {} than {}", faster_or_slower(ratio), case(report, 0)),
        });
    }
    out
}

/// The comparison of a time with another, of which it is the `ratio`: `23× faster`, `1,344× slower`.
fn faster_or_slower(ratio: f64) -> String {
    match ratio {
        r if r <= 0.0 => "faster".to_owned(),
        r if r < 1.0 => format!("{} faster", times(1.0 / r)),
        r => format!("{} slower", times(r)),
    }
}

/// The 95 % intervals of the ratios, for those who want to see them.
fn intervals(report: &AccessReport) -> Option<String> {
    let mut list = Vec::new();
    for other in report.rows.iter().filter(|r| r.file > 0) {
        let first = report.rows.iter().find(|r| r.file == 0 && r.pattern == other.pattern)?;
        let (ratio, interval) = ratio_of_medians(&other.seconds, &first.seconds)?;
        let (low, high) = interval?;
        list.push(format!(
            "[{}] {} {ratio:.3} ({low:.3} to {high:.3})",
            other.file + 1,
            other.pattern.name()
        ));
    }
    (!list.is_empty()).then(|| format!("times as parts of those of [1], 95 % intervals: {}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_words() {
        assert_eq!(faster_or_slower(1.0 / 23.2), "23× faster");
        assert_eq!(faster_or_slower(1343.69), "1,344× slower");
        assert_eq!(faster_or_slower(0.0), "faster");
    }
}
