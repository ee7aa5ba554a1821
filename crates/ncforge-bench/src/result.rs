//! The result of every workload: a document of one kind, that is saved, compared, rendered, run again.
//!
//! A document ([`Results`]) has a section for each workload, a section has rows, a row is one thing that was done by one
//! of those that are compared, and has a measurement for every repetition. Workloads with more data have it in
//! [`Section::detail`], in their own words.
//!
//! ```
//! use ncforge_bench::result::{Measurement, Results, Row, Section};
//!
//! let mut row = Row::new("by hand", "write", 40_000_000);
//! row.measurements = [0.020, 0.021, 0.019].map(|s| Measurement::of(s)).to_vec();
//! assert_eq!(row.rate(), Some(2e9));
//! let results = Results::of(vec![Section { rows: vec![row], ..Section::new("example", "An example") }]);
//! let again = Results::parse(&results.to_json())?;
//! assert_eq!(again.sections[0].rows[0].summary().unwrap().median, 0.020);
//! # Ok::<(), ncforge_bench::Error>(())
//! ```

mod csv;
mod document;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cache::CacheState;
use crate::clock::Used;
use crate::environment::Environment;
use crate::noise::Noise;
use crate::stats::{Summary, distinct, median_interval};

pub use csv::{CSV_HEAD, results_csv};

/// Version of the layout of [`Results`] as JSON.
pub const SCHEMA: u32 = 2;
/// The value of [`Results::made_by`].
pub const MADE_BY: &str = "ncforge bench";

/// The fact of rows whose opening and closing count, because work is left for these: what is compressed may be written when the file is
/// closed.
pub const WHOLE: &str = "with_open_and_close";

/// All that was measured in one run, and where.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Version of this layout: [`SCHEMA`].
    pub schema: u32,
    /// The program that wrote the document: [`MADE_BY`].
    pub made_by: String,
    /// Seconds since 1970 at the end of the run.
    pub time: u64,
    /// The words of the command line, the program's name left out, where there was one: it can be run again.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// The workloads.
    pub sections: Vec<Section>,
}

/// One workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Section {
    /// Its name on the command line: "io", "chunks".
    pub workload: String,
    /// The heading.
    pub title: String,
    /// The findings, in sentences, the most important first.
    pub words: Vec<String>,
    /// The measurements.
    pub rows: Vec<Row>,
    /// The charts of the rows.
    pub views: Vec<View>,
    /// Notes for the reader: disturbances, too many ranks, a budget that ran out.
    pub notes: Vec<String>,
    /// Everything, in the workload's own words.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub detail: serde_json::Value,
}

/// One thing that was done by one of those that are compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The tool and its settings, so that no other row of the section with the same phase and state of the cache has this name.
    pub case: String,
    /// The operation: "write", "read", "series". Rows of a phase can be set against one another.
    pub phase: String,
    /// The library.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Further facts about the row, by the names of the CSV's columns where they have one ("ranks", "chunk_shape").
    pub facts: BTreeMap<String, String>,
    /// Bytes of values moved in a repetition; 0 where seconds say more than a rate.
    pub bytes: u64,
    /// Bytes of the files, where they say something.
    pub stored: Option<u64>,
    /// Every repetition, the disturbed ones included.
    pub measurements: Vec<Measurement>,
    /// Part of the ceiling that was reached: the rate against that of plain system calls.
    pub of_ceiling: Option<f64>,
    /// The published measurement of somebody else.
    pub published: Option<PublishedFigure>,
    /// Seconds of single calls, sorted: all, or evenly chosen ones.
    pub calls: Vec<f32>,
    /// The work of every rank in one repetition.
    pub lanes: Vec<Lane>,
    /// More about the row, in sentences, which tables in text print below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// One repetition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Measurement {
    /// Its number, from 0.
    pub rep: usize,
    /// The seconds that count, from the first rank's start to the last one's end.
    pub seconds: f64,
    /// Something else used the machine meanwhile.
    pub disturbed: bool,
    /// The state of the page cache, as it was found and proven.
    pub cache: Option<CacheState>,
    /// Seconds of opening or creating, where that is apart.
    pub open: Option<f64>,
    /// Seconds until the file was on disk, where that was waited for.
    pub sync: Option<f64>,
    /// Seconds of closing.
    pub close: Option<f64>,
    /// Bytes fetched from storage.
    pub from_storage: Option<u64>,
    /// Bytes of the files after this repetition.
    pub stored: Option<u64>,
    /// Seconds of the ranks: the fastest, the middle, the slowest.
    pub ranks: Option<(f64, f64, f64)>,
    /// Seconds of a call: half, and 99 % are faster.
    pub calls: Option<(f64, f64)>,
    /// Processor seconds of all ranks, user and system.
    pub cpu: Option<f64>,
    /// Processor time, context switches and page faults of all ranks.
    pub used: Option<Used>,
    /// Seconds of everything that was timed apart, by name, where that is known: `create`, `define`, `enddef`, `open`, `inquire`,
    /// `first_call` (a part of `io`), `io`, `sync`, `close`.
    pub split: Vec<(String, f64)>,
    /// Largest resident memory of a rank in bytes.
    pub memory: Option<u64>,
    /// Disturbances.
    pub noise: Noise,
    /// Whether the values were right, where that was checked.
    pub right: Option<bool>,
}

/// A published figure, and ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// The publication: "NOCSCOMBINE on HECToR, table 9".
    pub source: String,
    /// The figure.
    pub value: f64,
    /// Ours, in the same unit.
    pub ours: f64,
    /// The unit: "s", "Mfloats/s".
    pub unit: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

