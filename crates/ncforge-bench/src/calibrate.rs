//! Measures the rates that [`ncforge_tune`] predicts with: a few seconds on small files.
//!
//! Many reads of one file, each the first after it was opened, take turns. None comes twice in a row, or it would find in the processor's
//! caches what it needs. The resulting rates are those with which the cost model
//! comes nearest to all of these times together. (A rate by itself would be a small difference of two larger times, and would hold
//! the disturbances of both.) Rates that hardly show in the reads stay near the rates of the default machine.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ncforge::codec::filters;
use ncforge::model::{Atomic, DimId, Dimension, Storage, VarId, Variable};
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Format, Hyperslab, Schema};
use ncforge_ops::sampling::sample_chunk;
use ncforge_tune::{Calibration, Coding, Grid, Machine};

use crate::cache;
use crate::error::{Error, Result};
use crate::memory;
use crate::stats::{Positions, Summary};

/// Shape of most variables: 8 MiB of floats; and of those whose values no cache of a processor holds: 64 MiB.
const SHAPE: [u64; 3] = [512, 64, 64];
const LONG: [u64; 3] = [4096, 64, 64];
/// The variables: name, whether it is long, chunks.
const VARS: [(&str, bool, Option<[u64; 3]>); 8] = [
    ("plain", false, None),
    ("bytes512", false, Some([8, 4, 4])),
    ("kib4", false, Some([16, 8, 8])),
    ("kib32", false, Some([32, 16, 16])),
    ("kib256", false, Some([64, 32, 32])),
    ("columns", false, Some([512, 16, 1])),
    ("narrow", true, Some([64, 64, 16])),
    ("wide", true, Some([64, 16, 64])),
];
/// The variable of whose reads the last one shows what several threads are worth.
const TOGETHER: &str = "kib256";
/// Bytes of the plain file.
const PLAIN: usize = 64 << 20;
/// Bytes of values that a sample may read.
const SAMPLE: u64 = 8 << 20;
/// Rounds of all reads …
const ROUNDS: usize = 15;
/// … or as many, but at least this many, as take …
const LEAST: usize = 3;
/// … this long.
const BUDGET: Duration = Duration::from_secs(10);
/// Reads in turn, of which the median counts: from other chunks each.
const TURN: usize = 3;
/// The error of a time, and the deviation of a rate from that of the default machine, as logarithms: one of each counts alike.
const OFF: f64 = 0.1;
const APART: f64 = 0.7;

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
    memory::hold();
    let engine = Engine::new(EngineOptions { threads, memory: None })?;
    let cases = cases(&file)?;
    let alone = Engine::new(EngineOptions { threads: Some(1), memory: None })?;
    let long = cases.iter().rfind(|c| VARS[c.var].0 == TOGETHER).expect("one of the variables");
    let mut gains = Vec::new();
    let mut times = vec![Vec::new(); cases.len()];
    let mut requests = Vec::new();
    let begun = Instant::now();
    while requests.len() < LEAST || requests.len() < ROUNDS && begun.elapsed() < BUDGET {
        requests.push(storage(&plain, 500)?);
        gains.push(gain(long, &file, &alone, &engine)?);
        for (case, times) in cases.iter().zip(&mut times) {
            times.push(case.read(&file, &engine)?);
        }
    }
    let median = |values: Vec<f64>| Summary::of(&values).expect("there are rounds").median;
    let start = Machine {
        request: median(requests.iter().map(|r| r.0).collect()),
        bandwidth: median(requests.iter().map(|r| r.1).collect()),
        in_flight: 1.0,
        threads: engine.threads() as f64,
        gain: median(gains),
        ..Machine::default()
    };
    let measured: Vec<(Case, f64)> = cases.into_iter().zip(times.into_iter().map(median)).collect();
    Ok(Calibration::new(fitted(start, &measured), cold))
}

/// A read that is measured.
#[derive(Clone)]
struct Case {
    var: usize,
    slab: Hyperslab,
    coding: Coding,
}

impl Case {
    /// Reads it in turn at several places, each time from a file that was just opened. Gives the median of the seconds.
    fn read(&self, path: &Path, engine: &Engine) -> Result<f64> {
        let mut out = vec![1u8; self.slab.len() as usize * 4];
        let mut turn = [0.0; TURN];
        for (n, seconds) in turn.iter_mut().enumerate() {
            let slab = self.place(n as u64);
            let dataset = Dataset::open_with(path, engine)?;
            let begun = Instant::now();
            dataset.read_bytes(VarId(self.var), &slab, &mut out)?;
            *seconds = begun.elapsed().as_secs_f64();
        }
        Ok(Summary::of(&turn).expect("a turn has reads").median)
    }

