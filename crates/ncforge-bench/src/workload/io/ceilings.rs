//! What the machine could do at best: memory, storage, and the codec, each measured by itself before the cases are.
//!
//! A result says more when it is known what bounds it. Writing goes through memory once, through the system's cache or to the device,
//! and through the encoder; reading the other way round. The slowest of these is the *binding* ceiling, and each row's rate
//! is told as a share of it.

use std::path::Path;

use ncforge::codec::CodecChain;
use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::data::Values;
use super::options::{CacheAsk, IoOptions};
use super::result::PhaseKind;
use crate::cache;
use crate::clock;
use crate::driver::Coding;
use crate::environment::processors;
use crate::error::{Error, Result};
use ncforge::Hyperslab;

/// Bytes of values a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceilings {
    /// Copying from memory to memory, by one thread.
    pub copy: f64,
    /// Writing a new file into the system's cache.
    pub write: f64,
    /// The same until it is on the device.
    pub write_synced: f64,
    /// Reading a file from the system's cache.
    pub read: f64,
    /// Reading it from the device, where that can be had.
    pub read_cold: Option<f64>,
    /// Codecs that were asked for: encoding and decoding by one thread.
    pub codecs: Vec<CodecRate>,
    /// Processors, which encoders and decoders can share.
    pub processors: usize,
}

/// One codec's rates, in bytes of values a second and thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodecRate {
    /// Compressor and shuffle.
    pub coding: Coding,
    /// Encoding.
    pub encode: f64,
    /// Decoding.
    pub decode: f64,
}

/// A ceiling, and its name in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// What bounds: "the device".
    pub what: String,
    /// Bytes of values a second.
    pub rate: f64,
}

/// Bytes of what is measured.
const SAMPLE: usize = 64 << 20;
/// How often; the best counts.
const TIMES: usize = 3;

impl Ceilings {
    /// Measures with a file beside the one that will be written.
    ///
    /// # Errors
    /// When that file cannot be written.
    pub(super) fn measure(options: &IoOptions, values: &Values) -> Result<Ceilings> {
        let path = options.file.with_extension("ceiling");
        let measured = Self::with(&path, options, values);
        let _ = std::fs::remove_file(&path);
        measured
    }

    fn with(path: &Path, options: &IoOptions, values: &Values) -> Result<Ceilings> {
        use std::io::Write;
        let source = sample(values);
        let mut target = Buffer::of(source.len());
        target.fill(1);
        let len = source.len() as f64;
        let mut best = Ceilings { processors: processors(), ..Ceilings::default() };
        for _ in 0..TIMES {
            best.copy = best.copy.max(len / seconds(|| target.copy_from_slice(&source)));
            std::hint::black_box(&mut target);
            let _ = std::fs::remove_file(path);
            let said = |e| Error::io("write", path, e);
            let begun = clock::now();
            let mut file = std::fs::File::create(path).map_err(said)?;
            for part in source.chunks(1 << 20) {
                file.write_all(part).map_err(said)?;
            }
            best.write = best.write.max(len / (clock::now() - begun));
            file.sync_data().map_err(said)?;
            best.write_synced = best.write_synced.max(len / (clock::now() - begun));
            drop(file);
            if cache::make_cold(&[path.to_owned()]).is_ok() {
                let rate = len / read(path, &mut target)?;
                best.read_cold = Some(best.read_cold.map_or(rate, |r| r.max(rate)));
            }
            cache::warm(path)?;
            best.read = best.read.max(len / read(path, &mut target)?);
        }
        let mut asked: Vec<Coding> = Vec::new();
        for coding in options.cases.iter().map(|c| lossless(&c.coding)).filter(Coding::is_filtered) {
            if !asked.contains(&coding) {
                asked.push(coding);
            }
        }
        for coding in asked {
            best.codecs.push(codec_rate(coding, &source, values.dtype.size(), TIMES)?);
        }
        Ok(best)
    }

    /// What bounds a row: the slowest of what its bytes must go through.
    pub fn bound(&self, kind: PhaseKind, cache: Option<CacheAsk>, coding: &Coding) -> Bound {
        let mut all = vec![("copying in memory".to_owned(), self.copy)];
        match (kind, cache) {
            (PhaseKind::Write | PhaseKind::Append, _) => {
                all.push(("writing into the system's cache".to_owned(), self.write));
            }
            // Into pages that are there: faster than that.
            (PhaseKind::Rewrite, _) => {}
            (PhaseKind::Read, Some(CacheAsk::Cold)) => {
                all.extend(self.read_cold.map(|r| ("reading from the device".to_owned(), r)));
            }
            (PhaseKind::Read, _) => all.push(("reading from the system's cache".to_owned(), self.read)),
        }
        if let Some(c) = self.codecs.iter().find(|c| c.coding == lossless(coding)) {
            let (word, rate) =
                if kind != PhaseKind::Read { ("encoding", c.encode) } else { ("decoding", c.decode) };
            let cpus = self.processors.max(1);
            all.push((format!("{word} ({}) on {cpus} processors", c.coding), rate * cpus as f64));
        }
        let least = all.into_iter().filter(|b| b.1 > 0.0).min_by(|a, b| a.1.total_cmp(&b.1));
        let (what, rate) = least.unwrap_or_default();
        Bound { what, rate }
    }
}

