//! How fast whole variables are read from a file, and written to a copy of it in memory order.
//!
//! ```text
//! cargo run --release --example throughput -- FILE [--threads N] [--map] [--write COPY]
//! ```
//! Reads every variable of a fixed-size type a few times into fresh and into warm memory, and prints decoded
//! bytes a second of wall time and of processor time (all threads together), best of all rounds. With `--write`, writes what was read to a new file with the same
//! description.

use std::time::Instant;

use ncforge::{Buffer, CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Hyperslab, OpenOptions};

const ROUNDS: usize = 5;

fn main() -> ncforge::Result<()> {
    let (mut file, mut copy, mut threads, mut map) = (None, None, None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => threads = args.next().and_then(|n| n.parse().ok()),
            "--write" => copy = args.next(),
            "--map" => map = true,
            _ => file = Some(arg),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: throughput FILE [--threads N] [--map] [--write COPY]");
        std::process::exit(2);
    };
    let engine = Engine::new(EngineOptions { threads, memory: None })?;
    println!("{} threads, budget {} MiB", engine.threads(), engine.memory() >> 20);
    let data = Dataset::open_options(
        &file,
        &OpenOptions { engine: Some(engine.clone()), map, ..OpenOptions::default() },
    )?;
    let schema = data.schema();
    let mut held = Vec::new();
    for var in schema.var_ids() {
        let Some(size) = schema.fixed_size(schema.var(var).dtype) else { continue };
        let slab = Hyperslab::all(&schema.shape(var));
        let bytes = slab.len() as usize * size;
        let (mut fresh, mut warm) = (Best::default(), Best::default());
        let mut out = Buffer::zeroed(bytes);
        for _ in 0..ROUNDS {
            drop(fresh.time(|| data.read(var, &slab))?);
            warm.time(|| data.read_bytes(var, &slab, &mut out))?;
        }
        println!("read  {}: {bytes} bytes", schema.var_path(var));
        println!("      fresh memory {}", fresh.rates(bytes));
        println!("      warm memory  {}", warm.rates(bytes));
        held.push((var, slab, out));
    }
    let Some(copy) = copy else { return Ok(()) };
    let mut best = Best::default();
    let total: usize = held.iter().map(|(_, _, b)| b.len()).sum();
    for _ in 0..ROUNDS {
        let options =
            CreateOptions { overwrite: true, engine: Some(engine.clone()), ..CreateOptions::default() };
        let new = best.time(|| {
            let mut new = DatasetMut::create(&copy, schema.clone(), options)?;
            for (var, slab, bytes) in &held {
                new.write_bytes(*var, slab, bytes)?;
            }
            new.writer().flush()?;
            Ok(new)
        })?;
        new.close()?;
    }
    println!("write {total} bytes without the final sync: {}", best.rates(total));
    Ok(())
}

/// The shortest times so far, in seconds.
struct Best {
    wall: f64,
    processor: f64,
}

impl Default for Best {
    fn default() -> Self {
        Self { wall: f64::MAX, processor: f64::MAX }
    }
}

impl Best {
    fn time<T>(&mut self, work: impl FnOnce() -> ncforge::Result<T>) -> ncforge::Result<T> {
        let (wall, processor) = (Instant::now(), processor_seconds());
        let result = work();
        self.wall = self.wall.min(wall.elapsed().as_secs_f64());
        self.processor = self.processor.min(processor_seconds() - processor);
        result
    }

    fn rates(&self, bytes: usize) -> String {
        let rate = |seconds: f64| bytes as f64 / 1e9 / seconds;
        format!(
            "{:.2} GB/s of wall time, {:.2} GB/s of processor time",
            rate(self.wall),
            rate(self.processor)
        )
    }
}

fn processor_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
