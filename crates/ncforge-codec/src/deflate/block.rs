//! Blocks: a run of matches and literals becomes the cheapest of a stored, a fixed and a dynamic block
//! (RFC 1951 §3.2.3–3.2.7).

use std::sync::OnceLock;

use super::bits::Bits;
use super::huffman::Code;
use super::symbols::{DISTANCES, END, LITLEN, MAX_MATCH, distance_symbol, length_symbol};
use super::work::Work;

/// Longest code of a literal or length: four literals then fit between two flushes.
const LITLEN_LIMIT: usize = 14;
const DISTANCE_LIMIT: usize = 15;
/// The order in which lengths of the code-length code are sent (RFC 1951 §3.2.7).
const CODE_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// The largest number of bytes in a stored block.
const STORED_MAX: usize = 65535;

/// Some literals, then one match. The last of a block may have no match (`length` 0).
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    pub(super) length: u16,
    /// Distance less 1.
    pub(super) distance: u16,
}

/// Writes `bytes`, which begin at byte `from` of the chunk, as stored blocks.
pub(super) fn write_stored(bits: &mut Bits, bytes: &[u8], from: usize, last: bool) {
    bits.work.stored += bytes.len() as u64;
    let mut parts = bytes.chunks(STORED_MAX).peekable();
    let mut at = from;
    loop {
        let part = parts.next().unwrap_or_default();
        let end = parts.peek().is_none();
        let header = bits.position();
        bits.put(u64::from(last && end), 3);
        bits.align();
        let len = part.len() as u16;
        bits.bytes(&len.to_le_bytes());
        bits.bytes(&(!len).to_le_bytes());
        let begin = bits.position();
        bits.marks.store(header, begin, at..at + part.len());
        at += part.len();
        bits.bytes(part);
        if end {
            break;
        }
    }
}

/// Writes one block: `bytes`, which begin at byte `from` of the chunk, as described by `sequences`, whose symbols `counts` counts.
pub(super) fn write_block(
    bits: &mut Bits,
    bytes: &[u8],
    from: usize,
    sequences: &[Sequence],
    counts: &Counts,
    last: bool,
) {
    let litlen = Code::new(&counts.litlen, LITLEN_LIMIT);
    let distance = Code::new(&counts.distance, DISTANCE_LIMIT);
    let header = Header::of(&litlen, &distance);
    let cost = |l: &Code<LITLEN>, d: &Code<DISTANCES>| {
        l.cost(&counts.litlen) + d.cost(&counts.distance) + counts.extra_bits
    };
    let (fixed_litlen, fixed_distance) = fixed();
    let dynamic = header.bits + cost(&litlen, &distance);
    let fixed = cost(fixed_litlen, fixed_distance);
    let stored = stored_bits(bytes.len());
    let begin = bits.position();
    if stored <= dynamic.min(fixed) {
        write_stored(bits, bytes, from, last);
    } else if fixed <= dynamic {
        bits.put(u64::from(last) | 1 << 1, 3);
        counts.add_to(&mut bits.work, bytes.len());
        write_symbols(bits, bytes, sequences, (fixed_litlen, fixed_distance), begin);
    } else {
        bits.put(u64::from(last) | 2 << 1, 3);
        counts.add_to(&mut bits.work, bytes.len());
        bits.work.tables += 1;
        header.write(bits);
        write_symbols(bits, bytes, sequences, (&litlen, &distance), begin);
    }
}

/// Bits that stored blocks take.
pub(super) fn stored_bits(len: usize) -> u64 {
    (len as u64 + 5 * (len as u64).div_ceil(STORED_MAX as u64)) * 8
}

/// The number of occurrences of each symbol in a block.
#[derive(Clone)]
pub(super) struct Counts {
    litlen: [u32; LITLEN],
    distance: [u32; DISTANCES],
    extra_bits: u64,
}

impl Counts {
    /// The counts of a block without symbols other than its end.
    pub(super) fn none() -> Self {
        let mut counts = Counts { litlen: [0; LITLEN], distance: [0; DISTANCES], extra_bits: 0 };
        counts.litlen[END] = 1;
        counts
    }

    /// The counts of `bytes` as described by `sequences`.
    pub(super) fn of(bytes: &[u8], sequences: &[Sequence]) -> Self {
        // Four tables: equal neighbours would otherwise wait for each other's counter.
        let mut tables = [[0u32; 256]; 4];
        let mut counts = Self::none();
        let mut at = 0;
        for s in sequences {
            let literals = &bytes[at..at + s.literals as usize];
            let (fours, rest) = literals.as_chunks::<4>();
            for four in fours {
                for (table, &b) in tables.iter_mut().zip(four) {
                    table[b as usize] += 1;
                }
            }
            for (table, &b) in tables.iter_mut().zip(rest) {
                table[b as usize] += 1;
            }
            at += s.literals as usize + s.length as usize;
            if s.length > 0 {
                let (symbol, _, extra) = length_symbol(s.length as usize);
                let (distance, _, more) = distance_symbol(s.distance as usize + 1);
                counts.litlen[symbol] += 1;
                counts.distance[distance] += 1;
                counts.extra_bits += u64::from(extra + more);
            }
        }
        let [a, b, c, d] = &tables;
        for (i, count) in counts.litlen[..256].iter_mut().enumerate() {
            *count = a[i] + b[i] + c[i] + d[i];
        }
        counts
    }

