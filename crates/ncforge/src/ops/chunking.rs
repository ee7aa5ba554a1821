//! The chunk shape of a variable when nobody gave one.
//!
//! The rule: about 1 MiB a chunk, balanced so that reading a *series* (all of the first axis at one point) and a
//! *slab* (one step of the first axis, all of the rest) touch equally many chunks. That is Rew's
//! `chunk_shape_3D` carried to any rank: with `N` chunks in all, `N^(1/2)` along the first axis and
//! `N^(1/(2(n-1)))` along each of the others. Then the lengths are moved to nearby ones that divide their
//! dimension evenly, so that no chunk at an edge is mostly empty.
//!
//! Unlimited dimensions take part with their current length, but never make tiny chunks: a record variable of
//! one number a record gets some kilobytes of records a chunk, not 8 bytes.
//!
//! Source of the balance: R. Rew, "Chunking Data: Choosing Shapes", Unidata developers' blog, 2013.

/// What [`auto`] aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Bytes of one chunk, at most (but one element at least).
    pub bytes: u64,
    /// A variable of fixed shape smaller than this is not chunked.
    pub small: u64,
}

impl Default for Target {
    fn default() -> Self {
        Target { bytes: 1 << 20, small: 8 << 10 }
    }
}

/// A chunk of an unlimited dimension holds at least so many bytes, where its length is ours to choose.
const MIN_RECORD_CHUNK: u64 = 8 << 10;
/// Chunks of HDF5 are shorter than 4 GiB.
const MAX_CHUNK_BYTES: u64 = (1 << 32) - 1;

/// One dimension of the array to be chunked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Current length.
    pub len: u64,
    /// Whether it can grow.
    pub unlimited: bool,
    /// The chunk length on this axis, if the user gave one.
    pub given: Option<u64>,
}

impl Axis {
    /// A dimension whose chunk length is free.
    pub fn new(len: u64, unlimited: bool) -> Self {
        Axis { len, unlimited, given: None }
    }
}

/// The chunk shape for an array, or `None` where it is better stored in one run: scalars, empty arrays, small
/// arrays of fixed shape.
///
/// ```
/// use ncforge::ops::chunking::{Axis, Target, auto};
/// // Twenty years of daily fields, float: a map and a series touch about equally many chunks.
/// let axes = [Axis::new(7305, true), Axis::new(181, false), Axis::new(360, false)];
/// let c = auto(&axes, 4, Target::default()).unwrap();
/// let n: Vec<u64> = axes.iter().zip(&c).map(|(a, &c)| a.len.div_ceil(c)).collect();
/// assert!(c.iter().product::<u64>() * 4 <= 1 << 20);
/// assert!(n[0].abs_diff(n[1] * n[2]) <= n[0] / 2);
/// // One double a record: thousands of records a chunk.
/// assert_eq!(auto(&[Axis::new(12, true)], 8, Target::default()), Some(vec![1024]));
/// ```
pub fn auto(axes: &[Axis], element: u64, target: Target) -> Option<Vec<u64>> {
    let must = axes.iter().any(|a| a.unlimited || a.given.is_some());
    if axes.is_empty() || axes.iter().any(|a| a.len == 0 && !a.unlimited) {
        return None;
    }
    let total = axes.iter().fold(element, |t, a| t.saturating_mul(a.len));
    if !must && total < target.small {
        return None;
    }
    Some(shape(axes, element, target.bytes))
}

/// The chunk shape for an array that must be chunked (because it can grow, or because a filter was asked for).
/// `None` only for scalars and for arrays that can never hold an element.
pub fn forced(axes: &[Axis], element: u64, target: Target) -> Option<Vec<u64>> {
    if axes.is_empty() || axes.iter().any(|a| a.len == 0 && !a.unlimited) {
        return None;
    }
    Some(shape(axes, element, target.bytes))
}

fn shape(axes: &[Axis], element: u64, bytes: u64) -> Vec<u64> {
    let element = element.max(1);
    let limit = (bytes.min(MAX_CHUNK_BYTES) / element).max(1);
    let lens = working_lengths(axes, element, limit);
    let mut chunk: Vec<u64> = axes.iter().zip(&lens).map(|(a, &n)| a.given.unwrap_or(n)).collect();
    let free: Vec<usize> = (0..axes.len()).filter(|&d| axes[d].given.is_none()).collect();
    let held = product(free_complement(axes).map(|d| chunk[d]));
    let room = (limit / held.max(1)).max(1);
    if product(free.iter().map(|&d| lens[d])) <= room {
        return chunk;
    }
    let ideal = balanced(&free.iter().map(|&d| lens[d]).collect::<Vec<_>>(), room, free.first() == Some(&0));
    let fitted = even_lengths(&free.iter().map(|&d| lens[d]).collect::<Vec<_>>(), &ideal, room);
    for (&d, c) in free.iter().zip(fitted) {
        chunk[d] = c;
    }
    chunk
}

