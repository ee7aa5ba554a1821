//! Finds repeats: one look-up in a hash table for speed, or chains of earlier positions for size.

use super::block::Sequence;
use super::symbols::{MAX_MATCH, WINDOW};

/// How much work a matcher does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Only repeats of the byte before: runs.
    Runs,
    /// One earlier position is tried; where nothing matches, steps grow.
    Fast {
        /// Shortest match: 3 or 4.
        least: usize,
    },
    /// Chains of earlier positions; matches of 4 bytes and more.
    Chains {
        /// Positions tried at most.
        depth: u32,
        /// A match of this length is taken at once.
        nice: usize,
        /// Whether the next position is tried before a match is taken.
        lazy: bool,
    },
}

const HASH_BITS: u32 = 14;
/// Chains find matches of so many bytes and more: at 3, one rarely pays for its distance.
const CHAIN_LEAST: usize = 4;
/// Without a match for 2^SKIP bytes, the step between tries grows by one; shorter matches are rarer and worth
/// more patience.
const SKIP: u32 = 6;
const SKIP_SHORT: u32 = 9;

/// The state of a search through one buffer. Positions are 32-bit: buffers are chunks, below 4 GiB.
pub(super) struct Matcher {
    /// Last position + 1 of each hash; 0: none.
    head: Vec<u32>,
    /// Earlier position + 1 of the same hash, for each position of the window.
    chain: Vec<u32>,
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline(always)]
fn hash(word: u32) -> usize {
    (word.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

/// Keeps the low `bytes` bytes of a word.
const fn low(bytes: usize) -> u32 {
    if bytes == 3 { 0x00FF_FFFF } else { u32::MAX }
}

/// Runs of one byte as matches of distance 1; gives the first position that no sequence covers.
fn runs(bytes: &[u8], from: usize, to: usize, out: &mut Vec<Sequence>) -> usize {
    let bytes = &bytes[..to];
    let (mut start, mut at) = (from, from.max(1));
    while at + 4 <= to {
        let here = word(bytes, at);
        // Equal to the word one byte earlier: four bytes that repeat the one before.
        let same = here ^ word(bytes, at - 1);
        if same != 0 {
            // Where the last differing byte stands, a run may begin after it.
            at += 4 - same.leading_zeros() as usize / 8;
            continue;
        }
        let length = common(bytes, at - 1, at, MAX_MATCH.min(to - at));
        out.push(Sequence { literals: (at - start) as u32, length: length as u16, distance: 0 });
        at += length;
        start = at;
    }
    start
}

/// How many bytes from `a` and from `b` on are equal, at most `most`.
#[inline(always)]
fn common(bytes: &[u8], a: usize, b: usize, most: usize) -> usize {
    let (left, right) = (&bytes[a..a + most], &bytes[b..b + most]);
    let (left8, _) = left.as_chunks::<8>();
    let (right8, _) = right.as_chunks::<8>();
    for (i, (l, r)) in left8.iter().zip(right8).enumerate() {
        let diff = u64::from_le_bytes(*l) ^ u64::from_le_bytes(*r);
        if diff != 0 {
            return i * 8 + diff.trailing_zeros() as usize / 8;
        }
    }
    let done = left8.len() * 8;
    done + left[done..].iter().zip(&right[done..]).take_while(|(l, r)| l == r).count()
}

impl Matcher {
    pub(super) fn new() -> Self {
        Self { head: vec![0; 1 << HASH_BITS], chain: vec![0; WINDOW] }
    }

    /// Forgets all positions.
    pub(super) fn reset(&mut self) {
        self.head.fill(0);
        // Chains start at heads, so what they hold is out of reach.
    }

    /// Enters the positions of `bytes[from..to]` without looking for matches.
    pub(super) fn prime(&mut self, bytes: &[u8], effort: Effort, from: usize, to: usize) {
        let bytes = &bytes[..to];
        for at in from..to.saturating_sub(3) {
            match effort {
                Effort::Runs => return,
                Effort::Fast { least: 3 } => self.head[hash(word(bytes, at) & low(3))] = at as u32 + 1,
                Effort::Fast { .. } => self.head[hash(word(bytes, at))] = at as u32 + 1,
                Effort::Chains { .. } => {
                    self.insert(bytes, at);
                }
            }
        }
    }

    /// Tells `bytes[from..to]` as sequences; matches may reach back before `from`. Between two calls without
    /// a [`Matcher::reset`] the effort may change from and to [`Effort::Runs`] only.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        effort: Effort,
        from: usize,
        to: usize,
        out: &mut Vec<Sequence>,
    ) {
        out.clear();
        let start = match effort {
            Effort::Runs => runs(bytes, from, to, out),
            Effort::Fast { least: 3 } => self.fast::<3>(bytes, from, to, out),
            Effort::Fast { .. } => self.fast::<4>(bytes, from, to, out),
            Effort::Chains { depth, nice, lazy } => self.chains(bytes, from, to, out, depth, nice, lazy),
        };
        if start < to {
            out.push(Sequence { literals: (to - start) as u32, length: 0, distance: 0 });
        }
    }

    /// Gives the first position that no sequence covers.
    fn fast<const LEAST: usize>(
        &mut self,
        bytes: &[u8],
        from: usize,
        to: usize,
        out: &mut Vec<Sequence>,
    ) -> usize {
        let bytes = &bytes[..to];
        let head: &mut [u32; 1 << HASH_BITS] =
            self.head.as_mut_slice().try_into().expect("made with this length");
        let (mut start, mut at) = (from, from);
        while at + 4 <= to {
            let here = word(bytes, at) & low(LEAST);
            let slot = &mut head[hash(here)];
            let earlier = *slot as usize;
            *slot = at as u32 + 1;
            // Position + 1 of the candidate: a distance of WINDOW is the furthest allowed.
            if earlier == 0 || at + 1 - earlier > WINDOW || word(bytes, earlier - 1) & low(LEAST) != here {
                at += 1 + ((at - start) >> if LEAST == 3 { SKIP_SHORT } else { SKIP });
                continue;
            }
            let mut candidate = earlier - 1;
            // Bytes that were skipped over may match too. The match must still reach beyond the position that
            // is in the table already.
            let least_start = start.max((at + LEAST).saturating_sub(MAX_MATCH));
            while at > least_start && candidate > 0 && bytes[at - 1] == bytes[candidate - 1] {
                at -= 1;
                candidate -= 1;
            }
            let length = common(bytes, candidate, at, MAX_MATCH.min(to - at));
            let distance = at - candidate;
            out.push(Sequence {
                literals: (at - start) as u32,
                length: length as u16,
                distance: (distance - 1) as u16,
            });
            let end = at + length;
            // A few positions inside the match are enough to find its like again.
            for inside in [at + 1, at + 2, end.saturating_sub(3), end.saturating_sub(1)] {
                if inside > at && inside < end && inside + 4 <= to {
                    head[hash(word(bytes, inside) & low(LEAST))] = inside as u32 + 1;
                }
            }
            at = end;
            start = end;
        }
        start
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one Effort, unpacked once")]
    fn chains(
        &mut self,
        bytes: &[u8],
        from: usize,
        to: usize,
        out: &mut Vec<Sequence>,
        depth: u32,
        nice: usize,
        lazy: bool,
    ) -> usize {
        let bytes = &bytes[..to];
        let (mut start, mut at) = (from, from);
        while at + CHAIN_LEAST <= to {
            let (mut length, mut distance) = self.longest(bytes, at, depth, CHAIN_LEAST - 1, nice);
            if length < CHAIN_LEAST {
                at += 1;
                continue;
            }
            // A better match one byte later is worth a literal.
            while lazy && length < nice && at + 1 + CHAIN_LEAST <= to {
                let tries = if length >= 8 { depth / 4 } else { depth };
                let (longer, d) = self.longest(bytes, at + 1, tries.max(1), length, nice);
                if longer <= length {
                    break;
                }
                at += 1;
                (length, distance) = (longer, d);
            }
            out.push(Sequence {
                literals: (at - start) as u32,
                length: length as u16,
                distance: (distance - 1) as u16,
            });
            let end = at + length;
            let mut inside = at + 1 + usize::from(lazy && length < nice && at + 1 + CHAIN_LEAST <= to);
            while inside < end && inside + CHAIN_LEAST <= to {
                self.insert(bytes, inside);
                inside += 1;
            }
            at = end;
            start = end;
        }
        start
    }

    #[inline(always)]
    fn insert(&mut self, bytes: &[u8], at: usize) -> usize {
        let slot = &mut self.head[hash(word(bytes, at))];
        let earlier = *slot;
        self.chain[at % WINDOW] = earlier;
        *slot = at as u32 + 1;
        earlier as usize
    }

    /// The longest match at a position, longer than `least`, and its distance; enters the position.
    #[inline(always)]
    fn longest(&mut self, bytes: &[u8], at: usize, depth: u32, least: usize, nice: usize) -> (usize, usize) {
        let here = word(bytes, at);
        let mut earlier = self.insert(bytes, at);
        let most = MAX_MATCH.min(bytes.len() - at);
        let (mut best, mut distance) = (least, 0);
        let mut left = depth;
        while left > 0 && earlier > 0 && at + 1 - earlier <= WINDOW && best < most {
            let candidate = earlier - 1;
            if bytes[candidate + best] == bytes[at + best] && word(bytes, candidate) == here {
                let length = common(bytes, candidate, at, most);
                if length > best {
                    (best, distance) = (length, at - candidate);
                    if length >= nice {
                        break;
                    }
                }
            }
            let next = self.chain[candidate % WINDOW] as usize;
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
