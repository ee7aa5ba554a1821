//! The workload `records` in the terms that all workloads share.

use serde::Serialize;

use super::classic_bytes;
use crate::report::seconds;
use crate::result::{Measurement, Row, Section};
use crate::stats::ratio_of_medians;
use crate::workload::records::{Report, Row as RecordsRow, Stored, Work, network, station};

/// The one file of many records as a section.
pub fn station_section(report: &station::Report) -> Section {
    let o = &report.options;
    let title = format!("Records: one file of {} records of {} variables", o.records, o.variables);
    let mut section = section("records-station", title, report);
    section.notes.push(format!(
        "random and sequential: {} records, {} variables, value by value; filling was timed once",
        o.reads, o.picked
    ));
    section
}

/// The network of stations as a section.
pub fn network_section(report: &network::Report) -> Section {
    let o = &report.options;
    let title = format!("Records: {} stations, {} years of days", o.stations, o.years);
    let mut section = section("records-network", title, report);
    section.notes.push(format!(
        "update: {} values of each file; read: all years of 3 variables of {} stations; creating, filling and updating were timed once",
        o.corrections, o.read
    ));
    section
}

fn section<O: Clone + Serialize, W: Work + Serialize>(
    workload: &str,
    title: String,
    report: &Report<O, W>,
) -> Section {
    let mut section = Section::new(workload, title);
    section.words = words(&report.rows);
    section.rows = report.rows.iter().map(row).collect();
    section.notes.push("the page cache is warm".to_owned());
    section.detail = serde_json::to_value(report).unwrap_or_default();
    section
}

fn row<W: Work>(r: &RecordsRow<W>) -> Row {
    let format = match r.stored {
        Stored::Classic => "classic",
        Stored::Packed { .. } => "packed",
        Stored::Netcdf4 { .. } => "netcdf4-classic",
    };
    let mut row = Row::new(format!("{}, {}", r.stored, r.driver), r.work.name(), 0)
        .with("engine", &r.driver)
        .with("format", format)
        .with("storage", r.stored)
        .with("pattern", r.work.name());
    row = match r.stored {
        Stored::Classic => row,
        Stored::Packed { block, codec } => row.with("block", block).with("codec", codec),
        Stored::Netcdf4 { chunk, codec } => row.with("chunk_shape", chunk).with("codec", codec),
    };
    row.engine.clone_from(&r.driver);
    row.version.clone_from(&r.version);
    row.stored = Some(r.bytes);
    let cpu = |rep: usize| Some(r.times.user.get(rep)? + r.times.system.get(rep)?);
    row.measurements = r
        .times
        .wall
        .iter()
        .enumerate()
        .map(|(rep, &s)| Measurement { rep, cpu: cpu(rep), right: r.same_values, ..Measurement::of(s) })
        .collect();
    row
}

/// The best packed way beside the plain classic file, for everything that was done.
fn words<W: Work>(rows: &[RecordsRow<W>]) -> Vec<String> {
    let mut out = Vec::new();
    let packed = |r: &&RecordsRow<W>| matches!(r.stored, Stored::Packed { .. });
    if let (Some(plain), Some(least)) =
        (classic_bytes(rows), rows.iter().filter(packed).min_by_key(|r| r.bytes))
    {
        out.push(format!(
            "packed at its smallest ({}) takes {:.2}× less room than plain classic files",
            least.stored,
            plain as f64 / least.bytes.max(1) as f64
        ));
    }
    for of_work in rows.chunk_by(|a, b| a.work == b.work) {
        let median = |r: &RecordsRow<W>| r.times.summary().map_or(f64::INFINITY, |s| s.median);
        let plain = of_work.iter().find(|r| r.stored == Stored::Classic);
        let best = of_work.iter().filter(packed).min_by(|a, b| median(a).total_cmp(&median(b)));
        let (Some(plain), Some(best)) = (plain, best) else { continue };
        let Some((ratio, interval)) = ratio_of_medians(&best.times.wall, &plain.times.wall) else { continue };
        let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
        out.push(format!(
            "{}: packed at its fastest ({}) takes {}, {ratio:.2}×{sure} the time of the plain classic file",
            best.work.name(),
            best.stored,
            seconds(median(best)),
        ));
    }
    out
}
