//! Tables of the workload `chunks`.

mod judged;
mod section;

use std::fmt::Write;

use super::{aligned, bytes, finished, seconds};
use crate::workload::chunks::regret::RegretReport;
use crate::workload::chunks::sweep::{SweepReport, SweepRow};

pub use judged::{regret_results, regret_section};
pub use section::{sweep_results, sweep_section};

/// The sweep, with the columns of the AR-5 studies: chunk lengths (0 for the classic file), cache in MB, deflate,
/// shuffle, microseconds for a slab and for a series.
pub fn sweep_table(report: &SweepReport) -> String {
    let mut out = String::new();
    for (d, (name, version)) in report.drivers.iter().enumerate() {
        let _ = writeln!(out, "{} of shape {:?}, read by {name} {version}", report.variable, report.shape);
        let mut rows = vec![header(report.shape.len())];
        rows.extend(report.rows.iter().filter(|r| r.driver == d).map(|r| cells(r, report.shape.len())));
        out.push_str(&aligned(&rows, 0));
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "medians of {} interleaved rounds; {} series, read {}; {}; {}",
        report.options.repetitions,
        report.options.series,
        if report.options.series_first { "first" } else { "after the slabs" },
        if report.options.cold { "files evicted from the page cache first" } else { "warm page cache" },
        super::machine(&report.environment),
    );
    out
}

fn header(rank: usize) -> Vec<String> {
    let mut row: Vec<String> = (0..rank).map(|d| format!("cs[{d}]")).collect();
    row.extend(
        ["cache(MB)", "deflate", "shuffle", "read_hor(us)", "read_time_ser(us)", "file", ""]
            .map(str::to_owned),
    );
    row
}

fn cells(r: &SweepRow, rank: usize) -> Vec<String> {
    let mut row: Vec<String> = match &r.variant.chunks {
        Some(c) => c.iter().map(u64::to_string).collect(),
        None => vec!["0".to_owned(); rank],
    };
    row.extend([
        r.cache.map_or_else(|| "own".to_owned(), |b| format!("{:.1}", b as f64 / 1e6)),
        r.variant.deflate.to_string(),
        u8::from(r.variant.shuffle).to_string(),
        format!("{:.0}", r.slab.median * 1e6),
        format!("{:.0}", r.series.median * 1e6),
        bytes(r.bytes),
        if r.same_values { String::new() } else { "VALUES DIFFER".to_owned() },
    ]);
    row
}

/// The sweep as CSV: the table's columns without units in words, and the driver.
pub fn sweep_csv(report: &SweepReport) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let rank = report.shape.len();
    let mut head: Vec<String> = vec!["driver".into(), "version".into()];
    head.extend((0..rank).map(|d| format!("cs{d}")));
    head.extend(
        ["cache_bytes", "deflate", "shuffle", "read_hor_us", "read_time_ser_us", "file_bytes", "same_values"]
            .map(str::to_owned),
    );
    let _ = w.write_record(&head);
    for r in &report.rows {
        let (name, version) = &report.drivers[r.driver];
        let mut row = vec![name.clone(), version.clone()];
        row.extend((0..rank).map(|d| r.variant.chunks.as_ref().map_or(0, |c| c[d]).to_string()));
        row.extend([
            r.cache.map_or_else(String::new, |b| b.to_string()),
            r.variant.deflate.to_string(),
            u8::from(r.variant.shuffle).to_string(),
            format!("{:.3}", r.slab.median * 1e6),
            format!("{:.3}", r.series.median * 1e6),
            r.bytes.to_string(),
            r.same_values.to_string(),
        ]);
        let _ = w.write_record(&row);
    }
    finished(w)
}

