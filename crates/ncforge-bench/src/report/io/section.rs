//! The workload `io` in the terms that all workloads share.

use super::{Row as IoRow, call_seconds, comparisons, is_left_for_closing, layers, rows};
use crate::clock::Used;
use crate::driver::{Coding, Shuffle};
use crate::environment::Environment;
use crate::report::bytes;
use crate::result::{Lane, Measurement, Results, Row, Section, View, WHOLE};
use crate::stats::{Summary, percentile};
use crate::workload::io::{
    AccessKind, CacheAsk, CaseResult, IoReport, PhaseResult, Span, type_name, written,
};

/// At most so many times of calls are kept for a row, evenly chosen.
const CALLS_KEPT: usize = 400;
/// At most so many stretches of calls are kept for a rank.
const SPANS_KEPT: usize = 60;

/// The report as a document of one section.
pub fn io_results(report: &IoReport) -> Results {
    let environment: Environment = report.environment.clone();
    Results { environment, time: report.time, ..Results::of(vec![io_section(report)]) }
}

/// The report as a section.
pub fn io_section(report: &IoReport) -> Section {
    let found = rows(report);
    let g = &report.geometry;
    let values = g.values() * report.options.dtype.size() as u64;
    let title = format!(
        "Blocks: {} of {}, {} rank{}",
        bytes(values),
        written(&g.data),
        g.ranks(),
        if g.ranks() == 1 { "" } else { "s" }
    );
    let mut section = Section::new("io", title);
    section.words = layers(report, &found);
    section.words.extend(comparisons(report, &found));
    section.rows = found.iter().map(|r| row(report, r)).collect();
    section.notes.clone_from(&report.notes);
    section.views = views(&section);
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}

/// What is varied decides what is drawn.
fn views(section: &Section) -> Vec<View> {
    let mut views = Vec::new();
    for label in section.labels() {
        let rows = || section.rows.iter().filter(|r| r.label() == label);
        let Some(first) = rows().next() else { continue };
        let varied = |fact: &str| rows().any(|r| r.facts.get(fact) != first.facts.get(fact));
        if varied("chunk_asked") && varied("engine") {
            views.push(View::Heat {
                title: format!("{label}: chunks and libraries"),
                phase: label,
                only: std::collections::BTreeMap::new(),
                across: "engine".into(),
                down: "chunk_asked".into(),
                columns: false,
            });
        }
    }
    views
}

fn row(report: &IoReport, found: &IoRow<'_>) -> Row {
    let case = &report.cases[found.case];
    let all: Vec<&PhaseResult> = report
        .phases
        .iter()
        .filter(|p| p.case == found.case && p.kind == found.kind && p.cache_asked == found.cache)
        .collect();
    let bytes = all.first().map_or(0, |p| p.bytes);
    let mut row = Row::new(&case.name, found.kind.name(), bytes);
    row.engine.clone_from(&case.driver);
    row.version.clone_from(&case.version);
    row.stored = all.last().map(|p| p.stored);
    let ratio = all.last().and_then(|p| p.ratio());
    row.measurements = all.iter().map(|p| measurement(p)).collect();
    row.of_ceiling = found.of_ceiling;
    row.calls = thinned(&call_seconds(found));
    row.lanes = lanes(&found.runs);
    let block = written(&report.geometry.block);
    let mut row = facts(row, report, case, found.cache).with("block_shape", block);
    if is_left_for_closing(report, found) {
        row = row.with(WHOLE, 1);
    }
    match ratio {
        Some(ratio) => row.with("ratio", format!("{ratio:.3}")),
        None => row,
    }
}

