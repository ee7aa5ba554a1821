//! Reports of the workload `records`.

mod section;

use std::fmt::Write;

use super::{aligned, bytes, finished, seconds};
use crate::environment::Environment;
use crate::workload::records::{Row, Stored, Work, network, station};

pub use section::{network_section, station_section};

fn cells<W: Work>(row: &Row<W>, classic: Option<u64>) -> Option<Vec<String>> {
    let wall = row.times.summary()?;
    let dash = || "-".to_owned();
    Some(vec![
        row.stored.to_string(),
        row.driver.clone(),
        bytes(row.bytes),
        classic.map_or_else(dash, |c| format!("{:.2}", c as f64 / row.bytes.max(1) as f64)),
        seconds(wall.median),
        format!("{} … {}", seconds(wall.min), seconds(wall.max)),
        seconds(row.times.user_mean()),
        seconds(row.times.system_mean()),
        row.of_classic.map_or_else(dash, |r| format!("{r:.2}")),
        row.same_values.map_or("-", |same| if same { "same" } else { "DIFFER" }).to_owned(),
    ])
}

/// Bytes of the plain classic files.
fn classic_bytes<W>(rows: &[Row<W>]) -> Option<u64> {
    rows.iter().find(|r| r.stored == Stored::Classic).map(|r| r.bytes)
}

fn tables<W: Work>(rows: &[Row<W>], out: &mut String) {
    const HEAD: [&str; 10] =
        ["stored as", "by", "bytes", "ratio", "wall", "min … max", "user", "system", "× classic", "values"];
    let classic = classic_bytes(rows);
    for of_work in rows.chunk_by(|a, b| a.work == b.work) {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(of_work.iter().filter_map(|r| cells(r, classic)));
        let _ = writeln!(out, "{}:\n{}", of_work[0].work.name(), aligned(&rows, 2));
    }
}

fn machine(environment: &Environment, repetitions: usize, out: &mut String) {
    let _ = writeln!(
        out,
        "wall: median of {repetitions} rounds (filling and what is done to all stations: once), user and system: means; \
         page cache warm; {}",
        super::machine(environment)
    );
}

/// The tables for one file of many records.
pub fn station_table(report: &station::Report) -> String {
    let o = &report.options;
    let mut out = format!(
        "{} records of {} variables; random and sequential: {} records, {} variables, value by value\n\n",
        o.records, o.variables, o.reads, o.picked
    );
    tables(&report.rows, &mut out);
    machine(&report.environment, o.setup.repetitions, &mut out);
    out
}

/// The tables for the network of stations.
pub fn network_table(report: &network::Report) -> String {
    let o = &report.options;
    let mut out = format!(
        "{} stations, {} years of days; update: {} values of each; read: all years of 3 variables of {} stations\n\n",
        o.stations, o.years, o.corrections, o.read
    );
    tables(&report.rows, &mut out);
    machine(&report.environment, o.setup.repetitions, &mut out);
    out
}

/// Both parts as CSV, a row a measurement; `part` is `station` or `network`.
pub fn records_csv(station: Option<&station::Report>, network: Option<&network::Report>) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let _ = w.write_record([
        "part",
        "test",
        "stored",
        "driver",
        "version",
        "file_bytes",
        "repetitions",
        "wall_median_s",
        "wall_min_s",
        "wall_max_s",
        "user_mean_s",
        "system_mean_s",
        "of_classic",
        "same_values",
    ]);
    station.iter().for_each(|r| records(&mut w, "station", &r.rows));
    network.iter().for_each(|r| records(&mut w, "network", &r.rows));
    finished(w)
}

fn records<W: Work>(w: &mut csv::Writer<Vec<u8>>, part: &str, rows: &[Row<W>]) {
    for row in rows {
        let Some(wall) = row.times.summary() else { continue };
        let second = |s: f64| format!("{s:.6}");
        let _ = w.write_record([
            part.to_owned(),
            row.work.name().to_owned(),
            row.stored.to_string(),
            row.driver.clone(),
            row.version.clone(),
            row.bytes.to_string(),
            wall.repetitions.to_string(),
            second(wall.median),
            second(wall.min),
            second(wall.max),
            second(row.times.user_mean()),
            second(row.times.system_mean()),
            row.of_classic.map_or_else(String::new, |r| format!("{r:.3}")),
            row.same_values.map_or_else(String::new, |same| same.to_string()),
        ]);
    }
}