impl PublishedFigure {
    /// Our figure over the published one: above 1, ours is better.
    pub fn ratio(&self) -> f64 {
        if self.more_is_better { self.ours / self.value } else { self.value / self.ours }
    }
}

/// The work of one rank in one repetition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lane {
    /// The rank.
    pub rank: usize,
    /// The operations, from when to when, in seconds from the repetition's start.
    pub spans: Vec<(String, f64, f64)>,
}

/// How rows are best seen, besides their table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum View {
    /// A map of times: one fact across, another downwards, for the rows of a phase that have both.
    Heat {
        /// The heading.
        title: String,
        /// Rows of this phase (of all, where it is empty) …
        phase: String,
        /// … that have these facts.
        only: BTreeMap<String, String>,
        /// The fact across.
        across: String,
        /// The fact downwards.
        down: String,
        /// Whether every column has shades of its own: what stands across is other work, not the same work done otherwise.
        #[serde(default)]
        columns: bool,
    },
    /// Cases by the times of two phases, with those that no other case beats in both.
    Front {
        /// The heading.
        title: String,
        /// The phase across.
        across: String,
        /// The phase upwards.
        up: String,
        /// The case that was chosen, if one was.
        chosen: Option<String>,
        /// Rows that have these facts.
        only: BTreeMap<String, String>,
    },
    /// Times over a fact that is a number: ranks, sizes.
    Scaling {
        /// The heading.
        title: String,
        /// The label of the rows.
        phase: String,
        /// The fact. Rows with the same fact `series` make a line.
        over: String,
    },
}

impl Measurement {
    /// A repetition of which nothing is known but its time.
    pub fn of(seconds: f64) -> Self {
        Measurement { seconds, ..Measurement::default() }
    }

    /// Seconds with opening and closing.
    pub fn total(&self) -> f64 {
        self.open.unwrap_or(0.0) + self.seconds + self.close.unwrap_or(0.0)
    }
}

/// The repetitions that count: the undisturbed ones where at least three are there (or all are undisturbed), else all.
pub(crate) fn undisturbed<T: Copy>(all: Vec<T>, is_disturbed: impl Fn(T) -> bool) -> Vec<T> {
    let quiet: Vec<T> = all.iter().copied().filter(|&m| !is_disturbed(m)).collect();
    if quiet.len() >= 3.min(all.len()) { quiet } else { all }
}

impl Row {
    /// A row without measurements.
    pub fn new(case: impl Into<String>, phase: impl Into<String>, bytes: u64) -> Self {
        Row { case: case.into(), phase: phase.into(), bytes, ..Row::default() }
    }

    /// The row with a further fact.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "numbers, names and references alike")]
    pub fn with(mut self, fact: &str, value: impl ToString) -> Self {
        self.facts.insert(fact.to_owned(), value.to_string());
        self
    }

    /// The repetitions that count.
    pub fn counted(&self) -> Vec<&Measurement> {
        undisturbed(self.measurements.iter().collect(), |m| m.disturbed)
    }

    /// Seconds of the repetitions that count: with opening and closing where the row says so ([`WHOLE`]).
    pub fn seconds(&self) -> Vec<f64> {
        let of = |m: &&Measurement| if self.is_whole() { m.total() } else { m.seconds };
        self.counted().iter().map(of).collect()
    }

    /// Whether opening and closing count.
    pub fn is_whole(&self) -> bool {
        self.facts.contains_key(WHOLE)
    }

    /// Their minimum, median, maximum.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.seconds())
    }

    /// The 95 % interval of the median, in seconds.
    pub fn interval(&self) -> Option<(f64, f64)> {
        median_interval(&self.seconds())
    }

    /// Bytes a second at the median.
    pub fn rate(&self) -> Option<f64> {
        let s = self.summary()?;
        (self.bytes > 0).then(|| self.bytes as f64 / s.median.max(1e-12))
    }

    /// The cache's state over all repetitions that count: that of the least proven.
    pub fn cache(&self) -> Option<CacheState> {
        let percent = |c: &CacheState| c.percent.unwrap_or(f64::INFINITY);
        let all = self.counted().into_iter().filter_map(|m| m.cache.clone());
        all.min_by(|a, b| percent(a).total_cmp(&percent(b)))
    }

    /// Whether all checks of values were passed; `None`: none was made.
    pub fn right(&self) -> Option<bool> {
        self.measurements.iter().filter_map(|m| m.right).reduce(|a, b| a && b)
    }

    /// The identity of the row in all runs: case, phase, and the state of the cache without its proof.
    pub fn key(&self) -> (String, String, String) {
        let cache = self.facts.get("cache").cloned().unwrap_or_default();
        (self.case.clone(), self.phase.clone(), cache)
    }

    /// The phase with the state of the cache, as a label: "read cold".
    pub fn label(&self) -> String {
        match self.facts.get("cache").filter(|c| *c != "any") {
            Some(cache) => format!("{} {cache}", self.phase),
            None => self.phase.clone(),
        }
    }
}

impl Section {
    /// An empty section.
    pub fn new(workload: &str, title: impl Into<String>) -> Self {
        Section { workload: workload.to_owned(), title: title.into(), ..Section::default() }
    }

    /// Whether a value was wrong somewhere.
    pub fn is_wrong(&self) -> bool {
        self.rows.iter().any(|r| r.right() == Some(false))
    }

    /// The labels of the phases, in the order of the rows.
    pub fn labels(&self) -> Vec<String> {
        distinct(self.rows.iter().map(Row::label))
    }

    /// The rows of a phase by its label.
    pub fn labelled(&self, label: &str) -> Vec<&Row> {
        self.rows.iter().filter(|r| r.label() == label).collect()
    }
}