fn free_complement(axes: &[Axis]) -> impl Iterator<Item = usize> + '_ {
    (0..axes.len()).filter(|&d| axes[d].given.is_some())
}

fn product(it: impl Iterator<Item = u64>) -> u64 {
    it.fold(1u64, u64::saturating_mul)
}

/// The lengths to balance: an unlimited dimension that is (still) short counts as long enough for a chunk of
/// [`MIN_RECORD_CHUNK`].
fn working_lengths(axes: &[Axis], element: u64, limit: u64) -> Vec<u64> {
    let mut lens: Vec<u64> = axes.iter().map(|a| a.len.max(1)).collect();
    if let Some(d) = axes.iter().position(|a| a.unlimited && a.given.is_none()) {
        let rest = product((0..lens.len()).filter(|&o| o != d).map(|o| axes[o].given.unwrap_or(lens[o])));
        let want = MIN_RECORD_CHUNK / element / rest.max(1);
        lens[d] = lens[d].max(want.min(limit));
    }
    lens
}

/// The real-valued balance of the module's header, with lengths that would pass their dimension clamped and
/// their share given to the others. `series` tells whether the first length belongs to the array's first axis.
fn balanced(lens: &[u64], room: u64, series: bool) -> Vec<f64> {
    let n = lens.len();
    let weight = |d: usize| match (series && n > 1, d) {
        (true, 0) => 0.5,
        (true, _) => 0.5 / (n - 1) as f64,
        (false, _) => 1.0 / n as f64,
    };
    let mut chunk = vec![0.0f64; n];
    let mut clamped = vec![false; n];
    // Each round clamps at least one more axis, so n rounds are enough.
    for _ in 0..=n {
        let open: Vec<usize> = (0..n).filter(|&d| !clamped[d]).collect();
        if open.is_empty() {
            break;
        }
        let used: f64 = (0..n).filter(|&d| clamped[d]).map(|d| chunk[d]).product();
        let log_total: f64 = open.iter().map(|&d| (lens[d] as f64).ln()).sum();
        let log_chunks = (log_total - (room as f64 / used).ln()).max(0.0);
        let weights: f64 = open.iter().map(|&d| weight(d)).sum();
        let mut again = false;
        for &d in &open {
            chunk[d] = ((lens[d] as f64).ln() - log_chunks * weight(d) / weights).exp();
        }
        // First the axes whose share is below one element; the others then split what is left.
        for &d in &open {
            if chunk[d] < 1.0 {
                chunk[d] = 1.0;
                clamped[d] = true;
                again = true;
            }
        }
        if !again {
            break;
        }
    }
    chunk
}

/// Integer lengths near `ideal` with a product of at most `room` that leave little overhang: on each axis the
/// candidates are `ceil(len / k)` for numbers of chunks `k` around the ideal one, and the dimension's divisors
/// near it.
fn even_lengths(lens: &[u64], ideal: &[f64], room: u64) -> Vec<u64> {
    let candidates: Vec<Vec<u64>> = lens.iter().zip(ideal).map(|(&n, &c)| near(n, c)).collect();
    let mut best: Option<(f64, Vec<u64>)> = None;
    let mut pick = vec![0usize; lens.len()];
    loop {
        let c: Vec<u64> = pick.iter().zip(&candidates).map(|(&i, list)| list[i]).collect();
        if product(c.iter().copied()) <= room {
            let badness = badness(lens, ideal, &c, room);
            if best.as_ref().is_none_or(|(b, _)| badness < *b) {
                best = Some((badness, c));
            }
        }
        let Some(d) = (0..pick.len()).rev().find(|&d| pick[d] + 1 < candidates[d].len()) else { break };
        pick[d] += 1;
        pick[d + 1..].fill(0);
    }
    best.map_or_else(|| rounded_down(lens, ideal), |(_, c)| c)
}

fn rounded_down(lens: &[u64], ideal: &[f64]) -> Vec<u64> {
    lens.iter().zip(ideal).map(|(&n, &c)| (c as u64).clamp(1, n)).collect()
}

