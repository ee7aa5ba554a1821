//! Which bytes of a contiguous variable have been written: the rest must be filled before it is read.

use crate::model::shape;
use crate::select::Hyperslab;

/// Written byte ranges, relative to the variable's first byte: sorted, disjoint, not adjacent.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage(Vec<(u64, u64)>);

impl Coverage {
    /// All bytes of a variable of `len` bytes.
    pub(super) fn whole(len: u64) -> Self {
        Coverage(vec![(0, len)])
    }

    /// Adds `from..to`.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let first = self.0.partition_point(|r| r.1 < from);
        let last = self.0.partition_point(|r| r.0 <= to);
        let merged = self.0[first..last].iter().fold((from, to), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        self.0.splice(first..last, [merged]);
    }

    /// The gaps within `from..to`.
    pub(super) fn gaps(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = from;
        for &(a, b) in &self.0 {
            if b <= at {
                continue;
            }
            if a >= to {
                break;
            }
            if a > at {
                gaps.push((at, a));
            }
            at = b;
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps
    }
}

/// The byte runs that a selection of a row-major array covers; `None` when there are more than `most`.
pub(super) fn runs(slab: &Hyperslab, shape: &[u64], element: u64, most: usize) -> Option<Vec<(u64, u64)>> {
    if slab.is_empty() {
        return Some(Vec::new());
    }
    // The dimensions from `inner` on are covered completely (except for the first of them, which may be a dense part).
    let mut inner = shape.len();
    let mut run = 1u64;
    while inner > 0 {
        let d = inner - 1;
        if slab.stride[d] != 1 && slab.count[d] > 1 {
            break;
        }
        run = run.saturating_mul(slab.count[d]);
        inner = d;
        if slab.count[d] != shape[d] {
            break;
        }
    }
    let outer: u64 = shape::elements(&slab.count[..inner]);
    if outer > most as u64 {
        return None;
    }
    let mut strides = vec![element; shape.len()];
    for d in (0..shape.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1].saturating_mul(shape[d + 1]);
    }
    let base: u64 = (inner..shape.len()).map(|d| slab.start[d] * strides[d]).sum();
    let ranges: Vec<_> = slab.count[..inner].iter().map(|&c| 0..c).collect();
    Some(
        crate::select::coordinates(&ranges)
            .map(|at| {
                let skip: u64 = at
                    .iter()
                    .enumerate()
                    .map(|(d, i)| (slab.start[d] + i * slab.stride[d]) * strides[d])
                    .sum();
                (base + skip, base + skip + run * element)
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_unwritten_bytes() {
        let mut c = Coverage::default();
        c.add(10, 20);
        c.add(30, 40);
        c.add(20, 25);
        assert_eq!(c.gaps(0, 50), [(0, 10), (25, 30), (40, 50)]);
        c.add(0, 50);
        assert!(c.gaps(0, 50).is_empty());
    }

    #[test]
    fn runs_of_selections() {
        let shape = [4, 3, 5];
        let all = Hyperslab::all(&shape);
        assert_eq!(runs(&all, &shape, 2, 9), Some(vec![(0, 120)]));
        let slab = Hyperslab::new(&[1, 0, 0], &[2, 3, 5]);
        assert_eq!(runs(&slab, &shape, 2, 9), Some(vec![(30, 90)]));
        let part = Hyperslab::new(&[1, 1, 2], &[2, 1, 2]);
        assert_eq!(runs(&part, &shape, 2, 9), Some(vec![(44, 48), (74, 78)]));
        assert_eq!(runs(&part, &shape, 2, 1), None);
        let strided = Hyperslab::strided(&[0, 0, 0], &[1, 1, 3], &[1, 1, 2]);
        assert_eq!(runs(&strided, &shape, 1, 9), Some(vec![(0, 1), (2, 3), (4, 5)]));
        assert_eq!(runs(&Hyperslab::all(&[]), &[], 8, 9), Some(vec![(0, 8)]));
    }
}
