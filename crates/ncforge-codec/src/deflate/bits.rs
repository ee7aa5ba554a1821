//! Writes bits, least significant first, into a byte slice (RFC 1951 §3.1.1).

use super::access::Marks;
use super::work::Work;

/// Writes bit strings into a slice that the caller made long enough.
///
/// Bits are collected in one 64-bit word; [`Bits::flush`] writes whole bytes. Between two flushes at most
/// [`Bits::CAPACITY`] bits may be put.
pub(super) struct Bits<'a> {
    out: &'a mut [u8],
    at: usize,
    word: u64,
    held: u32,
    /// The bytes written so far.
    pub(super) work: Work,
    /// The beginnings of segments.
    pub(super) marks: Marks,
}

impl<'a> Bits<'a> {
    /// Bits that may be put between two flushes: 64, less the 7 that a flush may leave behind.
    pub(super) const CAPACITY: u32 = 57;
    /// A flush stores a whole word, so the slice must have this many bytes beyond the last one.
    pub(super) const SLACK: usize = 8;

    pub(super) fn new(out: &'a mut [u8], marks: Marks) -> Self {
        Self { out, at: 0, word: 0, held: 0, work: Work::default(), marks }
    }

    /// The number of bits so far.
    pub(super) fn position(&self) -> u64 {
        8 * self.at as u64 + u64::from(self.held)
    }

    /// Adds the low `count` bits of `value`; higher bits of `value` must be zero.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, count: u32) {
        debug_assert!(count < 64 && value >> count == 0 && self.held + count <= 64);
        self.word |= value << self.held;
        self.held += count;
    }

    /// Moves whole bytes to the slice.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
        self.at += (self.held >> 3) as usize;
        self.word >>= self.held & !7;
        self.held &= 7;
    }

    /// Fills up to the next byte with zeros.
    pub(super) fn align(&mut self) {
        self.held = self.held.next_multiple_of(8);
        self.flush();
    }

    /// Copies bytes; the writer must be aligned.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        debug_assert!(self.held == 0);
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Ends the stream; returns its length in bytes, and where segments begin.
    pub(super) fn finish(mut self) -> (usize, Marks) {
        self.align();
        (self.at, self.marks)
    }
}
