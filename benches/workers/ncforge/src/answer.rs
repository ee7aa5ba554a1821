//! The result of a task: both clocks, and the checksum of the protocol.

use std::time::Instant;

use ncforge_bench::Error;
use serde::Serialize;

/// The result of a task.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Answer {
    /// Seconds of wall time.
    pub(crate) wall: f64,
    /// Processor seconds of all threads, user and system.
    pub(crate) cpu: f64,
    /// Timed reads or repetitions.
    pub(crate) reads: u64,
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// Checksum of the values, base 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checksum: Option<String>,
    /// The share of a file that is in the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resident: Option<f64>,
}

/// Both clocks, running.
pub(crate) struct Clock {
    pub(crate) wall: Instant,
    cpu: f64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: processor_seconds() }
    }

    /// The time that has passed.
    pub(crate) fn stop(&self) -> Answer {
        let wall = self.wall.elapsed().as_secs_f64();
        Answer { wall, cpu: processor_seconds() - self.cpu, reads: 1, ..Answer::default() }
    }
}

/// Processor time of this process so far, all threads together.
fn processor_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// The checksum of the protocol: the sum of all little-endian 64-bit words `w[i]`, each times `2 i + 1`, modulo
/// 2^64; missing bytes of the last word are zero. Quick in every language, and no two words may change places.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut sum = 0u64;
    for (i, word) in words.iter().chain([&last]).enumerate() {
        sum = sum.wrapping_add(u64::from_le_bytes(*word).wrapping_mul(2 * i as u64 + 1));
    }
    sum
}

/// Several checksums in one, by the same rule.
pub(crate) fn combine(sums: impl IntoIterator<Item = u64>) -> u64 {
    let weighted = sums.into_iter().enumerate().map(|(i, sum)| sum.wrapping_mul(2 * i as u64 + 1));
    weighted.fold(0, u64::wrapping_add)
}

pub(crate) fn hex(sum: u64) -> Option<String> {
    Some(format!("{sum:016x}"))
}

/// A file that cannot be read.
pub(crate) fn unreadable(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Error {
    Error::Io { op: "read", path: path.as_ref().display().to_string(), source }
}
