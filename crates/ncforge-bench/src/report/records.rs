//! Reports of the workload `records`.

use std::fmt::Write;

use super::{aligned, bytes, finished, seconds};
use crate::environment::Environment;
use crate::workload::records::{Times, network, station};

/// What stands in a row of either part.
struct Line {
    test: &'static str,
    stored: String,
    driver: String,
    version: String,
    bytes: u64,
    times: Times,
    of_classic: Option<f64>,
    same: Option<bool>,
}

impl Line {
    fn cells(&self, classic: Option<u64>) -> Option<Vec<String>> {
        let wall = self.times.summary()?;
        let dash = || "-".to_owned();
        Some(vec![
            self.stored.clone(),
            self.driver.clone(),
            bytes(self.bytes),
            classic.map_or_else(dash, |c| format!("{:.2}", c as f64 / self.bytes.max(1) as f64)),
            seconds(wall.median),
            format!("{} … {}", seconds(wall.min), seconds(wall.max)),
            seconds(self.times.user_mean()),
            seconds(self.times.system_mean()),
            self.of_classic.map_or_else(dash, |r| format!("{r:.2}")),
            self.same.map_or("-", |same| if same { "same" } else { "DIFFER" }).to_owned(),
        ])
    }
}

fn station_lines(report: &station::Report) -> Vec<Line> {
    let line = |r: &station::Row| Line {
        test: r.test.name(),
        stored: r.stored.to_string(),
        driver: r.driver.clone(),
        version: r.version.clone(),
        bytes: r.bytes,
        times: r.times.clone(),
        of_classic: r.of_classic,
        same: r.same_values,
    };
    report.rows.iter().map(line).collect()
}

fn network_lines(report: &network::Report) -> Vec<Line> {
    let line = |r: &network::Row| Line {
        test: r.step.name(),
        stored: r.stored.to_string(),
        driver: r.driver.clone(),
        version: r.version.clone(),
        bytes: if r.step == network::Step::Update { r.bytes.1 } else { r.bytes.0 },
        times: r.times.clone(),
        of_classic: r.of_classic,
        same: r.same_values,
    };
    report.rows.iter().map(line).collect()
}

fn tables(lines: &[Line], out: &mut String) {
    const HEAD: [&str; 10] =
        ["stored as", "by", "bytes", "ratio", "wall", "min … max", "user", "system", "× classic", "values"];
    let classic = lines.iter().find(|l| l.stored == "classic").map(|l| l.bytes);
    for of_test in lines.chunk_by(|a, b| a.test == b.test) {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(of_test.iter().filter_map(|l| l.cells(classic)));
        let _ = writeln!(out, "{}:\n{}", of_test[0].test, aligned(&rows, 2));
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
    tables(&station_lines(report), &mut out);
    machine(&report.environment, o.repetitions, &mut out);
    out
}

/// The tables for the network of stations.
pub fn network_table(report: &network::Report) -> String {
    let o = &report.options;
    let mut out = format!(
        "{} stations, {} years of days; update: {} values of each; read: all years of 3 variables of {} stations\n\n",
        o.stations, o.years, o.corrections, o.read
    );
    tables(&network_lines(report), &mut out);
    machine(&report.environment, o.repetitions, &mut out);
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
    let lines = station.map(|r| ("station", station_lines(r))).into_iter();
    let lines = lines.chain(network.map(|r| ("network", network_lines(r))));
    for (part, line) in lines.flat_map(|(part, lines)| lines.into_iter().map(move |l| (part, l))) {
        let Some(wall) = line.times.summary() else { continue };
        let second = |s: f64| format!("{s:.6}");
        let _ = w.write_record([
            part.to_owned(),
            line.test.to_owned(),
            line.stored,
            line.driver,
            line.version,
            line.bytes.to_string(),
            wall.repetitions.to_string(),
            second(wall.median),
            second(wall.min),
            second(wall.max),
            second(line.times.user_mean()),
            second(line.times.system_mean()),
            line.of_classic.map_or_else(String::new, |r| format!("{r:.3}")),
            line.same.map_or_else(String::new, |same| same.to_string()),
        ]);
    }
    finished(w)
}
