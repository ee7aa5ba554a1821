//! Padded input: encoded bytes that may be followed by other readable bytes.

use std::ops::{Deref, Range};

/// Encoded bytes, and the bytes after them in the same buffer: a decoder may read these, but must ignore their values.
/// Decoders that read whole words are slower at the end of the bytes that they may read.
#[derive(Clone, Copy, Debug)]
pub struct PaddedInput<'a> {
    all: &'a [u8],
    len: usize,
}

/// Bytes of padding that are enough for every decoder.
pub const PADDING: usize = 32;

impl<'a> PaddedInput<'a> {
    /// Bytes without padding.
    pub fn unpadded(bytes: &'a [u8]) -> Self {
        PaddedInput { all: bytes, len: bytes.len() }
    }

    /// The bytes at `range` of a buffer, which is long enough.
    pub fn within(buffer: &'a [u8], range: Range<usize>) -> Self {
        PaddedInput { all: &buffer[range.start..], len: range.end - range.start }
    }

    /// The bytes at `range` of these.
    pub fn part(self, range: Range<usize>) -> Self {
        debug_assert!(range.end <= self.len, "{range:?} of {}", self.len);
        PaddedInput::within(self.all, range)
    }

    /// The bytes without the padding.
    pub fn bytes(self) -> &'a [u8] {
        &self.all[..self.len]
    }

    /// The bytes and [`PADDING`] more, if the buffer has these.
    pub fn with_padding(self) -> Option<&'a [u8]> {
        self.all.get(..self.len + PADDING)
    }
}

impl Deref for PaddedInput<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}
