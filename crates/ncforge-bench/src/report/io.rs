//! Reports of the workload `io`: a table for people, the common document, and NetCDF-Bench's own table.

mod compat;
mod section;

use std::fmt::Write;

use super::{aligned, bytes, seconds};
use crate::clock::Used;
use crate::driver::Coding;
use crate::stats::{Summary, chance, chance_text, median_interval, outliers, ratio_of_medians};
use crate::workload::io::{
    CacheAsk, CaseAsk, CaseResult, DriverAsk, IoReport, PhaseKind, PhaseResult, written,
};

pub use self::compat::netcdf_bench_table;
pub use self::section::{io_results, io_section};

/// One row of the table: a case, a kind, a state of the cache, over all repetitions.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Position in [`IoReport::cases`].
    pub case: usize,
    /// Writing or reading.
    pub kind: PhaseKind,
    /// The state of the cache that was asked for.
    pub cache: Option<CacheAsk>,
    /// The repetitions that count.
    pub runs: Vec<&'a PhaseResult>,
    /// Bytes a second of the calls alone.
    pub io: Rates,
    /// Bytes a second with opening and closing.
    pub total: Rates,
    /// Bytes a second until the file was on disk, where that was waited for.
    pub synced: Option<Rates>,
    /// The rate (in calls; with opening and closing where values go into chunks) against that of plain system calls with the same access,
    /// if those were measured.
    pub of_ceiling: Option<f64>,
}

/// Rates of repetitions, in bytes a second.
#[derive(Clone, Debug)]
pub struct Rates {
    /// All of them, in the order in which they were measured.
    pub all: Vec<f64>,
    /// Minimum, median, maximum.
    pub summary: Summary,
    /// 95 % interval of the median.
    pub interval: Option<(f64, f64)>,
    /// How many stand far outside.
    pub outliers: usize,
}

impl Rates {
    fn of(all: Vec<f64>) -> Option<Rates> {
        let summary = Summary::of(&all)?;
        Some(Rates { summary, interval: median_interval(&all), outliers: outliers(&all).len(), all })
    }
}

/// All rows of a report.
pub fn rows(report: &IoReport) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = report
        .rows()
        .into_iter()
        .filter_map(|(case, kind, cache)| {
            let runs = report.row(case, kind, cache);
            let io = Rates::of(runs.iter().map(|p| p.rate_io()).collect())?;
            let total = Rates::of(runs.iter().map(|p| p.rate_total()).collect())?;
            let synced: Option<Vec<f64>> = runs.iter().map(|p| p.rate_synced()).collect();
            Some(Row {
                case,
                kind,
                cache,
                runs,
                io,
                total,
                synced: synced.and_then(Rates::of),
                of_ceiling: None,
            })
        })
        .collect();
    let ceilings: Vec<_> = rows
        .iter()
        .filter(|r| report.cases[r.case].ask.driver == DriverAsk::Raw)
        .map(|r| (r.kind, r.cache, report.cases[r.case].ask.clone(), r.io.summary.median))
        .collect();
    for row in &mut rows {
        let ask = &report.cases[row.case].ask;
        let same = |c: &&(PhaseKind, Option<CacheAsk>, CaseAsk, f64)| {
            c.0 == row.kind && c.1 == row.cache && c.2.access == ask.access
        };
        // The ceiling is the best that plain calls reach in any layout of that access.
        let best = ceilings.iter().filter(same).map(|c| c.3).fold(0.0, f64::max);
        let own = telling(report, row).summary.median;
        row.of_ceiling = (best > 0.0 && ask.driver != DriverAsk::Raw).then(|| own / best);
    }
    rows
}

/// Whether a row writes chunks, compressed or not: some libraries hold them until the file is closed, and their calls alone say nothing.
fn is_left_for_closing(report: &IoReport, row: &Row<'_>) -> bool {
    let case = &report.cases[row.case];
    let chunked = case.audit.as_ref().is_some_and(|a| a.chunks.is_some());
    row.kind != PhaseKind::Read && !case.ask.driver.is_plain() && (case.ask.coding.is_filtered() || chunked)
}

