//! Deflate that knows byte planes: one legal zlib stream (RFC 1950), in which each plane of a shuffled chunk
//! is treated as it deserves.
//!
//! After a shuffle, byte `k` of all elements stands together. Such a plane is homogeneous: the low mantissa
//! bytes of measured values are often random, the exponents nearly constant. A general encoder spends most of
//! its time where it gains nothing. Here each plane is sampled first, and gets the fastest of five treatments
//! that loses next to nothing against the best: stored (which also decodes at the speed of copying), runs only,
//! one look-up for repeats of four or of three bytes, or chains as deep as the level asks.
//!
//! Every reader of zlib streams decodes the result.

use super::bits::Bits;
use super::block::{Sequence, dynamic_bits, stored_bits, write_block, write_stored};
use super::matcher::{Effort, Matcher};

/// Bytes that share one pair of Huffman codes.
const BLOCK: usize = 64 << 10;
/// Bytes of one sample, and how many are taken of a plane.
const SAMPLE: usize = 4 << 10;
const SAMPLES: usize = 3;
/// So many bytes before a sample are known to the matcher, so that repeats of whole rows are seen.
const BEFORE: usize = 8 << 10;

/// Encodes chunks; keeps its tables between them.
pub struct PlaneEncoder {
    matcher: Matcher,
    sequences: Vec<Sequence>,
    level: u32,
}

/// What is done with a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Store,
    Code(Effort),
}

impl PlaneEncoder {
    /// An encoder for zlib's levels 1 to 9.
    pub fn new(level: u32) -> Self {
        Self { matcher: Matcher::new(), sequences: Vec::new(), level: level.clamp(1, 9) }
    }

    /// The level that it was made for.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Longest stream that `len` bytes in `planes` planes can become.
    pub fn bound(len: usize, planes: usize) -> usize {
        // Every block is stored at worst: at most three bits, padding and lengths for each started 64 KiB.
        len + 6 * (len / BLOCK + 2 * planes + 2) + 16 + Bits::SLACK
    }

    /// The most that a level spends on a plane.
    fn thorough(&self) -> Effort {
        match self.level {
            1 => Effort::Fast { least: 3 },
            2 => Effort::Chains { depth: 4, nice: 16, lazy: false },
            3 => Effort::Chains { depth: 6, nice: 32, lazy: false },
            4 => Effort::Chains { depth: 8, nice: 32, lazy: true },
            5 => Effort::Chains { depth: 16, nice: 64, lazy: true },
            6 => Effort::Chains { depth: 32, nice: 128, lazy: true },
            7 => Effort::Chains { depth: 64, nice: 128, lazy: true },
            8 => Effort::Chains { depth: 256, nice: 258, lazy: true },
            _ => Effort::Chains { depth: 1024, nice: 258, lazy: true },
        }
    }

    /// So much larger than the best treatment's result a faster one's may be, in parts of a thousand.
    fn tolerance(&self) -> u64 {
        match self.level {
            1..=4 => 12,
            5 | 6 => 6,
            _ => 2,
        }
    }

    /// Encodes `bytes`, of which each of `planes` equal parts is one plane (a rest belongs to the last), into
    /// the front of `out`, which is [`PlaneEncoder::bound`] long; gives the length of the stream.
    pub fn encode(&mut self, bytes: &[u8], planes: usize, out: &mut [u8]) -> usize {
        let planes = planes.clamp(1, bytes.len().max(1));
        let n = bytes.len() / planes;
        let mut bits = Bits::new(out);
        // CMF and FLG: deflate, 32 KiB window; FLEVEL tells the effort; a multiple of 31.
        let flevel = match self.level {
            1 => 0x01,
            2..=5 => 0x5E,
            6 => 0x9C,
            _ => 0xDA,
        };
        bits.bytes(&[0x78, flevel]);
        let mut from = 0;
        for p in 0..planes {
            let end = if p + 1 == planes { bytes.len() } else { (p + 1) * n };
            let effort = match self.treatment(&bytes[from..end]) {
                Treatment::Store => {
                    write_stored(&mut bits, &bytes[from..end], end == bytes.len());
                    from = end;
                    continue;
                }
                Treatment::Code(effort) => effort,
            };
            self.matcher.reset();
            let plane = &bytes[from..end];
            let blocks = plane.len().div_ceil(BLOCK).max(1);
            // Equal blocks rather than a short last one.
            let size = plane.len().div_ceil(blocks);
            let mut at = 0;
            loop {
                let to = (at + size).min(plane.len());
                self.matcher.find(plane, effort, at, to, &mut self.sequences);
                write_block(&mut bits, &plane[at..to], &self.sequences, from + to == bytes.len());
                at = to;
                if at == plane.len() {
                    break;
                }
            }
            from = end;
        }
        let end = bits.finish();
        out[end..end + 4].copy_from_slice(&libdeflater::adler32(bytes).to_be_bytes());
        end + 4
    }

    /// The fastest treatment whose result is about as small as the best one's, judged on samples.
    fn treatment(&mut self, plane: &[u8]) -> Treatment {
        if plane.len() < 4 * SAMPLE {
            return Treatment::Code(self.thorough());
        }
        let runs = self.sampled_bits(plane, Effort::Runs);
        let thorough = self.sampled_bits(plane, self.thorough());
        let best = thorough.min(runs);
        let enough = best + best * self.tolerance() / 1000;
        if stored_bits(SAMPLE) * SAMPLES as u64 <= enough {
            return Treatment::Store;
        }
        if runs <= enough {
            return Treatment::Code(Effort::Runs);
        }
        for effort in [Effort::Fast { least: 4 }, Effort::Fast { least: 3 }] {
            if effort == self.thorough() || self.sampled_bits(plane, effort) <= enough {
                return Treatment::Code(effort);
            }
        }
        Treatment::Code(self.thorough())
    }

    /// Bits that the samples of a plane take after this effort.
    fn sampled_bits(&mut self, plane: &[u8], effort: Effort) -> u64 {
        let step = (plane.len() - SAMPLE) / SAMPLES;
        let mut bits = 0;
        for i in 1..=SAMPLES {
            let from = i * step;
            let sample = from..from + SAMPLE;
            if effort != Effort::Runs {
                self.matcher.reset();
                self.matcher.prime(plane, effort, from.saturating_sub(BEFORE), from);
            }
            self.matcher.find(plane, effort, from, sample.end, &mut self.sequences);
            bits += dynamic_bits(&plane[sample], &self.sequences);
        }
        bits
    }
}
