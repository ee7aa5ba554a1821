//! Reading bits, most significant first.

/// The error that a bit stream ended too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfBits;

/// A reader of bits, most significant bit of the first byte first.
pub(super) struct BitReader<'a> {
    rest: &'a [u8],
    /// The next bits, at the top.
    acc: u64,
    /// The number of valid ones.
    have: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, acc: 0, have: 0 }
    }

    /// Makes at least 57 bits available, or all that are left.
    fn refill(&mut self) {
        if let Some((word, _)) = self.rest.split_first_chunk::<8>() {
            // Whole bytes that fit below the valid bits; the bits of a byte that fits in part are set too, and
            // set again to the same on the next refill.
            self.acc |= u64::from_be_bytes(*word) >> self.have;
            let bytes = (63 - self.have) / 8;
            self.rest = &self.rest[bytes as usize..];
            self.have += 8 * bytes;
        } else {
            while self.have <= 56 {
                let Some((byte, rest)) = self.rest.split_first() else { return };
                self.acc |= u64::from(*byte) << (56 - self.have);
                self.rest = rest;
                self.have += 8;
            }
        }
    }

    fn consume(&mut self, n: u32) {
        self.acc = self.acc.checked_shl(n).unwrap_or(0);
        self.have -= n;
    }

    /// The next `n` bits as a number; `n` is at most 64.
    pub(super) fn read(&mut self, n: u32) -> Result<u64, OutOfBits> {
        debug_assert!(n <= 64);
        if n > 32 {
            let high = self.read(32)?;
            return Ok(high << (n - 32) | self.read(n - 32)?);
        }
        if n == 0 {
            return Ok(0);
        }
        if self.have < n {
            self.refill();
            if self.have < n {
                return Err(OutOfBits);
            }
        }
        let value = self.acc >> (64 - n);
        self.consume(n);
        Ok(value)
    }

    /// Zeros before the next one; the one is consumed.
    pub(super) fn unary(&mut self) -> Result<u32, OutOfBits> {
        let mut zeros = 0u32;
        loop {
            self.refill();
            let run = self.acc.leading_zeros();
            if run < self.have {
                self.consume(run + 1);
                return Ok(zeros + run);
            }
            if self.have == 0 || zeros > u32::MAX - 128 {
                return Err(OutOfBits);
            }
            zeros += self.have;
            self.consume(self.have);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in prop::collection::vec((any::<u64>(), 0u32..65), 0..200)) {
            let mut bits: Vec<u8> = Vec::new();
            for &(v, n) in &values {
                bits.extend((0..n).rev().map(|i| (v >> i & 1) as u8));
            }
            let bytes: Vec<u8> =
                bits.chunks(8).map(|c| c.iter().enumerate().fold(0, |b, (i, x)| b | x << (7 - i))).collect();
            let mut r = BitReader::new(&bytes);
            for &(v, n) in &values {
                let want = if n == 64 { v } else { v & ((1 << n) - 1) };
                prop_assert_eq!(r.read(n), Ok(want));
            }
            prop_assert!(r.read(8).is_err());

            let mut r = BitReader::new(&bytes);
            let mut zeros = 0;
            for b in bits {
                if b == 1 {
                    prop_assert_eq!(r.unary(), Ok(zeros));
                    zeros = 0;
                } else {
                    zeros += 1;
                }
            }
            prop_assert!(r.unary().is_err());
        }
    }
}
