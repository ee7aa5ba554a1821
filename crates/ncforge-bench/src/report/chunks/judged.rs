//! The choice among all shapes, in the terms that all workloads share.

use super::super::seconds;
use crate::result::{Measurement, Results, Row, Section, View};
use crate::workload::chunks::regret::RegretReport;

/// Reports of several arrays or readers as a document, a section each.
pub fn regret_results(reports: &[RegretReport]) -> Results {
    let results = Results::of(reports.iter().map(regret_section).collect());
    match reports.first() {
        Some(r) => Results { environment: r.environment.clone(), ..results },
        None => results,
    }
}

fn list(chunks: &[u64]) -> String {
    chunks.iter().map(u64::to_string).collect::<Vec<_>>().join(":")
}

/// One report as a section.
pub fn regret_section(report: &RegretReport) -> Section {
    let engine = &report.driver.0;
    let shape = report.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let title =
        format!("Choosing chunks for `{}` of {}, {shape}, read by {engine}", report.variable, report.source);
    let mut section = Section::new("choosing", title);
    for m in &report.mixes {
        section.words.push(format!(
            "for {}, {} is chosen, which costs {:.2}× as much as the best of all ({}), place {}; chosen in {}",
            m.mix,
            list(&m.chosen),
            m.regret,
            list(&m.best),
            m.place,
            seconds(m.seconds)
        ));
    }
    for r in &report.rows {
        let mut row = Row::new(format!("{} {engine} {}", report.source, list(&r.chunks)), &r.pattern, 0)
            .with("engine", engine)
            .with("chunk_shape", list(&r.chunks))
            .with("data_shape", list(&report.shape))
            .with("predicted_s", format!("{:.9}", r.predicted))
            .with("pattern", &r.pattern);
        row.engine.clone_from(engine);
        row.version.clone_from(&report.driver.1);
        row.stored = Some(r.bytes);
        row.measurements = vec![Measurement::of(r.seconds)];
        section.rows.push(row);
    }
    let has = |pattern: &str| report.rows.iter().any(|r| r.pattern == pattern);
    if has("map") && has("series") {
        let halves = report.mixes.iter().find(|m| m.mix == "series,map");
        section.views.push(View::Front {
            title: "What a map costs, what a series costs, for every shape".to_owned(),
            across: "map".to_owned(),
            up: "series".to_owned(),
            chosen: halves.map(|m| list(&m.chosen)),
            only: std::collections::BTreeMap::new(),
        });
    }
    section.notes.push("seconds are means over places of the median of rounds; other tools' choices stand in the table that the command prints".to_owned());
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}
