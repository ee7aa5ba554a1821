//! Measures the rates that [`ncforge::tune`] predicts with: a few seconds on small files.
//!
//! Every rate comes from reads that differ in one thing: many small chunks and few large ones give the time of a
//! chunk, whole and half chunks that of keeping what was not asked for, long rows and single elements that of a row, one
//! thread and all of them the time until others help. Every time by a new engine, so that nothing is answered from
//! memory.
//!
//! The reads take turns, and each round gives a machine of its own: what differs was measured within a second, and a
//! disturbance of one round hits all of them. Of every rate the median of the rounds is kept.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ncforge::codec::filters;
use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::{Atomic, DimId, Dimension, GroupId, Storage, VarId, Variable};
use ncforge::ops::sampling::sample;
use ncforge::tune::{Calibration, Machine};
use ncforge::{CreateOptions, Dataset, DatasetMut, Format, Hyperslab, Schema};

use crate::cache;
use crate::error::{Error, Result};
use crate::stats::{Positions, Summary};

/// Shape of the measured variables: 8 MiB of floats.
const SHAPE: [u64; 3] = [512, 64, 64];
const BYTES: f64 = 8388608.0;
/// The same values in small chunks of 4 KiB …
const SMALL: [u64; 3] = [16, 8, 8];
/// … and in large ones of 256 KiB.
const LARGE: [u64; 3] = [64, 32, 32];
/// … and in tiny ones of 512 bytes, which make a long index.
const TINY: [u64; 3] = [8, 4, 4];
/// Shape of a result that no cache of a processor holds: 64 MiB of floats.
const LONG: [u64; 3] = [4096, 64, 64];
/// The same values in chunks with rows of 64 bytes …
const NARROW: [u64; 3] = [64, 64, 16];
/// … and with rows of 4 KiB.
const WIDE: [u64; 3] = [64, 16, 64];
/// Bytes of the plain file.
const PLAIN: usize = 64 << 20;
/// Rounds of all reads …
const ROUNDS: usize = 21;
/// … or as many, but at least so many, as take …
const LEAST: usize = 5;
/// … this long.
const BUDGET: Duration = Duration::from_secs(12);
/// More than the last cache of a processor.
const DISTURB: usize = 64 << 20;

/// Measures this machine with files in `folder`, which are removed again. `threads` as for an engine.
///
/// # Errors
/// When the files cannot be written or read.
pub fn calibrate(folder: &Path, threads: Option<usize>) -> Result<Calibration> {
    let io = |op, e| Error::io(op, folder, e);
    let dir = tempfile::Builder::new().prefix("ncforge-calibrate-").tempdir_in(folder);
    let dir = dir.map_err(|e| io("create a folder in", e))?;
    let plain = dir.path().join("plain");
    let mut random = Positions::new(5);
    let bytes: Vec<u8> = (0..PLAIN / 8).flat_map(|_| random.below(u64::MAX).to_ne_bytes()).collect();
    std::fs::write(&plain, bytes).map_err(|e| io("write into", e))?;
    // On the disk itself. Some file systems live in memory, some containers may not evict: then nothing is known.
    let evicted = cache::evict(&plain).is_ok() && cache::resident(&plain).is_ok_and(|share| share < 0.05);
    let cold = if evicted { Some(storage(&plain, 100)?) } else { None };

    let file = dir.path().join("chunks.nc");
    write(&file)?;
    cache::warm(&plain)?;
    cache::warm(&file)?;
    let dataset = Dataset::open(&file)?;
    let chain = [filters::shuffle(4), filters::deflate(1)];
    let helpers = Engine::new(EngineOptions { threads, memory: None })?.threads();
    let bench = Bench { path: &file, threads };
    let mut machines = Vec::with_capacity(ROUNDS);
    let begun = Instant::now();
    while machines.len() < LEAST || machines.len() < ROUNDS && begun.elapsed() < BUDGET {
        let (request, bandwidth) = storage(&plain, 500)?;
        let times = Times::of(&bench)?;
        // What the decoder alone takes is known from a sample; the engine's own part is in `deliver` and `chunk`.
        let sampled = sample(&dataset, LARGE_VAR, &chain, 64 << 20)?;
        let decoding = sampled.map(|s| chunks(&LARGE) * s.coding.seconds(BYTES / chunks(&LARGE)));
        let storage = Machine { request, bandwidth, in_flight: 1.0, ..Machine::default() };
        machines.push(times.machine(&storage, helpers, decoding));
    }
    Ok(Calibration::new(median(&machines), cold))
}

/// Chunks of this shape in a measured variable.
fn chunks(chunk: &[u64; 3]) -> f64 {
    SHAPE.iter().zip(chunk).map(|(n, c)| n / c).product::<u64>() as f64
}

