//! How long does a small selection take: a series at a point, a map, a row, a box, of a variable of three dimensions?
//!
//! ```text
//! cargo run --release -p ncforge --example slabs -- FILE VARIABLE [--threads N] [--reads N]
//! ```
//! Each selection is at places without a pattern, in a new engine; prints the median and how many bytes were decoded for one.

use std::time::Instant;

use ncforge::{Dataset, Engine, EngineOptions, Hyperslab, OpenOptions};

fn main() -> ncforge::Result<()> {
    let (mut names, mut threads, mut reads) = (Vec::new(), None, 20usize);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => threads = args.next().and_then(|n| n.parse().ok()),
            "--reads" => reads = args.next().and_then(|n| n.parse().ok()).unwrap_or(reads),
            _ => names.push(arg),
        }
    }
    let [file, variable] = &names[..] else {
        eprintln!("usage: slabs FILE VARIABLE [--threads N] [--reads N]");
        std::process::exit(2);
    };
    for kind in ["series", "map", "row", "box of 100 × 100"] {
        let engine = Engine::new(EngineOptions { threads, memory: None })?;
        let options = OpenOptions { engine: Some(engine.clone()), ..OpenOptions::default() };
        let data = Dataset::open_options(file, &options)?;
        let var = data.var(variable)?;
        let shape = data.schema().shape(var);
        let (mut times, mut seed) = (Vec::new(), 1u64);
        let mut place = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n.max(1)
        };
        for _ in 0..reads {
            let at: Vec<u64> = shape.iter().map(|&n| place(n)).collect();
            let slab = match kind {
                "series" => Hyperslab::new(&[0, at[1], at[2]], &[shape[0], 1, 1]),
                "map" => Hyperslab::new(&[at[0], 0, 0], &[1, shape[1], shape[2]]),
                "row" => Hyperslab::new(&[at[0], at[1], 0], &[1, 1, shape[2]]),
                _ => {
                    let side = [100.min(shape[1]), 100.min(shape[2])];
                    let start = [at[0], at[1].min(shape[1] - side[0]), at[2].min(shape[2] - side[1])];
                    Hyperslab::new(&start, &[1, side[0], side[1]])
                }
            };
            let begin = Instant::now();
            drop(data.read(var, &slab)?);
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let decoded = engine.stats().bytes_decoded / reads as u64;
        println!("{kind:18} {:9.3} ms, {decoded} bytes decoded", times[times.len() / 2]);
    }
    Ok(())
}
