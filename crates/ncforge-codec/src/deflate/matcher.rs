//! Finds repeats: runs, a table of the last two positions of four bytes or of the last position of three, or chains of
//! earlier positions.
//!
//! Tables hold position + base, and the base of a new buffer is a window beyond all positions entered before: entries of
//! earlier buffers are out of reach, and nothing has to be cleared between chunks.

use super::block::Sequence;
use super::symbols::{MAX_MATCH, WINDOW};

/// The search effort of a matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Only repeats of the byte before: runs.
    Runs,
    /// The last two positions of the same four bytes are tried.
    Pairs {
        /// Whether the next position is tried before a match is taken.
        lazy: bool,
    },
    /// The last four positions of the same four bytes are tried.
    Fours,
    /// The last position of the same three bytes is tried.
    Short,
    /// Chains of earlier positions.
    Chains {
        /// Shortest match: 3 or 4 bytes.
        least: usize,
        /// Positions tried at most.
        depth: u32,
        /// A match of this length is taken at once.
        nice: usize,
        /// Whether the next position is tried before a match is taken.
        lazy: bool,
    },
}

/// Buckets of two positions: as many positions as the window has.
const PAIR_BITS: u32 = 14;
/// Three-byte matches pay off only if nearly all positions are in the table.
const SHORT_BITS: u32 = 16;
const HEAD_BITS: u32 = 15;
/// Where the next position is tried, too, a match of three bytes is not taken from further away: it would hardly pay off.
const NEAR: usize = 4096;
/// The binary logarithm of the smallest number of table entries that are used.
const FEWEST_BITS: u32 = 10;
/// Without a match for 2^SKIP bytes, the step between tries grows by one, up to `SKIP_MOST`.
const SKIP: u32 = 8;
const SKIP_MOST: usize = 3;
/// A match of this length is not compared with another.
const ENOUGH: usize = 32;
/// Inside longer matches, and inside runs, only the first and last positions are entered: for a run, all others are
/// equivalent.
const ENTER_ALL: usize = 64;
/// Long runs are coded as repeats from this distance: three more bits for each 258 bytes. libdeflate's fast loop ends some
/// bytes before its input does (see [`super::inflate`], which adds padding), and the rest is decoded byte by byte; these
/// bits let the loop get further for readers without padding.
const STRETCH: usize = 32;

/// The state of a search through one buffer. Positions have 32 bits: buffers are chunks, below 4 GiB.
pub(super) struct Matcher {
    pairs: Box<Buckets<1>>,
    fours: Box<Buckets<2>>,
    short: Box<[u32; 1 << SHORT_BITS]>,
    /// Last position of each hash.
    head: Box<[u32; 1 << HEAD_BITS]>,
    /// The preceding position with the same hash, for each position of the window.
    chain: Box<[u32; WINDOW]>,
    /// The offset that is added to positions of this buffer.
    base: u32,
    /// The smallest base of the next buffer.
    next: u64,
    /// The binary logarithm of the number of table entries in use: two to four times as many as the buffer has bytes. Small
    /// tables stay in the first-level cache.
    used: u32,
    /// Whether long runs, from [`STRETCH`] bytes on, are coded as repeats from that distance: a few more bits for
    /// each 258 bytes, but faster to decode at the end of a stream.
    stretch: bool,
}

/// The part of a buffer that is searched.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// First byte.
    pub(super) from: usize,
    /// No match and no literal begins here or later.
    pub(super) stop: usize,
    /// No match reaches beyond.
    pub(super) end: usize,
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The entry of a word in a table of at most `1 << BITS` entries, of which a short buffer uses fewer.
#[inline(always)]
fn hash<const BITS: u32>(word: u32, used: u32) -> usize {
    (word.wrapping_mul(0x9E37_79B1) >> (32 - used.min(BITS))) as usize
}

