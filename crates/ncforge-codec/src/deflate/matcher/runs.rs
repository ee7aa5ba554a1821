//! Runs of one byte: matches of distance 1, and long ones as repeats from a larger distance.

use super::bytes::{common, word, word8};
use super::search::{Range, push};
use crate::deflate::block::Sequence;
use crate::deflate::symbols::MAX_MATCH;

/// Long runs are coded as repeats from this distance: three more bits for each 258 bytes. libdeflate's fast loop ends some
/// bytes before its input does (see [`crate::deflate::inflate`], which adds padding), and the rest is decoded byte by byte; these
/// bits let the loop get further for readers without padding.
const STRETCH: usize = 32;

/// Runs of one byte as matches of distance 1; returns the first position that no sequence covers.
pub(super) fn runs(bytes: &[u8], range: Range, out: &mut Vec<Sequence>) -> usize {
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

/// Changes long runs to repeats from [`STRETCH`] bytes before, where the bytes are the same. `sequences` describe
/// the bytes from `from` on. Returns whether there were any.
pub(in crate::deflate) fn stretch(bytes: &[u8], from: usize, sequences: &mut [Sequence]) -> bool {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::next_run;

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