/// For every mix, the chosen shape among all.
pub fn regret_table(report: &RegretReport) -> String {
    let mut out = String::new();
    let shapes = report.rows.iter().map(|r| &r.chunks).collect::<std::collections::HashSet<_>>().len();
    let _ = writeln!(
        out,
        "{} of shape {:?}, read by {} {}; {shapes} chunk shapes; stored {:.2} of the values' bytes, decoded at {}/s{}",
        report.variable,
        report.shape,
        report.driver.0,
        report.driver.1,
        report.sampled.0,
        bytes(report.sampled.1.min(1e15) as u64),
        report
            .gain
            .map_or_else(String::new, |g| format!(" by one thread, each more adds {:.0} %", 100.0 * g)),
    );
    let list = |c: &[u64]| c.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let mut rows = vec![
        ["reads", "chosen", "cost", "best of all", "its cost", "regret", "place", "chosen in"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for m in &report.mixes {
        rows.push(vec![
            m.mix.clone(),
            list(&m.chosen),
            format!("{:.2}", m.cost),
            list(&m.best),
            format!("{:.2}", m.best_cost),
            format!("{:.2}", m.regret),
            format!("{} of {shapes}", m.place),
            seconds(m.seconds),
        ]);
    }
    out.push_str(&aligned(&rows, 2));
    out.push('\n');
    out.push_str(&today_table(report));
    let regrets = sorted(report.mixes.iter().map(|m| m.regret));
    let within = report.rows.iter().filter(|r| r.is_close()).count();
    let _ = writeln!(
        out,
        "\nregret: median {:.2}, worst {:.2}; predicted time within 30 % of the measured one for {:.0} % of {} reads; {}",
        regrets[regrets.len() / 2],
        regrets[regrets.len() - 1],
        within as f64 / report.rows.len().max(1) as f64 * 100.0,
        report.rows.len(),
        super::machine(&report.environment),
    );
    out
}

/// What other tools choose, beside what ncforge does: seconds of a series, of a map, and the mean of both.
pub fn today_table(report: &RegretReport) -> String {
    let list = |c: &[u64]| c.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let mut rows = vec![["chunks of", "shape", "series", "map", "mean"].map(str::to_owned).to_vec()];
    for t in &report.today {
        let times = [t.series, t.map, t.mean()].map(seconds);
        rows.push([vec![t.tool.clone(), list(&t.chunks)], times.to_vec()].concat());
    }
    if rows.len() == 1 { String::new() } else { aligned(&rows, 2) }
}

/// One line an array and reader, and all regrets together.
pub fn proof_table(reports: &[RegretReport]) -> String {
    let mut rows = vec![
        ["array", "shape", "read by", "shapes", "regret: median", "worst", "predicted within 30 %"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for r in reports {
        let regrets = sorted(r.mixes.iter().map(|m| m.regret));
        let shapes = r.rows.iter().map(|r| &r.chunks).collect::<std::collections::HashSet<_>>().len();
        let close = r.rows.iter().filter(|r| r.is_close()).count() as f64 / r.rows.len().max(1) as f64;
        rows.push(vec![
            r.source.clone(),
            r.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
            r.driver.0.clone(),
            shapes.to_string(),
            format!("{:.2}", regrets[regrets.len() / 2]),
            format!("{:.2}", regrets[regrets.len() - 1]),
            format!("{:.0} %", close * 100.0),
        ]);
    }
    let mut out = aligned(&rows, 3);
    let mut drivers: Vec<&str> = reports.iter().map(|r| r.driver.0.as_str()).collect();
    drivers.dedup();
    drivers.sort_unstable();
    drivers.dedup();
    for driver in drivers {
        let own = || reports.iter().filter(|r| r.driver.0 == driver);
        let regrets = sorted(own().flat_map(|r| r.mixes.iter().map(|m| m.regret)));
        let lines = own().flat_map(|r| &r.rows);
        let (close, all) = lines.fold((0, 0), |(c, n), r| (c + usize::from(r.is_close()), n + 1usize));
        let _ = writeln!(
            out,
            "\n{driver}, all together: regret median {:.2}, worst {:.2}; {:.0} % of {all} reads within 30 % of the prediction",
            regrets[regrets.len() / 2],
            regrets[regrets.len() - 1],
            close as f64 / all.max(1) as f64 * 100.0,
        );
    }
    out
}

fn sorted(list: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut list: Vec<f64> = list.collect();
    list.sort_by(f64::total_cmp);
    list
}

/// Every shape and read as CSV.
pub fn regret_csv(report: &RegretReport) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let _ = w.write_record([
        "driver",
        "chunks",
        "file_bytes",
        "read",
        "seconds",
        "min_s",
        "max_s",
        "predicted_s",
    ]);
    for r in &report.rows {
        let chunks: Vec<String> = r.chunks.iter().map(u64::to_string).collect();
        let _ = w.write_record([
            report.driver.0.clone(),
            chunks.join(" "),
            r.bytes.to_string(),
            r.pattern.clone(),
            r.seconds.to_string(),
            r.measured.min.to_string(),
            r.measured.max.to_string(),
            r.predicted.to_string(),
        ]);
    }
    finished(w)
}