fn near(len: u64, ideal: f64) -> Vec<u64> {
    let at = (len as f64 / ideal).floor().max(1.0) as u64;
    let mut list: Vec<u64> = (at.saturating_sub(1)..=at.saturating_add(2))
        .filter(|&k| k >= 1)
        .map(|k| len.div_ceil(k.min(len)))
        .collect();
    let down = (ideal as u64).clamp(1, len);
    list.push(down);
    // The nearest exact divisor below and above, if one is within a factor of 1.5.
    list.extend(
        (1..=down).rev().take_while(|&c| c as f64 * 1.5 >= ideal).take(4096).find(|c| len.is_multiple_of(*c)),
    );
    list.extend(
        (down..=len).take_while(|&c| c as f64 <= ideal * 1.5).take(4096).find(|c| len.is_multiple_of(*c)),
    );
    list.sort_unstable();
    list.dedup();
    list
}

/// How far a shape is from wanted: distance from the balance, bytes below the target, empty room at the edges.
fn badness(lens: &[u64], ideal: &[f64], chunk: &[u64], room: u64) -> f64 {
    let skew: f64 = chunk.iter().zip(ideal).map(|(&c, &i)| (c as f64 / i).ln().abs()).sum();
    let volume = product(chunk.iter().copied()) as f64;
    let lost = (room as f64 / volume).ln().max(0.0);
    let waste: f64 = lens
        .iter()
        .zip(chunk)
        .map(|(&n, &c)| ((n.div_ceil(c).saturating_mul(c)) as f64 / n as f64).ln())
        .sum();
    // Whole division is worth a shape up to 1.5 times off the balance: collective writers, and later copies
    // to other shapes, meet no half-empty chunks.
    let uneven = lens.iter().zip(chunk).filter(|&(n, c)| n % c != 0).count() as f64;
    0.5 * skew + 0.5 * lost + 3.0 * waste + 0.15 * uneven
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixed(lens: &[u64]) -> Vec<Axis> {
        lens.iter().map(|&n| Axis::new(n, false)).collect()
    }

    #[test]
    fn rews_array_is_balanced_at_his_sizes() {
        for (bytes, series, map) in [(1 << 20, 191.0, 196.0), (4 << 20, 96.0, 100.0)] {
            let lens = [98128, 277, 349];
            let c = shape(&fixed(&lens), 4, bytes);
            let n: Vec<f64> = lens.iter().zip(&c).map(|(&l, &c)| l.div_ceil(c) as f64).collect();
            assert!((n[0] / series).ln().abs() < 0.35, "{c:?}");
            assert!((n[1] * n[2] / map).ln().abs() < 0.35, "{c:?}");
        }
    }

    #[test]
    fn even_division_is_preferred() {
        let c = shape(&fixed(&[512, 1024, 1024]), 4, 1 << 20);
        assert!(c.iter().zip([512, 1024, 1024]).all(|(&c, n)| n % c == 0), "{c:?}");
        assert!(c.iter().product::<u64>() * 4 >= 1 << 19, "{c:?}");
    }

    #[test]
    fn small_and_odd_arrays() {
        let t = Target::default();
        assert_eq!(auto(&[], 8, t), None);
        assert_eq!(auto(&fixed(&[10, 10]), 4, t), None);
        assert_eq!(auto(&fixed(&[0, 10]), 4, t), None);
        assert_eq!(forced(&fixed(&[10, 10]), 4, t), Some(vec![10, 10]));
        assert_eq!(auto(&[Axis::new(0, true), Axis::new(2, false)], 4, t), Some(vec![1024, 2]));
        assert_eq!(auto(&fixed(&[1 << 40]), 8, t), Some(vec![1 << 17]));
        let given = [Axis { given: Some(1), ..Axis::new(1000, true) }, Axis::new(2000, false)];
        assert_eq!(auto(&given, 8, t), Some(vec![1, 2000]));
        // An element larger than the target still makes a chunk.
        assert_eq!(auto(&fixed(&[3, 3]), 5 << 20, t), Some(vec![1, 1]));
    }

    proptest! {
        #[test]
        fn shapes_are_legal(
            lens in prop::collection::vec((0u64..100_000, any::<bool>()), 1..6),
            element in 1u64..64,
        ) {
            let axes: Vec<Axis> = lens.iter().map(|&(n, u)| Axis::new(n, u)).collect();
            if let Some(c) = auto(&axes, element, Target::default()) {
                prop_assert_eq!(c.len(), axes.len());
                for (c, a) in c.iter().zip(&axes) {
                    prop_assert!(*c >= 1);
                    prop_assert!(a.unlimited || *c <= a.len);
                }
                prop_assert!(c.iter().product::<u64>() * element <= 1 << 20);
            }
        }
    }
}
