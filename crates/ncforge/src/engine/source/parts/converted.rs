//! Parts whose numbers are of another type, or mean something else as they are: they are read in pieces that fit into a cache, and
//! converted into their places.

use super::super::super::boxes::{self, Axis};
use super::super::super::how::How;
use super::super::super::shared::SharedOut;
use super::super::Source;
use crate::buffer;
use crate::error::Result;
use crate::layout::{Convert, Element};
use crate::model::shape;
use crate::select::Hyperslab;

/// Bytes of the numbers that are converted at a time.
const AT_A_TIME: u64 = 4 << 20;

impl Source<'_> {
    /// As [`Source::read`], where elements of the destination have another size, and are made by `convert`.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn read_converted(
        &self,
        slab: &Hyperslab,
        steps: &[u64],
        out: &SharedOut<'_>,
        how: How,
        (convert, size): (&dyn Convert, usize),
    ) -> Result<()> {
        let own = self.layout.element.size;
        let most = AT_A_TIME / (own.max(size) as u64).max(1);
        for (first, count) in tiles(&slab.count, most) {
            let start = (0..slab.rank()).map(|d| slab.start[d] + first[d] * slab.stride[d]).collect();
            let tile = Hyperslab { start, count, stride: slab.stride.clone() };
            let n = shape::elements(&tile.count) as usize;
            let (mut stored, mut made) = (buffer::filled(0u8, n * own)?, buffer::filled(0u8, n * size)?);
            // SAFETY: the memory is ours.
            unsafe { self.read(&tile, &boxes::steps(&tile.count, own)?, &SharedOut::new(&mut stored), how)? };
            convert.convert(&stored, &mut made)?;
            let dense = boxes::steps(&tile.count, size)?;
            let axes = (0..tile.rank()).map(|d| Axis { count: tile.count[d], from: dense[d], to: steps[d] });
            let to = first.iter().zip(steps).map(|(first, step)| first * step).sum();
            let native = Element { size, order: crate::layout::Order::Keep, heap: false };
            // SAFETY: as for us.
            unsafe { boxes::move_box(&made, 0, out, to, &boxes::merge(axes, size), &native) };
        }
        Ok(())
    }
}

/// Boxes of at most `most` elements that together are one of these lengths: their first elements, and their lengths.
fn tiles(count: &[u64], most: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    // As much of the last dimensions as fits.
    let mut tile = vec![1; count.len()];
    let mut left = most.max(1);
    for d in (0..count.len()).rev() {
        tile[d] = count[d].min(left).max(1);
        left /= tile[d];
    }
    let ranges: Vec<_> = count.iter().zip(&tile).map(|(n, t)| 0..n.div_ceil(*t)).collect();
    let at = crate::select::coordinates(&ranges);
    at.map(|at| {
        let first: Vec<u64> = at.iter().zip(&tile).map(|(i, t)| i * t).collect();
        let len = (0..count.len()).map(|d| tile[d].min(count[d] - first[d])).collect();
        (first, len)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_the_whole() {
        assert_eq!(tiles(&[], 5), [(vec![], vec![])]);
        assert_eq!(tiles(&[2, 3], 100), [(vec![0, 0], vec![2, 3])]);
        assert_eq!(
            tiles(&[2, 5], 3),
            [
                (vec![0, 0], vec![1, 3]),
                (vec![0, 3], vec![1, 2]),
                (vec![1, 0], vec![1, 3]),
                (vec![1, 3], vec![1, 2])
            ]
        );
        assert!(tiles(&[0, 5], 3).is_empty());
    }
}
