//! The plan of a run: the matrix of cases, bytes, memory, space, and about how long it takes.
//!
//! The time follows from what is known without touching a file: rates of the page cache and of the disk that `ncforge tune calibrate` has
//! measured (or those of a usual machine), the time to make values, and that of the codecs, both measured in memory for a moment.
//! It is about right where one of these binds, and too short where a library does.

use std::fmt::Write;

use ncforge::codec::CodecChain;
use ncforge_tune::{Calibration, Machine};

use super::data::{Content, Values};
use super::geometry::Geometry;
use super::lengths::written;
use super::names::{matrix, names};
use super::options::{CacheAsk, CaseAsk, IoOptions};
use super::phase::HELD;
use super::prepare::{free_space, invalid, spec, values};
use super::sample::{Sample, sample_type};
use crate::clock;
use crate::driver::Coding;
use crate::environment::processors;
use crate::error::Result;
use ncforge::Hyperslab;

/// Cases that are listed one by one.
const LISTED: usize = 60;
/// Bytes a second into the page cache, and onto a disk, where nobody knows better.
const WRITE: f64 = 1e9;
const DISK: f64 = 0.4e9;
/// Seconds of a case in a round besides its bytes: creating, opening, closing, looking at caches and at the machine.
const AROUND: f64 = 0.01;
/// Bytes with which rates are measured.
const MOMENT: usize = 1 << 20;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The plan in words, a line each.
    pub text: String,
    /// Rows of the result: cases times what is done with each.
    pub cells: usize,
    /// About how many seconds it takes.
    pub seconds: f64,
}

/// The plan of a run, in words, after all checks that need no ranks: geometry, files, memory, space. Parallel libraries are
/// checked by the ranks themselves.
///
/// # Errors
/// [`crate::Error::Invalid`] when something does not fit.
pub fn plan(options: &IoOptions, ranks: u64) -> Result<Plan> {
    let geometry = Geometry::resolve(&options.geometry, ranks, 1)?;
    for ask in &options.cases {
        if let Some(why) = spec(options, ask, &geometry)?.representable() {
            return invalid(why);
        }
    }
    if let Content::Sample { path, variable } = &options.content
        && sample_type(path, variable)? != options.dtype
    {
        // Says what does not fit.
        Sample::load(path, variable, options.dtype)?;
    }
    let size = crate::report::bytes;
    let value = options.dtype.size() as u64;
    let values_bytes = geometry.values().saturating_mul(value);
    let block = geometry.values_of_a_call().saturating_mul(value);
    let (data, names, all) = (written(&geometry.data), geometry.names.join(":"), size(values_bytes));
    let mut out = format!("data     {data} ({names}), {all}\n");
    let _ = writeln!(out, "ranks    {ranks} as {}", written(&geometry.grid));
    let (shape, calls) = (written(&geometry.block), geometry.calls());
    let _ = writeln!(out, "blocks   {shape}, {}, {calls} calls a rank", size(block));
    let held = (HELD / ranks.max(1)).max(block).min(values_bytes / ranks.max(1));
    let _ = writeln!(out, "memory   {} a rank for values", size(held));
    let cells = cells(options, &mut out);
    let rounds = options.warmup.saturating_add(options.repetitions);
    let cases = options.cases.len();
    let moved = |times: usize| {
        let times = rounds.saturating_mul(cases).saturating_mul(times);
        size(values_bytes.saturating_mul(times as u64))
    };
    let (written, read) = (moved(usize::from(options.write)), moved(reads(options)));
    let (s, most) = (if cases == 1 { "" } else { "s" }, if options.layers { "at most " } else { "" });
    let _ = writeln!(
        out,
        "work     {cases} case{s}, {rounds} rounds: {most}{written} written, {read} read in all"
    );
    let seconds = time(options, &geometry, values_bytes as f64, &mut out)?;
    if let Some(free) = free_space(&options.file) {
        let needed = size(values_bytes.saturating_mul(cases as u64));
        let _ = writeln!(out, "space    {needed} for files, {} free", size(free));
    }
    Ok(Plan { text: out, cells, seconds })
}

/// The number of reads of the array in a round.
fn reads(options: &IoOptions) -> usize {
    if options.read { options.caches.len() } else { 0 }
}

/// The matrix, where there is one.
fn cells(options: &IoOptions, out: &mut String) -> usize {
    let (cases, each) = (options.cases.len(), usize::from(options.write) + reads(options));
    let cells = cases * each;
    if cases > 1 {
        let (matrix, most) = (matrix(&options.cases), if options.layers { " at most" } else { "" });
        let _ = writeln!(out, "matrix   {matrix}: {cases} cases, {cells} cells{most}");
        let asks: Vec<_> = options.cases.iter().map(|a| (a, a.driver.title())).collect();
        for (number, name) in names(&asks).iter().enumerate().take(LISTED) {
            let _ = writeln!(out, "         {} {name}", number + 1);
        }
        if cases > LISTED {
            let _ = writeln!(out, "         … and {} more", cases - LISTED);
        }
    }
    cells
}

