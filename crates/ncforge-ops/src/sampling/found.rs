//! What encoding parts of a variable, and decoding them, came to.

use std::time::Instant;

use super::threads::{self, Part};
use ncforge::codec::CodecChain;
use ncforge::codec::deflate::{Work, take_work};
use ncforge::error::Result;

/// Rounds of decoding all parts, of which the fastest counts. One part again and again would be faster than any reader is: the
/// processor learns by heart which branches it takes.
const TIMES: usize = 3;

/// Some parts, how small they became and how long that took.
#[derive(Clone, Default)]
pub(super) struct Found {
    pub(super) parts: u64,
    /// Parts whose work is known.
    pub(super) counted: u64,
    pub(super) work: Work,
    /// Bytes of all parts, as they are and encoded.
    pub(super) raw: u64,
    pub(super) stored: u64,
    /// Seconds.
    pub(super) encode: f64,
    pub(super) decode: f64,
    /// What each thread more added, where that was asked.
    pub(super) gain: Option<f64>,
    /// What is still to be decoded, to see how long that takes.
    waiting: Vec<Part>,
}

impl Found {
    /// Encodes one part more. `timed`: [`Found::time`] shall decode it.
    pub(super) fn add(&mut self, chain: &CodecChain, bytes: &[u8], timed: bool) -> Result<()> {
        let begun = Instant::now();
        take_work();
        let (encoded, mask) = chain.encode(bytes)?;
        self.encode += begun.elapsed().as_secs_f64();
        if let Some(work) = take_work() {
            self.counted += 1;
            self.work += work;
        }
        self.parts += 1;
        self.raw += bytes.len() as u64;
        self.stored += encoded.len() as u64;
        if timed {
            self.waiting.push((encoded, mask, bytes.len()));
        }
        Ok(())
    }

    /// How many times as long zlib takes.
    pub(super) fn zlib(&self) -> f64 {
        self.work.seconds_by_zlib() / self.counted_seconds()
    }

    /// Seconds of decoding, by the work that was counted.
    pub(super) fn counted_seconds(&self) -> f64 {
        self.work.seconds(self.parts)
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
        self.raw += other.raw;
        self.stored += other.stored;
        self.encode += other.encode;
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
