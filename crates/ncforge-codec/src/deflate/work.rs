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

    /// Seconds that libdeflate takes for `streams` streams with this work in total, including unshuffling, on one
    /// thread of the machine on which these rates were measured, an AMD EPYC.
    ///
    /// The rates were fitted to 49 kinds of chunks, of 4 KiB to 2 MiB, of the seven arrays of `ncforge bench chunks --proof`, whose
    /// rates were between 0.9 and 11 GB/s: all times but one are predicted within 30 %.
    ///
    /// ```
    /// use ncforge_codec::deflate::Work;
    /// let copied = Work { stored: 1 << 20, ..Work::default() };
    /// let coded = Work { literals: 1 << 20, ..Work::default() };
    /// assert!(coded.seconds(1) > 10.0 * copied.seconds(1));
    /// ```
    pub fn seconds(&self, streams: u64) -> f64 {
        // In this order: a stream, a table of codes, a literal, a match, a byte of a match, any byte.
        0.33e-6 * streams as f64
            + 1.1e-6 * self.tables as f64
            + 1.88e-9 * self.literals as f64
            + 3.7e-9 * self.matches as f64
            + 0.025e-9 * self.matched as f64
            + 0.03e-9 * self.bytes() as f64
    }

    /// The same for zlib as HDF5 calls it, with HDF5's unshuffling. zlib copies repeats byte by byte, which costs almost
    /// nothing in [`Work::seconds`]: zlib takes 2.2 to 12 times as long, depending on the stream.
    ///
    /// The rates were fitted to 192 kinds of chunks, of 4 KiB to 4 MiB, of the seven arrays of `ncforge bench chunks --proof` and a field
    /// with land: 96 % of their times with zlib 1.2.13 are predicted within 30 %.
    ///
    /// ```
    /// use ncforge_codec::deflate::Work;
    /// let repeats = Work { matches: 4 << 10, matched: 1 << 20, ..Work::default() };
    /// let coded = Work { literals: 1 << 20, ..Work::default() };
    /// assert!(repeats.seconds_by_zlib() > 10.0 * repeats.seconds(1));
    /// assert!(coded.seconds_by_zlib() < 3.0 * coded.seconds(1));
    /// ```
    pub fn seconds_by_zlib(&self) -> f64 {
        // In this order: a table of codes, a literal, a match, a byte of a match, any byte.
        3.2e-6 * self.tables as f64
            + 3.7e-9 * self.literals as f64
            + 10.7e-9 * self.matches as f64
            + 1.23e-9 * self.matched as f64
            + 0.11e-9 * self.bytes() as f64
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
