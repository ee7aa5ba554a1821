//! The choice among all shapes, in the terms that all workloads share.

use crate::report::{bytes, seconds};
use crate::result::{Measurement, Row, Section, View};
use crate::stats::distinct;
use crate::workload::chunks::regret::RegretReport;
use crate::workload::listed;

/// Reports of several arrays or readers, a section each; of more than one, a section with what all of them say comes first.
pub fn regret_sections(reports: &[RegretReport]) -> Vec<Section> {
    let mut sections: Vec<Section> = reports.iter().map(regret_section).collect();
    if let [_, _, ..] = reports {
        let mut all = Section::new("proof", format!("Choosing chunks: {} arrays and readers", reports.len()));
        let one = |r: &RegretReport| {
            let (shape, reader) = (listed(&r.shape, " × "), &r.driver.0);
            format!("{} ({shape}), read by {reader}: {}", r.source, summary(&[r]))
        };
        all.words = reports.iter().map(one).collect();
        for reader in distinct(reports.iter().map(|r| &r.driver.0)) {
            let own: Vec<&RegretReport> = reports.iter().filter(|r| r.driver.0 == *reader).collect();
            all.words.push(format!("{reader}, all together: {}", summary(&own)));
        }
        sections.insert(0, all);
    }
    sections
}

/// Regret and predictions of some reports together.
fn summary(reports: &[&RegretReport]) -> String {
    let mut regrets: Vec<f64> = reports.iter().flat_map(|r| r.mixes.iter().map(|m| m.regret)).collect();
    regrets.sort_by(f64::total_cmp);
    let rows = || reports.iter().flat_map(|r| &r.rows);
    let close = rows().filter(|r| r.is_close()).count() as f64 / rows().count().max(1) as f64;
    format!(
        "{} chunk shapes; regret: median {:.2}, worst {:.2}; predicted time within 30 % of the measured one for {:.0} % of {} reads",
        reports.iter().map(|r| distinct(r.rows.iter().map(|r| &r.chunks)).len()).sum::<usize>(),
        regrets[regrets.len() / 2],
        regrets[regrets.len() - 1],
        close * 100.0,
        rows().count(),
    )
}

fn list(chunks: &[u64]) -> String {
    listed(chunks, ":")
}

/// One report as a section.
pub fn regret_section(report: &RegretReport) -> Section {
    let engine = &report.driver.0;
    let shape = listed(&report.shape, " × ");
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
    for t in &report.today {
        let [series, map, mean] = [t.series, t.map, t.mean()].map(seconds);
        let (tool, chunks) = (&t.tool, list(&t.chunks));
        section.words.push(format!("chunks of {tool}, {chunks}: series {series}, map {map}, mean {mean}"));
    }
    section.words.push(summary(&[report]));
    let (fraction, decoded) = report.sampled;
    let gain = report
        .gain
        .map_or_else(String::new, |g| format!(" by one thread, each more adds {:.0} %", 100.0 * g));
    section.notes.push(format!(
        "stored: {fraction:.2} of the values' bytes, decoded at {}/s{gain}",
        bytes(decoded.min(1e15) as u64)
    ));
    for r in &report.rows {
        let mut row = Row::new(format!("{} {engine} {}", report.source, list(&r.chunks)), &r.pattern, 0)
            .with("engine", engine)
            .with("chunk_shape", list(&r.chunks))
            .with("data_shape", list(&report.shape))
            .with("predicted_s", format!("{:.9}", r.predicted))
            .with("place_min_s", r.measured.min)
            .with("place_max_s", r.measured.max)
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
    section.notes.push("seconds are means over places of the median of rounds".to_owned());
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}
