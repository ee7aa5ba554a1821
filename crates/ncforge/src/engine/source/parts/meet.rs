//! The elements that two rows have in common.

use crate::layout::Stretch;

/// Elements of a selection that are elements of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    /// The first one's number in the selection, and from each to the next.
    pub(super) first: u64,
    pub(super) step: u64,
    /// The first one in the source, and from each to the next.
    pub(super) from: u64,
    pub(super) from_step: u64,
    /// How many.
    pub(super) count: u64,
}

impl Common {
    /// The number behind the last one's in the selection.
    pub(super) fn end(&self) -> u64 {
        self.first + (self.count - 1) * self.step + 1
    }
}

/// What a stretch has in common with `count` elements from `start` on, `stride` apart.
pub(super) fn meet(s: &Stretch, start: u64, stride: u64, count: u64) -> Option<Common> {
    if let (1, 1, Some(end), Some(own_end)) =
        (s.to_step, stride, start.checked_add(count), s.to.checked_add(s.count))
    {
        // Most selections, and most parts. No division.
        let (first, end) = (s.to.max(start), own_end.min(end));
        let (count, from_step) = (end.checked_sub(first).filter(|&n| n > 0)?, s.from_step);
        let from = s.from.checked_add((first - s.to).checked_mul(from_step)?)?;
        let from_step = if count > 1 { from_step } else { 1 };
        return Some(Common { first: first - start, step: 1, from, from_step, count });
    }
    let (to, own) = (i128::from(s.to), i128::from(if s.count > 1 { s.to_step } else { 1 }));
    let (begin, apart) = (i128::from(start), i128::from(if count > 1 { stride } else { 1 }));
    let (common, inverse) = euclid(apart, own);
    if count == 0 || s.count == 0 || (to - begin) % common != 0 {
        return None;
    }
    // The `i`-th of the stretch is the `a`-th of the selection: `to + i * own = begin + a * apart`.
    let (each_a, each_i) = (own / common, apart / common);
    let a = ((to - begin) / common).rem_euclid(each_a) * inverse.rem_euclid(each_a) % each_a;
    if a >= i128::from(count) {
        return None;
    }
    let i = (begin + a * apart - to) / own;
    // To the first one that is in the stretch.
    let ahead = if i < 0 { (-i + each_i - 1) / each_i } else { 0 };
    let (a, i) = (a.checked_add(ahead.checked_mul(each_a)?)?, i + ahead * each_i);
    let (left, own_left) = (i128::from(count) - 1 - a, i128::from(s.count) - 1 - i);
    if left < 0 || own_left < 0 {
        return None;
    }
    let more = (left / each_a).min(own_left / each_i);
    let number = |n: i128| u64::try_from(n).ok();
    Some(Common {
        first: number(a)?,
        step: number(each_a)?,
        from: number(i128::from(s.from) + i * i128::from(s.from_step))?,
        from_step: if more > 0 { number(each_i.checked_mul(i128::from(s.from_step))?)? } else { 1 },
        count: number(more + 1)?,
    })
}

/// The greatest common divisor of two positive numbers, and a number that times `a` gives it, modulo `b`.
fn euclid(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut s) = ((a, b), (1, 0));
    while r.1 != 0 {
        let q = r.0 / r.1;
        r = (r.1, r.0 - q * r.1);
        s = (s.1, s.0 - q * s.1);
    }
    (r.0, s.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn common_elements_are_those_of_both(
            (to, to_step, n) in (0u64..30, 1u64..9, 1u64..12),
            (start, stride, count) in (0u64..30, 1u64..9, 0u64..12),
        ) {
            let s = Stretch { to, to_step, from: 100, from_step: 3, count: n };
            let mut want = Vec::new();
            for a in 0..count {
                for i in 0..n {
                    if start + a * stride == to + i * to_step {
                        want.push((a, 100 + 3 * i));
                    }
                }
            }
            let found = meet(&s, start, stride, count);
            let got: Vec<_> = found.iter().flat_map(|c| (0..c.count).map(|k| (c.first + k * c.step, c.from + k * c.from_step))).collect();
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn large_numbers_do_not_wrap_around() {
        let s = Stretch { to: u64::MAX - 10, to_step: 5, from: u64::MAX - 3, from_step: 1, count: 3 };
        let found = meet(&s, 0, 5, u64::MAX / 5 + 1).unwrap();
        assert_eq!((found.count, found.from), (3, u64::MAX - 3));
        assert!(meet(&s, 1, u64::MAX - 2, 2).is_none());
    }
}