fn seconds(f: impl FnOnce()) -> f64 {
    let begun = clock::now();
    f();
    (clock::now() - begun).max(1e-9)
}

/// Seconds to read a file.
fn read(path: &Path, room: &mut [u8]) -> Result<f64> {
    use std::io::Read;
    let said = |e| Error::io("read", path, e);
    let begun = clock::now();
    let mut file = std::fs::File::open(path).map_err(said)?;
    for part in room.chunks_mut(1 << 20) {
        file.read_exact(part).map_err(said)?;
    }
    Ok(clock::now() - begun)
}

/// Values as they will be written, from the first one on; repeated where there are few.
fn sample(values: &Values) -> Buffer {
    let size = values.dtype.size() as u64;
    let row: u64 = values.shape[1..].iter().product::<u64>().max(1) * size;
    let steps = (SAMPLE as u64).div_ceil(row).clamp(1, values.shape[0].max(1));
    let mut slab = Hyperslab::all(&values.shape);
    slab.count[0] = steps;
    // Of steps that are too large by themselves, a part along the second axis.
    if values.shape.len() > 1 && row > SAMPLE as u64 * 2 {
        let inner = (row / values.shape[1].max(1)).max(1);
        slab.count[1] = (SAMPLE as u64 / inner).clamp(1, values.shape[1]);
    }
    let mut out = vec![0u8; (slab.len() * size) as usize];
    values.fill(&slab, 0, &mut out);
    let mut whole = Buffer::of(SAMPLE);
    whole.chunks_mut(out.len()).for_each(|part| part.copy_from_slice(&out[..part.len()]));
    whole
}

/// What takes a codec's time; rounding is measured with nobody.
fn lossless(coding: &Coding) -> Coding {
    Coding { rounding: None, ..*coding }
}

/// The rates of a codec by one thread, from chunks of 1 MiB: the best of so many times.
pub(super) fn codec_rate(coding: Coding, source: &[u8], size: usize, times: usize) -> Result<CodecRate> {
    const CHUNK: usize = 1 << 20;
    let chain = CodecChain::new(&coding.filters(size, CHUNK), size)?;
    let part = &source[..source.len().min(8 * CHUNK)];
    let mut rate = CodecRate { coding, ..CodecRate::default() };
    let mut room = vec![0u8; CHUNK];
    for _ in 0..times {
        let (mut encode, mut decode) = (0.0, 0.0);
        for chunk in part.chunks_exact(CHUNK) {
            let begun = clock::now();
            let (encoded, mask) = chain.encode(chunk)?;
            encode += clock::now() - begun;
            let begun = clock::now();
            chain.decode(&encoded, mask, &mut room)?;
            decode += clock::now() - begun;
        }
        let len = (part.len() / CHUNK * CHUNK) as f64;
        rate.encode = rate.encode.max(len / f64::max(encode, 1e-9));
        rate.decode = rate.decode.max(len / f64::max(decode, 1e-9));
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_part_binds() {
        let c = Ceilings {
            copy: 10e9,
            write: 2e9,
            write_synced: 0.5e9,
            read: 5e9,
            read_cold: Some(0.3e9),
            codecs: vec![CodecRate { coding: Coding::deflate(4, false), encode: 0.1e9, decode: 0.6e9 }],
            processors: 2,
        };
        let rate = |kind, cache, level| c.bound(kind, cache, &Coding::deflate(level, false)).rate;
        assert_eq!(rate(PhaseKind::Write, None, 0), 2e9);
        assert_eq!(rate(PhaseKind::Write, None, 4), 0.2e9);
        assert_eq!(rate(PhaseKind::Read, Some(CacheAsk::Warm), 0), 5e9);
        assert_eq!(rate(PhaseKind::Read, Some(CacheAsk::Cold), 4), 0.3e9);
        let b = c.bound(PhaseKind::Read, Some(CacheAsk::Warm), &Coding::deflate(4, false));
        assert!(b.what.contains("decoding (deflate 4)") && b.rate == 1.2e9, "{b:?}");
    }
}
