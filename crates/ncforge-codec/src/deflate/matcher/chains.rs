//! Chains of earlier positions of the same three or four bytes.

use super::bytes::{common8, inside_run, word, word8};
use super::entries::{Entries, table};
use super::search::{Range, push};
use crate::deflate::block::Sequence;
use crate::deflate::symbols::{MAX_MATCH, WINDOW};

/// Of runs inside matches from this length on, some positions are entered: all that a chain is searched for may lie in one. Chains that are
/// searched for more than the longest match have them all.
const LONG: usize = 32;
const HEAD_BITS: u32 = 15;
/// Where the next position is tried, too, a match of three bytes is not taken from further away: it would hardly pay off.
const NEAR: usize = 4096;

/// The last position of each hash, and of each position the one before.
pub(super) struct Chains {
    /// Last position of each hash.
    head: Box<[u32; 1 << HEAD_BITS]>,
    /// The preceding position with the same hash, for each position of the window.
    chain: Box<[u32; WINDOW]>,
}

impl Chains {
    pub(super) fn new() -> Self {
        Self { head: table(), chain: table() }
    }

    /// Removes all positions.
    pub(super) fn clear(&mut self) {
        self.head.fill(0);
    }

    /// Enters a position. Returns the position entered before with the same hash, with its base.
    #[inline(always)]
    pub(super) fn enter<const LEAST: usize>(&mut self, entries: Entries, bytes: &[u8], at: usize) -> u32 {
        let place = entries.place(at);
        let slot = &mut self.head[entries.hash::<HEAD_BITS>(word(bytes, at) << (8 * (4 - LEAST)))];
        let earlier = *slot;
        self.chain[place as usize % WINDOW] = earlier;
        *slot = place;
        earlier
    }

    /// Returns the first position that no sequence covers.
    pub(super) fn find<const LEAST: usize, const LAZY: bool>(
        &mut self,
        entries: Entries,
        bytes: &[u8],
        range: Range,
        out: &mut Vec<Sequence>,
        depth: u32,
        nice: usize,
    ) -> usize {
        let Range { from, stop, end } = range;
        let bytes = &bytes[..end];
        let (mut start, mut at) = (from, from);
        // The distance of a repeat that is longer than a match may be, and 0 elsewhere.
        let mut going = 0;
        while at < stop && at + 8 <= end {
            let (mut length, mut distance) =
                self.longest::<LEAST>(entries, bytes, at, going, LEAST - 1, (depth, nice));
            going = 0;
            if length < LEAST || LAZY && length == 3 && distance > NEAR {
                at += 1;
                continue;
            }
            let mut entered = at + 1;
            // A better match one byte later is worth a literal.
            while LAZY && length < nice && at + 9 <= end {
                let tries = if length >= 8 { depth / 4 } else { depth };
                let (longer, d) =
                    self.longest::<LEAST>(entries, bytes, at + 1, 0, length, (tries.max(1), nice));
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
            if length < LONG || depth > MAX_MATCH as u32 {
                (entered..last).for_each(|at| _ = self.enter::<LEAST>(entries, bytes, at));
            } else {
                let some = (entered..last).filter(|at| !inside_run(bytes, *at));
                some.for_each(|at| _ = self.enter::<LEAST>(entries, bytes, at));
            }
            going = if length == MAX_MATCH { distance } else { 0 };
            at = start;
        }
        start
    }

    /// The longest match at a position, longer than `least`, and its distance; enters the position. A repeat that is `going` on is one.
    #[inline(always)]
    fn longest<const LEAST: usize>(
        &mut self,
        entries: Entries,
        bytes: &[u8],
        at: usize,
        going: usize,
        least: usize,
        (depth, nice): (u32, usize),
    ) -> (usize, usize) {
        let here = word8(bytes, at);
        let place = entries.place(at);
        let mut earlier = self.enter::<LEAST>(entries, bytes, at);
        let most = MAX_MATCH.min(bytes.len() - at);
        let (mut best, mut distance) = (least, 0);
        let mut left = depth;
        // Of a run, the position before is the nearest, and mostly not entered.
        if at > 0 && word8(bytes, at - 1) == here {
            let length = common8(bytes, here, at - 1, at, most);
            if length > best {
                (best, distance) = (length, 1);
                left = if length >= nice && going == 0 { 0 } else { depth };
            }
        }
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
        if going > 0 {
            let goes = common8(bytes, here, at - going, at, most);
            if goes > best || goes == best && going < distance {
                (best, distance) = (goes, going);
            }
        }
        if distance == 0 { (0, 0) } else { (best, distance) }
    }
}
