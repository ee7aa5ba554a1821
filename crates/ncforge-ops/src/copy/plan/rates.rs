//! Bytes a second of one thread or of the disk; rough, measured on a machine of 2020.
//!
//! They weigh one way against another and give the estimate of time that a dry run prints; nothing else depends on them.

use ncforge::codec::filters;
use ncforge::model::Filter;

pub(super) const INFLATE: f64 = 600e6;
pub(super) const DEFLATE: f64 = 200e6;
pub(super) const ZSTD_DECODE: f64 = 1200e6;
pub(super) const ZSTD_ENCODE: f64 = 350e6;
pub(super) const MEMORY: f64 = 3e9;
pub(super) const DISK: f64 = 1e9;
/// Threads that decode, where a plan weighs decoding against the disk: not those of this machine, so that a copy
/// can be taken up with other ones.
pub(super) const THREADS: f64 = 4.0;
/// A compressed file is this part of its values, when nothing is known.
pub(super) const RATIO: f64 = 0.5;

/// Seconds in which one thread undoes these filters on a byte of values.
pub(super) fn decode_seconds(list: &[Filter]) -> f64 {
    let mut s = 1.0 / MEMORY;
    for f in list {
        s += match f.id {
            filters::ZSTD => 1.0 / ZSTD_DECODE,
            filters::SHUFFLE | filters::FLETCHER32 => 1.0 / MEMORY,
            _ => 1.0 / INFLATE,
        };
    }
    s
}

/// Seconds in which one thread applies them.
pub(super) fn encode_seconds(list: &[Filter]) -> f64 {
    let mut s = 1.0 / MEMORY;
    for f in list {
        s += match f.id {
            filters::DEFLATE => {
                // Level 9 takes about ten times as long as level 1.
                let level = f64::from(f.params.first().copied().unwrap_or(6).min(9));
                10f64.powf((level - 1.0).max(0.0) / 8.0) / DEFLATE
            }
            filters::ZSTD => 1.0 / ZSTD_ENCODE,
            filters::SHUFFLE | filters::FLETCHER32 => 1.0 / MEMORY,
            _ => 1.0 / DEFLATE,
        };
    }
    s
}