#[inline(always)]
fn word8(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// How many bytes from `a` and from `b` on are equal, at most `most`; `a` lies before `b`.
#[inline(always)]
fn common(bytes: &[u8], a: usize, b: usize, most: usize) -> usize {
    let (left, right) = (&bytes[a..a + most], &bytes[b..b + most]);
    let mut done = 0;
    while done + 8 <= most {
        let diff = word8(left, done) ^ word8(right, done);
        if diff != 0 {
            return done + diff.trailing_zeros() as usize / 8;
        }
        done += 8;
    }
    done + left[done..].iter().zip(&right[done..]).take_while(|(l, r)| l == r).count()
}

/// As [`common`], where eight bytes follow both positions; usually the first comparison suffices.
#[inline(always)]
fn common8(bytes: &[u8], here: u64, a: usize, b: usize, most: usize) -> usize {
    let diff = word8(bytes, a) ^ here;
    if diff != 0 {
        return diff.trailing_zeros() as usize / 8;
    }
    8 + common(bytes, a + 8, b + 8, most - 8)
}

fn push(out: &mut Vec<Sequence>, literals: usize, length: usize, distance: usize) {
    out.push(Sequence {
        literals: literals as u32,
        length: length as u16,
        distance: distance.wrapping_sub(1) as u16,
    });
}

/// Changes long runs to repeats from [`STRETCH`] bytes before, where the bytes are the same. `sequences` describe
/// the bytes from `from` on. Returns whether there were any.
pub(super) fn stretch(bytes: &[u8], from: usize, sequences: &mut [Sequence]) -> bool {
    let mut at = from;
    let mut any = false;
    for s in sequences {
        at += s.literals as usize;
        if s.length as usize == MAX_MATCH && s.distance == 0 && at >= STRETCH {
            let same = bytes[at];
            if bytes[at - STRETCH..at].iter().fold(0, |other, &b| other | b ^ same) == 0 {
                s.distance = STRETCH as u16 - 1;
                any = true;
            }
        }
        at += s.length as usize;
    }
    any
}

/// A table of a fixed length on the heap.
fn table<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N]
        .into_boxed_slice()
        .try_into()
        .unwrap_or_else(|_| unreachable!("made with this length"))
}

impl Matcher {
    pub(super) fn new() -> Self {
        let first = WINDOW as u32 + 1;
        Self {
            pairs: table(),
            fours: table(),
            short: table(),
            head: table(),
            chain: table(),
            base: first,
            next: first.into(),
            used: 0,
            stretch: false,
        }
    }

    /// Sets whether long runs are written for fast decoding rather than few bits.
    pub(super) fn stretch_runs(&mut self, stretch: bool) {
        self.stretch = stretch;
    }

    /// Begins a buffer of `len` bytes: all entries are discarded.
    pub(super) fn begin(&mut self, len: usize) {
        if self.next + len as u64 + WINDOW as u64 >= u64::from(u32::MAX) {
            self.pairs.fill([0]);
            self.fours.fill([0; 2]);
            self.short.fill(0);
            self.head.fill(0);
            self.next = WINDOW as u64 + 1;
        }
        self.used = usize::BITS - len.leading_zeros() + 1;
        self.used = self.used.max(FEWEST_BITS);
        self.base = self.next as u32;
        self.next += len as u64 + WINDOW as u64 + 1;
    }

    /// Enters the positions `from..to` without a search for matches.
    pub(super) fn prime(&mut self, bytes: &[u8], effort: Effort, from: usize, to: usize) {
        for at in from..to.min(bytes.len().saturating_sub(3)) {
            match effort {
                Effort::Runs => return,
                Effort::Pairs { .. } => enter(&mut self.pairs, self.base, self.used, bytes, at),
                Effort::Fours => enter(&mut self.fours, self.base, self.used, bytes, at),
                Effort::Short => self.enter_short(bytes, at),
                Effort::Chains { least: 3, .. } => {
                    self.enter_chain::<3>(bytes, at);
                }
                Effort::Chains { .. } => {
                    self.enter_chain::<4>(bytes, at);
                }
            }
        }
    }