/// The rates that tell how fast a row is: those of the calls, or with opening and closing where work is left for these.
fn telling<'r>(report: &IoReport, row: &'r Row<'_>) -> &'r Rates {
    if is_left_for_closing(report, row) { &row.total } else { &row.io }
}

/// The table for people.
pub fn io_table(report: &IoReport) -> String {
    let mut out = String::new();
    let g = &report.geometry;
    let values = g.values() * report.options.dtype.size() as u64;
    let _ = writeln!(
        out,
        "{} of {} ({}), {} rank{} ({}), blocks {}, {} calls a rank, {}",
        bytes(values),
        written(&g.data),
        g.names.join(":"),
        g.ranks(),
        if g.ranks() == 1 { "" } else { "s" },
        written(&g.grid),
        written(&g.block),
        g.calls(),
        report.team,
    );
    for case in &report.cases {
        let _ = writeln!(out, "{}", told_case(case));
    }
    let rows = rows(report);
    let with_ceiling = rows.iter().any(|r| r.of_ceiling.is_some());
    let mut head: Vec<String> =
        ["case", "phase", "median", "95 % interval", "min … max", "n", "with open+close", "to disk"]
            .map(str::to_owned)
            .to_vec();
    if with_ceiling {
        head.push("of raw".to_owned());
    }
    // What is stored says something where it is not what was written.
    let is_coded = |c: &CaseResult| c.ask.coding != Coding::default();
    let with_ratio = report.cases.iter().any(is_coded);
    if with_ratio {
        head.extend(["stored", "ratio", "stored rate"].map(str::to_owned));
    }
    head.extend(["values", "cache"].map(str::to_owned));
    let mut table = vec![head];
    for row in &rows {
        let rate = |r: f64| format!("{}/s", bytes(r as u64));
        let mut cells = vec![
            report.cases[row.case].name.clone(),
            row.kind.name().to_owned(),
            rate(row.io.summary.median),
            row.io.interval.map_or_else(|| "-".to_owned(), |(a, b)| format!("{} … {}", rate(a), rate(b))),
            format!("{} … {}", rate(row.io.summary.min), rate(row.io.summary.max)),
            row.runs.len().to_string(),
            rate(row.total.summary.median),
            row.synced.as_ref().map_or_else(|| "-".to_owned(), |s| rate(s.summary.median)),
        ];
        if with_ceiling {
            cells.push(row.of_ceiling.map_or_else(|| "-".to_owned(), |s| format!("{:.0} %", s * 100.0)));
        }
        if with_ratio {
            let last = row.runs.last();
            let stored: Vec<f64> = row.runs.iter().filter_map(|p| p.rate_stored()).collect();
            cells.push(last.map_or_else(|| "-".to_owned(), |p| bytes(p.stored)));
            cells.push(
                last.and_then(|p| p.ratio()).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            );
            cells.push(Summary::of(&stored).map_or_else(|| "-".to_owned(), |s| rate(s.median)));
        }
        cells.push(verdict(row).to_owned());
        cells.push(cache_text(row));
        table.push(cells);
    }
    out.push('\n');
    out.push_str(&aligned(&table, 2));
    out.push('\n');
    for line in layers(report, &rows).into_iter().chain(comparisons(report, &rows)) {
        let _ = writeln!(out, "{line}");
    }
    for row in &rows {
        if let Some(line) = latencies(report, row) {
            let _ = writeln!(out, "{line}");
        }
    }
    out.extend(rows.iter().filter_map(|row| tail(report, row)).map(|line| line + "\n"));
    out.extend(rows.iter().filter_map(|row| used(report, row)).map(|line| line + "\n"));
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(
        out,
        "rates: bytes moved, divided by the time from the first rank's start to the last rank's end; {} repetitions in turn after {} for warming up; {}",
        report.options.repetitions,
        report.options.warmup,
        super::machine(&report.environment),
    );
    out
}

