//! Reports of the workload `meta`.

use super::{bytes, seconds};
use crate::result::{Measurement, Results, Row, Section};
use crate::stats::{Summary, ratio_of_medians};
use crate::workload::io::format_name;
use crate::workload::meta::{MetaCase, MetaReport};

/// The report as a document of one section.
pub fn meta_results(report: &MetaReport) -> Results {
    let (o, f) = (&report.options, &report.options.file);
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let title = format!(
        "Definitions: {} of {}, {}, {} with {} each, {}",
        count(o.files, "file"),
        count(f.groups, "group"),
        count(f.dims, "dimension"),
        count(f.vars, "variable"),
        count(f.attrs, "attribute"),
        format_name::of(f.format)
    );
    let mut section = Section::new("meta", title);
    let names = names(report);
    for (case, name) in report.cases.iter().zip(&names) {
        section.rows.push(row(report, case, name, "make", &case.made));
        section.rows.push(row(report, case, name, "look through", &case.looked));
        section.words.push(format!("{name}: make {}", steps(&case.made)));
        section.words.push(format!(
            "{name}: look through {}; {} of files",
            steps(&case.looked),
            bytes(case.stored)
        ));
    }
    section.words.extend(comparisons(report, &names));
    section.words.extend(problems(report));
    section.notes.clone_from(&report.notes);
    section.notes.push(format!(
        "make: from creating the first file to closing the last one; look through: from opening the first to closing the last, all names, types, lengths and values of \
         attributes asked for. {} things a file; no values of variables. Files are in the page cache",
        f.things()
    ));
    section.detail = serde_json::to_value(report).unwrap_or_default();
    Results { environment: report.environment.clone(), ..Results::of(vec![section]) }
}

/// What is not as it was defined, in words.
pub fn problems(report: &MetaReport) -> Vec<String> {
    let of = |(case, name): (&MetaCase, String)| {
        case.problems.iter().map(move |p| format!("the file of {name}: {p}")).collect::<Vec<_>>()
    };
    report.cases.iter().zip(names(report)).flat_map(of).collect()
}

/// Libraries without folders; two builds of one are told apart by their versions, or else by numbers.
fn names(report: &MetaReport) -> Vec<String> {
    let short: Vec<String> = report
        .cases
        .iter()
        .map(|c| match c.engine.rsplit_once('/') {
            Some((_, name)) => format!("{name} {}", c.version),
            None => c.engine.clone(),
        })
        .collect();
    let times = |name: &String| short.iter().filter(|n| *n == name).count();
    let numbered =
        |(i, n): (usize, &String)| if times(n) > 1 { format!("{n} ({})", i + 1) } else { n.clone() };
    short.iter().enumerate().map(numbered).collect()
}

/// Medians of the steps: "create 1 ms, define 3 ms".
fn steps(all: &[Measurement]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let median = |name: &str| {
        let times: Vec<f64> =
            all.iter().filter_map(|m| m.split.iter().find(|s| s.0 == name).map(|s| s.1)).collect();
        Summary::of(&times).map_or(0.0, |s| s.median)
    };
    let told = first.split.iter().map(|(name, _)| format!("{name} {}", seconds(median(name))));
    told.collect::<Vec<_>>().join(", ")
}

/// Every library against the first one.
fn comparisons(report: &MetaReport, names: &[String]) -> Vec<String> {
    let Some((first, others)) = report.cases.split_first() else { return Vec::new() };
    let counted = |all: &[Measurement]| Row { measurements: all.to_vec(), ..Row::default() }.seconds();
    let mut out = Vec::new();
    for (case, name) in others.iter().zip(&names[1..]) {
        for (what, ours, theirs) in
            [("make", &first.made, &case.made), ("look through", &first.looked, &case.looked)]
        {
            let Some((ratio, interval)) = ratio_of_medians(&counted(theirs), &counted(ours)) else {
                continue;
            };
            let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
            out.push(format!("{what}: {name} takes {ratio:.2} times as long{sure} as {}", names[0]));
        }
    }
    out
}

fn row(report: &MetaReport, case: &MetaCase, name: &str, phase: &str, all: &[Measurement]) -> Row {
    let (o, f) = (&report.options, &report.options.file);
    let mut row = Row::new(name, phase, 0)
        .with("engine", &case.engine)
        .with("format", format_name::of(f.format))
        .with("ranks", 1)
        .with("variables", f.vars)
        .with("attributes", f.attrs)
        .with("groups", f.groups)
        .with("dimensions", f.dims)
        .with("files", o.files)
        .with("pattern", "definitions");
    row.engine.clone_from(&case.engine);
    row.version.clone_from(&case.version);
    row.stored = Some(case.stored);
    row.measurements = all.to_vec();
    row
}
