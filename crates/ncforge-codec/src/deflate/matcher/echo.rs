//! Repeats from one distance: a plane that is like the one before.

use super::bytes::{common, word};
use super::search::{Range, push};
use crate::deflate::block::Sequence;
use crate::deflate::symbols::MAX_MATCH;

/// Runs of one byte, and repeats of the bytes `distance` before; returns the first position that no sequence covers.
pub(super) fn echo(bytes: &[u8], range: Range, distance: usize, out: &mut Vec<Sequence>) -> usize {
    let Range { from, stop, end } = range;
    let bytes = &bytes[..end];
    let (mut start, mut at) = (from, from);
    while at < stop && at + 4 <= end {
        let here = word(bytes, at);
        let most = MAX_MATCH.min(end - at);
        let length = |back: usize| match at.checked_sub(back) {
            Some(earlier) if word(bytes, earlier) == here => common(bytes, earlier, at, most),
            _ => 0,
        };
        let (run, far) = (length(1), length(distance));
        if run.max(far) == 0 {
            at += 1;
            continue;
        }
        let (length, back) = if run >= far { (run, 1) } else { (far, distance) };
        push(out, at - start, length, back);
        at += length;
        start = at;
    }
    start
}