    /// The box in other chunks, where there are any, at the same place in them.
    fn place(&self, n: u64) -> Hyperslab {
        let (_, long, chunk) = &VARS[self.var];
        let lens = if *long { &LONG } else { &SHAPE };
        let moved = |d: usize| {
            let (start, step) = (self.slab.start[d], chunk.map_or(1, |c| c[d]));
            let first = start % step;
            let places = (lens[d] - self.slab.count[d] - first) / step + 1;
            first + (start / step + n * (places / TURN as u64 + 1)) % places * step
        };
        Hyperslab::new(&[0, 1, 2].map(moved), &self.slab.count)
    }

    /// The time that the model predicts.
    fn predicted(&self, machine: &Machine) -> f64 {
        let (_, long, chunk) = &VARS[self.var];
        let lens = if *long { &LONG } else { &SHAPE };
        let grid = Grid { lens, chunk: chunk.as_ref().map(|c| &c[..]), element: 4, coding: self.coding };
        grid.at(&self.slab.start, &self.slab.count, machine).seconds
    }
}

/// The speed that each further thread adds, as a part of one thread's: by the time of a read that `one` and `all` threads do.
fn gain(case: &Case, path: &Path, one: &Engine, all: &Engine) -> Result<f64> {
    let threads = all.threads() as f64;
    if threads < 2.0 {
        return Ok(1.0);
    }
    let faster = case.read(path, one)? / case.read(path, all)?;
    Ok(((faster - 1.0) / (threads - 1.0)).clamp(0.0, 1.0))
}

/// The reads, of every variable alike: an element, a series, maps, columns, boxes, half, all.
fn cases(path: &Path) -> Result<Vec<Case>> {
    let dataset = Dataset::open(path)?;
    let mut cases = Vec::new();
    for (var, (_, long, chunk)) in VARS.iter().enumerate() {
        let coding = match chunk {
            // By what the streams are made of: the default machine's rates, which this one's are compared with.
            Some(chunk) => sample_chunk(&dataset, VarId(var), &chain(), chunk, SAMPLE)?
                .map_or_else(|| Coding::deflate(1), |s| s.sized),
            None => Coding::none(),
        };
        let n = if *long { LONG[0] } else { SHAPE[0] };
        let slabs = [
            ([n / 3, 10, 10], [1, 1, 1]),
            ([0, 21, 37], [n, 1, 1]),
            ([n / 3, 0, 0], [1, 64, 64]),
            ([n / 3, 0, 0], [5, 64, 64]),
            ([n / 5, 0, 21], [n / 8, 64, 1]),
            ([0, 0, 45], [n, 64, 1]),
            ([n / 3, 9, 30], [n / 8, 8, 8]),
            ([n / 3, 7, 20], [n / 4, 24, 24]),
            ([3, 0, 0], [n / 2, 64, 64]),
            ([0, 0, 0], [n, 64, 64]),
        ];
        for (start, count) in slabs {
            cases.push(Case { var, slab: Hyperslab::new(&start, &count), coding });
        }
    }
    Ok(cases)
}

fn chain() -> [ncforge::model::Filter; 2] {
    [filters::shuffle(4), filters::deflate(1)]
}

/// The rates that are fitted.
type Rate = fn(&mut Machine) -> &mut f64;
const RATES: [Rate; 9] = [
    |m| &mut m.bandwidth,
    |m| &mut m.read,
    |m| &mut m.index,
    |m| &mut m.chunk,
    |m| &mut m.deliver,
    |m| &mut m.row,
    |m| &mut m.line,
    |m| &mut m.keep,
    |m| &mut m.decoder,
];

