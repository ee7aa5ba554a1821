//! The part of a buffer that a search describes, and the sequences that it adds.

use crate::deflate::block::Sequence;

/// The part of a buffer that is searched.
#[derive(Clone, Copy)]
pub(in crate::deflate) struct Range {
    /// First byte.
    pub(in crate::deflate) from: usize,
    /// No match and no literal begins here or later.
    pub(in crate::deflate) stop: usize,
    /// No match reaches beyond.
    pub(in crate::deflate) end: usize,
}

/// Adds a sequence: `literals` literals, and a match.
pub(super) fn push(out: &mut Vec<Sequence>, literals: usize, length: usize, distance: usize) {
    out.push(Sequence {
        literals: literals as u32,
        length: length as u16,
        distance: distance.wrapping_sub(1) as u16,
    });
}
