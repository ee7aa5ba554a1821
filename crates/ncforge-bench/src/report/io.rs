//! The workload `io` in the terms that all workloads share, and NetCDF-Bench's own table.

mod compat;

use crate::clock::Used;
use crate::driver::{Coding, Shuffle};
use crate::report::{bytes, seconds};
use crate::result::{Lane, Measurement, Row, Section, View, WHOLE};
use crate::stats::{Summary, chance, chance_text, percentile, ratio_of_medians};
use crate::workload::io::{
    AccessKind, CacheAsk, CaseResult, IoReport, PhaseKind, PhaseResult, Span, type_names, written,
};

pub use self::compat::netcdf_bench_table;

/// Times of calls that are saved for a row at most, evenly chosen.
const CALLS_SAVED: usize = 400;
/// Stretches of calls that are saved for a rank at most.
const SPANS_SAVED: usize = 60;
/// Fewer calls say nothing about their distribution.
const CALLS_LEAST: usize = 20;

/// The report as a section.
pub fn io_section(report: &IoReport) -> Section {
    let g = &report.geometry;
    let values = g.values() * report.options.dtype.size() as u64;
    let ranks = format!("{} rank{}", g.ranks(), if g.ranks() == 1 { "" } else { "s" });
    let title = format!("Blocks: {} of {}, {ranks}", bytes(values), written(&g.data));
    let mut section = Section::new("io", title);
    section.rows = report.rows().iter().map(|all| row(report, all)).collect();
    section.views = views(&section);
    section.notes = vec![format!(
        "{}, {ranks} ({}), blocks {}, {} calls a rank, {}",
        g.names.join(":"),
        written(&g.grid),
        written(&g.block),
        g.calls(),
        report.team,
    )];
    section.notes.extend(report.cases.iter().map(described));
    section.notes.extend(report.notes.iter().cloned());
    section.notes.push(
        "rates: bytes moved, divided by the time from the first rank's start to the last rank's end"
            .to_owned(),
    );
    section.detail = serde_json::to_value(report).unwrap_or_default();
    compared(&mut section);
    section
}

/// A case: its library, how ranks share the file, what is in the file.
fn described(case: &CaseResult) -> String {
    let storage = case.audit.as_ref().map_or_else(String::new, |a| {
        let share = a.bytes as f64 / a.values.max(1) as f64 * 100.0;
        let (format, how, size) = (&a.format, a.describe(), bytes(a.bytes));
        format!("; in the file: {format} {how}, {size} ({share:.1} % of the values)")
    });
    format!("{}: {} {}, {}{storage}", case.name, case.driver, case.version, case.ask.access.name())
}