fn facts(row: Row, report: &IoReport, case: &CaseResult, cache: Option<CacheAsk>) -> Row {
    let (o, g) = (&report.options, &report.geometry);
    let asked = case.chunks.as_ref().map(|c| written(c));
    let found = case.audit.as_ref().and_then(|a| a.chunks.as_ref()).map(|c| written(c));
    let access = match case.ask.access {
        AccessKind::Independent => "ind",
        AccessKind::Collective => "coll",
        AccessKind::File => "file",
    };
    // Plain calls encode nothing, and hold nothing.
    let raw = case.ask.driver.is_plain();
    let coding = if raw { Coding::default() } else { case.ask.coding };
    let shuffle = match coding.shuffle {
        Shuffle::Off => "0",
        Shuffle::Bytes => "1",
        Shuffle::Bits => "bits",
    };
    let endian = case.audit.as_ref().and_then(|a| a.endian.clone());
    let endian = endian.unwrap_or_else(|| "native".to_owned());
    let engine = row.engine.clone();
    let row = row
        .with("engine", engine)
        .with("format", o.stored(&case.ask))
        .with("access", access)
        .with("ranks", g.ranks())
        .with("nodes", g.nodes)
        .with("ppn", g.ppn)
        .with("dims", g.names.join(":"))
        .with("data_shape", written(&g.data))
        .with("chunk_shape", found.or_else(|| asked.clone()).unwrap_or_default())
        .with("chunk_asked", asked.unwrap_or_else(|| "none".into()))
        .with("dtype", type_name::of(o.dtype))
        .with("codec", coding.codec.name())
        .with("level", coding.codec.level().unwrap_or(0))
        .with("shuffle", shuffle)
        .with("quantize", coding.rounding.map_or_else(|| "none".to_owned(), |r| r.to_string()))
        .with("endian", endian)
        .with("unlimited", u8::from(o.unlimited))
        .with("fill", u8::from(o.fill))
        .with("pattern", "blocks");
    match cache {
        None => row,
        Some(CacheAsk::Warm) => row.with("cache", "warm"),
        Some(CacheAsk::Cold) => row.with("cache", "cold"),
        Some(CacheAsk::Any) => row.with("cache", "any"),
    }
}

fn measurement(p: &PhaseResult) -> Measurement {
    let times: Vec<f64> =
        p.ranks.iter().map(|r| r.open.seconds() + r.io_seconds() + r.close.seconds()).collect();
    let mut calls: Vec<f64> = p.ranks.iter().flat_map(|r| &r.calls).map(|&s| f64::from(s)).collect();
    calls.sort_by(f64::total_cmp);
    Measurement {
        rep: p.repetition,
        seconds: p.io,
        disturbed: p.disturbed,
        cache: Some(p.cache.clone()),
        open: Some(p.open),
        sync: p.sync,
        close: Some(p.close),
        from_storage: p.from_storage,
        stored: Some(p.stored),
        ranks: Summary::of(&times).map(|s| (s.min, s.median, s.max)),
        calls: percentile(&calls, 0.5).zip(percentile(&calls, 0.99)),
        cpu: Some(p.ranks.iter().map(|r| r.cpu).sum()),
        used: Some(Used::sum(p.ranks.iter().map(|r| &r.used))),
        split: p.split(),
        memory: p.ranks.iter().map(|r| r.peak_memory).max(),
        noise: p.noise,
        right: p.verdict.as_ref().map(|v| v.wrong == 0),
    }
}

fn thinned(sorted: &[f64]) -> Vec<f32> {
    let kept = sorted.len().min(CALLS_KEPT);
    let last = sorted.len().saturating_sub(1);
    (0..kept).map(|i| sorted[(i * last).checked_div(kept.max(2) - 1).unwrap_or(0)] as f32).collect()
}

/// The ranks in the repetition with the median time.
fn lanes(runs: &[&PhaseResult]) -> Vec<Lane> {
    let mut order: Vec<&&PhaseResult> = runs.iter().collect();
    order.sort_by(|a, b| a.total().total_cmp(&b.total()));
    let Some(p) = order.get(order.len() / 2) else { return Vec::new() };
    let zero = p.ranks.iter().map(|r| r.open.begin).fold(f64::INFINITY, f64::min);
    let span = |what: &str, s: &Span| (what.to_owned(), s.begin - zero, s.end - zero);
    p.ranks
        .iter()
        .enumerate()
        .map(|(rank, r)| {
            let mut spans = vec![span("open", &r.open)];
            spans.extend(r.io.iter().take(SPANS_KEPT).map(|s| span("calls", s)));
            spans.push(span("close", &r.close));
            Lane { rank, spans }
        })
        .collect()
}
