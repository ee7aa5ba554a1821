//! Selections: hyperslabs, positions picked one by one, and the arithmetic of chunk grids.
//!
//! Shapes, starts, counts and strides are in elements, slowest dimension first.

mod picks;
mod row;

use crate::error::{Error, Result};
use crate::model::shape;

pub use picks::{Pick, Picks};
pub use row::{Row, sharing};

/// A regular selection of an array: from `start`, `count` elements, `stride` apart, on every dimension.
///
/// ```
/// use ncforge::Hyperslab;
/// let all = Hyperslab::all(&[12, 180, 360]);
/// assert_eq!(all.len(), 12 * 180 * 360);
/// let june = Hyperslab::new(&[5, 0, 0], &[1, 180, 360]);
/// assert!(june.check(&[12, 180, 360], "sst").is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hyperslab {
    /// First element on each dimension.
    pub start: Vec<u64>,
    /// Number of elements on each dimension.
    pub count: Vec<u64>,
    /// Distance between elements on each dimension, at least 1.
    pub stride: Vec<u64>,
}

impl Hyperslab {
    /// A dense selection (stride 1).
    pub fn new(start: &[u64], count: &[u64]) -> Self {
        Self { start: start.to_vec(), count: count.to_vec(), stride: vec![1; start.len()] }
    }

    /// A selection with strides.
    pub fn strided(start: &[u64], count: &[u64], stride: &[u64]) -> Self {
        Self { start: start.to_vec(), count: count.to_vec(), stride: stride.to_vec() }
    }

    /// All of an array.
    pub fn all(shape: &[u64]) -> Self {
        Self::new(&vec![0; shape.len()], shape)
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.start.len()
    }

    /// Number of elements selected (saturating).
    pub fn len(&self) -> u64 {
        shape::elements(&self.count)
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.count.contains(&0)
    }

    /// Whether every stride is 1 (or does not matter, because the count is at most 1).
    pub fn is_dense(&self) -> bool {
        self.stride.iter().zip(&self.count).all(|(&s, &c)| s == 1 || c <= 1)
    }

    /// One past the last selected element on a dimension (`start` if nothing is selected).
    pub fn end(&self, dim: usize) -> u64 {
        match self.count[dim] {
            0 => self.start[dim],
            n => self.start[dim] + (n - 1) * self.stride[dim] + 1,
        }
    }

    /// An error unless the selection is inside `shape`; `name` is the variable, for the message.
    pub fn check(&self, shape: &[u64], name: &str) -> Result<()> {
        if self.rank() != shape.len() || self.count.len() != shape.len() || self.stride.len() != shape.len() {
            let (rank, given) = (shape.len(), self.rank());
            return Err(Error::Rank { variable: name.to_owned(), rank, given });
        }
        for (d, &len) in shape.iter().enumerate() {
            let last = match self.count[d] {
                0 => Some(self.start[d]),
                n => (n - 1)
                    .checked_mul(self.stride[d])
                    .and_then(|x| x.checked_add(self.start[d]))
                    .and_then(|last| last.checked_add(1)),
            };
            if self.stride[d] == 0 || last.is_none_or(|end| end > len) {
                return Err(Error::Selection {
                    variable: name.to_owned(),
                    dim: d,
                    start: self.start[d],
                    count: self.count[d],
                    stride: self.stride[d],
                    len,
                });
            }
        }
        Ok(())
    }
}

/// The chunk grid of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    /// Shape of the array.
    pub shape: Vec<u64>,
    /// Chunk lengths; each at least 1.
    pub chunk: Vec<u64>,
}

impl ChunkGrid {
    /// The chunk grid of an array of shape `shape` with chunks of lengths `chunk`.
    pub fn new(shape: &[u64], chunk: &[u64]) -> Self {
        debug_assert_eq!(shape.len(), chunk.len());
        debug_assert!(chunk.iter().all(|&c| c > 0));
        Self { shape: shape.to_vec(), chunk: chunk.to_vec() }
    }

