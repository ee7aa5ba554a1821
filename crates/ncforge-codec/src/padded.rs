//! Encoded bytes that may have others behind them.

use std::ops::{Deref, Range};

/// Encoded bytes, and those that stand behind them in the same buffer: a decoder may look at these, but they do not count.
/// Decoders that read whole words are slower at the end of what they may look at.
#[derive(Clone, Copy, Debug)]
pub struct PaddedInput<'a> {
    all: &'a [u8],
    len: usize,
}

/// So many bytes behind are enough for every decoder.
pub const PADDING: usize = 32;

impl<'a> PaddedInput<'a> {
    /// Bytes with nothing behind them.
    pub fn alone(bytes: &'a [u8]) -> Self {
        PaddedInput { all: bytes, len: bytes.len() }
    }

    /// The bytes at `range` of a buffer, which has them.
    pub fn within(buffer: &'a [u8], range: Range<usize>) -> Self {
        PaddedInput { all: &buffer[range.start..], len: range.end - range.start }
    }

    /// The bytes at `range` of these.
    pub fn part(self, range: Range<usize>) -> Self {
        debug_assert!(range.end <= self.len, "{range:?} of {}", self.len);
        PaddedInput::within(self.all, range)
    }

    /// The bytes, and not those behind them.
    pub fn bytes(self) -> &'a [u8] {
        &self.all[..self.len]
    }

    /// The bytes and [`PADDING`] more, if there are so many.
    pub fn with_room(self) -> Option<&'a [u8]> {
        self.all.get(..self.len + PADDING)
    }
}

impl Deref for PaddedInput<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}
