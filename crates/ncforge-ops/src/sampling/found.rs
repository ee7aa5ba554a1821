//! The sizes and times of encoding and decoding parts of a variable.

use std::time::Instant;

use super::threads::{self, Part};
use ncforge::Result;
use ncforge::codec::CodecChain;
use ncforge::codec::deflate::{Segments, Work, take_work};
use ncforge_tune::rates::{inflate_seconds, zlib_inflate_seconds};

/// Rounds of decoding all parts, of which the fastest counts. One part again and again would be faster than any reader is: the
/// processor learns by heart which branches it takes.
const TIMES: usize = 3;
/// The number of segments that are enough to measure one.
const ENOUGH: usize = 64;

/// The result of encoding some parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoded {
    /// Bytes of all streams.
    pub(crate) bytes: u64,
    /// Seconds of encoding, timed just now.
    pub(crate) seconds: f64,
    /// The work of decoding the streams, where it is known.
    pub(crate) work: Option<Work>,
}

/// Encodes one part: the stream, its filter mask, and what that came to.
fn encode_one(chain: &CodecChain, part: &[u8]) -> Result<(Vec<u8>, u32, Encoded)> {
    let begun = Instant::now();
    take_work();
    let (stream, mask) = chain.encode(part)?;
    let seconds = begun.elapsed().as_secs_f64();
    let encoded = Encoded { bytes: stream.len() as u64, seconds, work: take_work() };
    Ok((stream, mask, encoded))
}

/// Encodes parts, each by itself.
pub(crate) fn encode(chain: &CodecChain, parts: &[Vec<u8>]) -> Result<Encoded> {
    let mut all = Encoded { bytes: 0, seconds: 0.0, work: Some(Work::default()) };
    for part in parts {
        let (_, _, one) = encode_one(chain, part)?;
        all.bytes += one.bytes;
        all.seconds += one.seconds;
        all.work = all.work.zip(one.work).map(|(mut sum, work)| {
            sum += work;
            sum
        });
    }
    Ok(all)
}

/// Elements of a segment when its cost is measured: a quarter of the part, at least the first, at most the second, as in most chunks.
const SEGMENT: (usize, usize) = (512, 2048);

/// The cost of access points in some parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Cuts {
    segments: usize,
    bytes: usize,
}

impl Cuts {
    /// Encodes one part more, with and without; not one that is too small to tell.
    pub(super) fn add(&mut self, chain: &CodecChain, part: &[u8], element: usize) -> Result<()> {
        let elements = part.len() / element;
        let segment = (elements / 4).min(SEGMENT.1);
        if segment >= SEGMENT.0 && self.segments < ENOUGH && chain.segmented(0).is_some() {
            let len = |segments| -> Result<usize> {
                Ok(chain.clone().with_segments(segments).encode(part)?.0.len())
            };
            let (cut, whole) = (len(Segments::Bytes(segment * element))?, len(Segments::None)?);
            self.segments += elements / segment;
            self.bytes += cut.saturating_sub(whole);
        }
        take_work();
        Ok(())
    }

    /// Bytes of a segment, `usual` at least: parts are short, and miss matches that end at the beginning of a segment.
    pub(super) fn each(&self, usual: Option<f64>) -> Option<f64> {
        usual.map(|usual| usual.max(self.bytes as f64 / self.segments.max(1) as f64))
    }
}

/// Some parts, how small they became and how long that took.
#[derive(Clone, Default)]
pub(super) struct Found {
    pub(super) parts: u64,
    /// Parts whose work is known.
    pub(super) counted: u64,
    pub(super) work: Work,
    /// Parts that were encoded with access points.
    pub(super) cut: u64,
    /// Bytes of all parts, as they are and encoded.
    pub(super) raw: u64,
    pub(super) stored: u64,
    /// Seconds of decoding.
    pub(super) decode: f64,
    /// The gain of each further thread, where it was asked for.
    pub(super) gain: Option<f64>,
    /// Parts that are still to be decoded, to measure the time.
    waiting: Vec<Part>,
}

impl Found {
    /// Encodes one part more. `timed`: [`Found::time`] shall decode it.
    pub(super) fn add(&mut self, chain: &CodecChain, bytes: &[u8], timed: bool) -> Result<()> {
        let (stream, mask, encoded) = encode_one(chain, bytes)?;
        if let Some(work) = encoded.work {
            self.counted += 1;
            self.work += work;
        }
        self.parts += 1;
        self.cut += u64::from(chain.segmented(mask).is_some_and(|own| own.segment(&stream).is_some()));
        self.raw += bytes.len() as u64;
        self.stored += encoded.bytes;
        if timed {
            self.waiting.push((stream, mask, bytes.len()));
        }
        Ok(())
    }

    /// The time of zlib over ours.
    pub(super) fn zlib(&self) -> f64 {
        zlib_inflate_seconds(&self.work) / self.counted_seconds()
    }

    /// Seconds of decoding, by the work that was counted.
    pub(super) fn counted_seconds(&self) -> f64 {
        inflate_seconds(&self.work, self.parts)
    }

    /// Seconds of decoding a byte, by work or by the clock.
    pub(super) fn per_byte(&self, seconds: fn(&Found) -> f64) -> f64 {
        seconds(self).max(1e-9) / self.raw.max(1) as f64
    }

    /// Both together.
    pub(super) fn join(&mut self, other: &Found) {
        self.parts += other.parts;
        self.counted += other.counted;
        self.work += other.work;
        self.cut += other.cut;
        self.raw += other.raw;
        self.stored += other.stored;
        self.decode += other.decode;
    }

    /// Decodes what waits for it: by one thread, and by as many as `together` at the same time.
    pub(super) fn time(&mut self, chain: &CodecChain, together: Option<usize>) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut out = vec![0; waiting.iter().map(|w| w.2).max().unwrap_or(0)];
        // Fetched bytes are in the processor's cache when they are decoded; bringing them there is another price.
        let mut fetched = vec![0; waiting.iter().map(|w| w.0.len()).max().unwrap_or(0)];
        let mut best = f64::INFINITY;
        for _ in 0..TIMES {
            let mut spent = 0.0;
            for (encoded, mask, len) in &waiting {
                let fetched = &mut fetched[..encoded.len()];
                fetched.copy_from_slice(encoded);
                let begun = Instant::now();
                chain.decode(fetched, *mask, &mut out[..*len])?;
                spent += begun.elapsed().as_secs_f64();
            }
            best = best.min(spent);
        }
        self.decode += best;
        let threads = together.filter(|&n| n > 1 && !waiting.is_empty());
        self.gain = threads.map(|n| threads::gain(chain, &waiting, best, n)).transpose()?;
        Ok(())
    }
}
