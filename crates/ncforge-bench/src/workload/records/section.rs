//! The options of both parts, how work is timed, and the section that their measurements become.

use std::path::PathBuf;

use serde::Serialize;

use super::Stored;
use crate::clock::{Used, now};
use crate::driver::Driver;
use crate::report::seconds;
use crate::result::{Measurement, Row, Section};
use crate::stats::ratio_of_medians;

/// The options of every part.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// The number of times that all is read.
    pub repetitions: usize,
    /// The seed of random numbers.
    pub seed: u64,
    /// Threads of ncforge.
    pub threads: Option<usize>,
    /// Bytes of memory that ncforge may use.
    pub memory: Option<u64>,
    /// The folder of the files; a temporary one by default.
    pub folder: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { repetitions: 5, seed: 1, threads: None, memory: None, folder: None }
    }
}

/// Runs `work` as one more repetition.
pub(super) fn measure<T, E>(
    times: &mut Vec<Measurement>,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let (before, start) = (Used::now(), now());
    let done = work()?;
    let (end, after) = (now(), Used::now());
    let mut used = Used::default();
    used.add(&before, &after);
    let cpu = Some(used.user + used.system);
    times.push(Measurement { rep: times.len(), cpu, used: Some(used), ..Measurement::of(end - start) });
    Ok(done)
}

/// Measures `work` as a further part of the one repetition that there is.
pub(super) fn measure_part<T, E>(
    times: &mut Vec<Measurement>,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let done = measure(times, work)?;
    if let [all, part] = &mut times[..] {
        all.seconds += part.seconds;
        all.cpu = all.cpu.zip(part.cpu).map(|(a, b)| a + b);
        all.used = all.used.zip(part.used).map(|(a, b)| Used::sum([a, b].iter()));
        times.truncate(1);
    }
    Ok(done)
}

/// One piece of work (`phase`) on files that are stored in one way, by one library. `bytes` are those of the filled files; of those that
/// were corrected for that. `right`: whether the values are those of the first way, if any were read.
pub(super) fn row(
    stored: Stored,
    driver: &dyn Driver,
    bytes: u64,
    phase: &str,
    times: &[Measurement],
    right: Option<bool>,
) -> Row {
    let engine = driver.name().to_owned();
    let row = Row::new(format!("{stored}, {engine}"), phase, 0)
        .with("engine", &engine)
        .with("format", stored.form())
        .with("storage", stored)
        .with("pattern", phase);
    let row = match stored {
        Stored::Classic => row,
        Stored::Zipped { block, codec } => row.with("block", block).with("codec", codec),
        Stored::Netcdf4 { chunk, codec } => row.with("chunk_shape", chunk).with("codec", codec),
    };
    let measurements = times.iter().map(|m| Measurement { right, ..m.clone() }).collect();
    Row { engine, version: driver.version(), stored: Some(bytes), measurements, ..row }
}

const CLASSIC: &str = "classic";
const ZIPPED: &str = "zipped";

fn has_format(row: &Row, format: &str) -> bool {
    row.facts.get("format").is_some_and(|f| f == format)
}

/// All rows as a section, every one set against the plain classic files that `own` has read or written.
pub(super) fn section<O: Serialize>(
    name: &str,
    title: String,
    options: &O,
    own: &dyn Driver,
    rows: Vec<Row>,
) -> Section {
    let median = |r: &Row| r.summary().map_or(f64::INFINITY, |s| s.median);
    let mut section = Section { rows, ..Section::new(name, title) };
    let plain: Vec<Row> =
        section.rows.iter().filter(|r| has_format(r, CLASSIC) && r.engine == own.name()).cloned().collect();
    let classic = plain.first().and_then(|r| r.stored);
    for row in &mut section.rows {
        if let Some(plain) = plain.iter().find(|p| p.phase == row.phase) {
            row.facts.insert("of_classic".into(), format!("{:.3}", median(row) / median(plain).max(1e-9)));
        }
        if let Some((classic, stored)) = classic.zip(row.stored) {
            row.facts.insert("smaller".into(), format!("{:.2}", classic as f64 / stored.max(1) as f64));
        }
    }
    let zipped = |r: &&&Row| has_format(r, ZIPPED);
    let all: Vec<&Row> = section.rows.iter().collect();
    if let (Some(plain), Some(least)) = (classic, all.iter().filter(zipped).min_by_key(|r| r.stored)) {
        section.words.push(format!(
            "zipped at its smallest ({}) takes {:.2}× less space than plain classic files",
            least.facts["storage"],
            plain as f64 / least.stored.unwrap_or(1).max(1) as f64
        ));
    }
    // The best zipped way compared with the plain classic file, for everything that was done.
    for phase in section.labels() {
        let of_work = section.labelled(&phase);
        let plain = of_work.iter().find(|r| has_format(r, CLASSIC));
        let best = of_work.iter().filter(zipped).min_by(|a, b| median(a).total_cmp(&median(b)));
        let (Some(plain), Some(best)) = (plain, best) else { continue };
        let Some((ratio, interval)) = ratio_of_medians(&best.seconds(), &plain.seconds()) else { continue };
        let sure = interval.map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]"));
        section.words.push(format!(
            "{phase}: zipped at its fastest ({}) takes {}, {ratio:.2}×{sure} the time of the plain classic file",
            best.facts["storage"],
            seconds(median(best)),
        ));
    }
    section.notes.push("the page cache is warm".to_owned());
    section.detail = serde_json::json!({ "options": options });
    section
}
