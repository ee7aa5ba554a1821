//! Reports of the workload `follow`.

use crate::report::seconds;
use crate::result::{Results, Row, Section};
use crate::stats::{percentile, ratio_of_medians};
use crate::workload::follow::{FollowCase, FollowReport};
use crate::workload::io::type_name;

/// At most so many lags are kept for a row, evenly chosen.
const KEPT: usize = 400;

/// The report as a document of one section.
pub fn follow_results(report: &FollowReport) -> Results {
    let o = &report.options;
    let record = o.shape.iter().product::<u64>() * o.dtype.size() as u64;
    let title = format!(
        "Following: {} records of {}, by {} consumer{}",
        o.records,
        crate::report::bytes(record),
        report.ranks - 1,
        if report.ranks == 2 { "" } else { "s" }
    );
    let mut section = Section::new("follow", title);
    for case in &report.cases {
        section.words.push(word(case));
        section.rows.extend(rows(report, case, record * o.records));
    }
    section.notes.clone_from(&report.notes);
    section.notes.push(format!(
        "appending: seconds of all appends and commits, {} record{} each, {}; every commit is on disk when it ends. Following: from the first append to the last record \
         in a consumer's memory, which looks again every {}",
        o.batch,
        if o.batch == 1 { "" } else { "s" },
        if o.interval > 0.0 {
            format!("{} apart", seconds(o.interval))
        } else {
            "one right after the other".to_owned()
        },
        seconds(o.poll),
    ));
    section.detail = serde_json::to_value(report).unwrap_or_default();
    Results { environment: report.environment.clone(), ..Results::of(vec![section]) }
}

/// What was found about a case.
fn word(case: &FollowCase) -> String {
    let of = |all: &[crate::result::Measurement]| all.iter().map(|m| m.seconds).collect::<Vec<f64>>();
    let cost = ratio_of_medians(&of(&case.followed), &of(&case.alone)).map_or_else(
        String::new,
        |(ratio, interval)| {
            let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
            format!("; appending takes {ratio:.2} times as long{sure} as without consumers")
        },
    );
    let lags: Vec<f64> = case.lags.iter().map(|&s| f64::from(s)).collect();
    let at = |share| percentile(&lags, share).map_or_else(String::new, seconds);
    format!(
        "{}: a record is in a consumer's memory {} after its commit (half of them; 99 %: {}), {} records new at once at most{cost}",
        case.name,
        at(0.5),
        at(0.99),
        case.behind
    )
}

fn rows(report: &FollowReport, case: &FollowCase, bytes: u64) -> Vec<Row> {
    let o = &report.options;
    let row = |phase: &str, measurements: &[crate::result::Measurement]| {
        let mut row = Row::new(&case.name, phase, bytes)
            .with("engine", &case.engine)
            .with("format", &case.container)
            .with("ranks", report.ranks)
            .with("dims", o.shape.len() + 1)
            .with("data_shape", crate::workload::io::written(&[&[o.records], &o.shape[..]].concat()))
            .with("dtype", type_name::of(o.dtype))
            .with("unlimited", 1)
            .with("batch", o.batch)
            .with("interval_s", o.interval)
            .with("pattern", "follow");
        row.engine.clone_from(&case.engine);
        row.version.clone_from(&case.version);
        row.stored = Some(case.stored);
        row.measurements = measurements.to_vec();
        row
    };
    let mut following = row("follow", &case.following).with("looks", case.looks).with("behind", case.behind);
    let last = case.lags.len().saturating_sub(1);
    let kept = case.lags.len().min(KEPT);
    following.calls =
        (0..kept).map(|i| case.lags[(i * last).checked_div(kept.max(2) - 1).unwrap_or(0)]).collect();
    // Waiting for the producer is no rate.
    if o.interval > 0.0 {
        following.bytes = 0;
    }
    vec![row("append alone", &case.alone), row("append while followed", &case.followed), following]
}
