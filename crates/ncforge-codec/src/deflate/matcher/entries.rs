//! How positions of a buffer are entered into tables: as position + base, in the entry that the hash of a word chooses.

/// This many positions behind the begin of a match are looked up, and those inside it entered, where a match is not longer: a processor
/// can hardly guess how long the next one is, and a wrong guess takes as long as all of them.
pub(super) const AT_ONCE: usize = 7;

/// The entries of one buffer. The base of a new buffer is a window beyond all positions entered before: entries of earlier
/// buffers are out of reach, and nothing has to be cleared between chunks.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    /// The offset that is added to positions of this buffer.
    pub(super) base: u32,
    /// The binary logarithm of the number of table entries in use: two to four times as many as the buffer has bytes. Small
    /// tables stay in the first-level cache.
    pub(super) used: u32,
}

impl Entries {
    /// A position as tables hold it.
    #[inline(always)]
    pub(super) fn place(self, at: usize) -> u32 {
        self.base + at as u32
    }

    /// The entry of a word in a table of at most `1 << BITS` entries, of which a short buffer uses fewer.
    #[inline(always)]
    pub(super) fn hash<const BITS: u32>(self, word: u32) -> usize {
        (word.wrapping_mul(0x9E37_79B1) >> (32 - self.used.min(BITS))) as usize
    }
}

/// A table of a fixed length on the heap.
pub(super) fn table<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N]
        .into_boxed_slice()
        .try_into()
        .unwrap_or_else(|_| unreachable!("made with this length"))
}