/// A case: its library, how ranks share the file, what is in the file.
fn told_case(case: &CaseResult) -> String {
    let storage = case.audit.as_ref().map_or_else(String::new, |a| {
        let beside = a.bytes as f64 / a.values.max(1) as f64 * 100.0;
        format!(
            "; in the file: {} {}, {} ({beside:.1} % of the values)",
            a.format,
            a.describe(),
            bytes(a.bytes)
        )
    });
    format!("  {}: {} {}, {}{storage}", case.name, case.driver, case.version, case.ask.access.name())
}

/// What the checks of a row say.
pub fn verdict(row: &Row<'_>) -> &'static str {
    let seen: Vec<_> = row.runs.iter().filter_map(|p| p.verdict.as_ref()).collect();
    match seen.iter().all(|v| v.wrong == 0) {
        _ if seen.is_empty() => "-",
        true => "all right",
        false => "WRONG",
    }
}

/// The cache's state over a row: the label, with the worst percentage.
pub fn cache_text(row: &Row<'_>) -> String {
    let worst = row.runs.iter().min_by(|a, b| {
        let key = |p: &PhaseResult| p.cache.percent.unwrap_or(f64::INFINITY);
        key(a).total_cmp(&key(b))
    });
    worst.map_or_else(String::new, |p| p.cache.text())
}

/// What every layer leaves of the rate of plain system calls, from the lowest to the highest, where layers were asked for.
pub(super) fn layers(report: &IoReport, rows: &[Row<'_>]) -> Vec<String> {
    if !report.options.layers {
        return Vec::new();
    }
    let ask = |row: &Row<'_>| &report.cases[row.case].ask;
    // Everything but the library is the same.
    let same = |a: &Row<'_>, b: &Row<'_>| {
        let alike = CaseAsk { driver: ask(a).driver.clone(), ..ask(b).clone() };
        a.kind == b.kind && a.cache == b.cache && alike == *ask(a)
    };
    let lowest = rows.iter().filter(|r| ask(r).driver == DriverAsk::Raw);
    let line = |base: &Row<'_>| {
        let others = rows.iter().filter(|r| r.case != base.case && same(base, r));
        let shares: Vec<String> = others
            .map(|r| {
                let share = r.of_ceiling.unwrap_or_default() * 100.0;
                format!("{} {share:.0} %", report.cases[r.case].driver_name())
            })
            .collect();
        let state = base.cache.map_or("", CacheAsk::told);
        let rate = bytes(base.io.summary.median as u64);
        let which = match report.cases[base.case].name.split_once(", ") {
            Some((_, circumstances)) => format!(" ({circumstances})"),
            None => String::new(),
        };
        format!(
            "layers, {}{state}{which}: plain system calls {rate}/s; of the ceiling reach {}",
            base.kind.name(),
            shares.join(", ")
        )
    };
    lowest.map(line).collect()
}

/// Every row against that of the first case, and how sure that is.
fn comparisons(report: &IoReport, rows: &[Row<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for base in rows.iter().filter(|r| r.case == 0) {
        for other in rows.iter().filter(|r| r.case != 0 && r.kind == base.kind && r.cache == base.cache) {
            // Both in the same way.
            let whole = is_left_for_closing(report, base) || is_left_for_closing(report, other);
            let rates = |r: &Row<'_>| if whole { r.total.all.clone() } else { r.io.all.clone() };
            let (ours, theirs) = (rates(base), rates(other));
            let Some((ratio, interval)) = ratio_of_medians(&ours, &theirs) else { continue };
            let (a, b) = (&report.cases[0].name, &report.cases[other.case].name);
            let (ratio, interval, word) = match ratio >= 1.0 {
                true => (ratio, interval, "faster"),
                false => (1.0 / ratio, interval.map(|(l, h)| (1.0 / h, 1.0 / l)), "slower"),
            };
            let sure = interval.map_or_else(String::new, |(l, h)| {
                format!(" [{l:.2}, {h:.2}]{}", if l <= 1.0 { ", which may be chance" } else { "" })
            });
            let state = base.cache.map_or("", CacheAsk::told);
            // Fewer than three of each say nothing, however they lie.
            let p = interval.and_then(|_| chance(&ours, &theirs));
            let p = p.map_or_else(String::new, |p| format!(" ({})", chance_text(p)));
            let whole = if whole { ", with open and close" } else { "" };
            lines.push(format!(
                "{}{state}{whole}: {a} is {ratio:.2}× {word} than {b}{sure}{p}",
                base.kind.name()
            ));
        }
    }
    lines
}

/// Times of single calls over all ranks and repetitions of a row, sorted.
pub fn call_seconds(row: &Row<'_>) -> Vec<f64> {
    let mut all: Vec<f64> =
        row.runs.iter().flat_map(|p| &p.ranks).flat_map(|r| &r.calls).map(|&s| f64::from(s)).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// When the first rank had done all of its calls, and when the last one: what others wait for. Clocks of several machines are not one.
fn tail(report: &IoReport, row: &Row<'_>) -> Option<String> {
    let ranks = report.geometry.ranks();
    if ranks < 2 || report.nodes > 1 {
        return None;
    }
    let ends = |p: &PhaseResult| -> Option<(f64, f64)> {
        let begin = p.ranks.iter().filter_map(|r| r.io.first()).map(|s| s.begin).reduce(f64::min)?;
        let done = || p.ranks.iter().filter_map(|r| r.io.last()).map(|s| s.end - begin);
        Some((done().reduce(f64::min)?, done().reduce(f64::max)?))
    };
    let all: Vec<(f64, f64)> = row.runs.iter().filter_map(|p| ends(p)).collect();
    let median =
        |of: &dyn Fn(&(f64, f64)) -> f64| Some(Summary::of(&all.iter().map(of).collect::<Vec<_>>())?.median);
    let (first, last) = (median(&|e| e.0)?, median(&|e| e.1)?);
    Some(format!(
        "{}, {}{}: the first of {ranks} ranks is done after {}, the last after {}: the others wait for {:.0} % of the time",
        report.cases[row.case].name,
        row.kind.name(),
        row.cache.map_or("", CacheAsk::told),
        seconds(first),
        seconds(last),
        median(&|e| (e.1 - e.0) / e.1.max(1e-12) * 100.0)?
    ))
}

/// What the processes of a row used, in the repetition with the median time.
fn used(report: &IoReport, row: &Row<'_>) -> Option<String> {
    let mut order: Vec<&&PhaseResult> = row.runs.iter().collect();
    order.sort_by(|a, b| a.total().total_cmp(&b.total()));
    let p = order.get(order.len() / 2)?;
    let u = Used::sum(p.ranks.iter().map(|r| &r.used));
    let peak = p.ranks.iter().map(|r| r.peak_memory).max()?;
    let state = row.cache.map_or("", |c| match c {
        CacheAsk::Warm => " warm",
        CacheAsk::Cold => " cold",
        CacheAsk::Any => "",
    });
    let first = p.split().into_iter().map(|(name, s)| format!("{} {}", name.replace('_', " "), seconds(s)));
    Some(format!(
        "{}, {}{state}: {}; {} user, {} system, {} resident at most; waited {} times, interrupted {} times; {} page faults, {} of them from storage; {} calls read {}, {} wrote {}",
        report.cases[row.case].name,
        row.kind.name(),
        first.collect::<Vec<_>>().join(", "),
        seconds(u.user),
        seconds(u.system),
        bytes(peak),
        u.waited,
        u.forced,
        u.faults + u.fetched,
        u.fetched,
        u.read_calls,
        bytes(u.read_bytes),
        u.write_calls,
        bytes(u.write_bytes),
    ))
}

fn latencies(report: &IoReport, row: &Row<'_>) -> Option<String> {
    let all = call_seconds(row);
    let at = |share| crate::stats::percentile(&all, share).map(seconds);
    if all.len() < 20 {
        return None;
    }
    let state = row.cache.map_or("", |c| match c {
        CacheAsk::Warm => " warm",
        CacheAsk::Cold => " cold",
        CacheAsk::Any => "",
    });
    Some(format!(
        "calls, {} {}{state}: half within {}, 90 % within {}, 99 % within {}, longest {}",
        report.cases[row.case].name,
        row.kind.name(),
        at(0.5)?,
        at(0.9)?,
        at(0.99)?,
        at(1.0)?,
    ))
}