    /// Adds the work of decoding a block of these symbols and `len` bytes.
    fn add_to(&self, work: &mut Work, len: usize) {
        let literals: u64 = self.litlen[..256].iter().map(|&c| u64::from(c)).sum();
        work.literals += literals;
        work.matches += self.litlen[END + 1..].iter().map(|&c| u64::from(c)).sum::<u64>();
        work.matched += len as u64 - literals;
    }

    /// The counts of two neighbouring blocks as one.
    pub(super) fn with(&self, next: &Counts) -> Counts {
        let mut sum = self.clone();
        sum.add(next);
        sum
    }

    /// Adds the counts of a neighbouring block.
    pub(super) fn add(&mut self, next: &Counts) {
        for (a, b) in self.litlen.iter_mut().zip(&next.litlen) {
            *a += b;
        }
        for (a, b) in self.distance.iter_mut().zip(&next.distance) {
            *a += b;
        }
        self.litlen[END] = 1;
        self.extra_bits += next.extra_bits;
    }

    /// An estimate of the bits that the symbols take with the best code for them, without its description.
    pub(super) fn bits(&self) -> f32 {
        entropy(&self.litlen) + entropy(&self.distance) + self.extra_bits as f32
    }

    /// An estimate of the bits by which the symbols of a small sample are too small, because the code is fitted to
    /// their chance frequencies (Miller's correction).
    pub(super) fn bias(&self) -> f32 {
        let used = |counts: &[u32]| counts.iter().map(|&c| u32::from(c > 0)).sum::<u32>() as f32;
        0.72 * (used(&self.litlen) + used(&self.distance))
    }

    /// An estimate of the bits of the description of the block's codes.
    pub(super) fn header_bits(&self) -> f32 {
        let used = |counts: &[u32]| counts.iter().map(|&c| u32::from(c > 0)).sum::<u32>() as f32;
        50.0 + 4.0 * used(&self.litlen) + 3.0 * used(&self.distance)
    }
}

/// Bits of an ideal code for symbols with these frequencies, in total.
pub(super) fn entropy(counts: &[u32]) -> f32 {
    let (mut total, mut own) = ([0u32; 8], [0f32; 8]);
    let (eights, rest) = counts.as_chunks::<8>();
    for eight in eights {
        for i in 0..8 {
            total[i] += eight[i];
            own[i] += eight[i] as f32 * log2(eight[i]);
        }
    }
    for &c in rest {
        total[0] += c;
        own[0] += c as f32 * log2(c);
    }
    let total: u32 = total.iter().sum();
    (total as f32 * log2(total) - own.iter().sum::<f32>()).max(0.0)
}

/// The binary logarithm, to about 0.005; of 0 a finite number.
#[inline(always)]
fn log2(n: u32) -> f32 {
    let bits = (n as f32).to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    // The mantissa from 1 to 2; a parabola through the logarithm's ends.
    let m = f32::from_bits(bits & 0x007F_FFFF | 0x3F80_0000);
    exponent as f32 + (m - 1.0) * (1.0 + 0.346_6 * (2.0 - m))
}

/// The codes of fixed blocks (RFC 1951 §3.2.6), as two of the alphabet's 288 and 32 symbols never occur.
fn fixed() -> &'static (Code<LITLEN>, Code<DISTANCES>) {
    static FIXED: OnceLock<(Code<LITLEN>, Code<DISTANCES>)> = OnceLock::new();
    FIXED.get_or_init(|| {
        let mut litlen = Code { bits: [0; LITLEN], lens: [8; LITLEN] };
        litlen.lens[144..256].fill(9);
        litlen.lens[256..280].fill(7);
        for s in 0..LITLEN as u16 {
            // The four runs of RFC 1951 §3.2.6, by their first codes.
            let (code, len) = match s {
                0..144 => (0x30 + s, 8),
                144..256 => (0x190 + s - 144, 9),
                256..280 => (s - 256, 7),
                _ => (0xC0 + s - 280, 8),
            };
            litlen.bits[s as usize] = code.reverse_bits() >> (16 - len);
        }
        let mut distance = Code { bits: [0; DISTANCES], lens: [5; DISTANCES] };
        for d in 0..DISTANCES as u16 {
            distance.bits[d as usize] = d.reverse_bits() >> 11;
        }
        (litlen, distance)
    })
}

/// The description of a dynamic block's two codes, run-length coded.
struct Header {
    litlen: usize,
    distance: usize,
    /// Symbols of the code-length alphabet with their extra bits.
    runs: Vec<(u8, u8)>,
    code: Code<19>,
    sent: usize,
    bits: u64,
}

