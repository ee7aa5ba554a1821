//! The results: every repetition of every phase, with the times of all ranks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::audit::Audit;
use super::data::Verdict;
use super::geometry::Geometry;
use super::options::{CacheAsk, CaseAsk, IoOptions};
use crate::clock::Used;
use crate::environment::Environment;
use crate::result::{Measurement, undisturbed};

/// All that was measured, and where.
#[derive(Clone, Debug, Serialize)]
pub struct IoReport {
    /// The machine.
    #[serde(skip)]
    pub environment: Environment,
    /// The mechanism of the team of ranks.
    pub team: String,
    /// On how many machines they ran.
    pub nodes: usize,
    /// The request.
    pub options: IoOptions,
    /// The geometry that follows from it.
    pub geometry: Geometry,
    /// The compared cases.
    pub cases: Vec<CaseResult>,
    /// Every phase of every repetition, in the order in which they ran.
    pub phases: Vec<PhaseResult>,
    /// Notes for the reader: disturbances, too many ranks.
    pub notes: Vec<String>,
    /// The files that were written; they stay, for runs that read.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
}

/// One of the things that were compared.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// A short name that no other case has.
    pub name: String,
    /// The request.
    pub ask: CaseAsk,
    /// The library, by the name that it gives itself.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// Chunk lengths asked for, if any.
    pub chunks: Option<Vec<u64>>,
    /// The contents of the file, as read back after the first write.
    pub audit: Option<Audit>,
}

/// The operation on the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// A file is created, and the array written.
    Write,
    /// The array is read.
    Read,
}

impl PhaseKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PhaseKind::Write => "write",
            PhaseKind::Read => "read",
        }
    }
}

/// Begin and end, in seconds of the machine's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Its beginning.
    pub begin: f64,
    /// Its end.
    pub end: f64,
}

impl Span {
    /// Seconds between.
    pub fn seconds(&self) -> f64 {
        self.end - self.begin
    }
}

/// One rank in one phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankPhase {
    /// Creating or opening, with all definitions.
    pub open: Span,
    /// Stretches of calls with nothing between them. Values are made, and checked, between the stretches.
    pub io: Vec<Span>,
    /// Closing.
    pub close: Span,
    /// Seconds of single calls, at most a few thousand of them, evenly chosen.
    pub calls: Vec<f32>,
    /// Bytes of values moved.
    pub bytes: u64,
    /// Processor time and such from opening to closing, without making and checking values.
    pub used: Used,
    /// Steps of opening, where the driver does these separately, with their seconds.
    pub steps: Vec<(String, f64)>,
    /// Largest resident memory of the process in this phase, in bytes; the benchmark's own buffers are in it.
    pub peak_memory: u64,
    /// Bytes that the process fetched from storage.
    pub from_storage: Option<u64>,
}

impl RankPhase {
    /// Seconds in calls.
    pub fn io_seconds(&self) -> f64 {
        self.io.iter().map(Span::seconds).sum()
    }

    /// Seconds of opening, calls and closing.
    pub fn total(&self) -> f64 {
        self.open.seconds() + self.io_seconds() + self.close.seconds()
    }
}

/// One phase of one repetition, of all ranks.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseResult {
    /// Position in [`IoReport::cases`].
    pub case: usize,
    /// Writing or reading.
    pub kind: PhaseKind,
    /// The state of the page cache that was asked for; `None` for writes.
    pub cache_asked: Option<CacheAsk>,
    /// Bytes of values moved by all ranks.
    pub bytes: u64,
    /// Times and such of all ranks together.
    pub measurement: Measurement,
    /// Between the first rank's start and the last rank's, the largest of all stretches: how far ranks stood apart.
    pub skew: f64,
    /// The ranks.
    pub ranks: Vec<RankPhase>,
    /// The result of the check of the values.
    pub verdict: Option<Verdict>,
}

impl PhaseResult {
    /// Times of single calls of all ranks, sorted.
    pub(crate) fn call_seconds<'p>(phases: impl IntoIterator<Item = &'p PhaseResult>) -> Vec<f64> {
        let ranks = phases.into_iter().flat_map(|p| &p.ranks);
        let mut all: Vec<f64> = ranks.flat_map(|r| &r.calls).map(|&s| f64::from(s)).collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

impl IoReport {
    /// All rows of a table (a case, writing or reading in a state of the cache), in the order of the cases, each with all its repetitions.
    pub(crate) fn rows(&self) -> Vec<Vec<&PhaseResult>> {
        let mut rows: Vec<Vec<&PhaseResult>> = Vec::new();
        let of_case = |case| self.phases.iter().filter(move |p| p.case == case);
        for phase in (0..self.cases.len()).flat_map(of_case) {
            let same = |p: &PhaseResult| {
                (p.case, p.kind, p.cache_asked) == (phase.case, phase.kind, phase.cache_asked)
            };
            match rows.iter_mut().find(|row| same(row[0])) {
                Some(row) => row.push(phase),
                None => rows.push(vec![phase]),
            }
        }
        rows
    }

    /// The repetitions of a row that count, by their time.
    pub(crate) fn counted<'p>(row: &[&'p PhaseResult]) -> Vec<&'p PhaseResult> {
        let mut counted = undisturbed(row.to_vec(), |p| p.measurement.disturbed);
        counted.sort_by(|a, b| a.measurement.total().total_cmp(&b.measurement.total()));
        counted
    }

    /// The first failed check, if any.
    pub fn wrong(&self) -> Option<(&CaseResult, &PhaseResult, &Verdict)> {
        self.phases.iter().find_map(|p| {
            let v = p.verdict.as_ref().filter(|v| v.wrong > 0)?;
            Some((&self.cases[p.case], p, v))
        })
    }
}
