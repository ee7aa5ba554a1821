//! The rates of the byte kernels and of a plain copy, inside each cache and outside of them.
//!
//! ```text
//! cargo run --release -p ncforge-codec --example kernel_rates [-- KERNEL…]
//! ```
//! GB of data a second of this thread's processor time, best of many rounds, source and destination of this many bytes
//! each. A kernel that keeps up with the copy is held up by memory, and would not gain by wider registers.

use std::hint::black_box;

use ncforge_codec::kernels::{shuffle, swap_copy, swap_in_place, unshuffle, unshuffle_into};

/// Bytes of source and of destination: first-level cache, second, third, memory.
const SIZES: [usize; 4] = [12 << 10, 192 << 10, 4 << 20, 256 << 20];
/// Bytes that are moved for one figure, at least.
const WORK: usize = 1 << 30;

type Kernel = fn(&[u8], &mut [u8]);

const KERNELS: [(&str, Kernel); 13] = [
    ("copy", |s, d| d.copy_from_slice(s)),
    ("swap 2", |s, d| swap_copy(s, d, 2)),
    ("swap 4", |s, d| swap_copy(s, d, 4)),
    ("swap 8", |s, d| swap_copy(s, d, 8)),
    ("swap 4 in place", |_, d| swap_in_place(d, 4)),
    ("shuffle 2", |s, d| shuffle(s, d, 2)),
    ("shuffle 4", |s, d| shuffle(s, d, 4)),
    ("shuffle 8", |s, d| shuffle(s, d, 8)),
    ("unshuffle 2", |s, d| unshuffle(s, d, 2)),
    ("unshuffle 4", |s, d| unshuffle(s, d, 4)),
    ("unshuffle 8", |s, d| unshuffle(s, d, 8)),
    ("unshuffle+swap 4", |s, d| unshuffle_into(s, s.len() / 4, 0, d, 4, true)),
    ("unshuffle+swap 8", |s, d| unshuffle_into(s, s.len() / 8, 0, d, 8, true)),
];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    print!("{:<18}", "GB/s");
    for size in SIZES {
        print!("{:>10}", format!("{} KiB", size >> 10));
    }
    println!();
    for (name, kernel) in KERNELS {
        if !asked.is_empty() && !asked.iter().any(|a| name.starts_with(a.as_str())) {
            continue;
        }
        print!("{name:<18}");
        for size in SIZES {
            print!("{:>10.1}", rate(kernel, size));
        }
        println!();
    }
}

fn rate(kernel: Kernel, size: usize) -> f64 {
    let src: Vec<u8> = (0..size).map(|i| ((i * 31) >> 3) as u8).collect();
    let mut dst = vec![1u8; size];
    let rounds = 8;
    let repeats = (WORK / rounds / size).max(1);
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let start = thread_seconds();
        for _ in 0..repeats {
            kernel(black_box(&src), black_box(&mut dst));
        }
        best = best.min((thread_seconds() - start) / repeats as f64);
    }
    size as f64 / best / 1e9
}

fn thread_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
