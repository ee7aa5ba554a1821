//! Summaries of repeated timings.

use serde::Serialize;

/// Minimum, median and maximum of repeated timings, in seconds. The median is what to quote; the other two say
/// how far to trust it.
///
/// ```
/// let s = ncforge_bench::stats::Summary::of(&[3.0, 1.0, 2.0]).unwrap();
/// assert_eq!((s.min, s.median, s.max, s.repetitions), (1.0, 2.0, 3.0, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The fastest repetition.
    pub min: f64,
    /// The middle one; the mean of the two in the middle for an even number.
    pub median: f64,
    /// The slowest.
    pub max: f64,
    /// How many.
    pub repetitions: usize,
}

impl Summary {
    /// The summary of these timings; `None` when there are none.
    pub fn of(seconds: &[f64]) -> Option<Summary> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = match n {
            0 => return None,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        };
        Some(Summary { min: sorted[0], median, max: sorted[n - 1], repetitions: n })
    }
}

/// A 95 % interval for the median of repeated measurements, by the bootstrap: the middle 95 % of the medians of 2,000
/// samples drawn from them with replacement (Efron's percentile interval). `None` for fewer than three, where it would
/// say nothing.
///
/// ```
/// let i = ncforge_bench::stats::median_interval(&[10.0, 11.0, 10.5, 10.2, 30.0]).unwrap();
/// assert!(i.0 >= 10.0 && i.1 <= 30.0 && i.0 <= 10.5 && i.1 >= 10.5);
/// ```
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 3 {
        return None;
    }
    let draw = |random: &mut Positions| values[random.below(values.len() as u64) as usize];
    resampled(|random| {
        let sample: Vec<f64> = values.iter().map(|_| draw(random)).collect();
        Summary::of(&sample).map_or(0.0, |s| s.median)
    })
}

/// The median of `a` over that of `b`, with a 95 % interval by the bootstrap over both. `None`
/// where one of them is empty. The interval is that of the values without [`outliers`]: one repetition that was disturbed (the first of
/// a process, often) moves no median, and would be the median of one in twenty samples that are drawn from five.
///
/// ```
/// use ncforge_bench::stats::ratio_of_medians;
/// let (fast, slow) = ([5e-3, 62e-6, 63e-6, 64e-6, 63e-6], [1.1e-3, 1.0e-3, 1.05e-3, 1.06e-3, 1.04e-3]);
/// let (ratio, interval) = ratio_of_medians(&fast, &slow).unwrap();
/// assert!(ratio < 0.07 && interval.is_some_and(|(_, high)| high < 0.07));
/// ```
pub fn ratio_of_medians(a: &[f64], b: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let ratio = Summary::of(a)?.median / Summary::of(b)?.median;
    let (a, b) = (usual(a), usual(b));
    if a.len() < 3 || b.len() < 3 {
        return Some((ratio, None));
    }
    let sample = |values: &[f64], random: &mut Positions| {
        let drawn: Vec<f64> =
            values.iter().map(|_| values[random.below(values.len() as u64) as usize]).collect();
        Summary::of(&drawn).map_or(0.0, |s| s.median)
    };
    Some((ratio, resampled(|random| sample(&a, random) / sample(&b, random))))
}

/// The values without those far outside.
fn usual(values: &[f64]) -> Vec<f64> {
    let out = outliers(values);
    (0..values.len()).filter(|i| !out.contains(i)).map(|i| values[i]).collect()
}

/// Repetitions up to which chance is counted out to the last case.
const COUNTED: usize = 64;

/// How likely chance alone would set two groups of measurements as far apart as these, or further: the two-sided *p* of the rank-sum
/// test (Wilcoxon; Mann and Whitney), ties included. Up to 64 values all ways to deal them out are counted; of more, 20,000 are
/// drawn, always the same ones. `None` where a group is empty.
///
/// ```
/// let p = ncforge_bench::stats::chance(&[1.0, 1.1, 1.2, 1.3], &[2.0, 2.1, 2.2, 2.3]).unwrap();
/// assert!((p - 2.0 / 70.0).abs() < 1e-12);
/// ```
pub fn chance(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(a, b);
    let expected = a.len() as u64 * (ranks.len() as u64 + 1);
    let far = |sum: u64| sum.abs_diff(expected);
    let observed = far(ranks[..a.len()].iter().sum());
    if ranks.len() <= COUNTED {
        // ways[k][s]: how many choices of k values have the sum s of (doubled) ranks.
        let most = ranks.iter().sum::<u64>() as usize;
        let mut ways = vec![vec![0.0f64; most + 1]; a.len() + 1];
        ways[0][0] = 1.0;
        for &rank in &ranks {
            let rank = rank as usize;
            for k in (1..=a.len()).rev() {
                let (fewer, more) = ways.split_at_mut(k);
                for s in rank..=most {
                    more[0][s] += fewer[k - 1][s - rank];
                }
            }
        }
        let all: f64 = ways[a.len()].iter().sum();
        let hits: f64 =
            ways[a.len()].iter().zip(0u64..).filter(|(_, s)| far(*s) >= observed).map(|w| w.0).sum();
        return Some((hits / all).min(1.0));
    }
    const DRAWS: u32 = 20_000;
    let mut random = Positions::new(23);
    let mut dealt = ranks;
    let mut hits = 0;
    for _ in 0..DRAWS {
        // The first of Fisher and Yates' shuffle are the group.
        for i in 0..a.len() {
            let other = i + random.below((dealt.len() - i) as u64) as usize;
            dealt.swap(i, other);
        }
        hits += u32::from(far(dealt[..a.len()].iter().sum()) >= observed);
    }
    // The dealing that was measured is one of them.
    Some(f64::from(hits + 1) / f64::from(DRAWS + 1))
}

