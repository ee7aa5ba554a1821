//! What came out: every repetition of every phase, with the times of all ranks.

use serde::{Deserialize, Serialize};

use super::audit::Audit;
use super::data::Verdict;
use super::geometry::Geometry;
use super::options::{CacheAsk, CaseAsk, IoOptions};
use crate::cache::CacheState;
use crate::clock::Used;
use crate::environment::Environment;
use crate::noise::Noise;

/// Version of the layout of [`IoReport`] as JSON.
pub const SCHEMA: u32 = 2;

/// All that was measured, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IoReport {
    /// Version of this layout.
    pub schema: u32,
    /// What kind of report this is: "io".
    pub workload: String,
    /// The machine.
    pub environment: Environment,
    /// What held the ranks together.
    pub team: String,
    /// On how many machines they ran.
    pub nodes: usize,
    /// What was asked.
    pub options: IoOptions,
    /// The geometry that follows from it.
    pub geometry: Geometry,
    /// What was compared.
    pub cases: Vec<CaseResult>,
    /// Every phase of every repetition, in the order in which they ran.
    pub phases: Vec<PhaseResult>,
    /// What a reader should know: disturbances, too many ranks, a budget that ran out.
    pub notes: Vec<String>,
    /// Seconds since 1970 at the beginning.
    pub time: u64,
    /// What made this: the command line, where there was one.
    pub command: Option<String>,
}

/// One of the things that were compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    /// A short name that tells it from the others.
    pub name: String,
    /// What was asked.
    pub ask: CaseAsk,
    /// The library, by the name that it gives itself.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// Chunk lengths asked for, if any.
    pub chunks: Option<Vec<u64>>,
    /// What is in the file, as read back after the first write.
    pub audit: Option<Audit>,
}

impl CaseResult {
    /// The library's name without its folder.
    pub(crate) fn driver_name(&self) -> &str {
        self.driver.rsplit('/').next().unwrap_or_default()
    }
}

/// What is done with the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// When it began.
    pub begin: f64,
    /// When it ended.
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
    /// Processor seconds, user and system, from opening to closing, without making and checking values.
    pub cpu: f64,
    /// The same and more, apart.
    #[serde(default)]
    pub used: Used,
    /// Steps of opening, where the driver tells them apart, with their seconds.
    #[serde(default)]
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
}

/// One phase of one repetition, of all ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Position in [`IoReport::cases`].
    pub case: usize,
    /// Number of the repetition, from 0.
    pub repetition: usize,
    /// Writing or reading.
    pub kind: PhaseKind,
    /// The state of the page cache that was asked for; `None` for writes.
    pub cache_asked: Option<CacheAsk>,
    /// The state as it was found and proven.
    pub cache: CacheState,
    /// Bytes of values moved by all ranks.
    pub bytes: u64,
    /// Bytes of the files.
    pub stored: u64,
    /// Bytes fetched from storage by all ranks, where the system tells.
    pub from_storage: Option<u64>,
    /// Seconds from the first rank's start to the last rank's end of opening.
    pub open: f64,
    /// The same for the calls, the stretches added.
    pub io: f64,
    /// The same for closing.
    pub close: f64,
    /// Seconds until the file was on disk, where that was waited for.
    pub sync: Option<f64>,
    /// Between the first rank's start and the last rank's, the largest of all stretches: how far ranks stood apart.
    pub skew: f64,
    /// The ranks.
    pub ranks: Vec<RankPhase>,
    /// What the check of the values found.
    pub verdict: Option<Verdict>,
    /// What else went on on the machine.
    pub noise: Noise,
    /// Whether a disturbance was seen, so that the repetition was made again (or would have been, with more time).
    pub disturbed: bool,
}

impl PhaseResult {
    /// Bytes a second in the calls alone.
    pub fn rate_io(&self) -> f64 {
        self.bytes as f64 / self.io.max(1e-9)
    }

    /// Seconds of opening, calls and closing.
    pub fn total(&self) -> f64 {
        self.open + self.io + self.close
    }