    /// Describes the bytes of a range as sequences, added to `out`; matches may reach back before it. Returns where
    /// it ended: at `stop`, or after a match that reached further.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        effort: Effort,
        range: Range,
        out: &mut Vec<Sequence>,
    ) -> usize {
        let before = out.len();
        let start = match effort {
            Effort::Runs => runs(bytes, range, out),
            Effort::Pairs { lazy: false } => {
                find_bucket::<1, false>(&mut self.pairs, self.base, self.used, bytes, range, out)
            }
            Effort::Pairs { lazy: true } => {
                find_bucket::<1, true>(&mut self.pairs, self.base, self.used, bytes, range, out)
            }
            Effort::Fours => {
                find_bucket::<2, false>(&mut self.fours, self.base, self.used, bytes, range, out)
            }
            Effort::Short => self.find_short(bytes, range, out),
            Effort::Chains { least: 3, depth, nice, lazy: false } => {
                self.find_chains::<3, false>(bytes, range, out, depth, nice)
            }
            Effort::Chains { least: 3, depth, nice, lazy: true } => {
                self.find_chains::<3, true>(bytes, range, out, depth, nice)
            }
            Effort::Chains { depth, nice, lazy: false, .. } => {
                self.find_chains::<4, false>(bytes, range, out, depth, nice)
            }
            Effort::Chains { depth, nice, lazy: true, .. } => {
                self.find_chains::<4, true>(bytes, range, out, depth, nice)
            }
        };
        if self.stretch {
            stretch(&bytes[..start], range.from, &mut out[before..]);
        }
        if start < range.stop {
            push(out, range.stop - start, 0, 0);
        }
        start.max(range.stop)
    }

    #[inline(always)]
    fn enter_short(&mut self, bytes: &[u8], at: usize) {
        self.short[hash::<SHORT_BITS>(word(bytes, at) << 8, self.used)] = self.base + at as u32;
    }

    /// Returns the position entered before with the same hash, with its base.
    #[inline(always)]
    fn enter_chain<const LEAST: usize>(&mut self, bytes: &[u8], at: usize) -> u32 {
        let place = self.base + at as u32;
        let slot = &mut self.head[hash::<HEAD_BITS>(word(bytes, at) << (8 * (4 - LEAST)), self.used)];
        let earlier = *slot;
        self.chain[place as usize % WINDOW] = earlier;
        *slot = place;
        earlier
    }

    /// Returns the first position that no sequence covers.
    fn find_short(&mut self, bytes: &[u8], range: Range, out: &mut Vec<Sequence>) -> usize {
        let Range { from, stop, end } = range;
        let bytes = &bytes[..end];
        let (mut start, mut at) = (from, from);
        while at < stop && at + 4 <= end {
            let here = word(bytes, at) << 8;
            let place = self.base + at as u32;
            let slot = &mut self.short[hash::<SHORT_BITS>(here, self.used)];
            let back = (place - *slot) as usize;
            *slot = place;
            if back > WINDOW || word(bytes, at - back) << 8 != here {
                at += 1;
                continue;
            }
            let length = common(bytes, at - back, at, MAX_MATCH.min(end - at));
            push(out, at - start, length, back);
            start = at + length;
            let last = start.min(end.saturating_sub(3));
            for inside in (at + 1..(at + 16).min(last)).chain((start - 3).max(at + 16)..last) {
                self.enter_short(bytes, inside);
            }
            at = start;
        }
        start
    }

    /// Returns the first position that no sequence covers.
    fn find_chains<const LEAST: usize, const LAZY: bool>(
        &mut self,
        bytes: &[u8],
        range: Range,
        out: &mut Vec<Sequence>,
        depth: u32,
        nice: usize,
    ) -> usize {
        let Range { from, stop, end } = range;
        let bytes = &bytes[..end];
        let (mut start, mut at) = (from, from);
        while at < stop && at + 8 <= end {
            let (mut length, mut distance) = self.longest::<LEAST>(bytes, at, depth, LEAST - 1, nice);
            if length < LEAST || LAZY && length == 3 && distance > NEAR {
                at += 1;
                continue;
            }
            let mut entered = at + 1;
            // A better match one byte later is worth a literal.
            while LAZY && length < nice && at + 9 <= end {
                let tries = if length >= 8 { depth / 4 } else { depth };
                let (longer, d) = self.longest::<LEAST>(bytes, at + 1, tries.max(1), length, nice);
                entered = at + 2;
                if longer <= length {
                    break;
                }
                at += 1;
                (length, distance) = (longer, d);
            }
            push(out, at - start, length, distance);
            start = at + length;
            let last = start.min(end.saturating_sub(3));
            let few = if distance == 1 { (entered + 4).min(last) } else { last };
            for inside in (entered..few).chain((start - 4).max(few)..last) {
                self.enter_chain::<LEAST>(bytes, inside);
            }
            at = start;
        }
        start
    }

    /// The longest match at a position, longer than `least`, and its distance; enters the position.
    #[inline(always)]
    fn longest<const LEAST: usize>(
        &mut self,
        bytes: &[u8],
        at: usize,
        depth: u32,
        least: usize,
        nice: usize,
    ) -> (usize, usize) {
        let here = word8(bytes, at);
        let place = self.base + at as u32;
        let mut earlier = self.enter_chain::<LEAST>(bytes, at);
        let most = MAX_MATCH.min(bytes.len() - at);
        let (mut best, mut distance) = (least, 0);
        let mut left = depth;
        while left > 0 && best < most {
            let back = (place - earlier) as usize;
            if back > WINDOW {
                break;
            }
            let candidate = at - back;
            if bytes[candidate + best] == bytes[at + best] {
                let length = common8(bytes, here, candidate, at, most);
                if length > best {
                    (best, distance) = (length, back);
                    if length >= nice {
                        break;
                    }
                }
            }
            let next = self.chain[earlier as usize % WINDOW];
            // A slot that was reused points forward in time: the chain ends there.
            if next >= earlier {
                break;
            }
            earlier = next;
            left -= 1;
        }
        if distance == 0 { (0, 0) } else { (best, distance) }
    }
}

