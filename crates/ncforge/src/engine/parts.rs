//! Reading one array out of parts that lie in several files.

use std::sync::atomic::Ordering;

use super::Engine;
use super::boxes;
use super::shared::SharedOut;
use super::source::{How, Keep, Source};
use super::stats::add;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::model::VarId;
use crate::select::Hyperslab;

/// A box of the destination that one part fills: its first element and its lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: Vec<u64>,
    pub(crate) count: Vec<u64>,
}

/// Reads a selection of a variable into the region that is being filled: as many elements on every dimension.
pub(crate) type ReadPart<'a> = dyn Fn(&dyn Container, VarId, &Hyperslab) -> Result<()> + 'a;

impl Engine {
    /// Reads parts of several files into one row-major array of shape `shape` and elements of `size` bytes, in
    /// native order. `part` fills the region of an index, on whatever thread, by calling what it is given with the
    /// container that has its values; what no region covers stays as it is.
    ///
    /// # Errors
    /// Regions that overlap or reach outside, parts that do not fit their region, and as reading.
    pub(crate) fn read_parts(
        &self,
        shape: &[u64],
        size: usize,
        regions: &[Region],
        out: &mut [u8],
        part: impl Fn(usize, &ReadPart<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let whole = shape.iter().try_fold(size as u64, |n, &c| n.checked_mul(c));
        if whole != Some(out.len() as u64) {
            return Err(Error::Invalid(format!("{} bytes for an array of shape {shape:?}", out.len())));
        }
        check(shape, regions)?;
        let steps = boxes::steps(shape, size)?;
        let out = SharedOut::new(out);
        // Many parts: a thread each. Few: all threads on one after the other, chunk by chunk.
        let many = regions.len() >= 2 * self.threads();
        self.inner.pool.run(regions.len(), many, |i| {
            let region = &regions[i];
            if region.count.contains(&0) {
                return Ok(());
            }
            part(i, &|container, var, slab| {
                let layout = container.layout(var)?;
                slab.check(&container.schema().shape(var), &layout.name)?;
                if slab.count != region.count || layout.element.size != size || layout.element.heap {
                    return Err(Error::Invalid(format!("`{}` does not fit its place", layout.name)));
                }
                let number = self.inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
                let to: u64 = region.start.iter().zip(&steps).map(|(s, step)| s * step).sum();
                let source = Source { engine: self, store: container.store(), var, layout: &layout };
                let how = How { number, parallel: !many, keep: Keep::Parts };
                // SAFETY: the regions are disjoint and inside the destination, both checked above, and this one is
                // this call's.
                unsafe { source.read(slab, &steps, &out.from(to), how)? };
                add(&self.inner.counters.delivered, slab.len().saturating_mul(size as u64));
                Ok(())
            })
        })
    }
}

/// An error unless all regions lie inside `shape` and none touches another.
fn check(shape: &[u64], regions: &[Region]) -> Result<()> {
    for r in regions {
        Hyperslab::new(&r.start, &r.count).check(shape, "a part")?;
    }
    // A sweep along the dimension on which the regions begin at the most places.
    let places = |d: usize| {
        let mut starts: Vec<u64> = regions.iter().map(|r| r.start[d]).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    };
    let Some(axis) = (0..shape.len()).max_by_key(|&d| places(d)) else {
        return match regions.len() {
            0 | 1 => Ok(()),
            n => Err(Error::Invalid(format!("{n} parts for one element"))),
        };
    };
    let mut order: Vec<&Region> = regions.iter().filter(|r| !r.count.contains(&0)).collect();
    order.sort_by_key(|r| r.start[axis]);
    let mut open: Vec<&Region> = Vec::new();
    for r in order {
        open.retain(|o| o.start[axis] + o.count[axis] > r.start[axis]);
        if let Some(other) = open.iter().find(|o| overlap(o, r)) {
            return Err(Error::Invalid(format!("parts overlap: {other:?} and {r:?}")));
        }
        open.push(r);
    }
    Ok(())
}

/// Whether two boxes share an element.
pub(crate) fn overlap(a: &Region, b: &Region) -> bool {
    (0..a.start.len()).all(|d| a.start[d] < b.start[d] + b.count[d] && b.start[d] < a.start[d] + a.count[d])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &[u64], count: &[u64]) -> Region {
        Region { start: start.to_vec(), count: count.to_vec() }
    }

    #[test]
    fn overlaps_and_regions_outside_are_refused() {
        let a = region(&[0, 0], &[2, 5]);
        assert!(check(&[4, 8], &[a.clone(), region(&[2, 0], &[2, 5]), region(&[0, 5], &[4, 3])]).is_ok());
        assert!(check(&[4, 8], &[a.clone(), region(&[1, 4], &[1, 1])]).is_err());
        assert!(check(&[4, 8], &[a.clone(), a.clone()]).is_err());
        assert!(check(&[4, 8], &[region(&[3, 0], &[2, 1])]).is_err());
        assert!(check(&[4, 8], &[a.clone(), region(&[0, 0], &[0, 5])]).is_ok(), "an empty part");
        assert!(check(&[], &[region(&[], &[]), region(&[], &[])]).is_err());
    }
}
