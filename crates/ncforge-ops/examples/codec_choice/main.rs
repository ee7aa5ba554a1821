//! How fast the codecs are that `--codec auto` chooses among, and how near its choices come to the best.
//!
//! ```text
//! cargo run --release -p ncforge-ops --example codec_choice -- [FIELD…] [--bytes 8388608] [--details]
//! ```
//! For every generated kind of field (or those whose names begin with FIELD), in chunks of 256 KiB: what every method
//! makes of it, and the processor time of this thread, best of three rounds. Then for every method the means of the
//! times over the fields that it makes at least a tenth smaller, in MB of raw data a second: these are the rates of
//! `tune::codec`. Last, for every goal the *regret*: the cost of the choice, which knows a sample's sizes and fixed
//! rates, divided by that of the best method, both with the measured times of the field.

#[path = "../../../ncforge-codec/tests/fields/mod.rs"]
mod fields;

use fields::FIELDS;
use ncforge::codec::CodecChain;
use ncforge_tune::codec::{CodecChoice, Goal, Method};
use ncforge_tune::{Machine, StorageKind};

const CHUNK: usize = 256 << 10;
const ROUNDS: usize = 3;
/// Chunks of a field that the choice looks at.
const SAMPLE: usize = 8;

struct Measured {
    method: Method,
    /// Stored bytes of the whole, and of the sample.
    stored: (u64, u64),
    /// Seconds for a byte.
    encode: f64,
    decode: f64,
}

fn main() -> ncforge::Result<()> {
    let (mut bytes, mut details, mut names) = (8 << 20, false, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bytes" => bytes = args.next().and_then(|n| n.parse().ok()).unwrap_or(bytes),
            "--details" => details = true,
            _ => names.push(arg),
        }
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.starts_with(n.as_str()));
    let mut all = Vec::new();
    for field in FIELDS.iter().filter(|f| wanted(f.name)) {
        let raw = (field.make)(bytes / field.size);
        let found = measure(&raw, field.size)?;
        if details {
            for m in &found {
                let fraction = 100.0 * m.stored.0 as f64 / raw.len() as f64;
                println!("{:<18} {:<24} {fraction:>6.1} %  {}", field.name, m.method.to_string(), rates(m));
            }
        }
        all.push((field.name, raw.len() as u64, found));
    }
    println!("means of times");
    for method in Method::candidates(8, None, true) {
        let of: Vec<&Measured> = (all.iter())
            .flat_map(|(_, raw, found)| found.iter().map(move |m| (*raw, m)))
            .filter(|(raw, m)| m.method == method && m.stored.0 * 10 <= raw * 9)
            .map(|(_, m)| m)
            .collect();
        let mean = |time: fn(&Measured) -> f64| of.iter().map(|m| time(m)).sum::<f64>() / of.len() as f64;
        if !of.is_empty() {
            let mean =
                Measured { method, stored: (0, 0), encode: mean(|m| m.encode), decode: mean(|m| m.decode) };
            println!("{:<24} {}  over {} fields", method.to_string(), rates(&mean), of.len());
        }
    }
    println!("regret");
    let machine = Machine::default();
    for (storage, machine) in [("local", machine), ("nfs", machine.on(StorageKind::Nfs))] {
        for goal in [Goal::Balanced, Goal::FastRead, Goal::Small] {
            for zstd in [false, true] {
                regret(&all, goal, zstd, &machine, storage, details);
            }
        }
    }
    Ok(())
}

fn rates(m: &Measured) -> String {
    format!("{:>6.0} MB/s in {:>6.0} MB/s out", 1e-6 / m.encode, 1e-6 / m.decode)
}

fn measure(raw: &[u8], size: usize) -> ncforge::Result<Vec<Measured>> {
    let chunks: Vec<&[u8]> = raw.chunks(CHUNK).collect();
    let mut all = Vec::new();
    for method in Method::candidates(size, None, true) {
        if method == Method::None {
            let sample = SAMPLE.min(chunks.len()) * CHUNK;
            let stored = (raw.len() as u64, sample.min(raw.len()) as u64);
            all.push(Measured { method, stored, encode: 0.0, decode: 0.0 });
            continue;
        }
        let chain = CodecChain::new(&method.filters(size), size)?;
        let (mut encode, mut decode) = (f64::INFINITY, f64::INFINITY);
        let mut encoded = Vec::new();
        for _ in 0..ROUNDS {
            let begun = thread_seconds();
            encoded = chunks.iter().map(|c| Ok(chain.encode(c)?)).collect::<ncforge::Result<Vec<_>>>()?;
            encode = encode.min(thread_seconds() - begun);
            let mut out = vec![0; CHUNK];
            let begun = thread_seconds();
            for ((bytes, mask), c) in encoded.iter().zip(&chunks) {
                chain.decode(bytes, *mask, &mut out[..c.len()])?;
            }
            decode = decode.min(thread_seconds() - begun);
        }
        let len = |i: usize| encoded[i].0.len() as u64;
        let total = (0..chunks.len()).map(len).sum();
        let sample = SAMPLE.min(chunks.len());
        let sampled = (0..sample).map(|i| len(i * chunks.len() / sample)).sum();
        let n = raw.len() as f64;
        all.push(Measured { method, stored: (total, sampled), encode: encode / n, decode: decode / n });
    }
    Ok(all)
}

fn regret(
    all: &[(&str, u64, Vec<Measured>)],
    goal: Goal,
    zstd: bool,
    machine: &Machine,
    storage: &str,
    details: bool,
) {
    let mut found = Vec::new();
    for (name, raw, measured) in all {
        let allowed: Vec<&Measured> =
            measured.iter().filter(|m| zstd || !matches!(m.method, Method::Zstd { .. })).collect();
        let sizes: Vec<(Method, u64)> = allowed.iter().map(|m| (m.method, m.stored.1)).collect();
        let sampled = sizes.iter().find(|s| s.0 == Method::None).map_or(1, |s| s.1);
        let choice = CodecChoice::of(goal, sampled, &sizes, machine);
        let cost = |m: &Measured| {
            let fraction = m.stored.0 as f64 / *raw as f64;
            let bandwidth =
                if goal == Goal::Balanced { machine.bandwidth.min(250e6) } else { machine.bandwidth };
            let read = fraction / bandwidth + m.decode / machine.threads;
            match goal {
                Goal::Balanced => 10.0 * read + m.encode / machine.threads + fraction / bandwidth,
                Goal::FastRead => read,
                Goal::Small => fraction,
            }
        };
        let best = allowed.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("none is a method, too");
        let chosen = allowed.iter().find(|m| m.method == choice.method).expect("one of those given");
        let regret = cost(chosen) / cost(best);
        if details && regret > 1.02 {
            println!("  {name}: {} instead of {}: {regret:.2}", chosen.method, best.method);
        }
        found.push(regret);
    }
    found.sort_by(f64::total_cmp);
    let at = |part: f64| found[((found.len() - 1) as f64 * part) as usize];
    println!(
        "{storage:<6} {goal:?}{}: median {:.3}, nine in ten {:.3}, worst {:.3}",
        if zstd { " with zstd" } else { "" },
        at(0.5),
        at(0.9),
        at(1.0)
    );
}

/// Seconds of this thread's processor time.
fn thread_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
