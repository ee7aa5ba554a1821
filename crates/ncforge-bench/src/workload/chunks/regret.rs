//! Where the chosen shape stands among all shapes, in measured time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ncforge::Hyperslab;
use ncforge::ops::sampling::sample;
use ncforge::tune::{Access, Coding, Grid, Machine, Pattern, Request, axes_of, choose};
use serde::Serialize;

use super::Variant;
use crate::cache;
use crate::driver::{Driver, VarInfo};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::stats::{Positions, Summary};

/// What to measure.
#[derive(Clone, Debug, Serialize)]
pub struct RegretOptions {
    /// The variable; the largest numeric one by default.
    pub var: Option<String>,
    /// The shapes to compare with.
    pub shapes: Vec<Vec<u64>>,
    /// Mixes of reads, as [`Access::parse`] reads them.
    pub mixes: Vec<String>,
    /// Level of deflate (with shuffle); 0: not compressed.
    pub deflate: u32,
    /// Reads of each kind from each file, each at another place.
    pub repetitions: usize,
    /// The machine that the choice is made for.
    #[serde(skip)]
    pub machine: Machine,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct RegretReport {
    /// The machine.
    pub environment: Environment,
    /// Name and version of the driver.
    pub driver: (String, String),
    /// Path of the variable.
    pub variable: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// What the choice knew of the data: stored bytes ÷ bytes of values, and the decoder's bytes a second.
    pub sampled: (f64, f64),
    /// One for each mix.
    pub mixes: Vec<MixRow>,
    /// Every shape and read.
    pub rows: Vec<ShapeRow>,
}

/// A mix of reads and the shape chosen for it.
#[derive(Clone, Debug, Serialize)]
pub struct MixRow {
    /// The mix.
    pub mix: String,
    /// The chosen shape.
    pub chosen: Vec<u64>,
    /// Its mean cost: weighted mean of the reads' times, each divided by the best that any shape gave it.
    pub cost: f64,
    /// The shape with the lowest measured mean cost …
    pub best: Vec<u64>,
    /// … and that cost.
    pub best_cost: f64,
    /// `cost / best_cost`: 1 is perfect.
    pub regret: f64,
    /// Place of the chosen shape among all, 1 is the first.
    pub place: usize,
    /// Seconds that choosing took.
    pub seconds: f64,
}

/// One shape and one kind of read.
#[derive(Clone, Debug, Serialize)]
pub struct ShapeRow {
    /// Chunk lengths.
    pub chunks: Vec<u64>,
    /// Bytes of the file.
    pub bytes: u64,
    /// The read.
    pub pattern: String,
    /// Measured seconds.
    pub measured: Summary,
    /// Predicted seconds.
    pub predicted: f64,
}

/// Writes the variable in every shape into `folder`, and in those that are chosen for the mixes, and reads.
pub fn run(
    driver: &dyn Driver,
    source: &Path,
    folder: &Path,
    options: &RegretOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<RegretReport> {
    if options.shapes.is_empty() || options.mixes.is_empty() || options.repetitions == 0 {
        return Err(Error::Invalid("regret needs a shape, a mix and at least one repetition".into()));
    }
    let var = crate::workload::access::largest(source, options.var.as_deref())?;
    let dataset = ncforge::Dataset::open(source)?;
    let id = dataset.var(&var.name)?;
    let axes = axes_of(dataset.schema(), id);
    let names: Vec<&str> = axes.iter().map(|a| a.name.as_str()).collect();

    let variant = |chunks: &[u64]| Variant {
        chunks: Some(chunks.to_vec()),
        deflate: options.deflate,
        shuffle: options.deflate > 0,
    };
    progress("sampling");
    let first = variant(&options.shapes[0]).write(source, &var.name, folder, "regret-0")?;
    let filters = Variant::filters(&first, &var.name)?;
    let coding = match sample(&dataset, id, &filters, 64 << 20)? {
        Some(s) => s.coding,
        None => Coding::none(),
    };

    let mut mixes = Vec::new();
    for text in &options.mixes {
        let accesses = Access::parse(text, &names)?;
        let request = Request {
            accesses: accesses.clone(),
            ..Request::new(&axes, var.size as u64, coding, &options.machine)
        };
        let begun = Instant::now();
        let chosen = choose(&request)?.chunks;
        let seconds = begun.elapsed().as_secs_f64();
        mixes.push(Mix { text: text.clone(), reads: Pattern::bind(&accesses, &axes), chosen, seconds });
    }
    let mut shapes = options.shapes.clone();
    for mix in &mixes {
        if !shapes.contains(&mix.chosen) {
            shapes.push(mix.chosen.clone());
        }
    }
    let mut patterns: Vec<Pattern> = Vec::new();
    for p in mixes.iter().flat_map(|m| &m.reads) {
        if !patterns.iter().any(|q| q.counts == p.counts) {
            patterns.push(p.clone());
        }
    }

    let mut files: Vec<(PathBuf, u64)> = vec![];
    for (i, chunks) in shapes.iter().enumerate() {
        progress(&format!("writing {} of {}", i + 1, shapes.len()));
        let path = match i {
            0 => first.clone(),
            _ => variant(chunks).write(source, &var.name, folder, &format!("regret-{i}"))?,
        };
        let bytes = std::fs::metadata(&path).map_err(|e| Error::io("measure", &path, e))?.len();
        files.push((path, bytes));
    }
    let times = measure(driver, &files, &var, &patterns, options.repetitions, progress)?;
    let lens: Vec<u64> = axes.iter().map(|a| a.len).collect();
    let mut rows = Vec::new();
    for (f, chunks) in shapes.iter().enumerate() {
        let grid = Grid { lens: &lens, chunk: Some(chunks), element: var.size as u64, coding };
        for (pattern, times) in patterns.iter().zip(&times) {
            rows.push(ShapeRow {
                chunks: chunks.clone(),
                bytes: files[f].1,
                pattern: pattern.name.clone(),
                measured: times[f],
                predicted: grid.read(pattern, &options.machine).seconds,
            });
        }
    }
    Ok(RegretReport {
        environment: Environment::capture(),
        driver: (driver.name().to_owned(), driver.version()),
        mixes: mixes.into_iter().map(|mix| mix.among(&shapes, &patterns, &times)).collect(),
        variable: var.name,
        shape: var.shape,
        sampled: (coding.fraction, coding.decode),
        rows,
    })
}

/// A mix of reads and what was chosen for it.
struct Mix {
    text: String,
    reads: Vec<Pattern>,
    chosen: Vec<u64>,
    seconds: f64,
}

impl Mix {
    /// Where the choice stands. `times` are those of `patterns` (outer) from `shapes` (inner).
    fn among(self, shapes: &[Vec<u64>], patterns: &[Pattern], times: &[Vec<Summary>]) -> MixRow {
        let weights: f64 = self.reads.iter().map(|p| p.weight).sum();
        let cost = |shape: usize| {
            let sum: f64 = self
                .reads
                .iter()
                .map(|read| {
                    let row = patterns
                        .iter()
                        .position(|p| p.counts == read.counts)
                        .map_or(&times[0], |i| &times[i]);
                    let best = row.iter().map(|s| s.median).fold(f64::INFINITY, f64::min);
                    read.weight * row[shape].median / best
                })
                .sum();
            sum / weights
        };
        let costs: Vec<f64> = (0..shapes.len()).map(cost).collect();
        let own = shapes.iter().position(|s| *s == self.chosen).unwrap_or(0);
        let best = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0);
        MixRow {
            cost: costs[own],
            best: shapes[best].clone(),
            best_cost: costs[best],
            regret: costs[own] / costs[best],
            place: 1 + costs.iter().filter(|c| **c < costs[own]).count(),
            mix: self.text,
            chosen: self.chosen,
            seconds: self.seconds,
        }
    }
}

/// Seconds of every pattern (outer) from every file (inner).
fn measure(
    driver: &dyn Driver,
    files: &[(PathBuf, u64)],
    var: &VarInfo,
    patterns: &[Pattern],
    repetitions: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Vec<Summary>>> {
    for (path, _) in files {
        cache::warm(path)?;
    }
    let mut seconds = vec![vec![Vec::new(); files.len()]; patterns.len()];
    let largest = patterns.iter().map(Pattern::len).max().unwrap_or(1) as usize * var.size;
    let mut out = vec![0u8; largest];
    for repetition in 0..repetitions {
        progress(&format!("round {} of {repetitions}", repetition + 1));
        for (p, pattern) in patterns.iter().enumerate() {
            let mut positions = Positions::new(1 + repetition as u64 * 1009);
            let start: Vec<u64> =
                var.shape.iter().zip(&pattern.counts).map(|(n, c)| positions.below(n - c + 1)).collect();
            let slab = Hyperslab::new(&start, &pattern.counts);
            let out = &mut out[..pattern.len() as usize * var.size];
            for (f, (path, _)) in files.iter().enumerate() {
                let mut session = driver.open(path)?;
                let begun = Instant::now();
                session.read(&var.name, &slab, out)?;
                seconds[p][f].push(begun.elapsed().as_secs_f64());
            }
        }
    }
    Ok(seconds
        .into_iter()
        .map(|row| row.iter().map(|s| Summary::of(s).expect("at least one repetition")).collect())
        .collect())
}