/// Of every rate the median.
fn median(machines: &[Machine]) -> Machine {
    let of = |rate: fn(&Machine) -> f64| {
        let rates: Vec<f64> = machines.iter().map(rate).collect();
        Summary::of(&rates).expect("there are rounds").median
    };
    Machine {
        request: of(|m| m.request),
        in_flight: of(|m| m.in_flight),
        bandwidth: of(|m| m.bandwidth),
        read: of(|m| m.read),
        index: of(|m| m.index),
        chunk: of(|m| m.chunk),
        wake: of(|m| m.wake),
        threads: of(|m| m.threads),
        deliver: of(|m| m.deliver),
        row: of(|m| m.row),
        line: of(|m| m.line),
        keep: of(|m| m.keep),
        decoder: of(|m| m.decoder),
    }
}

/// Seconds of each read of a round; by one thread where nothing else is said.
struct Times {
    /// One element.
    point: f64,
    /// All of a variable, plain, and in chunks of three sizes.
    plain: f64,
    small: f64,
    large: f64,
    /// The first element of a variable whose index is not known yet.
    first_tiny: f64,
    first_large: f64,
    /// Every second map.
    half: f64,
    /// One element of every row.
    thin: f64,
    /// A result that no cache holds, from narrow and from wide chunks.
    narrow: f64,
    wide: f64,
    /// Eight chunks, by one thread and by all.
    alone: f64,
    together: f64,
}

impl Times {
    fn of(bench: &Bench<'_>) -> Result<Times> {
        let one = Bench { threads: Some(1), ..*bench };
        let whole = Hyperslab::all(&SHAPE);
        let corner = Hyperslab::new(&[0; 3], &[1; 3]);
        let thin = Hyperslab::new(&[0, 0, 5], &[SHAPE[0], SHAPE[1], 1]);
        let half = Hyperslab::strided(&[0, 0, 0], &[SHAPE[0] / 2, SHAPE[1], SHAPE[2]], &[2, 1, 1]);
        let few = Hyperslab::new(&[0, 0, 0], &[128, 64, 64]);
        let long = Hyperslab::all(&LONG);
        Ok(Times {
            point: one.time(PLAIN_VAR, &Hyperslab::new(&[100, 10, 10], &[1, 1, 1]))?,
            plain: one.time(PLAIN_VAR, &whole)?,
            small: one.time(SMALL_VAR, &whole)?,
            large: one.time(LARGE_VAR, &whole)?,
            first_tiny: one.time_first(TINY_VAR, &corner)?,
            first_large: one.time_first(LARGE_VAR, &corner)?,
            half: one.time(LARGE_VAR, &half)?,
            thin: one.time(LARGE_VAR, &thin)?,
            narrow: one.time(NARROW_VAR, &long)?,
            wide: one.time(WIDE_VAR, &long)?,
            alone: one.time(LARGE_VAR, &few)?,
            together: bench.time(LARGE_VAR, &few)?,
        })
    }

    /// The rates that one round shows. `decoding` is what the decoder alone needs for the large chunks, if known.
    fn machine(&self, storage: &Machine, threads: usize, decoding: Option<f64>) -> Machine {
        let (small, large) = (chunks(&SMALL), chunks(&LARGE));
        let read = (self.point - storage.request).max(1e-7);
        let deliver = BYTES / (self.plain - read - BYTES / storage.bandwidth).max(BYTES / 50e9);
        let index = (self.first_tiny - self.first_large) / (chunks(&TINY) - large);
        let chunk = ((self.small - self.large) / (small - large)).max(1e-7);
        let decoder = decoding.map_or(1.0, |alone| {
            let here = self.large - read - large * chunk - BYTES / deliver;
            (alone / here.max(BYTES / 20e9)).clamp(0.2, 2.0)
        });
        let keep = BYTES / (self.half - self.large + 0.5 * BYTES / deliver).max(BYTES / 50e9);
        // Only half of the chunks are met.
        let met = 0.5 * (self.large - BYTES / deliver) + 0.5 * BYTES / keep;
        let row = ((self.thin - met) / (SHAPE[0] * SHAPE[1]) as f64).clamp(0.2e-9, 100e-9);
        let narrow_rows = LONG.iter().product::<u64>() as f64 / NARROW[2] as f64;
        let line = (self.narrow - self.wide) / narrow_rows - row;
        let wake = if threads > 1 { self.together - self.alone / threads as f64 } else { 0.0 };
        Machine {
            read,
            index: index.clamp(1e-9, 1e-6),
            chunk,
            wake: if threads > 1 { wake.clamp(1e-6, 1e-3) } else { 0.0 },
            threads: threads as f64,
            deliver,
            row,
            line: line.clamp(1e-9, 200e-9),
            keep,
            decoder,
            ..*storage
        }
    }
}

const PLAIN_VAR: VarId = VarId(0);
const SMALL_VAR: VarId = VarId(1);
const LARGE_VAR: VarId = VarId(2);
const TINY_VAR: VarId = VarId(3);
const NARROW_VAR: VarId = VarId(4);
const WIDE_VAR: VarId = VarId(5);

