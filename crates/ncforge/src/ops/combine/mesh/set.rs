//! Numbers: which thing of the whole each thing of a partition is.

use crate::model::DimId;

/// Nothing.
pub(super) const NONE: u32 = u32::MAX;

/// Cells, nodes, edges, … of all partitions, and of the whole. Those of all partitions are counted through: the first
/// partition's, then the second's.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    /// What they are, for messages.
    pub(super) what: &'static str,
    /// The mesh.
    pub(super) mesh: String,
    /// The dimensions that count them.
    pub(super) dims: Vec<DimId>,
    /// Where each partition's begin; one more than there are partitions.
    pub(super) first: Vec<u32>,
    /// By number among all partitions': the number in the whole; [`NONE`] of what is dropped.
    pub(super) place: Vec<u32>,
    /// By number in the whole: who has its values, as a number among all partitions'; [`NONE`]: nobody.
    pub(super) source: Vec<u32>,
}

impl Set {
    /// Of partitions that have so many; none has a place yet. `None`: more than can be numbered.
    pub(super) fn new(what: &'static str, mesh: &str, dims: Vec<DimId>, lens: &[u64]) -> Option<Set> {
        let mut first = Vec::with_capacity(lens.len() + 1);
        first.push(0u32);
        let mut end = 0u32;
        for &n in lens {
            end = end.checked_add(u32::try_from(n).ok()?).filter(|&e| e < NONE)?;
            first.push(end);
        }
        let place = vec![NONE; end as usize];
        Some(Set { what, mesh: mesh.to_owned(), dims, first, place, source: Vec::new() })
    }

    /// How many a partition has.
    pub(super) fn len_in(&self, part: usize) -> u32 {
        self.first[part + 1] - self.first[part]
    }

    /// The partition of one of all partitions'.
    pub(super) fn part_of(&self, one: u32) -> usize {
        self.first.partition_point(|&f| f <= one) - 1
    }

    /// The partition that has the values of one of the whole; [`NONE`] if none has.
    pub(super) fn owner(&self, place: u32) -> u32 {
        match self.source.get(place as usize) {
            None | Some(&NONE) => NONE,
            Some(&one) => self.part_of(one) as u32,
        }
    }

    /// How many of the whole nobody has.
    pub(super) fn holes(&self) -> u64 {
        self.source.iter().filter(|s| **s == NONE).count() as u64
    }

    /// How many of all partitions' give no values to the whole.
    pub(super) fn dropped(&self) -> u64 {
        (self.place.len() as u64 + self.holes()).saturating_sub(self.source.len() as u64)
    }

    /// How many every partition owns.
    pub(super) fn owned(&self) -> Vec<u64> {
        let is_source = |one: &u32| {
            let place = self.place[*one as usize];
            place != NONE && self.source[place as usize] == *one
        };
        self.first.windows(2).map(|w| (w[0]..w[1]).filter(is_source).count() as u64).collect()
    }

    /// By partition the first number of the whole that is its; `None` unless every partition's stand together, in
    /// their own order, and those of a higher one behind those of a lower.
    pub(super) fn starts(&self) -> Option<Vec<u64>> {
        let in_order = self.source.windows(2).all(|w| w[0] < w[1]);
        let full = self.source.last().is_none_or(|&s| s != NONE);
        (in_order && full).then(|| {
            self.owned()
                .iter()
                .scan(0, |end, n| {
                    let start = *end;
                    *end += n;
                    Some(start)
                })
                .collect()
        })
    }

    /// Which of the whole more than one partition has.
    pub(super) fn shared(&self) -> Bits {
        let (mut seen, mut shared) = (Bits::new(self.source.len()), Bits::new(self.source.len()));
        for &place in self.place.iter().filter(|p| **p != NONE) {
            if seen.get(place) {
                shared.set(place);
            }
            seen.set(place);
        }
        shared
    }

    /// Numbers of the whole for those that `kept` names, in the order of the partitions.
    pub(super) fn number(&mut self, kept: &Bits) {
        self.source.clear();
        for one in 0..self.place.len() as u32 {
            if kept.get(one) {
                self.place[one as usize] = self.source.len() as u32;
                self.source.push(one);
            }
        }
    }
}

/// A bit for each of many.
#[derive(Clone, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// None of them.
    pub(super) fn new(n: usize) -> Bits {
        Bits(vec![0; n.div_ceil(64)])
    }

    /// Whether one is set; what is beyond the last is not.
    pub(super) fn get(&self, i: u32) -> bool {
        self.0.get(i as usize / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Sets one.
    pub(super) fn set(&mut self, i: u32) {
        self.0[i as usize / 64] |= 1 << (i % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_through_the_partitions() {
        let mut set = Set::new("node", "m", Vec::new(), &[3, 0, 2]).unwrap();
        assert_eq!([0, 2, 3, 4].map(|i| set.part_of(i)), [0, 0, 2, 2]);
        assert_eq!((set.len_in(1), set.len_in(2)), (0, 2));
        let mut kept = Bits::new(5);
        [0, 2, 4].into_iter().for_each(|i| kept.set(i));
        set.number(&kept);
        assert_eq!(set.source, [0, 2, 4]);
        assert_eq!(set.owned(), [2, 0, 1]);
        assert_eq!(set.starts(), Some(vec![0, 2, 2]));
        set.place[3] = 1;
        let shared = set.shared();
        assert_eq!([0, 1, 2].map(|i| shared.get(i)), [false, true, false]);
        set.source.swap(0, 1);
        assert_eq!(set.starts(), None);
        assert!(Set::new("node", "m", Vec::new(), &[u64::from(NONE)]).is_none());
    }
}
