//! Deflate by byte planes: one legal zlib stream (RFC 1950), in which each plane of a shuffled chunk gets a treatment of
//! its own.
//!
//! After a shuffle, byte `k` of all elements is stored together. Such a plane is homogeneous: the low mantissa
//! bytes of measured values are often random, the exponents nearly constant. A general encoder spends most of
//! its time where it gains nothing. Here a [`Plan`] is made from samples first; then each plane is stored (which
//! also decodes at the speed of copying), or searched for runs or repeats according to the plan. Neighbouring
//! segments share Huffman codes where that is smaller, also across planes.
//!
//! Every reader of zlib streams decodes the result.

use super::super::scratch::grow;
use super::access::{MOST_POINTS, Marks, Segments};
use super::bits::Bits;
use super::block::{Counts, Sequence, entropy, write_block, write_stored};
use super::matcher::{Effort, Matcher, Range};
use super::plan::{Plan, Treatment};
use super::work::Work;
use crate::error::Result;

/// Bytes whose symbols are counted together; blocks are whole segments.
const SEGMENT: usize = 16 << 10;
/// The same where bytes change from part to part.
const PART: usize = 2 << 10;
/// A segment of a plane that the plan stores is stored only if its bytes have at least this many bits of entropy.
const RANDOM: f32 = 7.8;
/// A separate block must save this many bits in addition to its header: building its codes takes time.
const SPLIT_GAIN: f32 = 200.0;

/// Encodes chunks; reuses its tables.
pub struct PlaneEncoder {
    matcher: Matcher,
    sequences: Vec<Sequence>,
    level: u32,
    /// Bytes that are counted together.
    segment: usize,
    work: Work,
    marks: Marks,
}

/// Segments that are not written yet and will share one block.
struct Pending {
    /// The position of its first byte.
    from: usize,
    counts: Counts,
}

impl PlaneEncoder {
    /// An encoder for zlib's levels 1 to 9.
    pub fn new(level: u32) -> Self {
        Self {
            matcher: Matcher::new(),
            sequences: Vec::new(),
            level: level.clamp(1, 9),
            segment: SEGMENT,
            work: Work::default(),
            marks: Marks::default(),
        }
    }

    /// The level that it was created for.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The work of decoding the last stream.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Longest chunk that can be encoded, in bytes: positions are 32-bit numbers.
    pub const MOST: usize = 1 << 31;

    /// Longest stream for `len` bytes in `planes` planes.
    pub fn bound(len: usize, planes: usize) -> usize {
        // At worst every block is stored: at most three bits, padding and lengths for each segment.
        len + 6 * (len / PART + 2 * planes + 2) + 16 + Bits::SLACK
    }

    /// Encodes `bytes`, which consist of `planes` equal parts, one for each plane (remaining bytes belong to the last), with segments and their
    /// table, if `segments` says so; returns the length at the front of `out`.
    pub fn encode(
        &mut self,
        bytes: &[u8],
        planes: usize,
        segments: Segments,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        let (plan, segment) = self.plan(bytes, planes, segments);
        self.encode_cut(bytes, plan, segment, out)
    }

