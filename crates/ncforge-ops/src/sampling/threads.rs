//! The gain of several threads that decode at the same time.

use std::thread;
use std::time::Instant;

use ncforge::codec::CodecChain;
use ncforge::{Error, Op, Result};

/// Rounds by one thread and by all, in turn, of which the fastest counts.
const ROUNDS: usize = 3;
/// Parts are decoded again and again for this long in a round: starting a thread takes some hundredths of that.
const LEAST: f64 = 3e-3;

/// An encoded part: its bytes, the mask of filters that were left out, its decoded bytes.
pub(super) type Part = (Vec<u8>, u32, usize);

/// The speed that each of `threads` adds to decoding these parts, as a part of one thread's: 1 where each has a core for itself, less where
/// they share one, and the less so the better one thread alone keeps it busy. `seconds`: the time of one thread for all parts.
///
/// # Errors
/// As decoding, and where the system has no more threads.
pub(super) fn gain(chain: &CodecChain, parts: &[Part], seconds: f64, threads: usize) -> Result<f64> {
    let turns = (LEAST / seconds.max(1e-9)).ceil().max(1.0) as usize;
    let (mut alone, mut together) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        alone = alone.min(round(chain, parts, turns, 1)?);
        together = together.min(round(chain, parts, turns, threads)?);
    }
    let faster = threads as f64 * alone / together;
    Ok(((faster - 1.0) / (threads as f64 - 1.0)).clamp(0.0, 1.0))
}

/// Seconds until each of `threads` has decoded all parts, `turns` times.
fn round(chain: &CodecChain, parts: &[Part], turns: usize, threads: usize) -> Result<f64> {
    let longest = parts.iter().map(|p| p.2).max().unwrap_or(0);
    let decode = || -> Result<f64> {
        // Written to before, so that the system need not find memory while the clock runs.
        let mut out = vec![1; longest];
        let begun = Instant::now();
        for (encoded, mask, len) in (0..turns).flat_map(|_| parts) {
            chain.decode(encoded, *mask, &mut out[..*len])?;
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    thread::scope(|scope| {
        let others = (1..threads).map(|_| thread::Builder::new().spawn_scoped(scope, decode));
        let others: Vec<_> = others
            .collect::<std::io::Result<_>>()
            .map_err(|e| Error::io(Op::Other("start"), "a thread", e))?;
        let own = decode();
        others.into_iter().try_fold(own?, |longest, other| {
            let took = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok(f64::max(longest, took))
        })
    })
}
