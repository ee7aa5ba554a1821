//! Bytes that were read from the file, shared: a structure is a part of the piece that was fetched, not a copy.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A run of bytes inside a piece of the file that was read in one go. Cheap to clone; the piece lives as long as
/// any of its spans, so what is stored for long should be [detached](Span::detach).
#[derive(Clone)]
pub(crate) struct Span {
    piece: Arc<Vec<u8>>,
    from: usize,
    to: usize,
}

impl Span {
    /// Bytes `range` of a piece; what is outside of it is left out.
    pub(super) fn of(piece: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        let to = range.end.min(piece.len());
        Span { from: range.start.min(to), to, piece }
    }

    /// A part of it; what is outside is left out.
    #[must_use]
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let to = self.from.saturating_add(range.end).min(self.to);
        Span { piece: self.piece.clone(), from: self.from.saturating_add(range.start).min(to), to }
    }

    /// A copy of the bytes in a piece of their own.
    #[must_use]
    pub(crate) fn detach(&self) -> Self {
        Span::from(self.to_vec())
    }
}

impl Deref for Span {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.piece[self.from..self.to]
    }
}

impl From<Vec<u8>> for Span {
    fn from(bytes: Vec<u8>) -> Self {
        Span { from: 0, to: bytes.len(), piece: Arc::new(bytes) }
    }
}

impl PartialEq for Span {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_reach_beyond_the_whole() {
        let all = Span::from(vec![1, 2, 3, 4]).slice(1..3);
        assert_eq!(&all.slice(0..9)[..], &[2, 3]);
        assert_eq!(&all.slice(1..2)[..], &[3]);
        assert!(all.slice(5..7).is_empty());
        assert!(all.slice(0..usize::MAX).slice(usize::MAX..usize::MAX).is_empty());
        assert_eq!(all.detach(), all);
    }
}
