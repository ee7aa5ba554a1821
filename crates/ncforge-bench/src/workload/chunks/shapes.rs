//! Which chunk shapes are tried when nobody names them.

use ncforge::model::shape;

/// Sizes of chunks that anybody would use.
const BYTES: std::ops::RangeInclusive<u64> = (4 << 10)..=(32 << 20);
/// Lengths of one axis are this factor apart or, where that gives too few shapes, the next.
const FACTORS: [f64; 5] = [4.0, 2.0, 1.5, 1.25, 1.1];
/// The number of shapes that is enough, where no fewer are wanted.
const ENOUGH: usize = 60;

/// Chunk shapes all over the space of shapes: on every axis the lengths `ceil(n / f^k)` and 1, of all combinations
/// those of 4 KiB to 32 MiB that are `allowed`, evenly thinned to `most`. `f` is 4, or smaller where the array has few shapes otherwise.
///
/// ```
/// use ncforge_bench::workload::chunks::grid;
/// let shapes = grid(&[1560, 128, 256], 4, 80, |_| true);
/// assert!(shapes.len() > 60 && shapes.contains(&vec![1, 128, 256]) && shapes.contains(&vec![1560, 8, 16]));
/// // Two axes, of which one is short.
/// assert!(grid(&[25_000, 31], 4, 80, |_| true).len() >= 60);
/// // Some lengths are not allowed: there are enough others.
/// assert!(grid(&[1560, 128, 256], 4, 80, |chunks| chunks[0] < 100).len() >= 60);
/// ```
pub fn grid(shape: &[u64], element: u64, most: usize, allowed: impl Fn(&[u64]) -> bool) -> Vec<Vec<u64>> {
    let enough = if most > 0 { ENOUGH.min(most) } else { ENOUGH };
    let mut out = Vec::new();
    for factor in FACTORS {
        out = all(shape, element, factor);
        out.retain(|chunks| allowed(chunks));
        if out.len() >= enough {
            break;
        }
    }
    if out.len() > most && most > 0 {
        let n = out.len();
        out = (0..most).map(|i| out[i * n / most].clone()).collect();
    }
    out
}

/// All shapes with lengths apart by a factor.
fn all(shape: &[u64], element: u64, factor: f64) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = shape.iter().map(|&n| lengths(n, factor)).collect();
    let total = shape::bytes(shape, element);
    let mut out = Vec::new();
    let mut at = vec![0usize; shape.len()];
    loop {
        let chunk: Vec<u64> = at.iter().zip(&lists).map(|(&i, l)| l[i]).collect();
        let bytes = shape::bytes(&chunk, element);
        if BYTES.contains(&bytes) || bytes == total {
            out.push(chunk);
        }
        let Some(d) = (0..at.len()).rev().find(|&d| at[d] + 1 < lists[d].len()) else { return out };
        at[d] += 1;
        at[d + 1..].fill(0);
    }
}

fn lengths(n: u64, factor: f64) -> Vec<u64> {
    let mut list = vec![n.max(1)];
    let mut parts = factor;
    while parts < n as f64 {
        list.push(n.div_ceil(parts.round() as u64));
        parts *= factor;
    }
    list.push(1);
    list.dedup();
    list.reverse();
    list
}
