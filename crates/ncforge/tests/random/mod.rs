//! Numbers without a pattern, the same in every run.

/// A generator by its state, which is not 0 (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    #[allow(dead_code, reason = "some tests take bits only")]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }
}
