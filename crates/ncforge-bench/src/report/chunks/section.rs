//! The sweep of chunk shapes in the terms that all workloads share.

use std::collections::BTreeMap;

use crate::result::{Measurement, Row, Section, View};
use crate::stats::{Summary, distinct};
use crate::workload::chunks::sweep::{SweepReport, SweepRow};
use crate::workload::listed;

/// The sweep as a section. `chosen` is the shape that ncforge would take, if it is among them.
pub fn sweep_section(report: &SweepReport, chosen: Option<&[u64]>) -> Section {
    let title = format!("Chunks of `{}`, {}", report.variable, listed(&report.shape, " × "));
    let mut section = Section::new("chunks", title);
    for r in &report.rows {
        section.rows.push(row(report, r, "slab", &r.slab, &r.slab_seconds));
        section.rows.push(row(report, r, "series", &r.series, &r.series_seconds));
    }
    section.words = words(report);
    section.views = views(report, chosen);
    section.notes.push(format!(
        "seconds of one slab (all of the last dimensions) and of one series (all of the first one): means over slabs and over {} series, of {} rounds; series read {}",
        report.options.series,
        report.options.repetitions,
        if report.options.series_first { "first" } else { "after the slabs" }
    ));
    let cache = if report.options.cold {
        "files are evicted from the page cache before they are read"
    } else {
        "the page cache is warm"
    };
    section.notes.push(cache.to_owned());
    let cut =
        report.rows.iter().filter(|r| (r.slabs as u64) < report.shape.first().copied().unwrap_or(0)).count();
    if let Some(most) = report.options.cell_seconds.filter(|_| cut > 0) {
        section.notes.push(format!(
            "{cut} of {} rows were ended after {most} s of slabs: their means are over fewer slabs, in which the first ones, that decode what the next ones use, weigh more",
            report.rows.len()
        ));
    }
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}

fn list(chunks: &[u64]) -> String {
    listed(chunks, ":")
}

fn storage(r: &SweepRow) -> String {
    match &r.variant.chunks {
        None => "classic".to_owned(),
        Some(c) => {
            let codec = match (r.variant.deflate, r.variant.shuffle) {
                (0, _) => String::new(),
                (n, false) => format!(" deflate {n}"),
                (n, true) => format!(" shuffle deflate {n}"),
            };
            format!("{}{codec}", list(c))
        }
    }
}

fn cache(r: &SweepRow) -> String {
    r.cache.map_or_else(|| "default".to_owned(), crate::report::bytes)
}

fn row(report: &SweepReport, r: &SweepRow, phase: &str, summary: &Summary, seconds: &[f64]) -> Row {
    let (engine, version) = &report.drivers[r.driver];
    let mut row = Row::new(format!("{engine}, {}, cache {}", storage(r), cache(r)), phase, 0)
        .with("engine", engine)
        .with("chunk_shape", r.variant.chunks.as_deref().map_or_else(|| "classic".to_owned(), list))
        .with("level", r.variant.deflate)
        .with("shuffle", u8::from(r.variant.shuffle))
        .with("storage", storage(r))
        .with("chunk_cache", cache(r))
        .with("chunk_cache_bytes", r.cache.map_or_else(String::new, |b| b.to_string()))
        .with("data_shape", list(&report.shape))
        .with("pattern", phase);
    if let Some((first, rest)) = r.variant.chunks.as_deref().and_then(<[u64]>::split_first) {
        row = row.with("chunk_first", first).with("chunk_rest", list(rest));
    }
    row.engine.clone_from(engine);
    row.version.clone_from(version);
    row.stored = Some(r.bytes);
    let all = if seconds.is_empty() { vec![summary.median] } else { seconds.to_vec() };
    row.measurements = all
        .iter()
        .enumerate()
        .map(|(rep, &s)| Measurement { rep, right: Some(r.same_values), ..Measurement::of(s) })
        .collect();
    row
}

/// The worst against the best, for every library: the cliff, or its absence.
fn words(report: &SweepReport) -> Vec<String> {
    let mut out = Vec::new();
    for (d, (engine, version)) in report.drivers.iter().enumerate() {
        let rows = || report.rows.iter().filter(move |r| r.driver == d && r.variant.chunks.is_some());
        type Of = fn(&SweepRow) -> f64;
        let kinds: [(&str, Of); 2] = [("slab", |r| r.slab.median), ("series", |r| r.series.median)];
        for (what, of) in kinds {
            let worst = rows().max_by(|a, b| of(a).total_cmp(&of(b)));
            let best = rows().min_by(|a, b| of(a).total_cmp(&of(b)));
            let (Some(worst), Some(best)) = (worst, best) else { continue };
            out.push(format!(
                "{engine} {version}: a {what} takes {} from the best chunks ({}, cache {}) and {} from the worst ({}, cache {}), {:.0}× more",
                crate::report::seconds(of(best)),
                storage(best),
                cache(best),
                crate::report::seconds(of(worst)),
                storage(worst),
                cache(worst),
                of(worst) / of(best).max(1e-12)
            ));
        }
    }
    out
}

fn views(report: &SweepReport, chosen: Option<&[u64]>) -> Vec<View> {
    let mut views = Vec::new();
    let mut levels: Vec<u32> = report.rows.iter().map(|r| r.variant.deflate).collect();
    levels.sort_unstable();
    levels.dedup();
    let level = levels.last().copied().unwrap_or(0);
    let caches = distinct(report.rows.iter().map(cache));
    for (engine, _) in &report.drivers {
        for cache in &caches {
            let only: BTreeMap<String, String> = [
                ("engine".to_owned(), engine.clone()),
                ("chunk_cache".to_owned(), cache.clone()),
                ("level".to_owned(), level.to_string()),
            ]
            .into();
            let codec = if level == 0 { "not compressed".to_owned() } else { format!("deflate {level}") };
            for phase in ["slab", "series"] {
                views.push(View::Heat {
                    title: format!("{engine}, cache {cache}, {codec}: seconds of one {phase}"),
                    phase: phase.into(),
                    only: only.clone(),
                    across: "chunk_rest".into(),
                    down: "chunk_first".into(),
                    columns: false,
                });
            }
            views.push(View::Front {
                title: format!("{engine}, cache {cache}, {codec}: what a series costs, what a slab costs"),
                across: "slab".into(),
                up: "series".into(),
                chosen: chosen.map(list),
                only,
            });
        }
    }
    views
}
