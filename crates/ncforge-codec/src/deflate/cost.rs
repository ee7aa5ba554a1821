//! The time that treatments of planes cost, for encoding and for decoding.
//!
//! Measured on planes of temperature, precipitation and packed numbers, with libdeflate as decoder. A decoder needs about
//! the same time for each literal and each match, however many bytes it produces: the processor mispredicts unexpected
//! literals, and matches of another length than the last. Few, long matches decode fastest,
//! stored bytes as fast as memory, and a code of literals alone is slowest.

use super::matcher::Effort;

/// Nanoseconds a byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    encode: f64,
    decode: f64,
}

impl Cost {
    /// The cost of stored bytes.
    pub(super) const STORED: Cost = Cost { encode: 0.2, decode: 0.06 };

    /// The cost for these numbers of matches and literals per byte, found with an effort.
    pub(super) fn of(effort: Effort, matches: f64, literals: f64) -> Cost {
        // Nanoseconds for a match, and for a literal between matches and between literals.
        let (each, amid, alone) = match effort {
            Effort::Runs | Effort::Echo { .. } => (33.0, 1.8, 1.6),
            Effort::Pairs { lazy: false } => (38.0, 19.0, 3.0),
            Effort::Pairs { lazy: true } => (58.0, 19.0, 3.0),
            Effort::Fours => (54.0, 24.0, 3.5),
            Effort::Short => (31.0, 8.5, 7.0),
            Effort::Chains { depth, nice, lazy, .. } => {
                let tries = f64::from(depth).min(nice as f64 / 2.0);
                ((30.0 + 8.0 * tries) * if lazy { 1.2 } else { 1.0 }, 16.0, 15.0)
            }
        };
        // Up to seven or eight literals between two matches still cost as much as single ones.
        let near = literals.min(8.0 * matches);
        Cost {
            encode: 0.2 + each * matches + amid * near + alone * (literals - near),
            decode: 0.06 + 8.5 * matches + 2.3 * literals,
        }
    }

    /// The weighted sum. Data are read more often than they are written; the higher the level, the larger the weight of
    /// decoding.
    pub(super) fn total(self, level: u32) -> f64 {
        self.encode + f64::from(4 + level) * self.decode
    }
}
