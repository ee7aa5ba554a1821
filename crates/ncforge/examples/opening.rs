//! The cost of opening files, and of looking at all of their metadata.
//!
//! ```text
//! cargo run --release --example opening -- [--rounds N] [--threads N] FILE...
//! cargo run --release --example opening -- [--map] --points VARIABLE FILE
//! ```
//! For each file: opening alone, and opening with every attribute of every variable looked at, in microseconds
//! of processor time (median and least of all rounds). With `--threads`, all files are opened by N threads
//! at once, and the chunk indexes of each file's variables are read by as many; wall times of one thread and of all are
//! printed. With `--points`, single values at random places of a variable are read, from a map of the file with `--map`.

use std::time::Instant;

use ncforge::raw::Place;
use ncforge::{Dataset, Hyperslab, OpenOptions, Values};

fn main() -> ncforge::Result<()> {
    let (mut files, mut rounds, mut threads, mut points) = (Vec::new(), 9usize, 1usize, None);
    let mut map = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rounds" => rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(rounds).max(1),
            "--threads" => threads = args.next().and_then(|n| n.parse().ok()).unwrap_or(threads).max(1),
            "--points" => points = args.next(),
            "--map" => map = true,
            _ => files.push(arg),
        }
    }
    if files.is_empty() {
        eprintln!("usage: opening [--rounds N] [--threads N] [--points VARIABLE [--map]] FILE...");
        std::process::exit(2);
    }
    if let Some(var) = points {
        return files.iter().try_for_each(|f| random_points(f, &var, rounds, map));
    }
    for file in &files {
        let alone = times(rounds, || Dataset::open(file).map(|_| Seen::default()))?;
        let all = times(rounds, || look(file))?;
        let seen = look(file)?;
        println!(
            "{file}: {} variables, {} attributes of {} bytes: open {alone}, with all attributes {all}",
            seen.vars, seen.attrs, seen.bytes
        );
    }
    if threads > 1 {
        for n in [1, threads] {
            let start = Instant::now();
            for _ in 0..rounds {
                at_once(&files, n)?;
            }
            let each = start.elapsed().as_secs_f64() * 1e6 / (rounds * files.len()) as f64;
            println!("{} files on {n} threads: {each:.1} us of wall time a file", files.len());
        }
        for file in &files {
            for n in [1, threads] {
                let mut all = (0..rounds).map(|_| indexes(file, n)).collect::<ncforge::Result<Vec<_>>>()?;
                all.sort_by(f64::total_cmp);
                let (median, least) = (all[rounds / 2], all[0]);
                println!("{file}: indexes on {n} threads: {median:.1} us of wall time (least {least:.1})");
            }
        }
    }
    Ok(())
}

/// Opens and looks at all files, shared out among `n` threads.
fn at_once(files: &[String], n: usize) -> ncforge::Result<()> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || -> ncforge::Result<()> {
        while let Some(f) = files.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            look(f)?;
        }
        Ok(())
    };
    std::thread::scope(|s| {
        let all: Vec<_> = (0..n).map(|_| s.spawn(work)).collect();
        all.into_iter().try_for_each(|t| t.join().expect("no thread panics"))
    })
}

/// Microseconds that `n` threads take for all chunk indexes of a file that was just opened.
fn indexes(file: &str, n: usize) -> ncforge::Result<f64> {
    let data = Dataset::open(file)?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let container = data.container();
    let work = || -> ncforge::Result<()> {
        while let Some(var) =
            data.schema().var_ids().nth(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        {
            if let Place::Chunked { index, .. } = &container.layout(var)?.place {
                index.visit(&mut |_, _| ())?;
            }
        }
        Ok(())
    };
    let start = Instant::now();
    std::thread::scope(|s| {
        let all: Vec<_> = (0..n).map(|_| s.spawn(work)).collect();
        all.into_iter().try_for_each(|t| t.join().expect("no thread panics"))
    })?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

#[derive(Default)]
struct Seen {
    vars: usize,
    attrs: usize,
    bytes: usize,
}

/// Opens a file and touches every attribute's name and values.
fn look(file: &str) -> ncforge::Result<Seen> {
    let data = Dataset::open(file)?;
    let schema = data.schema();
    let mut seen = Seen { vars: schema.vars.len(), ..Seen::default() };
    let groups = schema.groups.iter().flat_map(|g| &g.attrs);
    for a in groups.chain(schema.vars.iter().flat_map(|v| &v.attrs)) {
        seen.attrs += 1;
        seen.bytes += a.name.len();
        seen.bytes += match &a.values {
            Values::Fixed(b) => b.len(),
            Values::Heap(v) => v.len(),
        };
    }
    Ok(seen)
}

fn random_points(file: &str, var: &str, rounds: usize, map: bool) -> ncforge::Result<()> {
    const POINTS: usize = 200_000;
    let data = Dataset::open_options(file, &OpenOptions { map, ..OpenOptions::default() })?;
    let id = data.var(var)?;
    let shape = data.schema().shape(id);
    let mut out = vec![0; data.schema().fixed_size(data.schema().var(id).dtype).unwrap_or(0)];
    let mut state = 1u64;
    let all = times(rounds, || {
        for _ in 0..POINTS {
            let mut at = vec![0; shape.len()];
            for (a, n) in at.iter_mut().zip(&shape) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *a = (state >> 33) % n;
            }
            let slab = Hyperslab { count: vec![1; at.len()], stride: vec![1; at.len()], start: at };
            data.read_bytes(id, &slab, &mut out)?;
        }
        Ok(Seen::default())
    })?;
    println!("{file}: {POINTS} random values of `{var}`: {all} in all");
    Ok(())
}

/// Median and least processor time, in words.
fn times(rounds: usize, mut work: impl FnMut() -> ncforge::Result<Seen>) -> ncforge::Result<String> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let start = processor_seconds();
        work()?;
        all.push((processor_seconds() - start) * 1e6);
    }
    all.sort_by(f64::total_cmp);
    Ok(format!("{:.1} us (least {:.1})", all[rounds / 2], all[0]))
}

fn processor_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