/// The varied parameter decides which charts are drawn.
fn views(section: &Section) -> Vec<View> {
    let mut views = Vec::new();
    for label in section.labels() {
        let rows = section.labelled(&label);
        let varied = |fact: &str| rows.iter().any(|r| r.facts.get(fact) != rows[0].facts.get(fact));
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

fn row(report: &IoReport, all: &[&PhaseResult]) -> Row {
    let (first, last) = (all[0], all[all.len() - 1]);
    let case = &report.cases[first.case];
    let mut row = Row::new(&case.name, first.kind.name(), first.bytes);
    row.engine.clone_from(&case.driver);
    row.version.clone_from(&case.version);
    row.stored = last.measurement.stored;
    row.measurements = all.iter().map(|p| p.measurement.clone()).collect();
    let counted = IoReport::counted(all);
    let calls = PhaseResult::call_seconds(counted.iter().copied());
    row.calls = thinned(&calls).into_iter().map(|s| s as f32).collect();
    let mut row = facts(row, report, case, first.cache_asked);
    if is_left_for_closing(case, first.kind) {
        row = row.with(WHOLE, 1);
    }
    if let Some(stored) = row.stored.filter(|&n| n > 0) {
        row = row.with("ratio", format!("{:.3}", first.bytes as f64 / stored as f64));
    }
    let middle = counted[counted.len() / 2];
    row.lanes = lanes(middle);
    let words = [latencies(&calls), tail(report, &counted), Some(used(&middle.measurement))];
    let name = format!("{}, {}", row.case, row.label());
    row.words = words.into_iter().flatten().map(|text| format!("{name}: {text}")).collect();
    row
}

/// Whether a row writes chunks, compressed or not: some libraries hold them until the file is closed, and their calls alone say nothing.
fn is_left_for_closing(case: &CaseResult, kind: PhaseKind) -> bool {
    let chunked = case.audit.as_ref().is_some_and(|a| a.chunks.is_some());
    kind != PhaseKind::Read && !case.ask.driver.is_plain() && (case.ask.coding.is_filtered() || chunked)
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
    let engine = row.engine.clone();
    let row = row
        .with("engine", engine)
        .with("format", case.ask.stored)
        .with("access", access)
        .with("ranks", g.ranks())
        .with("nodes", g.nodes)
        .with("ppn", g.ppn)
        .with("dims", g.names.join(":"))
        .with("data_shape", written(&g.data))
        .with("block_shape", written(&g.block))
        .with("chunk_shape", found.or_else(|| asked.clone()).unwrap_or_default())
        .with("chunk_asked", asked.unwrap_or_else(|| "none".into()))
        .with("dtype", type_names(o.dtype).0)
        .with("codec", coding.codec.name())
        .with("level", coding.codec.level().unwrap_or(0))
        .with("shuffle", shuffle)
        .with("quantize", coding.rounding.map_or_else(|| "none".to_owned(), |r| r.to_string()))
        .with("endian", endian.unwrap_or_else(|| "native".to_owned()))
        .with("unlimited", u8::from(o.unlimited))
        .with("fill", u8::from(o.fill))
        .with("pattern", "blocks");
    match cache {
        Some(cache) => row.with("cache", cache.name()),
        None => row,
    }
}

/// Some of sorted numbers, the first and the last among them.
pub(crate) fn thinned<T: Copy>(sorted: &[T]) -> Vec<T> {
    let most = sorted.len().min(CALLS_SAVED);
    let last = sorted.len().saturating_sub(1);
    (0..most).map(|i| sorted[(i * last).checked_div(most.max(2) - 1).unwrap_or(0)]).collect()
}

/// The work of the ranks in one repetition.
fn lanes(p: &PhaseResult) -> Vec<Lane> {
    let zero = p.ranks.iter().map(|r| r.open.begin).fold(f64::INFINITY, f64::min);
    let span = |what: &str, s: &Span| (what.to_owned(), s.begin - zero, s.end - zero);
    let ranks = p.ranks.iter().enumerate();
    ranks
        .map(|(rank, r)| {
            let mut spans = vec![span("open", &r.open)];
            spans.extend(r.io.iter().take(SPANS_SAVED).map(|s| span("calls", s)));
            spans.push(span("close", &r.close));
            Lane { rank, spans }
        })
        .collect()
}

/// The times at which the first rank had done all of its calls, and the last one: others wait for it. Clocks of several machines are not
/// one.
fn tail(report: &IoReport, counted: &[&PhaseResult]) -> Option<String> {
    let ranks = report.geometry.ranks();
    if ranks < 2 || report.nodes > 1 {
        return None;
    }
    let ends = |p: &PhaseResult| -> Option<(f64, f64)> {
        let begin = p.ranks.iter().filter_map(|r| r.io.first()).map(|s| s.begin).reduce(f64::min)?;
        let done = || p.ranks.iter().filter_map(|r| r.io.last()).map(|s| s.end - begin);
        Some((done().reduce(f64::min)?, done().reduce(f64::max)?))
    };
    let all: Vec<(f64, f64)> = counted.iter().filter_map(|p| ends(p)).collect();
    let median =
        |of: &dyn Fn(&(f64, f64)) -> f64| Some(Summary::of(&all.iter().map(of).collect::<Vec<_>>())?.median);
    Some(format!(
        "the first of {ranks} ranks is done after {}, the last after {}: the others wait for {:.0} % of the time",
        seconds(median(&|e| e.0)?),
        seconds(median(&|e| e.1)?),
        median(&|e| (e.1 - e.0) / e.1.max(1e-12) * 100.0)?
    ))
}

/// The resources that the processes used in one repetition.
fn used(m: &Measurement) -> String {
    let u: Used = m.used.unwrap_or_default();
    let split = m.split.iter().map(|(name, s)| format!("{} {}", name.replace('_', " "), seconds(*s)));
    format!(
        "{}; {} user, {} system, {} resident at most; waited {} times, interrupted {} times; {} page faults, {} of them from storage; {} calls read {}, {} wrote {}",
        split.collect::<Vec<_>>().join(", "),
        seconds(u.user),
        seconds(u.system),
        bytes(m.memory.unwrap_or_default()),
        u.waited,
        u.forced,
        u.faults + u.fetched,
        u.fetched,
        u.read_calls,
        bytes(u.read_bytes),
        u.write_calls,
        bytes(u.write_bytes),
    )
}

fn latencies(calls: &[f64]) -> Option<String> {
    let at = |share| percentile(calls, share).map(seconds);
    let [half, most, nearly, all] = [at(0.5)?, at(0.9)?, at(0.99)?, at(1.0)?];
    let text =
        || format!("calls: half within {half}, 90 % within {most}, 99 % within {nearly}, longest {all}");
    (calls.len() >= CALLS_LEAST).then(text)
}

/// Sets the rows against plain system calls and against those of the first case, and says how they stand.
pub(crate) fn compared(section: &mut Section) {
    let key = |r: &Row| (r.label(), r.facts.get("access").cloned());
    let ceilings: Vec<_> =
        section.rows.iter().filter(|r| r.engine == "raw").filter_map(|r| Some((key(r), r.rate()?))).collect();
    for row in section.rows.iter_mut().filter(|r| r.engine != "raw") {
        // The ceiling is the best that plain calls reach in any layout of that access.
        let best = ceilings.iter().filter(|c| c.0 == key(row)).map(|c| c.1).fold(0.0, f64::max);
        row.of_ceiling = row.rate().filter(|_| best > 0.0).map(|own| own / best);
    }
    section.words = layers(section).into_iter().chain(comparisons(section)).collect();
}

/// The part of the rate of plain system calls that every layer leaves, from the lowest to the highest, where layers were asked for.
fn layers(section: &Section) -> Vec<String> {
    if section.detail["options"]["layers"] != true {
        return Vec::new();
    }
    // A case's name is that of its library, then everything in which cases differ.
    let circumstances = |r: &Row| r.case.split_once(", ").map(|(_, rest)| rest.to_owned());
    let line = |base: &Row| {
        let same = |r: &&Row| {
            r.engine != "raw" && r.label() == base.label() && circumstances(r) == circumstances(base)
        };
        let share = |r: &Row| {
            let name = r.engine.rsplit('/').next().unwrap_or_default();
            format!("{name} {:.0} %", r.of_ceiling.unwrap_or_default() * 100.0)
        };
        format!(
            "layers, {}{}: plain system calls {}/s; of the ceiling reach {}",
            base.label(),
            circumstances(base).map_or_else(String::new, |c| format!(" ({c})")),
            bytes(base.rate().unwrap_or_default() as u64),
            section.rows.iter().filter(same).map(share).collect::<Vec<_>>().join(", ")
        )
    };
    section.rows.iter().filter(|r| r.engine == "raw").map(line).collect()
}

/// Every row against that of the first case, and how sure that is.
fn comparisons(section: &Section) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = section.rows.first().map(|r| &r.case) else { return lines };
    for base in section.rows.iter().filter(|r| r.case == *first) {
        let label = base.label();
        for other in section.labelled(&label).into_iter().filter(|r| r.case != *first) {
            // Both in the same way.
            let whole = base.is_whole() || other.is_whole();
            let times = |r: &Row| -> Vec<f64> {
                r.counted().iter().map(|m| if whole { m.total() } else { m.seconds }).collect()
            };
            let (ours, theirs) = (times(base), times(other));
            let Some((ratio, interval)) = ratio_of_medians(&theirs, &ours) else { continue };
            let (ratio, interval, word) = match ratio >= 1.0 {
                true => (ratio, interval, "faster"),
                false => (1.0 / ratio, interval.map(|(l, h)| (1.0 / h, 1.0 / l)), "slower"),
            };
            let sure = interval.map_or_else(String::new, |(l, h)| {
                format!(" [{l:.2}, {h:.2}]{}", if l <= 1.0 { ", which may be chance" } else { "" })
            });
            // Fewer than three of each say nothing, however they lie.
            let p = interval.and_then(|_| chance(&ours, &theirs));
            let p = p.map_or_else(String::new, |p| format!(" ({})", chance_text(p)));
            let whole = if whole { ", with open and close" } else { "" };
            lines.push(format!("{label}{whole}: {first} is {ratio:.2}× {word} than {}{sure}{p}", other.case));
        }
    }
    lines
}