impl Header {
    fn of(litlen: &Code<LITLEN>, distance: &Code<DISTANCES>) -> Self {
        let used = |lens: &[u8], least: usize| {
            lens.iter().rposition(|&l| l > 0).map_or(least, |i| (i + 1).max(least))
        };
        let (n, m) = (used(&litlen.lens, 257), used(&distance.lens, 1));
        let mut lens = [0u8; LITLEN + DISTANCES];
        lens[..n].copy_from_slice(&litlen.lens[..n]);
        lens[n..n + m].copy_from_slice(&distance.lens[..m]);
        let runs = run_lengths(&lens[..n + m]);
        let mut freqs = [0u32; 19];
        for &(symbol, _) in &runs {
            freqs[symbol as usize] += 1;
        }
        let code = Code::new(&freqs, 7);
        let sent = CODE_ORDER.iter().rposition(|&s| code.lens[s] > 0).map_or(4, |i| (i + 1).max(4));
        let extra: u64 = runs.iter().map(|&(s, _)| u64::from(run_bits(s))).sum();
        let bits = 14 + 3 * sent as u64 + code.cost(&freqs) + extra;
        Header { litlen: n, distance: m, runs, code, sent, bits }
    }

    fn write(&self, bits: &mut Bits) {
        bits.put(self.litlen as u64 - 257, 5);
        bits.put(self.distance as u64 - 1, 5);
        bits.put(self.sent as u64 - 4, 4);
        bits.flush();
        for &s in &CODE_ORDER[..self.sent] {
            bits.put(u64::from(self.code.lens[s]), 3);
            bits.flush();
        }
        for &(symbol, extra) in &self.runs {
            let s = symbol as usize;
            bits.put(u64::from(self.code.bits[s]), u32::from(self.code.lens[s]));
            bits.put(u64::from(extra), run_bits(symbol));
            bits.flush();
        }
    }
}

/// Extra bits after a symbol of the code-length alphabet.
fn run_bits(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

fn run_lengths(lens: &[u8]) -> Vec<(u8, u8)> {
    let mut runs = Vec::with_capacity(lens.len());
    for run in lens.chunk_by(|a, b| a == b) {
        let (value, mut n) = (run[0], run.len());
        if value == 0 {
            while n >= 3 {
                let take = n.min(138);
                runs.push(if take <= 10 { (17, take as u8 - 3) } else { (18, take as u8 - 11) });
                n -= take;
            }
        } else {
            runs.push((value, 0));
            n -= 1;
            while n >= 3 {
                let take = n.min(6);
                runs.push((16, take as u8 - 3));
                n -= take;
            }
        }
        runs.extend(std::iter::repeat_n((value, 0), n));
    }
    runs
}

fn write_symbols(
    bits: &mut Bits,
    bytes: &[u8],
    sequences: &[Sequence],
    (litlen, distance): (&Code<LITLEN>, &Code<DISTANCES>),
    header: u64,
) {
    // One table lookup for each literal or length: code and number of bits are stored together.
    let mut literal = [(0u16, 0u8); 256];
    for (entry, (&b, &l)) in literal.iter_mut().zip(litlen.bits.iter().zip(&litlen.lens)) {
        *entry = (b, l);
    }
    let mut lengths = [(0u32, 0u8); MAX_MATCH - 2];
    for (i, entry) in lengths.iter_mut().enumerate() {
        let (symbol, extra, extra_bits) = length_symbol(i + 3);
        let len = litlen.lens[symbol];
        *entry = (u32::from(litlen.bits[symbol]) | extra << len, len + extra_bits as u8);
    }
    let (mut at, mut from) = (0, 0);
    while from < sequences.len() {
        let here = bits.position();
        let to = bits.marks.write(header, here, from, sequences.len());
        for s in &sequences[from..to] {
            let (fours, rest) = bytes[at..at + s.literals as usize].as_chunks::<4>();
            for four in fours {
                for &b in four {
                    let (code, len) = literal[b as usize];
                    bits.put(u64::from(code), u32::from(len));
                }
                bits.flush();
            }
            for &b in rest {
                let (code, len) = literal[b as usize];
                bits.put(u64::from(code), u32::from(len));
            }
            at += s.literals as usize + s.length as usize;
            bits.flush();
            if s.length > 0 {
                let (code, len) = lengths[s.length as usize - 3];
                bits.put(u64::from(code), u32::from(len));
                let (symbol, extra, extra_bits) = distance_symbol(s.distance as usize + 1);
                bits.put(u64::from(distance.bits[symbol]), u32::from(distance.lens[symbol]));
                bits.put(u64::from(extra), extra_bits);
                bits.flush();
            }
        }
        from = to;
    }
    bits.put(u64::from(litlen.bits[END]), u32::from(litlen.lens[END]));
    bits.flush();
}

// Four literals, or one match, fit between two flushes.
const _: () = assert!(4 * LITLEN_LIMIT as u32 <= Bits::CAPACITY);
const _: () = assert!((LITLEN_LIMIT + 5 + DISTANCE_LIMIT + 13) as u32 <= Bits::CAPACITY);