/// Time of a small request, and bytes a second in large ones.
fn storage(path: &Path, requests: usize) -> Result<(f64, f64)> {
    let file = std::fs::File::open(path).map_err(|e| Error::io("open", path, e))?;
    let mut block = vec![0u8; 1 << 20];
    let mut positions = Positions::new(11);
    let mut seconds = Vec::with_capacity(requests);
    for _ in 0..requests {
        let at = positions.below((PLAIN >> 12) as u64) << 12;
        let begun = Instant::now();
        file.read_exact_at(&mut block[..4096], at).map_err(|e| Error::io("read", path, e))?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    let begun = Instant::now();
    for at in (0..PLAIN).step_by(block.len()) {
        file.read_exact_at(&mut block, at as u64).map_err(|e| Error::io("read", path, e))?;
    }
    let bandwidth = PLAIN as f64 / begun.elapsed().as_secs_f64();
    let median = Summary::of(&seconds).expect("some requests").median;
    Ok(((median - 4096.0 / bandwidth).max(0.2e-6), bandwidth))
}

/// One file with the same field several times: plain, in small chunks, in large ones …
fn write(path: &Path) -> Result<()> {
    let mut schema = Schema::new(Format::Netcdf4);
    for (name, len) in ["t", "y", "x"].into_iter().zip(SHAPE).chain([("long", LONG[0])]) {
        schema.dims.push(Dimension { name: name.into(), group: GroupId(0), len, unlimited: false });
    }
    let chain = vec![filters::shuffle(4), filters::deflate(1)];
    let vars = [
        ("plain", 0, None),
        ("small", 0, Some(SMALL)),
        ("large", 0, Some(LARGE)),
        ("tiny", 0, Some(TINY)),
        ("narrow", 3, Some(NARROW)),
        ("wide", 3, Some(WIDE)),
    ];
    for (name, first, chunks) in vars {
        let mut var = Variable::new(name, Atomic::Float, vec![DimId(first), DimId(1), DimId(2)]);
        if let Some(chunks) = chunks {
            var.storage = Storage::Chunked { chunks: chunks.to_vec(), filters: chain.clone() };
        }
        schema.vars.push(var);
    }
    // A smooth field with noise in its last digits.
    let mut random = Positions::new(3);
    let [_, ny, nx] = SHAPE;
    let values: Vec<u8> = (0..SHAPE.iter().product::<u64>())
        .flat_map(|i| {
            let (t, y, x) = (i / (ny * nx), i / nx % ny, i % nx);
            let smooth =
                280.0 + 15.0 * (t as f32 / 40.0 + y as f32 / 9.0).sin() + 8.0 * (x as f32 / 11.0).cos();
            (smooth + random.below(1000) as f32 * 2e-5).to_ne_bytes()
        })
        .collect();
    let mut file =
        DatasetMut::create(path, schema, CreateOptions { overwrite: true, ..CreateOptions::default() })?;
    for var in [PLAIN_VAR, SMALL_VAR, LARGE_VAR, TINY_VAR] {
        file.write_bytes(var, &Hyperslab::all(&SHAPE), &values)?;
    }
    for var in [NARROW_VAR, WIDE_VAR] {
        for part in 0..LONG[0] / SHAPE[0] {
            file.write_bytes(var, &Hyperslab::new(&[part * SHAPE[0], 0, 0], &SHAPE), &values)?;
        }
    }
    Ok(file.close()?)
}

struct Bench<'a> {
    path: &'a Path,
    threads: Option<usize>,
}

impl Bench<'_> {
    /// Seconds of a read into memory that was used before, of a variable whose index is known.
    fn time(&self, var: VarId, slab: &Hyperslab) -> Result<f64> {
        self.seconds(var, slab, true)
    }

    /// The same for the first read of a variable.
    fn time_first(&self, var: VarId, slab: &Hyperslab) -> Result<f64> {
        self.seconds(var, slab, false)
    }

    fn seconds(&self, var: VarId, slab: &Hyperslab, known: bool) -> Result<f64> {
        let mut out = vec![1u8; slab.len() as usize * 4];
        let engine = Engine::new(EngineOptions { threads: self.threads, memory: None })?;
        let dataset = Dataset::open_with(self.path, &engine)?;
        // The pool's threads start before the clock does.
        let other = if known { var } else { PLAIN_VAR };
        let mut one = [0u8; 4];
        dataset.read_bytes(other, &Hyperslab::new(&[511, 63, 63], &[1, 1, 1]), &mut one)?;
        engine.clear_cache();
        // A program's first read finds the processor's caches full of something else.
        disturb();
        let begun = Instant::now();
        dataset.read_bytes(var, slab, &mut out)?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Goes through more memory than the processor's caches hold.
fn disturb() {
    let other = vec![1u8; DISTURB];
    std::hint::black_box(other.iter().step_by(64).fold(0u64, |s, &b| s + u64::from(b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_plausible_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let c = calibrate(dir.path(), Some(2)).unwrap();
        let m = c.machine;
        assert!(m.request > 0.0 && m.request < 1.0 && m.bandwidth > 1e6, "{m:?}");
        assert!(m.chunk < 1.0 && m.deliver > 1e6 && m.keep > 1e6 && m.threads == 2.0, "{m:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
