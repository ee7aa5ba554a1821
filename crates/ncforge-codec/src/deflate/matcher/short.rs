//! The last position of the same three bytes.

use super::bytes::{common, word};
use super::entries::{AT_ONCE, Entries, table};
use super::search::{Range, push};
use crate::deflate::block::Sequence;
use crate::deflate::symbols::{MAX_MATCH, WINDOW};

/// Three-byte matches pay off only if nearly all positions are in the table.
const SHORT_BITS: u32 = 16;

/// The last position of each hash.
pub(super) struct Short(Box<[u32; 1 << SHORT_BITS]>);

impl Short {
    pub(super) fn new() -> Self {
        Self(table())
    }

    /// Removes all positions.
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Enters a position.
    #[inline(always)]
    pub(super) fn enter(&mut self, entries: Entries, bytes: &[u8], at: usize) {
        self.0[entries.hash::<SHORT_BITS>(word(bytes, at) << 8)] = entries.place(at);
    }

    /// Enters some positions, at most [`AT_ONCE`]; `bytes` begin at the first.
    #[inline(always)]
    fn enter_few(&mut self, entries: Entries, bytes: &[u8; AT_ONCE + 3], from: usize, count: usize) {
        for i in 0..AT_ONCE {
            let slot = &mut self.0[entries.hash::<SHORT_BITS>(word(bytes, i) << 8)];
            *slot = if i < count { entries.place(from + i) } else { *slot };
        }
    }

    /// Returns the first position that no sequence covers.
    pub(super) fn find(
        &mut self,
        entries: Entries,
        bytes: &[u8],
        range: Range,
        out: &mut Vec<Sequence>,
    ) -> usize {
        let Range { from, stop, end } = range;
        let bytes = &bytes[..end];
        let (mut start, mut at) = (from, from);
        while at < stop && at + 4 <= end {
            let here = word(bytes, at) << 8;
            let place = entries.place(at);
            let slot = &mut self.0[entries.hash::<SHORT_BITS>(here)];
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
            let inside = at + 1..last;
            match bytes[inside.start..].first_chunk() {
                Some(few) if inside.len() <= AT_ONCE => self.enter_few(entries, few, at + 1, inside.len()),
                _ => {
                    for inside in (at + 1..(at + 16).min(last)).chain((start - 3).max(at + 16)..last) {
                        self.enter(entries, bytes, inside);
                    }
                }
            }
            at = start;
        }
        start
    }
}