    /// Seconds of everything that is timed apart, by name: the steps of opening (or `open`), the first call (a part of `io`), `io`,
    /// `sync`, `close`. Of the ranks, the slowest in each.
    pub fn split(&self) -> Vec<(String, f64)> {
        let mut out: Vec<(String, f64)> = Vec::new();
        let mut put = |name: &str, seconds: f64| match out.iter_mut().find(|s| s.0 == name) {
            Some(slot) => slot.1 = slot.1.max(seconds),
            None => out.push((name.to_owned(), seconds)),
        };
        for rank in &self.ranks {
            rank.steps.iter().for_each(|(name, seconds)| put(name, *seconds));
        }
        if self.ranks.iter().all(|r| r.steps.is_empty()) {
            put("open", self.open);
        }
        for first in self.ranks.iter().filter_map(|r| r.calls.first()) {
            put("first_call", f64::from(*first));
        }
        put("io", self.io);
        if let Some(sync) = self.sync {
            put("sync", sync);
        }
        put("close", self.close);
        out
    }

    /// Bytes a second with opening and closing.
    pub fn rate_total(&self) -> f64 {
        self.bytes as f64 / self.total().max(1e-9)
    }

    /// Bytes of values for each byte of the files.
    pub fn ratio(&self) -> Option<f64> {
        (self.stored > 0).then(|| self.bytes as f64 / self.stored as f64)
    }

    /// Bytes of the files a second, with opening and closing (what is compressed may be written when the file is closed).
    pub fn rate_stored(&self) -> Option<f64> {
        self.ratio().map(|_| self.stored as f64 / self.total().max(1e-9))
    }

    /// Bytes a second until the file was on disk.
    pub fn rate_synced(&self) -> Option<f64> {
        self.sync.map(|s| self.bytes as f64 / (self.total() + s).max(1e-9))
    }
}

impl IoReport {
    /// The repetitions of one row of a table: a case, a kind, a state of the cache. Disturbed ones are left out where
    /// at least three others are there.
    pub fn row(&self, case: usize, kind: PhaseKind, cache: Option<CacheAsk>) -> Vec<&PhaseResult> {
        let all: Vec<_> = self
            .phases
            .iter()
            .filter(|p| p.case == case && p.kind == kind && p.cache_asked == cache)
            .collect();
        let quiet: Vec<_> = all.iter().copied().filter(|p| !p.disturbed).collect();
        if quiet.len() >= 3.min(all.len()) { quiet } else { all }
    }

    /// All rows, in the order of the cases.
    pub fn rows(&self) -> Vec<(usize, PhaseKind, Option<CacheAsk>)> {
        let mut rows = Vec::new();
        for case in 0..self.cases.len() {
            for p in self.phases.iter().filter(|p| p.case == case) {
                let row = (case, p.kind, p.cache_asked);
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
        }
        rows
    }

    /// Several runs of the same as one, their repetitions one after the other. `None` when there are none.
    pub fn joined(runs: Vec<IoReport>) -> Option<IoReport> {
        runs.into_iter().reduce(|mut all, run| {
            let next = all.phases.iter().map(|p| p.repetition + 1).max().unwrap_or(0);
            let later = |p: PhaseResult| PhaseResult { repetition: p.repetition + next, ..p };
            all.phases.extend(run.phases.into_iter().map(later));
            all.options.repetitions = all.options.repetitions.saturating_add(run.options.repetitions);
            for (case, other) in all.cases.iter_mut().zip(run.cases) {
                case.audit = case.audit.take().or(other.audit);
            }
            for note in run.notes {
                if !all.notes.contains(&note) {
                    all.notes.push(note);
                }
            }
            all
        })
    }

    /// The first failed check, if any.
    pub fn wrong(&self) -> Option<(&CaseResult, &PhaseResult, &Verdict)> {
        self.phases.iter().find_map(|p| {
            let v = p.verdict.as_ref().filter(|v| v.wrong > 0)?;
            Some((&self.cases[p.case], p, v))
        })
    }
}