/// Runs of one byte as matches of distance 1; returns the first position that no sequence covers.
fn runs(bytes: &[u8], range: Range, out: &mut Vec<Sequence>) -> usize {
    let Range { from, stop, end } = range;
    let bytes = &bytes[..end];
    let (mut start, mut at) = (from, from.max(1));
    while at < stop && at + 4 <= end {
        at = next_run(bytes, at);
        if at >= stop || at + 4 > end {
            break;
        }
        let here = word(bytes, at);
        // Equal to the word one byte earlier: four bytes that repeat the one before.
        let same = here ^ word(bytes, at - 1);
        if same != 0 {
            // A run may begin after the last differing byte.
            at += 4 - same.leading_zeros() as usize / 8;
            continue;
        }
        let length = common(bytes, at - 1, at, MAX_MATCH.min(end - at));
        push(out, at - start, length, 1);
        at += length;
        start = at;
    }
    start
}

/// The first position from `at` on whose four bytes may repeat the byte before them; up to there they do not. Checks
/// five positions at once, and the next check does not depend on this one.
#[inline(always)]
fn next_run(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    while at + 8 <= bytes.len() {
        let differ = word8(bytes, at) ^ word8(bytes, at - 1);
        // A byte of `four` is zero where that byte of `differ` and the three behind it are.
        let two = differ | differ >> 8;
        let four = two | two >> 16;
        let zero = four.wrapping_sub(ONES) & !four & 0x80_8080_8080;
        if zero != 0 {
            return at + zero.trailing_zeros() as usize / 8;
        }
        at += 5;
    }
    at
}

/// The last positions of each hash, newest first: two in each word, the newer one low. Words, because a load just after a
/// store is slow if it combines the bytes of two stores.
type Buckets<const WORDS: usize> = [[u64; WORDS]; 1 << PAIR_BITS];

#[inline(always)]
fn shift<const WORDS: usize>(bucket: &mut [u64; WORDS], place: u32) {
    for i in (1..WORDS).rev() {
        bucket[i] = bucket[i] << 32 | bucket[i - 1] >> 32;
    }
    bucket[0] = bucket[0] << 32 | u64::from(place);
}

