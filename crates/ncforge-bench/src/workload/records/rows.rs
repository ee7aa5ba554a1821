//! What both parts are told, and what they give.

use std::path::PathBuf;

use serde::Serialize;

use super::{Stored, Times};
use crate::driver::Driver;
use crate::environment::Environment;

/// What holds for every part.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// How often all is read.
    pub repetitions: usize,
    /// Where random numbers start.
    pub seed: u64,
    /// Threads of ncforge.
    pub threads: Option<usize>,
    /// Bytes of memory that ncforge may use.
    pub memory: Option<u64>,
    /// Where the files are made; a temporary folder by default.
    pub folder: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { repetitions: 5, seed: 1, threads: None, memory: None, folder: None }
    }
}

/// What can be done to files of records.
pub trait Work: Copy + PartialEq {
    /// Its name in tables.
    fn name(self) -> &'static str;
}

/// One piece of work on files that are stored in one way, by one library.
#[derive(Clone, Debug, Serialize)]
pub struct Row<W> {
    /// How the files are stored.
    pub stored: Stored,
    /// The library.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// Bytes of the filled files; of those that were corrected for that.
    pub bytes: u64,
    /// What was done.
    pub work: W,
    /// How long it took for all files.
    pub times: Times,
    /// Median wall time, divided by that of plain classic files and ncforge.
    pub of_classic: Option<f64>,
    /// Whether the files of the first way gave the same values, if any were read.
    pub same_values: Option<bool>,
}

impl<W> Row<W> {
    pub(super) fn new(stored: Stored, driver: &dyn Driver, bytes: u64, work: W, times: Times) -> Self {
        Row {
            stored,
            driver: driver.name().to_owned(),
            version: driver.version(),
            bytes,
            work,
            times,
            of_classic: None,
            same_values: None,
        }
    }
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report<O, W> {
    /// The machine.
    pub environment: Environment,
    /// What was asked.
    pub options: O,
    /// The measurements, work by work.
    pub rows: Vec<Row<W>>,
}

impl<O: Clone, W: Work> Report<O, W> {
    /// Sets every row against the plain classic files that `own` has read or written.
    pub(super) fn of(options: &O, own: &dyn Driver, mut rows: Vec<Row<W>>) -> Self {
        let median = |r: &Row<W>| r.times.summary().map(|s| s.median);
        let is_plain = |r: &&Row<W>| r.stored == Stored::Classic && r.driver == own.name();
        let plain: Vec<(W, f64)> =
            rows.iter().filter(is_plain).filter_map(|r| Some((r.work, median(r)?))).collect();
        for row in &mut rows {
            let classic = plain.iter().find(|p| p.0 == row.work).map(|p| p.1);
            row.of_classic = median(row).zip(classic).map(|(a, b)| a / b.max(1e-9));
        }
        Report { environment: Environment::capture(), options: options.clone(), rows }
    }

    /// Whether all that read the same values gave the same.
    pub fn is_right(&self) -> bool {
        self.rows.iter().all(|r| r.same_values != Some(false))
    }
}
