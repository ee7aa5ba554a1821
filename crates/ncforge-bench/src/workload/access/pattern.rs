//! The reads that people do.

use ncforge::Hyperslab;
use serde::Serialize;

use crate::stats::Positions;

/// A read that people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// All of the last two dimensions at one random position of the others: a map at one time and level. Of a
    /// variable with two dimensions, one row of the first; of one with one dimension, all of it.
    Map,
    /// All of the first dimension at one random position of the others: a time series at one point.
    Series,
    /// Everything.
    Full,
    /// All of the dimension before the last two at one random position of the others: a profile through the levels. Of a variable
    /// with fewer than three dimensions, a series.
    Profile,
    /// A random box, half as long as the variable along every dimension.
    Box,
    /// Every fourth element along every dimension, from a random one of the first four.
    Stride,
}

impl Pattern {
    /// All of them, in the order in which tables show them.
    pub const ALL: [Pattern; 6] =
        [Pattern::Map, Pattern::Series, Pattern::Full, Pattern::Profile, Pattern::Box, Pattern::Stride];
    /// The patterns that are measured by default.
    pub const USUAL: [Pattern; 3] = [Pattern::Map, Pattern::Series, Pattern::Full];

    /// Its name: "map", "series", "full", …
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Map => "map",
            Pattern::Series => "series",
            Pattern::Full => "full",
            Pattern::Profile => "profile",
            Pattern::Box => "box",
            Pattern::Stride => "stride",
        }
    }

    /// The pattern of this name.
    pub fn from_name(name: &str) -> Option<Pattern> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The selection in an array of this shape, at the next random position.
    pub fn slab(self, shape: &[u64], positions: &mut Positions) -> Hyperslab {
        let rank = shape.len();
        let mut part = |d: usize, n: u64| match self {
            // Start, count and stride along a dimension.
            Pattern::Box => {
                let half = n.div_ceil(2);
                (positions.below(n - half + 1), half, 1)
            }
            // The count does not depend on the beginning.
            Pattern::Stride => (positions.below(n.min(4)), (n / 4).max(n.min(1)), 4),
            _ if self.takes_whole(d, rank) => (0, n, 1),
            _ => (positions.below(n), n.min(1), 1),
        };
        let parts: Vec<(u64, u64, u64)> = shape.iter().enumerate().map(|(d, &n)| part(d, n)).collect();
        let column = |f: fn(&(u64, u64, u64)) -> u64| parts.iter().map(f).collect::<Vec<u64>>();
        Hyperslab::strided(&column(|p| p.0), &column(|p| p.1), &column(|p| p.2))
    }

    /// Whether all of a dimension is read.
    fn takes_whole(self, d: usize, rank: usize) -> bool {
        match self {
            Pattern::Full => true,
            Pattern::Series => d == 0,
            Pattern::Profile => d == rank.saturating_sub(3),
            Pattern::Map => d + if rank > 2 { 2 } else { 1 } >= rank,
            Pattern::Box | Pattern::Stride => false,
        }
    }
}
