//! Summaries of repeated timings.

use serde::Serialize;

/// Minimum, median and maximum of repeated timings, in seconds. The median is what to quote; the other two say
/// how far to trust it.
///
/// ```
/// let s = ncforge_bench::stats::Summary::of(&[3.0, 1.0, 2.0]).unwrap();
/// assert_eq!((s.min, s.median, s.max, s.repetitions), (1.0, 2.0, 3.0, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The fastest repetition.
    pub min: f64,
    /// The middle one; the mean of the two in the middle for an even number.
    pub median: f64,
    /// The slowest.
    pub max: f64,
    /// How many.
    pub repetitions: usize,
}

impl Summary {
    /// The summary of these timings; `None` when there are none.
    pub fn of(seconds: &[f64]) -> Option<Summary> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = match n {
            0 => return None,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        };
        Some(Summary { min: sorted[0], median, max: sorted[n - 1], repetitions: n })
    }
}

/// A small generator of reproducible numbers (splitmix64): positions of reads, the same in every run with the
/// same seed.
#[derive(Clone, Debug)]
pub struct Positions(u64);

impl Positions {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Positions(seed)
    }

    /// The next number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)).checked_rem(bound).unwrap_or(0)
    }
}

/// A checksum of bytes (FNV-1a over 8-byte words): to see that two reads gave the same values.
pub fn checksum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let mut hash = 0xCBF2_9CE4_8422_2325 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_even_and_no_numbers() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
    }

    #[test]
    fn positions_repeat_and_stay_in_bounds() {
        let draw = || {
            let mut p = Positions::new(7);
            (0..100).map(|_| p.below(13)).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().iter().all(|&x| x < 13));
        assert_eq!(Positions::new(1).below(0), 0);
    }

    #[test]
    fn checksums_tell_bytes_apart() {
        let a: Vec<u8> = (0..100).collect();
        for at in [0, 50, 99] {
            let mut b = a.clone();
            b[at] ^= 1;
            assert_ne!(checksum(&a), checksum(&b));
        }
        assert_ne!(checksum(&[0; 8]), checksum(&[0; 16]));
    }
}