/// The least *p* that [`chance`] can give for groups of `a` and `b` values: that of groups that do not overlap.
pub fn least_chance(a: usize, b: usize) -> f64 {
    // One by the number of ways to choose one group.
    let ways = (1..=a).fold(1.0f64, |ways, i| ways * (b + i) as f64 / i as f64);
    (2.0 / ways).min(1.0)
}

/// Twice the ranks of the values of both groups, so that the mean ranks of ties are whole.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<u64> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let below = |v: f64| all.iter().filter(|o| o.total_cmp(&v).is_lt()).count() as u64;
    let same = |v: f64| all.iter().filter(|o| o.total_cmp(&v).is_eq()).count() as u64;
    all.iter().map(|&v| 2 * below(v) + same(v) + 1).collect()
}

/// A *p* as people write it: "p = 0.012", "p < 0.001".
pub fn chance_text(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// The middle 95 % of 2,000 draws, always the same ones.
fn resampled(mut draw: impl FnMut(&mut Positions) -> f64) -> Option<(f64, f64)> {
    const DRAWS: usize = 2000;
    let mut random = Positions::new(17);
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw(&mut random)).collect();
    drawn.sort_by(f64::total_cmp);
    Some((drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]))
}

/// Positions of the values that stand far outside the others: further than three quartile ranges from the nearer
/// quartile (Tukey's far-out values). None are named among fewer than five.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(low) = percentile(&sorted, 0.25).filter(|_| values.len() >= 5) else { return Vec::new() };
    let high = percentile(&sorted, 0.75).unwrap_or(low);
    let far = 3.0 * (high - low);
    let is_out = |v: f64| v < low - far || v > high + far;
    (0..values.len()).filter(|&i| is_out(values[i])).collect()
}

/// The value below which this share (0 to 1) of sorted values lies, interpolated between neighbours.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    Some(sorted[low] + (sorted[(low + 1).min(last)] - sorted[low]) * part)
}

/// A small generator of reproducible numbers (splitmix64): positions of reads, the same in every run with the
/// same seed.
#[derive(Clone, Debug)]
pub struct Positions(u64);

impl Positions {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Positions(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// The next number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw().checked_rem(bound).unwrap_or(0)
    }
}

/// The increment of the state of [`Positions`].
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash of 64 bits (splitmix64's finaliser, by Vigna).
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Every item once, in the order in which they come.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// A checksum of bytes (CRC-32C): to see that two reads gave the same values.
pub fn checksum(bytes: &[u8]) -> u64 {
    crc32c::crc32c(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_even_and_no_numbers() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
    }

    #[test]
    fn intervals_hold_the_median_and_outliers_stand_out() {
        let values: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 7)).collect();
        let (low, high) = median_interval(&values).unwrap();
        assert!(low <= 103.0 && high >= 103.0 && high - low < 4.0, "{low} {high}");
        assert_eq!(median_interval(&values), median_interval(&values));
        let (ratio, interval) = ratio_of_medians(&values, &[50.0, 51.0, 52.0]).unwrap();
        assert!((ratio - 103.0 / 51.0).abs() < 1e-9);
        assert!(interval.is_some_and(|(l, h)| l <= ratio && h >= ratio));
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.0, 9.0, 1.05]), [4]);
        assert!(outliers(&[1.0, 9.0]).is_empty());
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 0.75), Some(2.5));
    }

    #[test]
    fn chance_is_that_of_the_rank_sum_test() {
        // The first group's ranks are 1, 3, 4, 6, 7: 6 above the least sum. 28 of 252 choices are as low, and as many as high.
        let p = chance(&[1.1, 2.2, 3.3, 4.4, 5.5], &[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        assert!((p - 56.0 / 252.0).abs() < 1e-9, "{p}");
        assert_eq!(chance(&[1.0; 5], &[1.0; 5]), Some(1.0));
        assert_eq!(chance(&[], &[1.0]), None);
        let near = |n: u32, by: f64| -> Vec<f64> { (0..n).map(|i| f64::from(i * 7 % n) + by).collect() };
        for n in [20, 40] {
            assert!(chance(&near(n, 0.0), &near(n, 0.25)).unwrap() > 0.5);
            assert!(chance(&near(n, 0.0), &near(n, f64::from(n))).unwrap() < 0.001);
        }
        for (a, b) in [(1, 1), (3, 3), (4, 4), (2, 6)] {
            let (low, high): (Vec<f64>, Vec<f64>) =
                ((0..a).map(f64::from).collect(), (0..b).map(|i| 100.0 + f64::from(i)).collect());
            let p = chance(&low, &high).unwrap();
            assert!((p - least_chance(a as usize, b as usize)).abs() < 1e-9, "{a} {b} {p}");
        }
        assert_eq!(chance_text(0.0312), "p = 0.031");
        assert_eq!(chance_text(1e-9), "p < 0.001");
    }

    #[test]
    fn positions_repeat_and_stay_in_bounds() {
        let draw = || {
            let mut p = Positions::new(7);
            (0..100).map(|_| p.below(13)).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().iter().all(|&x| x < 13));
        assert_eq!(Positions::new(1).below(0), 0);
    }

    #[test]
    fn checksums_tell_bytes_apart() {
        let a: Vec<u8> = (0..100).collect();
        for at in [0, 50, 99] {
            let mut b = a.clone();
            b[at] ^= 1;
            assert_ne!(checksum(&a), checksum(&b));
        }
        assert_ne!(checksum(&[0; 8]), checksum(&[0; 16]));
    }
}
