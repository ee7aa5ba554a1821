//! Where the chosen shape stands among all shapes, in measured time.

use std::path::Path;
use std::time::Instant;

use ncforge::{Engine, EngineOptions};
use ncforge_ops::choosing::{Choosing, chunks_for};
use ncforge_ops::sampling::{sample, sample_chunk};
use ncforge_tune::{Access, Axis, CacheAdvice, Coding, Grid, Limits, Machine, Pattern, axes_of};
use serde::Serialize;

use super::measure::{Cell, Effort, Subject, measure, places};
use super::today::{Today, today};
use super::{Files, Variant};
use crate::driver::{Driver, VarInfo};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::stats::{Summary, distinct};

/// The mixes of reads that are measured where none are named.
pub const MIXES: [&str; 7] =
    ["series", "map", "full", "series,map", "series=9,map=1", "series=1,map=9", "box"];
/// The name of the driver whose engine the cost model is that of.
const OWN: &str = "ncforge";
/// Files are measured in groups that take this part of the machine's memory at most: all of a group must stay in the page cache
/// while they are read in turn.
const OF_MEMORY: u64 = 4;
/// Bytes of values that a sample may read.
const SAMPLE: u64 = 64 << 20;
/// The mix on which the shapes of other tools are compared.
pub const HALVES: &str = "series,map";

/// Options of the measurement.
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
    /// The repetitions of reads, and their places.
    pub effort: Effort,
    /// Bounds of the choice.
    #[serde(skip)]
    pub limits: Limits,
    /// The machine that the choice is made for, with as many threads as ncforge's driver has. For other readers it is
    /// [`Machine::netcdf_c`].
    #[serde(skip)]
    pub machine: Machine,
    /// The machine that times are predicted for. Choices are those that users get, whose machine may never have been measured; what is
    /// predicted for another machine than this one says nothing about the model.
    pub measured: Machine,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct RegretReport {
    /// The machine.
    pub environment: Environment,
    /// Name and version of the driver.
    pub driver: (String, String),
    /// The file that the values came from.
    pub source: String,
    /// Path of the variable.
    pub variable: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The result of a sample of the data: stored bytes ÷ bytes of values, and the decoder's bytes a second.
    pub sampled: (f64, f64),
    /// The speed that each further thread adds while such values are decoded, as a part of one thread's. `None`: there is one thread.
    pub gain: Option<f64>,
    /// One for each mix.
    pub mixes: Vec<MixRow>,
    /// The choices of other tools, and ours, for series and maps in equal parts.
    pub today: Vec<TodayRow>,
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
    /// Seconds that choosing took, with the sampling of the values.
    pub seconds: f64,
}

/// The shape that a tool gives an array without being asked.
#[derive(Clone, Debug, Serialize)]
pub struct TodayRow {
    /// The tool; "ncforge" for ours.
    pub tool: String,
    /// Its shape.
    pub chunks: Vec<u64>,
    /// Measured seconds of a series.
    pub series: f64,
    /// Measured seconds of a map.
    pub map: f64,
}

impl TodayRow {
    /// Mean seconds of a read, where half of the reads are series and half are maps.
    pub fn mean(&self) -> f64 {
        f64::midpoint(self.series, self.map)
    }
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
    /// Measured seconds: the mean over the places.
    pub seconds: f64,
    /// The places one by one (each the median of the rounds).
    pub measured: Summary,
    /// Predicted seconds for reads at these places.
    pub predicted: f64,
}

impl ShapeRow {
    /// Whether the prediction is within 30 % of what was measured.
    pub fn is_close(&self) -> bool {
        (self.predicted / self.seconds).ln().abs() <= 1.3f64.ln()
    }
}

/// The measurement once the choices are made: shapes, kinds of reads, mixes.
struct Prepared {
    source: String,
    var: VarInfo,
    axes: Vec<Axis>,
    /// The coding found in the data, rates included.
    coding: Coding,
    shapes: Vec<Vec<u64>>,
    /// The results of samples of such chunks.
    codings: Vec<Coding>,
    patterns: Vec<Pattern>,
    mixes: Vec<Mix>,
    today: Vec<Today>,
}