/// About how long it takes.
fn time(options: &IoOptions, geometry: &Geometry, bytes: f64, out: &mut String) -> Result<f64> {
    let rates = Rates::of(options, geometry)?;
    let round: f64 = options.cases.iter().map(|ask| rates.seconds(options, ask, geometry, bytes)).sum();
    let rounds = options.warmup.saturating_add(options.repetitions);
    let seconds = round * rounds as f64;
    let whose = match rates.measured {
        true => "of this machine",
        false => "of a usual machine (`ncforge tune calibrate` measures this one's)",
    };
    let [all, one] = [seconds, round].map(crate::report::seconds);
    let _ = writeln!(out, "time     about {all}, {one} a round, by rates {whose}");
    Ok(seconds)
}

/// Bytes a second.
struct Rates {
    make: f64,
    read: f64,
    cold: f64,
    disk: f64,
    codecs: Vec<(Coding, f64, f64)>,
    /// Whether somebody has measured the machine.
    measured: bool,
}

impl Rates {
    fn of(options: &IoOptions, geometry: &Geometry) -> Result<Rates> {
        let known = Calibration::load();
        let disk = known.and_then(|c| c.cold_bandwidth);
        let values = values(options, geometry)?;
        let mut buffer = vec![0; MOMENT];
        let make = making(&values, &mut buffer);
        let mut codecs: Vec<(Coding, f64, f64)> = Vec::new();
        for coding in options.cases.iter().filter(|c| !c.driver.is_plain()).map(|c| c.coding) {
            if coding.is_filtered() && !codecs.iter().any(|c| c.0 == coding) {
                let (encode, decode) = codec_rates(coding, &buffer, values.dtype.size())?;
                codecs.push((coding, encode, decode));
            }
        }
        Ok(Rates {
            make,
            read: known.map_or_else(Machine::default, |c| c.machine).bandwidth,
            cold: disk.unwrap_or(DISK),
            disk: disk.unwrap_or(DISK),
            codecs,
            measured: known.is_some(),
        })
    }

    /// The seconds of one case in one round.
    fn seconds(&self, options: &IoOptions, ask: &CaseAsk, geometry: &Geometry, bytes: f64) -> f64 {
        let cpus = geometry.ranks().min(processors() as u64).max(1) as f64;
        let codec = self.codecs.iter().find(|c| c.0 == ask.coding && !ask.driver.is_plain());
        // ncforge encodes on all processors.
        let (encode, decode) = codec.map_or((0.0, 0.0), |c| (bytes / c.1 / cpus, bytes / c.2 / cpus));
        let make = bytes / self.make / cpus;
        let mut all = AROUND;
        if options.write {
            let sync = if options.sync { bytes / self.disk } else { 0.0 };
            all += bytes / WRITE + encode + sync + make;
        }
        if options.read {
            for cache in &options.caches {
                let rate = if *cache == CacheAsk::Cold { self.cold } else { self.read };
                all += bytes / rate + decode + if options.verify { make } else { 0.0 };
            }
        }
        all
    }
}

/// Bytes of values that one thread encodes and decodes in a second, measured with values in one chunk.
fn codec_rates(coding: Coding, values: &[u8], size: usize) -> Result<(f64, f64)> {
    let chain = CodecChain::new(&coding.filters(size, values.len()), size)?;
    let mut buffer = vec![0; values.len()];
    let begun = clock::now();
    let (encoded, mask) = chain.encode(values)?;
    let between = clock::now();
    chain.decode(&encoded, mask, &mut buffer)?;
    let rate = |seconds: f64| values.len() as f64 / seconds.max(1e-9);
    Ok((rate(between - begun), rate(clock::now() - between)))
}

/// Bytes of values that one thread makes in a second; they are in `buffer` afterwards, as far as they go.
fn making(values: &Values, buffer: &mut [u8]) -> f64 {
    let size = values.dtype.size();
    let row = values.shape.last().copied().unwrap_or(1).clamp(1, (buffer.len() / size) as u64);
    let mut slab = Hyperslab::all(&values.shape);
    slab.count.iter_mut().for_each(|n| *n = (*n).min(1));
    if let Some(last) = slab.count.last_mut() {
        *last = row;
    }
    let line = row as usize * size;
    let (begun, mut made) = (clock::now(), 0);
    for part in buffer.chunks_exact_mut(line) {
        values.fill(&slab, 0, part);
        made += part.len();
    }
    made.max(1) as f64 / (clock::now() - begun).max(1e-9)
}
