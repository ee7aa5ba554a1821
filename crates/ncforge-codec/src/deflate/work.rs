//! The work of decoding a stream, counted while it is encoded.

/// The work of decoding a stream. Predicted times of decoding are computed from it and are the same in every run, unlike
/// measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes in stored blocks, which are copied.
    pub stored: u64,
    /// Bytes with a code of their own.
    pub literals: u64,
    /// Repeats of earlier bytes.
    pub matches: u64,
    /// Bytes that matches produce.
    pub matched: u64,
    /// Blocks with Huffman codes of their own: the decoder builds new tables for each.
    pub tables: u64,
}

impl Work {
    /// Decoded bytes.
    pub fn bytes(&self) -> u64 {
        self.stored + self.literals + self.matched
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.stored += other.stored;
        self.literals += other.literals;
        self.matches += other.matches;
        self.matched += other.matched;
        self.tables += other.tables;
    }
}
