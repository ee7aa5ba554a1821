//! Cuts a box of a row-major array in a store into requests: the rows and planes of a regular box need not be listed.

use super::super::boxes::Axis;
use super::Joining;
use crate::model::shape;

/// The side of the axes that lies in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Side {
    /// Reading: elements come from the store.
    From,
    /// Writing: elements go to the store.
    To,
}

/// A box cut into units, each of them one request.
#[derive(Clone, Debug)]
pub(in super::super) struct Strips {
    axes: Vec<Axis>,
    side: Side,
    /// The axis that is cut into groups; what is outside is stepped through, what is inside is whole.
    split: usize,
    /// Indexes of the split axis in one unit.
    group: u64,
    /// Bytes in the store of one index of the split axis.
    inner: u64,
    /// Groups along the split axis.
    groups: u64,
    units: u64,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Unit {
    /// First byte, relative to the box's origin, where elements come from.
    pub(in super::super) from: u64,
    /// The first byte in the destination.
    pub(in super::super) to: u64,
    /// The box of elements, from the unit's first.
    pub(in super::super) axes: Vec<Axis>,
    /// Bytes from the first element's first byte to the last element's last, in the store.
    pub(in super::super) span: u64,
}

impl Side {
    /// Bytes between neighbours in the store.
    pub(in super::super) fn step(self, a: &Axis) -> u64 {
        match self {
            Side::From => a.from,
            Side::To => a.to,
        }
    }
}

impl Strips {
    /// Cuts merged axes into requests of about the most bytes that read through gaps.
    pub(in super::super) fn new(axes: Vec<Axis>, side: Side, size: usize, joining: Joining) -> Self {
        let Joining { gap, most: block } = joining;
        let mut inner = size as u64;
        let mut split = axes.len() - 1;
        let mut group = 1;
        for (d, a) in axes.iter().enumerate().rev() {
            split = d;
            group = 1;
            let step = side.step(a);
            if step.saturating_sub(inner) > gap {
                break;
            }
            let all = step.saturating_mul(a.count - 1).saturating_add(inner);
            if all > block {
                group = (block.saturating_sub(inner) / step.max(1) + 1).min(a.count);
                break;
            }
            group = a.count;
            if d > 0 {
                inner = all;
            }
        }
        let groups = axes[split].count.div_ceil(group);
        let units = shape::product(axes[..split].iter().map(|a| a.count)).saturating_mul(groups);
        // When the loop ran to the outermost axis, `inner` is what one index of it spans.
        Self { axes, side, split, group, inner, groups, units }
    }

    /// Number of requests.
    pub(in super::super) fn len(&self) -> u64 {
        self.units
    }

    /// Bytes of a typical request.
    pub(in super::super) fn unit_bytes(&self) -> u64 {
        self.side.step(&self.axes[self.split]).saturating_mul(self.group - 1).saturating_add(self.inner)
    }

    /// One request. Requests of rising number lie at rising places in the store.
    pub(in super::super) fn unit(&self, number: u64) -> Unit {
        let mut rest = number / self.groups;
        let first = number % self.groups * self.group;
        let cut = self.axes[self.split];
        let n = self.group.min(cut.count - first);
        let (mut from, mut to) = (first * cut.from, first * cut.to);
        for a in self.axes[..self.split].iter().rev() {
            let i = rest % a.count;
            rest /= a.count;
            from += i * a.from;
            to += i * a.to;
        }
        let mut axes = Vec::with_capacity(self.axes.len() - self.split);
        axes.push(Axis { count: n, ..cut });
        axes.extend_from_slice(&self.axes[self.split + 1..]);
        if n == 1 && axes.len() > 1 {
            axes.remove(0);
        }
        let span = self.side.step(&cut) * (n - 1) + self.inner;
        Unit { from, to, axes, span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(count: u64, from: u64, to: u64) -> Axis {
        Axis { count, from, to }
    }

    /// Every element of the box is in exactly one unit, inside its span.
    fn check(axes: &[Axis], size: usize, block: u64, gap: u64) -> Vec<Unit> {
        let strips = Strips::new(axes.to_vec(), Side::From, size, Joining { gap, most: block });
        let units: Vec<Unit> = (0..strips.len()).map(|u| strips.unit(u)).collect();
        let mut seen = Vec::new();
        for u in &units {
            super::super::super::boxes::for_each_origin(&u.axes, u.from, u.to, |f, t| {
                assert!(f >= u.from && f + size as u64 <= u.from + u.span);
                seen.push((f, t));
            });
        }
        let mut want = Vec::new();
        super::super::super::boxes::for_each_origin(axes, 0, 0, |f, t| want.push((f, t)));
        assert_eq!(seen, want);
        units
    }

    #[test]
    fn long_runs_are_cut_into_blocks() {
        let units = check(&[axis(1000, 4, 4)], 4, 256, 0);
        assert_eq!(units.len(), 16);
        assert_eq!(units[0].span, 256);
        assert_eq!(units[15].span, 4000 - 15 * 256);
    }

    #[test]
    fn small_gaps_are_read_through_and_large_ones_are_not() {
        assert_eq!(check(&[axis(10, 100, 16), axis(4, 4, 4)], 4, 4096, 100).len(), 1);
        assert_eq!(check(&[axis(10, 100, 16), axis(4, 4, 4)], 4, 4096, 10).len(), 10);
        assert_eq!(check(&[axis(10, 100, 16), axis(4, 4, 4)], 4, 300, 100).len(), 4);
        assert_eq!(check(&[axis(3, 4000, 40), axis(10, 400, 4)], 4, 1 << 20, 10).len(), 30);
        assert_eq!(check(&[axis(3, 4000, 40), axis(10, 400, 4)], 4, 1 << 20, 500).len(), 1);
        assert_eq!(check(&[axis(3, 8000, 40), axis(10, 400, 4)], 4, 1 << 20, 500).len(), 3);
        assert_eq!(check(&[axis(1, 4, 4)], 4, 1 << 20, 500).len(), 1);
    }
}
