//! How fast whole variables are read from a file, and written to a copy of it in memory order.
//!
//! ```text
//! cargo run --release --example throughput -- FILE [--threads N] [--map] [--write COPY]
//! ```
//! Reads every variable of a fixed-size type a few times into fresh and into warm memory, and prints decoded
//! bytes a second, best of all rounds. With `--write`, writes what was read to a new file with the same
//! description.

use std::time::Instant;

use ncforge::engine::{Engine, EngineOptions};
use ncforge::{Buffer, CreateOptions, Dataset, DatasetMut, Hyperslab, OpenOptions};

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
    let data = Dataset::open_options(&file, &OpenOptions { engine: Some(engine.clone()), map })?;
    let schema = data.schema();
    let mut held = Vec::new();
    for var in schema.var_ids() {
        let Some(size) = schema.fixed_size(schema.var(var).dtype) else { continue };
        let slab = Hyperslab::all(&schema.shape(var));
        let bytes = slab.len() as usize * size;
        let mut fresh = f64::MAX;
        let mut warm = f64::MAX;
        let mut out = Buffer::zeroed(bytes);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let values = data.read(var, &slab)?;
            fresh = fresh.min(begin.elapsed().as_secs_f64());
            drop(values);
            let begin = Instant::now();
            data.read_bytes(var, &slab, &mut out)?;
            warm = warm.min(begin.elapsed().as_secs_f64());
        }
        let rate = |seconds: f64| bytes as f64 / 1e9 / seconds;
        let name = schema.var_path(var);
        println!("read  {name}: {bytes} bytes, {:.2} GB/s fresh, {:.2} GB/s warm", rate(fresh), rate(warm));
        held.push((var, slab, out));
    }
    let Some(copy) = copy else { return Ok(()) };
    let mut best = f64::MAX;
    let total: usize = held.iter().map(|(_, _, b)| b.len()).sum();
    for _ in 0..ROUNDS {
        let options =
            CreateOptions { overwrite: true, engine: Some(engine.clone()), ..CreateOptions::default() };
        let begin = Instant::now();
        let mut new = DatasetMut::create(&copy, schema.clone(), options)?;
        for (var, slab, bytes) in &held {
            new.write_bytes(*var, slab, bytes)?;
        }
        new.writer().flush()?;
        best = best.min(begin.elapsed().as_secs_f64());
        new.close()?;
    }
    println!("write {total} bytes: {:.3} GB/s (without the final sync)", total as f64 / 1e9 / best);
    Ok(())
}
