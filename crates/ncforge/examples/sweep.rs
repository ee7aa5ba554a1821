//! The cost of a loop of reads: processor time for a request, chunks decoded, bytes moved.
//!
//! ```text
//! cargo run --release --example sweep -- FILE VAR PATTERN [--threads N] [--memory SIZE] [--most N] [--check]
//! ```
//! Patterns: `slab` (all of the first axis, one index at a time), `series` (all of the first axis, one pixel at a
//! time, row by row), `scattered` (series at 100 scattered pixels), `whole` (all at once). `--most` stops after that
//! many requests; `--check` compares every value with a whole read.

use std::time::Instant;

use ncforge::{Buffer, Dataset, Engine, EngineOptions, Hyperslab, parse_size};

fn main() -> ncforge::Result<()> {
    let (mut plain, mut threads, mut memory, mut most, mut check) =
        (Vec::new(), None, None, usize::MAX, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => threads = args.next().and_then(|n| n.parse().ok()),
            "--memory" => memory = args.next().map(|m| parse_size(&m)).transpose()?,
            "--most" => most = args.next().and_then(|n| n.parse().ok()).unwrap_or(most),
            "--check" => check = true,
            _ => plain.push(arg),
        }
    }
    let [file, name, pattern] = &plain[..] else {
        eprintln!(
            "usage: sweep FILE VAR slab|series|scattered|whole [--threads N] [--memory SIZE] [--most N] [--check]"
        );
        std::process::exit(2);
    };
    let engine = Engine::new(EngineOptions { threads, memory })?;
    let data = Dataset::open_with(file, &engine)?;
    let var = data.var(name)?;
    let shape = data.schema().shape(var);
    let size = data.schema().fixed_size(data.schema().var(var).dtype).unwrap_or(1);
    let requests: Vec<Hyperslab> = requests(pattern, &shape).into_iter().take(most).collect();
    let Some(first) = requests.first() else { return Ok(()) };
    let mut out = Buffer::zeroed(first.len() as usize * size);
    let whole = if check {
        let slab = Hyperslab::all(&shape);
        let mut all = vec![0; slab.len() as usize * size];
        Dataset::open_with(file, &Engine::new(EngineOptions::default())?)?
            .read_bytes(var, &slab, &mut all)?;
        all
    } else {
        Vec::new()
    };
    let (wall, cpu) = (Instant::now(), processor_time());
    let mut slowest = 0f64;
    for slab in &requests {
        let begun = Instant::now();
        data.read_bytes(var, slab, &mut out)?;
        slowest = slowest.max(begun.elapsed().as_secs_f64());
        if check {
            assert!(same(&whole, &shape, slab, &out, size), "{slab:?} differs");
        }
    }
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), processor_time() - cpu);
    let n = requests.len() as f64;
    let s = engine.stats();
    println!(
        "{pattern:9} {n:6} requests  cpu {:10.2} us each {cpu:8.4} s  wall {:10.2} us each {wall:8.4} s  slowest {:8.2} ms  \
         decoded {:7.1} MB delivered {:7.1} MB fetched {:7.1} MB  hits {} misses {} ahead {} prefetched {:.1} MB",
        cpu / n * 1e6,
        wall / n * 1e6,
        slowest * 1e3,
        s.bytes_decoded as f64 / 1e6,
        s.bytes_delivered as f64 / 1e6,
        s.bytes_fetched as f64 / 1e6,
        s.hits,
        s.misses,
        s.ahead_hits,
        s.bytes_prefetched as f64 / 1e6,
    );
    Ok(())
}

fn requests(pattern: &str, shape: &[u64]) -> Vec<Hyperslab> {
    let along = |d: usize| {
        let mut count = vec![1; shape.len()];
        count[d] = shape[d];
        count
    };
    match pattern {
        "slab" => (0..shape[0])
            .map(|t| {
                let (mut start, mut count) = (vec![0; shape.len()], shape.to_vec());
                (start[0], count[0]) = (t, 1);
                Hyperslab::new(&start, &count)
            })
            .collect(),
        "series" | "scattered" => {
            let pixels: u64 = shape[1..].iter().product();
            let pixel = |mut i: u64| {
                let mut start = vec![0; shape.len()];
                for d in (1..shape.len()).rev() {
                    start[d] = i % shape[d];
                    i /= shape[d];
                }
                Hyperslab::new(&start, &along(0))
            };
            if pattern == "series" {
                (0..pixels).map(pixel).collect()
            } else {
                // Every so many pixels, in an order that jumps about.
                (0..100).map(|i| pixel((i * 7919 + i * i * 104_729) % pixels)).collect()
            }
        }
        _ => vec![Hyperslab::all(shape)],
    }
}

fn same(whole: &[u8], shape: &[u64], slab: &Hyperslab, out: &[u8], size: usize) -> bool {
    let n: u64 = slab.len();
    (0..n).all(|i| {
        let (mut rest, mut at, mut step) = (i, 0, 1);
        for d in (0..shape.len()).rev() {
            at += (slab.start[d] + rest % slab.count[d] * slab.stride[d]) * step;
            rest /= slab.count[d];
            step *= shape[d];
        }
        whole[at as usize * size..][..size] == out[i as usize * size..][..size]
    })
}

/// Seconds of processor time of this process, all threads.
fn processor_time() -> f64 {
    let own: f64 = std::fs::read_dir("/proc/self/task")
        .map(|tasks| {
            tasks
                .flatten()
                .filter_map(|t| std::fs::read_to_string(t.path().join("schedstat")).ok())
                .filter_map(|s| s.split_whitespace().next()?.parse::<f64>().ok())
                .sum()
        })
        .unwrap_or_default();
    own / 1e9
}
