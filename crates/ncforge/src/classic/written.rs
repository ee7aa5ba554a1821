//! Records the written parts of variables, so that only the rest is filled.
//!
//! Positions are in the *element bytes* of one variable: row-major over its whole shape, without padding and
//! as if records followed each other directly. Record `r` of a variable of `n` bytes a record is `r*n..(r+1)*n`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::model::shape;
use crate::select::{Hyperslab, coordinates};

/// Disjoint, non-touching ranges.
#[derive(Clone, Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn insert(&mut self, mut new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        // Usually the last one is extended.
        if let Some(mut last) = self.0.last_entry()
            && (*last.key()..=*last.get()).contains(&new.start)
        {
            let end = new.end.max(*last.get());
            last.insert(end);
            return;
        }
        // Merge with every range that overlaps or touches; the last one to start at or before `end` first.
        while let Some((&start, &end)) = self.0.range(..=new.end).next_back() {
            if end < new.start {
                break;
            }
            self.0.remove(&start);
            new = new.start.min(start)..new.end.max(end);
        }
        self.0.insert(new.start, new.end);
    }

    /// The parts of `within` that no range covers, in order.
    fn gaps(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = within.start;
        let before = self.0.range(..=at).next_back().map(|(_, &end)| end);
        if let Some(end) = before {
            at = at.max(end);
        }
        let mut later = self.0.range(at.min(within.end)..within.end);
        std::iter::from_fn(move || {
            while at < within.end {
                let (gap, next) = match later.next() {
                    Some((&start, &end)) => (at..start, end),
                    None => (at..within.end, within.end),
                };
                at = next;
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }
}

/// The written bytes of one variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Everything before this position is complete: written, filled, or already in the file.
    settled: u64,
    /// Ranges written after that position.
    ranges: Ranges,
    /// Records (or 1 for a fixed variable) whose padding is complete.
    pub(super) padded: u64,
    /// True if the variable has values, and not only fill values.
    pub(super) has_values: bool,
}

impl Written {
    /// A variable that is in the file already: `bytes` of elements in `slots` records.
    pub(super) fn present(bytes: u64, slots: u64) -> Self {
        Written { settled: bytes, ranges: Ranges::default(), padded: slots, has_values: true }
    }

    /// As [`Self::present`], with fill values only.
    pub(super) fn filled(bytes: u64, slots: u64) -> Self {
        Written { has_values: false, ..Self::present(bytes, slots) }
    }

    /// The number of ranges, which determines the memory.
    pub(super) fn pieces(&self) -> usize {
        self.ranges.0.len()
    }

    /// Adds a region that will be written; `element` is in bytes.
    pub(super) fn add(&mut self, shape: &[u64], slab: &Hyperslab, element: u64) {
        if !slab.is_empty() && run_count(shape, slab) == 1 {
            // The case of programs that write record after record: no memory is allocated.
            let steps = (0..shape.len()).rev().scan(1, |step, d| {
                let own = *step;
                *step *= shape[d];
                Some((d, own))
            });
            let first: u64 = steps.map(|(d, step)| slab.start[d] * step).sum();
            let range = first * element..(first + slab.len()) * element;
            self.ranges.insert(range.start.max(self.settled)..range.end);
            return;
        }
        for run in runs(shape, slab) {
            let range = run.start * element..run.end * element;
            self.ranges.insert(range.start.max(self.settled)..range.end);
        }
    }

    /// The parts of `within` that were not written.
    pub(super) fn gaps(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let start = within.start.max(self.settled);
        self.ranges.gaps(start..within.end.max(start))
    }

    /// The first position before `end` that was not written.
    pub(super) fn first_gap(&self, end: u64) -> Option<u64> {
        self.gaps(0..end).next().map(|gap| gap.start)
    }

    /// Discards ranges: everything up to `end`, in `slots` records, is complete.
    pub(super) fn settle(&mut self, end: u64, slots: u64) {
        self.settled = self.settled.max(end);
        self.padded = self.padded.max(slots);
        self.ranges.0.clear();
    }
}

/// The number of runs of [`runs`] of a selection (saturating).
pub(super) fn run_count(shape: &[u64], slab: &Hyperslab) -> u64 {
    let whole = dense_tail(shape, slab);
    shape::elements(&slab.count[..whole])
}

/// The first dimension from which on the selection is one run of elements.
fn dense_tail(shape: &[u64], slab: &Hyperslab) -> usize {
    let mut d = shape.len();
    while d > 0 {
        let dense = slab.stride[d - 1] == 1 || slab.count[d - 1] <= 1;
        if !dense {
            return d;
        }
        d -= 1;
        if slab.count[d] != shape[d] {
            return d;
        }
    }
    0
}

/// The runs of consecutive elements of a selection (inside `shape`), in rising order.
fn runs(shape: &[u64], slab: &Hyperslab) -> impl Iterator<Item = Range<u64>> + use<> {
    let whole = dense_tail(shape, slab);
    // Elements of one step along each dimension.
    let mut steps = vec![1u64; shape.len()];
    for d in (1..shape.len()).rev() {
        steps[d - 1] = steps[d] * shape[d];
    }
    // The length of a run: the selected part of dimension `whole`, times everything below.
    let run = match slab.count.get(whole) {
        Some(&n) => n * steps[whole],
        None => 1,
    };
    let tail: u64 = slab.start.iter().zip(&steps).skip(whole).map(|(&s, &step)| s * step).sum();
    let outer: Vec<Range<u64>> = slab.count[..whole].iter().map(|&c| 0..c).collect();
    let (start, stride, empty) = (slab.start.clone(), slab.stride.clone(), slab.is_empty());
    coordinates(&outer).take_while(move |_| !empty).map(move |at| {
        let first =
            at.iter().enumerate().map(|(d, &i)| (start[d] + i * stride[d]) * steps[d]).sum::<u64>() + tail;
        first..first + run
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn elements(shape: &[u64], slab: &Hyperslab) -> Vec<u64> {
        let outer: Vec<_> = slab.count.iter().map(|&c| 0..c).collect();
        coordinates(&outer)
            .map(|at| {
                at.iter().enumerate().fold(0, |n, (d, &i)| n * shape[d] + slab.start[d] + i * slab.stride[d])
            })
            .collect()
    }

    fn shaped() -> impl Strategy<Value = (Vec<u64>, Vec<Hyperslab>)> {
        prop::collection::vec(1u64..5, 0..4).prop_flat_map(|shape| {
            let dim = |n: u64| {
                (0..n, 1..4u64).prop_flat_map(move |(s, t)| (Just(s), 0..=(n - s).div_ceil(t), Just(t)))
            };
            let slab = shape.iter().map(|&n| dim(n)).collect::<Vec<_>>().prop_map(|d| {
                let (mut start, mut count, mut stride) = (vec![], vec![], vec![]);
                for (s, c, t) in d {
                    start.push(s);
                    count.push(c);
                    stride.push(t);
                }
                Hyperslab { start, count, stride }
            });
            (Just(shape), prop::collection::vec(slab, 0..5))
        })
    }

    proptest! {
        #[test]
        fn runs_and_gaps_agree_with_element_sets((shape, slabs) in shaped(), settled in 0u64..10) {
            let total: u64 = shape.iter().product();
            let mut written = Written::present(settled.min(total), 0);
            let mut set: std::collections::BTreeSet<u64> = (0..settled.min(total)).collect();
            for slab in &slabs {
                prop_assert!(slab.check(&shape, "v").is_ok());
                let by_run: Vec<u64> = runs(&shape, slab).flatten().collect();
                prop_assert_eq!(&by_run, &elements(&shape, slab));
                if !slab.is_empty() {
                    prop_assert_eq!(runs(&shape, slab).count() as u64, run_count(&shape, slab));
                }
                written.add(&shape, slab, 1);
                set.extend(by_run);
            }
            let gaps: Vec<u64> = written.gaps(0..total).flatten().collect();
            let expect: Vec<u64> = (0..total).filter(|i| !set.contains(i)).collect();
            prop_assert_eq!(gaps, expect.clone());
            prop_assert_eq!(written.first_gap(total), expect.first().copied());
            let part: Vec<u64> = written.gaps(total / 3..total / 2).flatten().collect();
            let expect: Vec<u64> = (total / 3..total / 2).filter(|i| !set.contains(i)).collect();
            prop_assert_eq!(part, expect);
        }
    }
}
