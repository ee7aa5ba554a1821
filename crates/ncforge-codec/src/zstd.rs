//! Filter 32015, zstd: one Zstandard frame (RFC 8878) per chunk; parameter: the level (a signed number).
//!
//! Frames with or without a content size, and several frames in a row, are read. Windows are never allocated:
//! decoding goes straight into a buffer of the chunk's size.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

use super::damaged;
use super::scratch::{grow, with_own};
use crate::error::{Error, Result};

const NAME: &str = "zstd";

/// A block of at most 128 KiB takes at least four bytes.
pub(super) const MAX_EXPANSION: usize = 32 * 1024;

thread_local! {
    static DECODER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    /// Most recently used first: variables of different levels, or a zipped file in the same program, use them in turn.
    static ENCODERS: RefCell<Vec<(Settings, Compressor<'static>)>> = const { RefCell::new(Vec::new()) };
}

/// Encoders that a thread caches.
const CACHED: usize = 2;
/// Encoders of higher levels take tens of megabytes each: only the one used last is cached.
const HIGH: i32 = 10;

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    with_own(&DECODER, |slot| {
        let decoder = match slot {
            Some(d) => d,
            empty => empty.insert(Decompressor::new().map_err(|e| damaged(NAME, e))?),
        };
        decoder.decompress_to_buffer(src, dst).map_err(|e| damaged(NAME, e))
    })
}

/// Level, and the shortest match length if the level does not define it.
type Settings = (i32, Option<u32>);

/// Encodes into the front of `out`; returns the number of bytes.
pub fn encode(src: &[u8], level: i32, out: &mut Vec<u8>) -> Result<usize> {
    encode_as(src, (level, None), out)
}

/// As [`encode`], for data that are decoded more often than most: repeats of less than six bytes are not coded as matches.
/// Decoding takes a fixed time for each match, and codes for the bytes of a short one are hardly longer. High levels,
/// which are chosen for size, use all matches.
pub fn encode_quick_to_decode(src: &[u8], level: i32, out: &mut Vec<u8>) -> Result<usize> {
    encode_as(src, (level, (level < HIGH).then_some(6)), out)
}

fn encoder((level, shortest): Settings) -> std::io::Result<Compressor<'static>> {
    let mut encoder = Compressor::new(level)?;
    if let Some(n) = shortest {
        encoder.set_parameter(CParameter::MinMatch(n))?;
    }
    Ok(encoder)
}

fn encode_as(src: &[u8], wanted: Settings, out: &mut Vec<u8>) -> Result<usize> {
    let failed = |e: std::io::Error| Error::BadFilter(format!("zstd level {}: {e}", wanted.0));
    with_own(&ENCODERS, |encoders| {
        match encoders.iter().position(|(w, _)| *w == wanted) {
            Some(i) => encoders[..=i].rotate_right(1),
            None => {
                encoders.retain(|((level, _), _)| *level < HIGH);
                encoders.truncate(CACHED - 1);
                encoders.insert(0, (wanted, encoder(wanted).map_err(failed)?));
            }
        }
        let encoder = &mut encoders[0].1;
        let bound = zstd::zstd_safe::compress_bound(src.len());
        grow(out, bound)?;
        encoder.compress_to_buffer(src, &mut out[..bound]).map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_take_turns_give_what_each_gives_alone() {
        let data: Vec<u8> = (0..40_000u32).flat_map(|i| (i * i / 7 % 251).to_le_bytes()).collect();
        let alone = |wanted: Settings| {
            std::thread::scope(|s| {
                let encoding = s.spawn(|| {
                    let mut out = Vec::new();
                    encode_as(&data, wanted, &mut out).map(|n| out[..n].to_vec()).unwrap()
                });
                encoding.join().unwrap()
            })
        };
        let settings =
            [(3, None), (4, Some(6)), (1, None), (3, None), (19, None), (4, Some(6)), (3, Some(6))];
        for wanted in settings.into_iter().cycle().take(3 * settings.len()) {
            let mut out = Vec::new();
            let n = encode_as(&data, wanted, &mut out).unwrap();
            assert!(out[..n] == alone(wanted), "{wanted:?}");
            let mut back = vec![0; data.len()];
            assert_eq!((decode(&out[..n], &mut back).unwrap(), back == data), (data.len(), true));
        }
    }
}
