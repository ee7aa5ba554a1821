//! Mapped arrays: where each element of a selection lies in memory (netCDF's `nc_get_varm`, `nc_put_varm`).

use super::blocks::Block;
use crate::error::{Error, Result};

/// The places of a selection's elements in memory: `origin` + Σ (index along dimension *d*) × `steps[d]`, in elements.
///
/// ```
/// use ncforge::Imap;
/// // A selection of 2 × 3 elements, transposed in memory.
/// let transposed = Imap::new(&[1, 2]);
/// assert_eq!(transposed.steps, [1, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imap {
    /// Position of the first element.
    pub origin: usize,
    /// Distance in memory of neighbours along each dimension; below zero, memory runs backwards.
    pub steps: Vec<isize>,
}

impl Imap {
    /// Steps from the first element of memory on.
    pub fn new(steps: &[isize]) -> Self {
        Imap { origin: 0, steps: steps.to_vec() }
    }

    /// An error unless all elements of a selection of these lengths lie inside memory of `len` elements.
    pub(super) fn check(&self, name: &str, count: &[u64], len: usize) -> Result<()> {
        if self.steps.len() != count.len() {
            return Err(Error::Rank {
                variable: name.to_owned(),
                rank: count.len(),
                given: self.steps.len(),
            });
        }
        if count.contains(&0) {
            return Ok(());
        }
        let (mut low, mut high) = (self.origin as i128, self.origin as i128);
        for (&step, &n) in self.steps.iter().zip(count) {
            let reach = i128::from(step as i64).saturating_mul(i128::from(n - 1));
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        if low >= 0 && high < len as i128 {
            return Ok(());
        }
        Err(Error::Length(format!("`{name}`: elements {low} to {high} of memory that has {len}")))
    }

    /// Calls `move_one` with each element's position in the block and in memory. All of them were checked.
    pub(super) fn for_each(&self, block: &Block, mut move_one: impl FnMut(usize, usize)) {
        let count = &block.slab.count;
        let rank = count.len();
        let first =
            block.at.iter().zip(&self.steps).fold(self.origin as isize, |p, (&i, &s)| p + i as isize * s);
        let Some(last) = rank.checked_sub(1) else {
            move_one(0, self.origin);
            return;
        };
        let mut index = vec![0u64; last];
        let mut dense = 0;
        loop {
            let mut place = index.iter().zip(&self.steps).fold(first, |p, (&i, &s)| p + i as isize * s);
            for _ in 0..count[last] {
                move_one(dense, place as usize);
                dense += 1;
                place += self.steps[last];
            }
            let Some(d) = (0..last).rev().find(|&d| index[d] + 1 < count[d]) else { return };
            index[d] += 1;
            index[d + 1..].fill(0);
        }
    }
}
