//! The integer stage: chunk lengths that leave no overhang, and the way downhill among them.

/// Neighbouring candidates of one axis differ by this factor at least, where the axis is long.
const STEP: f64 = 1.03;

/// The lengths worth trying on an axis of `len`: `ceil(len / k)` for numbers of chunks `k`, which waste least at
/// the end, up to `longest`. Ascending, never empty.
pub fn candidates(len: u64, longest: u64) -> Vec<u64> {
    let len = len.max(1);
    let longest = longest.max(1);
    let mut list = Vec::new();
    let mut k = 1;
    while k <= len {
        let c = len.div_ceil(k);
        if c <= longest {
            list.push(c);
        }
        // The next number of chunks that makes a chunk shorter by a step, or by one.
        let next = ((c as f64 / STEP) as u64).clamp(1, c - u64::from(c > 1));
        k = if c == 1 { len + 1 } else { len.div_ceil(next).max(k + 1) };
    }
    list.reverse();
    list.dedup();
    if list.is_empty() {
        list.push(longest.min(len));
    }
    list
}

/// The place of the candidate nearest to `c` by ratio; of two as near, the shorter one. `list` ascends.
pub fn nearest(list: &[u64], c: f64) -> usize {
    let above = list.partition_point(|&x| (x as f64) < c);
    match (above.checked_sub(1), list.get(above)) {
        (Some(below), Some(&longer)) if c * c > list[below] as f64 * longer as f64 => below + 1,
        (Some(below), _) => below,
        (None, _) => 0,
    }
}

/// The factor by which one shape must be stretched and squeezed to be the other, as a logarithm.
pub(super) fn unlike(a: &[u64], b: &[u64]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (a as f64 / b as f64).ln().abs()).sum()
}

/// Looks at every shape of `lists` (the last axis varies fastest) and gives the first of the least price, and that price.
pub fn every(lists: &[Vec<u64>], price: &mut dyn FnMut(&[u64]) -> f64) -> (Vec<u64>, f64) {
    let mut at = vec![0; lists.len()];
    let mut lens: Vec<u64> = lists.iter().map(|l| l[0]).collect();
    let mut best = (lens.clone(), price(&lens));
    loop {
        let Some(d) = (0..lists.len()).rev().find(|&d| at[d] + 1 < lists[d].len()) else { return best };
        at[d] += 1;
        at[d + 1..].fill(0);
        for e in d..lists.len() {
            lens[e] = lists[e][at[e]];
        }
        let p = price(&lens);
        if p < best.1 {
            best = (lens.clone(), p);
        }
    }
}

/// Goes downhill from `start` (places in `lists`) by steps along one axis and along two in opposite directions,
/// until none helps. Prices that are not finite are forbidden. Gives the places and their price.
pub fn descend(
    lists: &[Vec<u64>],
    start: &[usize],
    price: &mut dyn FnMut(&[u64]) -> f64,
) -> (Vec<usize>, f64) {
    const STEPS: [isize; 8] = [1, -1, 2, -2, 5, -5, 12, -12];
    let n = lists.len();
    let mut at = start.to_vec();
    let mut lens: Vec<u64> = at.iter().zip(lists).map(|(&i, l)| l[i]).collect();
    let mut best = price(&lens);
    let moved = |i: usize, by: isize, d: usize| i.checked_add_signed(by).filter(|&i| i < lists[d].len());
    loop {
        let before = best;
        for j in 0..n {
            for s in STEPS {
                let Some(to) = moved(at[j], s, j) else { continue };
                let old = lens[j];
                lens[j] = lists[j][to];
                let p = price(&lens);
                if p < best {
                    (best, at[j]) = (p, to);
                    continue;
                }
                for k in 0..n {
                    // The volume stays about the same: what one axis gains another gives.
                    let want = lens[k] as f64 * old as f64 / lens[j] as f64;
                    let to_k = nearest(&lists[k], want.max(1.0));
                    if k == j || to_k == at[k] {
                        continue;
                    }
                    let old_k = lens[k];
                    lens[k] = lists[k][to_k];
                    let p = price(&lens);
                    if p < best {
                        (best, at[j], at[k]) = (p, to, to_k);
                        break;
                    }
                    lens[k] = old_k;
                }
                if at[j] != to {
                    lens[j] = old;
                }
            }
        }
        if best >= before || !before.is_finite() && !best.is_finite() {
            return (at, best);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn candidates_leave_no_overhang() {
        assert_eq!(candidates(12, 12), [1, 2, 3, 4, 6, 12]);
        assert_eq!(candidates(1, 10), [1]);
        assert_eq!(candidates(0, 5), [1]);
        assert_eq!(candidates(100, 9)[..], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let long = candidates(1 << 40, 1 << 40);
        assert!(long.len() < 1200 && long.is_sorted() && long[0] == 1);
    }

    #[test]
    fn the_nearest_is_so_by_ratio() {
        assert_eq!(nearest(&[1, 4], 2.0), 0);
        assert_eq!(nearest(&[1, 4], 2.1), 1);
        assert_eq!(nearest(&[3, 4], 1.0), 0);
        assert_eq!(nearest(&[3, 4], 9.0), 1);
        assert_eq!(nearest(&[3], 3.0), 0);
    }

    proptest! {
        #[test]
        fn candidates_are_legal(len in 1u64..1_000_000, longest in 1u64..1_000_000) {
            let list = candidates(len, longest);
            prop_assert!(list.windows(2).all(|w| w[0] < w[1]));
            prop_assert!(list.iter().all(|&c| c >= 1 && c <= len && c <= longest));
        }

        #[test]
        fn descent_never_ends_above_its_start(lens in prop::collection::vec(1u64..400, 1..5), seed in 1u64..1000) {
            let lists: Vec<Vec<u64>> = lens.iter().map(|&l| candidates(l, l)).collect();
            let mut price = |c: &[u64]| c.iter().enumerate().map(|(d, &c)| {
                let want = (seed * (d as u64 + 3)) % 97 + 1;
                (c as f64 / want as f64).ln().powi(2)
            }).sum::<f64>();
            let start: Vec<usize> = lists.iter().map(|l| l.len() / 2).collect();
            let first: Vec<u64> = start.iter().zip(&lists).map(|(&i, l)| l[i]).collect();
            let p0 = price(&first);
            let (at, p) = descend(&lists, &start, &mut price);
            prop_assert!(p <= p0);
            // Separable and convex in the logarithm: the end is the best of every axis.
            for (d, list) in lists.iter().enumerate() {
                let mut c: Vec<u64> = at.iter().zip(&lists).map(|(&i, l)| l[i]).collect();
                for &other in list {
                    c[d] = other;
                    prop_assert!(price(&c) >= p - 1e-12);
                }
            }
        }
    }
}
