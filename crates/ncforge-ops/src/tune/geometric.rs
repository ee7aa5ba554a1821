//! The continuous problem: chunk lengths as real numbers, and a convex function of their logarithms.
//!
//! With `g(A, d, c) = d/c` for the whole axis and `1 + (A-1)/c` else, the price of a mix of reads is
//!
//! ```text
//! F(c) = sum_i w_i (prod_j g(A_ij, d_j, c_j) · (L + V/R) + I · prod_j d_j/c_j),      V = element · prod_j c_j
//! ```
//!
//! a posynomial: sums of products of powers with positive coefficients. In `y_j = ln c_j` its logarithm is convex
//! (a geometric programme; Boyd, Kim, Vandenberghe and Hassibi, "A tutorial on geometric programming", 2007), so
//! going downhill finds *the* minimum. `V` is free: the size of a chunk is part of the answer.
//!
//! The descent goes along one axis at a time and along pairs in opposite directions (the valley of shapes of equal
//! volume), each by a golden section: no derivatives, no step sizes, and bounds are just the ends of the section.

use super::pattern::Pattern;

/// The continuous problem.
#[derive(Clone, Debug)]
pub struct Geometric<'a> {
    /// Length of each axis.
    pub lens: &'a [f64],
    /// Shortest and longest allowed chunk length of each axis, at least 1.
    pub bounds: &'a [(f64, f64)],
    /// The reads; weights are taken as they are.
    pub patterns: &'a [Pattern],
    /// Bytes of an element.
    pub element: f64,
    /// Seconds of a chunk besides its bytes.
    pub latency: f64,
    /// Decoded bytes a second.
    pub rate: f64,
    /// Seconds that every read spends on each chunk of the array, touched or not.
    pub index: f64,
    /// Least and greatest size of a chunk in bytes.
    pub bytes: (f64, f64),
}

const GOLDEN: f64 = 0.618_033_988_749_895;
/// Rounds over all directions; each that gains less than [`ENOUGH`] is the last.
const ROUNDS: usize = 60;
const ENOUGH: f64 = 1e-7;

impl Geometric<'_> {
    /// The price of lengths `exp(y)`.
    pub fn price(&self, y: &[f64]) -> f64 {
        let volume = y.iter().sum::<f64>().exp() * self.element;
        let chunk = self.latency + volume / self.rate;
        // Outside the bounds of size the price climbs steeply, by a posynomial again.
        let wall = (volume / self.bytes.1).powi(8) + (self.bytes.0 / volume).powi(8);
        let all: f64 = self.lens.iter().zip(y).map(|(d, y)| (d / y.exp()).max(1.0)).product();
        let reads: f64 = self
            .patterns
            .iter()
            .map(|p| {
                let touched: f64 = p
                    .counts
                    .iter()
                    .zip(self.lens)
                    .zip(y)
                    .map(|((&a, &d), &y)| {
                        let a = a as f64;
                        if a >= d { (d / y.exp()).max(1.0) } else { 1.0 + (a - 1.0) / y.exp() }
                    })
                    .product();
                p.weight * (touched * chunk + all * self.index)
            })
            .sum();
        reads * (1.0 + wall)
    }

    /// The lengths of the least price.
    pub fn minimum(&self) -> Vec<f64> {
        let n = self.lens.len();
        let low: Vec<f64> = self.bounds.iter().map(|b| b.0.max(1.0).ln()).collect();
        let high: Vec<f64> = self.bounds.iter().zip(&low).map(|(b, l)| b.1.ln().max(*l)).collect();
        let mut y: Vec<f64> = low.iter().zip(&high).map(|(l, h)| 0.5 * (l + h)).collect();
        let mut price = self.price(&y);
        for _ in 0..ROUNDS {
            let before = price;
            for j in 0..n {
                price = self.along(&mut y, price, j, None, &low, &high);
                for k in 0..j {
                    price = self.along(&mut y, price, j, Some(k), &low, &high);
                }
            }
            if before - price <= ENOUGH * before {
                break;
            }
        }
        y.iter().map(|y| y.exp()).collect()
    }

    /// Goes to the least price along axis `j`, with axis `k` going the other way.
    fn along(&self, y: &mut [f64], price: f64, j: usize, k: Option<usize>, low: &[f64], high: &[f64]) -> f64 {
        let (at_j, at_k) = (y[j], k.map(|k| y[k]));
        let (mut a, mut b) = (low[j] - at_j, high[j] - at_j);
        if let (Some(k), Some(at_k)) = (k, at_k) {
            a = a.max(at_k - high[k]);
            b = b.min(at_k - low[k]);
        }
        if b - a < 1e-9 {
            return price;
        }
        let at = |t: f64, y: &mut [f64]| {
            y[j] = at_j + t;
            if let (Some(k), Some(at_k)) = (k, at_k) {
                y[k] = at_k - t;
            }
            self.price(y)
        };
        let (mut p, mut q) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
        let (mut fp, mut fq) = (at(p, y), at(q, y));
        while b - a > 1e-4 {
            if fp <= fq {
                (b, q, fq) = (q, p, fp);
                p = b - GOLDEN * (b - a);
                fp = at(p, y);
            } else {
                (a, p, fp) = (p, q, fq);
                q = a + GOLDEN * (b - a);
                fq = at(q, y);
            }
        }
        let (t, best) = if fp <= fq { (p, fp) } else { (q, fq) };
        if best < price {
            at(t, y)
        } else {
            at(0.0, y);
            price
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(counts: &[u64], weight: f64) -> Pattern {
        Pattern { name: String::new(), counts: counts.to_vec(), weight }
    }

    #[test]
    fn rews_array_gets_the_known_optimum() {
        // 98128 x 277 x 349, half series, half maps, 0.1 ms and 600 MB/s: about 47 KiB a chunk, as many chunks for a
        // series as for a map (worked out by hand from F: V = L·R where both reads take whole axes).
        let lens = [98128.0, 277.0, 349.0];
        let patterns = [pattern(&[98128, 1, 1], 1.0), pattern(&[1, 277, 349], 1.0)];
        let bounds: Vec<(f64, f64)> = lens.iter().map(|&l| (1.0, l)).collect();
        let c = Geometric {
            lens: &lens,
            bounds: &bounds,
            patterns: &patterns,
            element: 4.0,
            latency: 1e-4,
            rate: 600e6,
            index: 0.0,
            bytes: (4.0, 4e9),
        }
        .minimum();
        let volume = 4.0 * c.iter().product::<f64>();
        assert!((volume / 60_000.0 - 1.0).abs() < 0.02, "{volume} {c:?}");
        let (series, map) = (lens[0] / c[0], lens[1] * lens[2] / (c[1] * c[2]));
        assert!((series / map - 1.0).abs() < 0.02, "{series} {map}");
    }

    #[test]
    fn bounds_hold() {
        let lens = [1000.0, 1000.0];
        let patterns = [pattern(&[1000, 1], 1.0)];
        let problem = Geometric {
            lens: &lens,
            bounds: &[(1.0, 100.0), (7.0, 7.0)],
            patterns: &patterns,
            element: 8.0,
            latency: 1e-3,
            rate: 1e9,
            index: 0.0,
            bytes: (4096.0, 1e6),
        };
        let c = problem.minimum();
        assert!((c[1] - 7.0).abs() < 1e-6 && c[0] <= 100.0 + 1e-6 && c[0] > 50.0, "{c:?}");
    }
}
