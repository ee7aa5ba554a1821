//! Tables of the workload `chunks`.

use std::fmt::Write;

use super::{aligned, bytes, finished, seconds};
use crate::workload::chunks::regret::RegretReport;
use crate::workload::chunks::sweep::{SweepReport, SweepRow};

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
        "{} of shape {:?}, read by {} {}; {shapes} chunk shapes; stored {:.2} of the values' bytes, decoded at {}/s",
        report.variable,
        report.shape,
        report.driver.0,
        report.driver.1,
        report.sampled.0,
        bytes(report.sampled.1.min(1e15) as u64),
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
    let mut regrets: Vec<f64> = report.mixes.iter().map(|m| m.regret).collect();
    regrets.sort_by(f64::total_cmp);
    let within =
        report.rows.iter().filter(|r| (r.predicted / r.measured.median).ln().abs() <= 1.3f64.ln()).count();
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

/// Every shape and read as CSV.
pub fn regret_csv(report: &RegretReport) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let _ = w.write_record([
        "driver",
        "chunks",
        "file_bytes",
        "read",
        "median_s",
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
            r.measured.median.to_string(),
            r.measured.min.to_string(),
            r.measured.max.to_string(),
            r.predicted.to_string(),
        ]);
    }
    finished(w)
}
