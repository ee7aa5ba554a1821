//! Selections in blocks of bounded size.

use crate::select::Hyperslab;

/// A part of a selection that is read or written at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The elements of the variable.
    pub(super) slab: Hyperslab,
    /// Its first element, as coordinates in the selection.
    pub(super) at: Vec<u64>,
}

/// The selection in blocks of at most about `most` elements (one at least), in row-major order. Where the variable is
/// stored in chunks, blocks end where chunks end if they are long enough: no chunk is decoded or encoded twice for them.
pub(super) fn blocks(slab: &Hyperslab, most: u64, chunk: Option<&[u64]>) -> Vec<Block> {
    if slab.is_empty() {
        return Vec::new();
    }
    let rank = slab.rank();
    // The axis that is cut: all behind it are whole, all before it single.
    let mut cut = rank;
    let mut inner = 1u64;
    while cut > 0 && inner.saturating_mul(slab.count[cut - 1]) <= most.max(1) {
        cut -= 1;
        inner *= slab.count[cut];
    }
    if cut == 0 {
        return vec![Block { slab: slab.clone(), at: vec![0; rank] }];
    }
    let axis = cut - 1;
    let rows = (most / inner).max(1);
    let mut out = Vec::new();
    let mut at = vec![0; rank];
    loop {
        at[axis] = 0;
        while at[axis] < slab.count[axis] {
            let left = slab.count[axis] - at[axis];
            let n = rows_until_chunk(slab, axis, at[axis], rows.min(left), chunk);
            let mut part = slab.clone();
            for (d, &i) in at.iter().enumerate().take(cut) {
                part.start[d] += i * slab.stride[d];
                part.count[d] = 1;
            }
            part.count[axis] = n;
            out.push(Block { slab: part, at: at.clone() });
            at[axis] += n;
        }
        let Some(d) = (0..axis).rev().find(|&d| at[d] + 1 < slab.count[d]) else { return out };
        at[d] += 1;
        at[d + 1..axis].fill(0);
    }
}

/// Rows of a block, fewer if the last chunk that it reaches into would be cut.
fn rows_until_chunk(slab: &Hyperslab, axis: usize, from: u64, rows: u64, chunk: Option<&[u64]>) -> u64 {
    let Some(&c) = chunk.and_then(|c| c.get(axis)).filter(|&&c| c > 0 && slab.stride[axis] == 1) else {
        return rows;
    };
    let first = slab.start[axis] + from;
    let end = (first + rows) / c * c;
    if end > first && from + rows < slab.count[axis] { end - first } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::coordinates;

    #[test]
    fn blocks_are_the_selection_once_each_and_bounded() {
        let slab = Hyperslab::strided(&[3, 1, 0], &[5, 7, 6], &[1, 2, 1]);
        for most in [1, 4, 6, 13, 42, 100, 1000] {
            for chunk in [None, Some(&[2u64, 3, 6][..])] {
                let parts = blocks(&slab, most, chunk);
                let mut seen = Vec::new();
                for part in &parts {
                    assert!(part.slab.len() <= most.max(1), "{part:?}");
                    let ranges: Vec<_> =
                        part.at.iter().zip(&part.slab.count).map(|(&a, &c)| a..a + c).collect();
                    for at in coordinates(&ranges) {
                        seen.push(at);
                    }
                    for d in 0..3 {
                        assert_eq!(part.slab.start[d], slab.start[d] + part.at[d] * slab.stride[d]);
                    }
                }
                let all: Vec<_> = coordinates(&[0..5, 0..7, 0..6]).collect();
                assert_eq!(seen, all, "{most}");
            }
        }
        assert!(blocks(&Hyperslab::new(&[0], &[0]), 4, None).is_empty());
        assert_eq!(blocks(&Hyperslab::all(&[]), 4, None).len(), 1);
    }

    #[test]
    fn blocks_end_where_chunks_end() {
        let parts = blocks(&Hyperslab::new(&[3], &[20]), 7, Some(&[4]));
        let ends: Vec<u64> = parts.iter().map(|p| p.slab.end(0)).collect();
        assert_eq!(ends, [8, 12, 16, 23]);
    }
}
