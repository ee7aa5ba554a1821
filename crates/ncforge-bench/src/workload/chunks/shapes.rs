//! Which chunk shapes are tried when nobody names them.

/// Sizes of chunks that anybody would use.
const BYTES: std::ops::RangeInclusive<u64> = (4 << 10)..=(32 << 20);
/// Lengths of one axis are this factor apart.
const FACTOR: u64 = 4;

/// Chunk shapes all over the space of shapes: on every axis the lengths `ceil(n / 4^k)` and 1, of all
/// combinations those of 4 KiB to 32 MiB, evenly thinned to `most`.
///
/// ```
/// let shapes = ncforge_bench::workload::chunks::grid(&[1560, 128, 256], 4, 80);
/// assert!(shapes.len() > 60 && shapes.contains(&vec![1, 128, 256]) && shapes.contains(&vec![1560, 8, 16]));
/// ```
pub fn grid(shape: &[u64], element: u64, most: usize) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = shape.iter().map(|&n| lengths(n)).collect();
    let total = shape.iter().fold(element, |b, &n| b.saturating_mul(n));
    let mut out = Vec::new();
    let mut at = vec![0usize; shape.len()];
    'all: loop {
        let chunk: Vec<u64> = at.iter().zip(&lists).map(|(&i, l)| l[i]).collect();
        let bytes = chunk.iter().fold(element, |b, &n| b.saturating_mul(n));
        if BYTES.contains(&bytes) || bytes == total {
            out.push(chunk);
        }
        for d in (0..at.len()).rev() {
            at[d] += 1;
            if at[d] < lists[d].len() {
                continue 'all;
            }
            at[d] = 0;
        }
        break;
    }
    if out.len() > most && most > 0 {
        let n = out.len();
        out = (0..most).map(|i| out[i * n / most].clone()).collect();
    }
    out
}

fn lengths(n: u64) -> Vec<u64> {
    let mut list = vec![n.max(1)];
    let mut parts = FACTOR;
    while n.div_ceil(parts) > 1 {
        list.push(n.div_ceil(parts));
        parts = parts.saturating_mul(FACTOR);
    }
    list.push(1);
    list.dedup();
    list.reverse();
    list
}