    /// Number of chunks along each dimension: `ceil(shape / chunk)`.
    pub fn counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk).map(|(&s, &c)| s.div_ceil(c)).collect()
    }

    /// Total number of chunks (saturating).
    pub fn len(&self) -> u64 {
        shape::elements(&self.counts())
    }

    /// Whether the array has no element, hence no chunk.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements of one whole chunk (saturating).
    pub fn chunk_len(&self) -> u64 {
        shape::elements(&self.chunk)
    }

    /// First element and clipped lengths of the chunk at grid coordinates `at`.
    pub fn region(&self, at: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let start: Vec<u64> = at.iter().zip(&self.chunk).map(|(&i, &c)| i * c).collect();
        let count = start
            .iter()
            .zip(&self.chunk)
            .zip(&self.shape)
            .map(|((&s, &c), &n)| c.min(n.saturating_sub(s)))
            .collect();
        (start, count)
    }

    /// Row-major position of a chunk in the grid.
    pub fn linear(&self, at: &[u64]) -> u64 {
        at.iter().zip(self.counts()).fold(0, |a, (&i, n)| a * n + i)
    }

    /// Grid coordinates of the chunks that a selection touches, per dimension the range first..=last (for
    /// strided selections some in between may be untouched).
    pub fn touched(&self, slab: &Hyperslab) -> Vec<std::ops::Range<u64>> {
        (0..self.shape.len())
            .map(|d| match slab.count[d] {
                0 => 0..0,
                _ => slab.start[d] / self.chunk[d]..(slab.end(d) - 1) / self.chunk[d] + 1,
            })
            .collect()
    }
}

/// The coordinates of the row-major position `i` in an array of `lens`; zeros where it has no elements.
///
/// ```
/// assert_eq!(ncforge::raw::unravel(7, &[2, 5]), [1, 2]);
/// ```
pub fn unravel(i: u64, lens: &[u64]) -> Vec<u64> {
    let mut at = vec![0; lens.len()];
    unravel_into(i, lens, &mut at);
    at
}

/// As [`unravel`], into existing memory.
pub(crate) fn unravel_into(mut i: u64, lens: &[u64], at: &mut [u64]) {
    for (slot, &n) in at.iter_mut().zip(lens).rev() {
        let n = n.max(1);
        *slot = i % n;
        i /= n;
    }
}

/// Steps through the coordinates of a box in row-major order (last dimension fastest). A box of rank 0 has one
/// coordinate, the empty one.
///
/// ```
/// let got: Vec<_> = ncforge::raw::coordinates(&[0..2, 5..7]).collect();
/// assert_eq!(got, [[0, 5], [0, 6], [1, 5], [1, 6]]);
/// ```
pub fn coordinates(ranges: &[std::ops::Range<u64>]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let ranges = ranges.to_vec();
    let mut next = (!ranges.iter().any(std::ops::Range::is_empty))
        .then(|| ranges.iter().map(|r| r.start).collect::<Vec<u64>>());
    std::iter::from_fn(move || {
        let current = next.clone()?;
        let at = next.as_mut().expect("just seen");
        let mut d = ranges.len();
        loop {
            if d == 0 {
                next = None;
                break;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < ranges[d].end {
                break;
            }
            at[d] = ranges[d].start;
        }
        Some(current)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_zero_selects_one_element() {
        let s = Hyperslab::all(&[]);
        assert_eq!(s.len(), 1);
        assert!(!s.is_empty());
        assert_eq!(coordinates(&[]).count(), 1);
    }

    #[test]
    fn positions_beyond_64_bits_do_not_wrap_around() {
        for (start, count, stride) in
            [(u64::MAX, 1, 1), (u64::MAX - 1, 2, 1), (1, 2, u64::MAX), (0, u64::MAX, 2)]
        {
            let s = Hyperslab { start: vec![start], count: vec![count], stride: vec![stride] };
            assert!(s.check(&[10], "v").is_err(), "{s:?}");
        }
    }

    #[test]
    fn grid_regions_are_clipped() {
        let g = ChunkGrid::new(&[10, 7], &[4, 7]);
        assert_eq!(g.counts(), [3, 1]);
        assert_eq!(g.region(&[2, 0]), (vec![8, 0], vec![2, 7]));
        assert_eq!(g.touched(&Hyperslab::new(&[3, 0], &[2, 1])), [0..2, 0..1]);
    }

    #[test]
    fn selections_past_the_end_are_refused() {
        assert!(Hyperslab::strided(&[1], &[4], &[3]).check(&[10], "v").is_err());
        assert!(Hyperslab::strided(&[0], &[4], &[3]).check(&[10], "v").is_ok());
        assert!(Hyperslab::strided(&[u64::MAX], &[0], &[1]).check(&[10], "v").is_err());
        assert!(Hyperslab::strided(&[0], &[u64::MAX], &[u64::MAX]).check(&[10], "v").is_err());
    }
}