/// Writes the variable in every shape, and in those that are chosen for the mixes and the reader, and reads; one report
/// for every driver. Files that do not fit a quarter of the machine's memory together are written and measured in groups, one
/// after the other, and those that are done make space for others.
///
/// # Errors
/// When a mix means nothing, and as writing and reading.
pub fn run(
    drivers: &[&dyn Driver],
    source: &Path,
    files: &Files,
    options: &RegretOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<RegretReport>> {
    if options.shapes.is_empty() || options.mixes.is_empty() || options.effort.rounds == 0 {
        return Err(Error::bad_option("rounds", "regret needs a shape, a mix and at least one round"));
    }
    let mut reports = Vec::new();
    for driver in drivers {
        let own = driver.name() == OWN;
        let reader = |machine: Machine| if own { machine } else { machine.netcdf_c() };
        let prepared = prepare(source, options, reader(options.machine))?;
        let measured = prepared.measure(*driver, source, files, options, progress)?;
        reports.push(prepared.report(*driver, &measured, options, &reader(options.measured)));
    }
    Ok(reports)
}

/// The measurements of all shapes.
struct Measured {
    /// Bytes of their files.
    bytes: Vec<u64>,
    /// Cells of patterns (outer) from shapes (inner).
    cells: Vec<Vec<Cell>>,
}

/// The shape that ncforge chooses for a mix of reads of a variable.
///
/// # Errors
/// When the mix means nothing for it, and as reading a sample of its values.
pub fn chosen(
    source: &Path,
    var: Option<&str>,
    reads: &str,
    deflate: u32,
    machine: Machine,
) -> Result<Vec<u64>> {
    let options = RegretOptions {
        var: var.map(str::to_owned),
        shapes: vec![Vec::new()],
        mixes: vec![reads.to_owned()],
        deflate,
        effort: Effort { rounds: 1, places: 1, parts: 1 },
        limits: Limits::default(),
        machine,
        measured: machine,
    };
    let mut prepared = prepare(source, &options, machine)?;
    Ok(std::mem::take(&mut prepared.mixes[0].chosen))
}

fn variant(chunks: &[u64], options: &RegretOptions) -> Variant {
    Variant { chunks: Some(chunks.to_vec()), deflate: options.deflate, shuffle: options.deflate > 0 }
}

fn prepare(source: &Path, options: &RegretOptions, machine: Machine) -> Result<Prepared> {
    let var = crate::workload::access::largest(source, options.var.as_deref())?;
    // Its threads are those that will read: samples show what they are worth together.
    let threads = Some(options.measured.threads as usize);
    let dataset =
        ncforge::Dataset::open_with(source, &Engine::new(EngineOptions { threads, memory: None })?)?;
    let id = dataset.var(&var.name)?;
    let axes = axes_of(dataset.schema(), id);
    let names: Vec<&str> = axes.iter().map(|a| a.name.as_str()).collect();
    let filters = variant(&options.shapes[0], options).filters(var.size);
    let coding = sample(&dataset, id, &filters, SAMPLE)?.map_or_else(Coding::none, |s| s.coding);

    let mut mixes = Vec::new();
    for text in &options.mixes {
        let accesses = Access::parse(text, &names)?;
        let choosing = Choosing {
            accesses: accesses.clone(),
            machine,
            limits: options.limits,
            sample: true,
            expect: Vec::new(),
        };
        let begun = Instant::now();
        let choice = chunks_for(&dataset, id, Some(&filters), &choosing)?;
        let chosen =
            choice.ok_or_else(|| Error::Invalid(format!("`{}` cannot have chunks", var.name)))?.chunks;
        let seconds = begun.elapsed().as_secs_f64();
        mixes.push(Mix { text: text.clone(), reads: Pattern::bind(&accesses, &axes), chosen, seconds });
    }
    let mut today = Vec::new();
    if let Some(ours) = mixes.iter().find(|m| m.text == HALVES) {
        today.push(Today { tool: "ncforge", chunks: ours.chosen.clone() });
        let unlimited: Vec<bool> = axes.iter().map(|a| a.unlimited).collect();
        today.extend(self::today(&var.shape, &unlimited, var.size as u64));
    }
    let chosen = mixes.iter().map(|m| &m.chosen).chain(today.iter().map(|t| &t.chunks));
    let shapes = distinct(options.shapes.iter().chain(chosen).cloned());
    let mut patterns: Vec<Pattern> = Vec::new();
    for p in mixes.iter().flat_map(|m| &m.reads) {
        if !patterns.iter().any(|q| q.counts == p.counts) {
            patterns.push(p.clone());
        }
    }
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let sampled = |chunks: &Vec<u64>| {
        Ok(sample_chunk(&dataset, id, &filters, chunks, SAMPLE)?.map_or(coding, |s| s.coding))
    };
    let mut codings = shapes.iter().map(sampled).collect::<Result<Vec<_>>>()?;
    // It is two threads' time against one's, and uncertain by a tenth: what most shapes say is better than what each says of itself.
    let gains: Vec<f64> = codings.iter().filter_map(|c| c.gain).collect();
    let gain = Summary::of(&gains).map(|s| s.median);
    codings.iter_mut().for_each(|c| c.gain = gain);
    Ok(Prepared { source: stem, var, axes, coding, shapes, codings, patterns, mixes, today })
}

impl Prepared {
    /// Writes and reads all shapes, in groups that fit the page cache.
    fn measure(
        &self,
        driver: &dyn Driver,
        source: &Path,
        files: &Files,
        options: &RegretOptions,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Measured> {
        let budget =
            files.budget.or_else(|| Some(Environment::capture().memory? / OF_MEMORY)).unwrap_or(u64::MAX);
        let mut all = Measured { bytes: Vec::new(), cells: vec![Vec::new(); self.patterns.len()] };
        let (mut group, mut taken) = (Vec::new(), 0);
        for (i, chunks) in self.shapes.iter().enumerate() {
            progress(&format!("writing {} of {}", i + 1, self.shapes.len()));
            let path = files.variant(&variant(chunks, options), source, &self.var.name)?;
            let bytes = std::fs::metadata(&path).map_err(|e| Error::io("measure", &path, e))?.len();
            all.bytes.push(bytes);
            taken += bytes;
            group.push(Subject { path, cache: self.cache(driver, chunks) });
            let last = i + 1 == self.shapes.len();
            if !last && taken < budget {
                continue;
            }
            let cells = measure(driver, &group, &self.var, &self.patterns, options.effort, progress)?;
            all.cells.iter_mut().zip(cells).for_each(|(all, new)| all.extend(new));
            // All in one group may serve another driver.
            if group.len() < self.shapes.len() {
                group.iter().try_for_each(|subject| files.done(&subject.path))?;
            }
            (group, taken) = (Vec::new(), 0);
        }
        Ok(all)
    }

    fn report(
        &self,
        driver: &dyn Driver,
        measured: &Measured,
        options: &RegretOptions,
        machine: &Machine,
    ) -> RegretReport {
        let cells = &measured.cells;
        let lens: Vec<u64> = self.axes.iter().map(|a| a.len).collect();
        let mut rows = Vec::new();
        for (f, chunks) in self.shapes.iter().enumerate() {
            let coding = self.codings[f];
            let grid = Grid { lens: &lens, chunk: Some(chunks), element: self.var.size as u64, coding };
            for (pattern, cells) in self.patterns.iter().zip(cells) {
                let cell = &cells[f];
                let at = &places(pattern, &self.var.shape, options.effort)[..cell.places()];
                let predicted: f64 = at.iter().map(|s| grid.at(s, &pattern.counts, machine).seconds).sum();
                rows.push(ShapeRow {
                    chunks: chunks.clone(),
                    bytes: measured.bytes[f],
                    pattern: pattern.name.clone(),
                    seconds: cell.mean(),
                    measured: cell.summary(),
                    predicted: predicted / at.len() as f64,
                });
            }
        }
        RegretReport {
            environment: Environment::capture(),
            driver: (driver.name().to_owned(), driver.version()),
            mixes: self.mixes.iter().map(|mix| mix.among(self, cells)).collect(),
            today: self.today.iter().filter_map(|t| self.compared(t, cells)).collect(),
            source: self.source.clone(),
            variable: self.var.name.clone(),
            shape: self.var.shape.clone(),
            sampled: (self.coding.fraction, self.coding.decode),
            gain: self.codings.iter().find_map(|c| c.gain),
            rows,
        }
    }

    /// The chunk cache that is advised for a reader with a fixed one. `None`: its own.
    fn cache(&self, driver: &dyn Driver, chunks: &[u64]) -> Option<u64> {
        let advice = CacheAdvice::for_reads(&self.patterns, &self.var.shape, chunks, self.var.size as u64);
        advice.filter(|_| driver.name() != OWN).map(|a| a.size)
    }

    /// The times of a tool's shape.
    fn compared(&self, tool: &Today, cells: &[Vec<Cell>]) -> Option<TodayRow> {
        let mix = self.mixes.iter().find(|m| m.text == HALVES)?;
        let shape = self.shapes.iter().position(|s| *s == tool.chunks)?;
        let time = |name: &str| {
            let read = mix.reads.iter().find(|r| r.name == name)?;
            Some(cells[self.pattern(read)?][shape].mean())
        };
        Some(TodayRow {
            tool: tool.tool.to_owned(),
            chunks: tool.chunks.clone(),
            series: time("series")?,
            map: time("map")?,
        })
    }

    fn pattern(&self, read: &Pattern) -> Option<usize> {
        self.patterns.iter().position(|p| p.counts == read.counts)
    }
}

/// A mix of reads and what was chosen for it.
struct Mix {
    text: String,
    reads: Vec<Pattern>,
    chosen: Vec<u64>,
    seconds: f64,
}

impl Mix {
    /// The place of the choice. `cells` are those of patterns (outer) from shapes (inner).
    fn among(&self, all: &Prepared, cells: &[Vec<Cell>]) -> MixRow {
        let weights: f64 = self.reads.iter().map(|p| p.weight).sum();
        let cost = |shape: usize| {
            let sum: f64 = self
                .reads
                .iter()
                .filter_map(|read| {
                    let row = &cells[all.pattern(read)?];
                    let best = row.iter().map(Cell::mean).fold(f64::INFINITY, f64::min);
                    Some(read.weight * row[shape].mean() / best)
                })
                .sum();
            sum / weights
        };
        let costs: Vec<f64> = (0..all.shapes.len()).map(cost).collect();
        let own = all.shapes.iter().position(|s| *s == self.chosen).unwrap_or(0);
        let best = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0);
        MixRow {
            cost: costs[own],
            best: all.shapes[best].clone(),
            best_cost: costs[best],
            regret: costs[own] / costs[best],
            place: 1 + costs.iter().filter(|c| **c < costs[own]).count(),
            mix: self.text.clone(),
            chosen: self.chosen.clone(),
            seconds: self.seconds,
        }
    }
}