    /// As [`Self::encode`], with access points; `None` if there shall be none.
    pub(super) fn encode_segments(
        &mut self,
        bytes: &[u8],
        planes: usize,
        segments: Segments,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>> {
        let (plan, segment) = self.plan(bytes, planes, segments);
        segment.is_some().then(|| self.encode_cut(bytes, plan, segment, out)).transpose()
    }

    /// The treatment of each plane, and the bytes of a segment in it, if it is cut.
    fn plan(&mut self, bytes: &[u8], planes: usize, segments: Segments) -> (Plan, Option<usize>) {
        let planes = planes.clamp(1, bytes.len().max(1));
        // Bytes that were not shuffled may need repeats of three.
        let short = (planes == 1)
            .then(|| Plan::short(bytes, self.level, &mut self.matcher, &mut self.sequences))
            .flatten();
        let mut plan = short
            .unwrap_or_else(|| Plan::of(bytes, planes, self.level, &mut self.matcher, &mut self.sequences));
        let segment = match segments {
            Segments::None => None,
            Segments::Auto => plan.cut(bytes, &mut self.matcher, &mut self.sequences),
            Segments::Bytes(n) => asked(bytes.len(), planes, n),
        };
        if segment.is_some() {
            plan.for_segments();
        }
        (plan, segment)
    }

    fn encode_cut(
        &mut self,
        bytes: &[u8],
        plan: Plan,
        segment: Option<usize>,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        let planes = plan.planes();
        grow(out, Self::bound(bytes.len(), planes))?;
        self.marks.begin(bytes.len() / planes, segment);
        let end = self.encode_planned(bytes, plan, out);
        let end = self.marks.finish(bytes, out, end);
        self.marks.begin(0, None);
        Ok(end)
    }

    /// Encodes bytes that were not shuffled, if repeats of three bytes make them smaller than those of four;
    /// `None` if they do not. They matter for numbers that hardly get smaller at all.
    pub(super) fn encode_short(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
        let Some(plan) = Plan::short(bytes, self.level, &mut self.matcher, &mut self.sequences) else {
            return Ok(None);
        };
        grow(out, Self::bound(bytes.len(), 1))?;
        Ok(Some(self.encode_planned(bytes, plan, out)))
    }

    /// Encodes bytes that were not shuffled, with a search that suits short or very regular data.
    pub(super) fn encode_patiently(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        self.encode_planned(bytes, Plan::patient(self.level), out)
    }

    /// Encodes bytes that were not shuffled and change from part to part.
    pub(super) fn encode_in_parts(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        self.segment = PART;
        let end = self.encode_planned(bytes, Plan::runs(), out);
        self.segment = SEGMENT;
        end
    }

    fn encode_planned(&mut self, bytes: &[u8], mut plan: Plan, out: &mut [u8]) -> usize {
        let planes = plan.planes();
        let n = bytes.len() / planes;
        let mut bits = Bits::new(out, std::mem::take(&mut self.marks));
        // CMF and FLG: deflate, 32 KiB window; FLEVEL is the effort; a multiple of 31.
        let flevel = match self.level {
            1 => 0x01,
            2..=5 => 0x5E,
            6 => 0x9C,
            _ => 0xDA,
        };
        bits.bytes(&[0x78, flevel]);
        self.matcher.begin(bytes.len());
        self.matcher.stretch_runs(plan.stretches_runs());
        self.sequences.clear();
        let mut pending = Pending { from: 0, counts: Counts::none() };
        for p in 0..planes {
            let treatment = plan.treatment(p, n);
            let end = if p + 1 == planes { bytes.len() } else { (p + 1) * n };
            let mut at = p * n;
            if let Some(parse) = plan.take_parse(p).filter(|parse| treatment == Treatment::Code(parse.effort))
            {
                let before = self.sequences.len();
                self.sequences.extend_from_slice(&parse.sequences);
                self.join(&mut bits, bytes, at, before, parse.counts, &mut pending);
                at = end;
            }
            while at < end {
                at = match treatment {
                    Treatment::Store => self.store(&mut bits, bytes, at, end, &mut pending),
                    Treatment::Code(effort) => self.code(&mut bits, bytes, at, end, effort, &mut pending),
                };
            }
        }
        self.matcher.stretch_runs(false);
        // A last block may be empty.
        let rest = &bytes[pending.from..];
        write_block(&mut bits, rest, pending.from, &self.sequences, &pending.counts, true);
        self.work = bits.work;
        let end;
        (end, self.marks) = bits.finish();
        out[end..end + 4].copy_from_slice(&libdeflater::adler32(bytes).to_be_bytes());
        end + 4
    }

    /// Codes a segment from `at` on, joined to the pending segments or not; returns where it ends.
    fn code(
        &mut self,
        bits: &mut Bits,
        bytes: &[u8],
        at: usize,
        end: usize,
        effort: Effort,
        pending: &mut Pending,
    ) -> usize {
        let before = self.sequences.len();
        let stop = (at + self.segment).min(end);
        let mut to = at;
        while to < stop {
            let reach = bits.marks.around(to, end);
            if bits.marks.code(to, self.sequences.len()) {
                self.matcher.begin(reach.len());
            }
            let (first, len) = (reach.start, reach.len());
            let range = Range { from: to - first, stop: stop.min(reach.end) - first, end: len };
            to = first + self.matcher.find(&bytes[reach], effort, range, &mut self.sequences);
        }
        let counts = Counts::of(&bytes[at..to], &self.sequences[before..]);
        self.join(bits, bytes, at, before, counts, pending);
        to
    }

    /// Joins a segment from `at` on, whose sequences from `before` on are counted in `counts`, to the pending segments; or
    /// writes these first.
    fn join(
        &mut self,
        bits: &mut Bits,
        bytes: &[u8],
        at: usize,
        before: usize,
        counts: Counts,
        pending: &mut Pending,
    ) {
        let joint = pending.counts.with(&counts);
        if before == 0
            || joint.bits() < pending.counts.bits() + counts.bits() + counts.header_bits() + SPLIT_GAIN
        {
            pending.counts = joint;
        } else {
            let written = &self.sequences[..before];
            write_block(bits, &bytes[pending.from..at], pending.from, written, &pending.counts, false);
            self.sequences.drain(..before);
            bits.marks.written(before);
            *pending = Pending { from: at, counts };
        }
    }

    /// Stores the random bytes from `at` on; returns where they end.
    fn store(
        &mut self,
        bits: &mut Bits,
        bytes: &[u8],
        at: usize,
        end: usize,
        pending: &mut Pending,
    ) -> usize {
        let mut to = at;
        while to < end {
            let next = (to + self.segment).min(end);
            if !is_random(&bytes[to..next]) {
                break;
            }
            to = next;
        }
        if to == at {
            return self.code(bits, bytes, at, end, Effort::Runs, pending);
        }
        if pending.from < at {
            let before = &bytes[pending.from..at];
            write_block(bits, before, pending.from, &self.sequences, &pending.counts, false);
            self.sequences.clear();
        }
        write_stored(bits, &bytes[at..to], at, false);
        *pending = Pending { from: to, counts: Counts::none() };
        to
    }
}

/// The bytes of a plane in segments of `n` bytes of the chunk, if there is more than one of them, and a table for them.
fn asked(len: usize, planes: usize, n: usize) -> Option<usize> {
    let (plane, segment) = (len / planes, (n / planes).max(1));
    let fits =
        len.is_multiple_of(planes) && plane > segment && planes * plane.div_ceil(segment) <= MOST_POINTS;
    fits.then_some(segment)
}

/// An estimate, from every second part, of the bytes that are left if each part has a code of its own, and nothing repeats: less than a
/// search leaves whose blocks are long, where the bytes change from part to part.
pub(super) fn in_parts(bytes: &[u8]) -> usize {
    let (mut bits, mut seen) = (0.0, 0);
    for part in bytes.chunks(PART).step_by(2) {
        let counts = Counts::of(part, &[Sequence { literals: part.len() as u32, ..Sequence::default() }]);
        bits += f64::from(counts.bits() + counts.header_bits());
        seen += part.len();
    }
    (bits / 8.0 * bytes.len() as f64 / seen.max(1) as f64) as usize
}

/// Whether a code for these bytes gains nothing, estimated from a quarter of them.
fn is_random(bytes: &[u8]) -> bool {
    let mut tables = [[0u32; 256]; 4];
    let mut seen = 0;
    for line in bytes.chunks(256) {
        let part = &line[..line.len().div_ceil(4)];
        let (fours, rest) = part.as_chunks::<4>();
        for four in fours {
            for (table, &b) in tables.iter_mut().zip(four) {
                table[b as usize] += 1;
            }
        }
        for &b in rest {
            tables[0][b as usize] += 1;
        }
        seen += part.len();
    }
    let [mut sum, b, c, d] = tables;
    for (i, s) in sum.iter_mut().enumerate() {
        *s += b[i] + c[i] + d[i];
    }
    // A few thousand bytes seem less random than they are, by about this many bits (Miller's correction).
    let used = sum.iter().filter(|&&c| c > 0).count();
    entropy(&sum) + used as f32 * 0.72 >= RANDOM * seen as f32
}