/// The machine by which the model is nearest to what was measured: coordinate descent on logarithms of the rates, from `start` on. Times
/// that are far off count in proportion, not by their squares (Huber's function), so that a few that were disturbed decide nothing.
fn fitted(start: Machine, measured: &[(Case, f64)]) -> Machine {
    let with = |logs: &[f64; RATES.len()]| {
        let mut machine = start;
        RATES.iter().zip(logs).for_each(|(rate, log)| *rate(&mut machine) *= log.exp());
        machine
    };
    let loss = |logs: &[f64; RATES.len()]| {
        let machine = with(logs);
        let huber = |x: f64| if x.abs() <= 1.0 { x * x } else { 2.0 * x.abs() - 1.0 };
        let times: f64 =
            measured.iter().map(|(case, took)| huber((case.predicted(&machine) / took).ln() / OFF)).sum();
        times + logs.iter().map(|log| (log / APART).powi(2)).sum::<f64>()
    };
    let mut at = [0.0; RATES.len()];
    let mut best = loss(&at);
    let mut step = 0.4;
    while step > 0.004 {
        let before = best;
        for i in 0..RATES.len() {
            for by in [step, -step] {
                let mut other = at;
                other[i] += by;
                let found = loss(&other);
                if found < best {
                    (at, best) = (other, found);
                    break;
                }
            }
        }
        if best > before - 1e-3 {
            step /= 2.0;
        }
    }
    with(&at)
}

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

/// One file with the same field several times: plain, and in chunks of all kinds.
fn write(path: &Path) -> Result<()> {
    let mut schema = Schema::new(Format::Netcdf4);
    for (name, len) in ["t", "y", "x"].into_iter().zip(SHAPE).chain([("long", LONG[0])]) {
        schema.dims.push(Dimension::new(name, len, false));
    }
    for (name, long, chunks) in VARS {
        let first = if long { DimId(3) } else { DimId(0) };
        let mut var = Variable::new(name, Atomic::Float, vec![first, DimId(1), DimId(2)]);
        if let Some(chunks) = chunks {
            var.storage = Storage::Chunked { chunks: chunks.to_vec(), filters: chain().to_vec() };
        }
        schema.vars.push(var);
    }
    let mut random = Positions::new(3);
    let [_, ny, nx] = SHAPE;
    let values: Vec<u8> = (0..SHAPE.iter().product::<u64>())
        .flat_map(|i| {
            let (t, y, x) = (i / (ny * nx), i / nx % ny, i % nx);
            let smooth =
                280.0 + 15.0 * (t as f32 / 40.0 + y as f32 / 9.0).sin() + 8.0 * (x as f32 / 11.0).cos();
            // Decoders differ most by what they decode: noise in the last digits, noise in most digits, few digits and land.
            let value = match t / 64 % 3 {
                0 => smooth + random.below(1000) as f32 * 2e-5,
                1 => smooth + random.below(1 << 20) as f32 * 2e-6,
                _ if x + y > 70 => 1e20,
                _ => (smooth * 100.0).round() / 100.0,
            };
            value.to_ne_bytes()
        })
        .collect();
    let mut file =
        DatasetMut::create(path, schema, CreateOptions { overwrite: true, ..CreateOptions::default() })?;
    for (var, (_, long, _)) in VARS.iter().enumerate() {
        for part in 0..if *long { LONG[0] / SHAPE[0] } else { 1 } {
            file.write_bytes(VarId(var), &Hyperslab::new(&[part * SHAPE[0], 0, 0], &SHAPE), &values)?;
        }
    }
    Ok(file.close()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case costs the same at all its places, by the model, and they are apart. Times that the model itself says of a machine that is
    /// nothing like the default one are those of such a machine.
    #[test]
    fn places_are_alike_and_a_machine_is_found_again_by_its_times() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("chunks.nc");
        write(&file).unwrap();
        let cases = cases(&file).unwrap();
        let mut apart = 0;
        for case in &cases {
            let machine = Machine::default();
            let wanted = case.predicted(&machine);
            for n in 0..TURN as u64 {
                let slab = case.place(n);
                apart += usize::from(slab != case.slab);
                let other = Case { slab, ..case.clone() };
                assert_eq!(other.predicted(&machine), wanted, "{:?}", other.slab);
            }
        }
        assert!(apart > VARS.len() * 8, "{apart}");

        let slow = Machine {
            index: 60e-9,
            chunk: 2e-6,
            read: 5e-6,
            row: 9e-9,
            line: 20e-9,
            decoder: 0.4,
            bandwidth: 3e9,
            ..Machine::default()
        };
        let measured: Vec<(Case, f64)> = cases
            .into_iter()
            .map(|c| {
                let s = c.predicted(&slow);
                (c, s)
            })
            .collect();
        let found = fitted(Machine::default(), &measured);
        for (case, took) in &measured {
            let ratio = case.predicted(&found) / took;
            assert!((ratio - 1.0).abs() < 0.15, "{} {:?}: {ratio}", VARS[case.var].0, case.slab);
        }
        assert!((found.decoder / slow.decoder - 1.0).abs() < 0.1, "{found:?}");
    }
}
