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
}

impl Pattern {
    /// All of them, in the order in which tables show them.
    pub const ALL: [Pattern; 3] = [Pattern::Map, Pattern::Series, Pattern::Full];

    /// Its name: "map", "series", "full".
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Map => "map",
            Pattern::Series => "series",
            Pattern::Full => "full",
        }
    }

    /// The pattern of this name.
    pub fn from_name(name: &str) -> Option<Pattern> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The selection in an array of this shape, at the next random position.
    pub fn slab(self, shape: &[u64], positions: &mut Positions) -> Hyperslab {
        let rank = shape.len();
        let whole = |d: usize| match self {
            Pattern::Full => true,
            Pattern::Series => d == 0,
            Pattern::Map => d + if rank > 2 { 2 } else { 1 } >= rank,
        };
        let (start, count): (Vec<u64>, Vec<u64>) = shape
            .iter()
            .enumerate()
            .map(|(d, &n)| if whole(d) { (0, n) } else { (positions.below(n), n.min(1)) })
            .unzip();
        Hyperslab::new(&start, &count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_any_rank() {
        let count = |p: Pattern, shape: &[u64]| {
            let slab = p.slab(shape, &mut Positions::new(3));
            slab.check(shape, "v").unwrap();
            slab.count
        };
        assert_eq!(count(Pattern::Map, &[12, 17, 90, 180]), [1, 1, 90, 180]);
        assert_eq!(count(Pattern::Series, &[12, 17, 90, 180]), [12, 1, 1, 1]);
        assert_eq!(count(Pattern::Full, &[12, 90, 180]), [12, 90, 180]);
        assert_eq!(count(Pattern::Map, &[12, 90]), [1, 90]);
        assert_eq!(count(Pattern::Map, &[12]), [12]);
        for p in Pattern::ALL {
            assert!(count(p, &[]).is_empty());
            assert_eq!(Pattern::from_name(p.name()), Some(p));
            assert_eq!(p.slab(&[0, 3], &mut Positions::new(1)).len(), 0);
        }
    }
}