/// Enters a position as the newest of its bucket.
#[inline(always)]
fn enter<const WORDS: usize>(table: &mut Buckets<WORDS>, base: u32, used: u32, bytes: &[u8], at: usize) {
    shift(&mut table[hash::<PAIR_BITS>(word(bytes, at), used)], base + at as u32);
}

/// The longest match among the last positions of the same hash, and its distance; enters the position. `here` is the
/// word at the position.
#[inline(always)]
fn look<const WORDS: usize>(
    table: &mut Buckets<WORDS>,
    base: u32,
    used: u32,
    bytes: &[u8],
    at: usize,
    most: usize,
) -> (usize, usize) {
    let here = word8(bytes, at);
    let place = base + at as u32;
    let bucket = &mut table[hash::<PAIR_BITS>(here as u32, used)];
    let earlier = *bucket;
    shift(bucket, place);
    let (mut length, mut distance) = (0, 0);
    for pair in earlier {
        let back = place.wrapping_sub(pair as u32) as usize;
        if back > WINDOW {
            break;
        }
        let first = common8(bytes, here, at - back, at, most);
        if first > length {
            (length, distance) = (first, back);
        }
        let back = place.wrapping_sub((pair >> 32) as u32) as usize;
        if back > WINDOW || length >= ENOUGH {
            break;
        }
        let second = common8(bytes, here, at - back, at, most);
        if second > length {
            (length, distance) = (second, back);
        }
    }
    (length, distance)
}

/// Tries the last positions of the same hash; returns the first position that no sequence covers.
fn find_bucket<const WORDS: usize, const LAZY: bool>(
    table: &mut Buckets<WORDS>,
    base: u32,
    used: u32,
    bytes: &[u8],
    range: Range,
    out: &mut Vec<Sequence>,
) -> usize {
    let Range { from, stop, end } = range;
    let bytes = &bytes[..end];
    let (mut start, mut at) = (from, from);
    while at < stop && at + 8 <= end {
        let (mut length, mut distance) = look(table, base, used, bytes, at, MAX_MATCH.min(end - at));
        if length < 4 {
            at += 1 + ((at - start) >> SKIP).min(SKIP_MOST);
            continue;
        }
        let mut entered = at + 1;
        while LAZY && length < ENOUGH && at + 9 <= end {
            let (longer, d) = look(table, base, used, bytes, at + 1, MAX_MATCH.min(end - at - 1));
            entered = at + 2;
            // A byte more is worth about four bits; a shorter distance, the difference of its bits.
            let nearer = d.leading_zeros() as i32 - distance.leading_zeros() as i32;
            if longer < 4 || longer < length || 4 * (longer - length) as i32 + nearer <= 2 {
                break;
            }
            at += 1;
            (length, distance) = (longer, d);
        }
        // Bytes that were skipped over may match too.
        let mut first = at;
        while first > start
            && first > distance
            && length < MAX_MATCH
            && bytes[first - 1] == bytes[first - 1 - distance]
        {
            first -= 1;
            length += 1;
        }
        push(out, first - start, length, distance);
        start = first + length;
        let last = start.min(end.saturating_sub(3));
        if length <= ENTER_ALL && distance > 1 {
            for inside in entered..last {
                enter(table, base, used, bytes, inside);
            }
        } else {
            for inside in (entered..(entered + 4).min(last)).chain((start - 4).max(entered + 4)..last) {
                enter(table, base, used, bytes, inside);
            }
        }
        at = start;
    }
    start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_run_is_passed_over(bytes in prop::collection::vec(0u8..3, 1..90), from in 1usize..90) {
            prop_assume!(from < bytes.len());
            let is_run = |at: &usize| (0..4).all(|k| bytes.get(at + k) == bytes.get(at + k - 1) && at + k < bytes.len());
            let first = (from..bytes.len()).find(is_run);
            let at = next_run(&bytes, from);
            prop_assert!(at >= from && first.is_none_or(|first| at <= first));
            // It stops at a run, or too near to the end for eight bytes at once.
            prop_assert!(first == Some(at) || at + 8 > bytes.len());
        }
    }
}
