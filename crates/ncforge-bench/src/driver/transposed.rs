//! Values in another order of their dimensions than they are stored in.
//!
//! Square tiles use each line of the processor's cache that they touch in full, on both sides: value by value, each would bring one in and
//! let it go again.

/// Values along each side of a tile.
const TILE: usize = 16;

/// Turns a row-major box of `counts` around: dimension `order[i]` of it is dimension `i` of `out`.
///
/// # Panics
/// When `from` or `out` do not have as many values as the box, or `order` is no order of its dimensions.
pub(crate) fn transpose(from: &[u8], counts: &[u64], order: &[usize], size: usize, out: &mut [u8]) {
    match size {
        1 => turn::<1>(from, counts, order, out),
        2 => turn::<2>(from, counts, order, out),
        4 => turn::<4>(from, counts, order, out),
        8 => turn::<8>(from, counts, order, out),
        _ => unreachable!("values have 1, 2, 4 or 8 bytes"),
    }
}

/// The order that undoes another one.
pub(crate) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    for (to, &from) in order.iter().enumerate() {
        back[from] = to;
    }
    back
}

/// Values from one element to the next along each dimension of a row-major box.
pub(crate) fn steps(counts: &[u64]) -> Vec<usize> {
    let mut steps = vec![1; counts.len()];
    for d in (1..counts.len()).rev() {
        steps[d - 1] = steps[d] * counts[d] as usize;
    }
    steps
}

fn turn<const N: usize>(from: &[u8], counts: &[u64], order: &[usize], out: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    let there: Vec<u64> = order.iter().map(|&d| counts[d]).collect();
    let (source, target) = (steps(counts), steps(&there));
    let Some((&column, rest)) = order.split_last() else { return out.copy_from_slice(from) };
    let row = counts.len() - 1;
    if column == row {
        // The fastest dimension stays: whole rows go to other places.
        let width = counts[row] as usize;
        let outer: Vec<_> = rest.iter().map(|&d| 0..counts[d]).collect();
        for (to, at) in out.chunks_exact_mut(width.max(1)).zip(ncforge::select::coordinates(&outer)) {
            let first: usize = rest.iter().zip(&at).map(|(&d, &i)| source[d] * i as usize).sum();
            to.copy_from_slice(&from[first..first + width]);
        }
        return;
    }
    let place = |d: usize| order.iter().position(|&o| o == d).unwrap_or(0);
    let (rows, columns) = (counts[row] as usize, counts[column] as usize);
    let (to_row, from_column) = (target[place(row)], source[column]);
    let others: Vec<usize> = (0..counts.len()).filter(|&d| d != row && d != column).collect();
    let outer: Vec<_> = others.iter().map(|&d| 0..counts[d]).collect();
    for at in ncforge::select::coordinates(&outer) {
        let begin = |steps: &dyn Fn(usize) -> usize| -> usize {
            others.iter().zip(&at).map(|(&d, &i)| steps(d) * i as usize).sum()
        };
        let (f, t) = (begin(&|d| source[d]), begin(&|d| target[place(d)]));
        for c in (0..columns).step_by(TILE) {
            for r in (0..rows).step_by(TILE) {
                for i in c..(c + TILE).min(columns) {
                    let line = &from[f + i * from_column..];
                    for j in r..(r + TILE).min(rows) {
                        out[t + j * to_row + i] = line[j];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_right_and_can_be_undone() {
        let counts = [3u64, 1, 17, 35];
        let orders = [[3, 2, 1, 0], [0, 1, 2, 3], [2, 0, 3, 1], [1, 3, 0, 2], [2, 1, 0, 3], [0, 3, 1, 2]];
        for size in [1, 2, 4, 8] {
            let values: usize = counts.iter().product::<u64>() as usize;
            let from: Vec<u8> = (0..values * size).map(|i| (i * 7 % 251) as u8).collect();
            for order in orders {
                let mut out = vec![0; from.len()];
                transpose(&from, &counts, &order, size, &mut out);
                let there: Vec<u64> = order.iter().map(|&d| counts[d]).collect();
                for (i, cell) in out.chunks(size).enumerate() {
                    let (mut rest, mut at) = (i as u64, [0u64; 4]);
                    for d in (0..4).rev() {
                        at[order[d]] = rest % there[d];
                        rest /= there[d];
                    }
                    let source = at.iter().zip(&counts).fold(0, |i, (a, n)| i * n + a) as usize;
                    assert_eq!(cell, &from[source * size..][..size], "{order:?} {i}");
                }
                let mut back = vec![0; from.len()];
                transpose(&out, &there, &inverse(&order), size, &mut back);
                assert_eq!(back, from);
            }
        }
        let mut one = [0u8; 4];
        transpose(&[1, 2, 3, 4], &[], &[], 4, &mut one);
        assert_eq!(one, [1, 2, 3, 4]);
    }
}
