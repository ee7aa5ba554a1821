//! Reading arrays out of parts that lie in several files.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Engine;
use super::align::Aligned;
use super::boxes::{self, Axis};
use super::how::{How, Keep};
use super::shared::SharedOut;
use super::source::Source;
use super::stats::add;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::Element;
use crate::model::{VarId, shape};
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// A box of the destination that one part fills: its first element and its lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// First element along each dimension.
    pub start: Vec<u64>,
    /// Elements along each dimension.
    pub count: Vec<u64>,
}

/// The places that one part fills: the same region in each of the arrays.
pub struct Part<'a> {
    engine: &'a Engine,
    region: &'a Region,
    /// Byte steps of an array.
    steps: &'a [u64],
    /// Bytes of an element, and of an array.
    size: usize,
    array: u64,
    out: &'a SharedOut<'a>,
    /// Whether other threads may help.
    parallel: bool,
}

/// Elements that are in memory as they are stored: rows of an array's first dimension.
pub struct Rows<'a> {
    /// The elements, as the store has them.
    pub bytes: &'a [u8],
    /// The beginning of the first one.
    pub at: u64,
    /// Bytes from an element to the next along each dimension.
    pub steps: &'a [u64],
    /// The type of the elements in memory.
    pub element: &'a Element,
    /// The rows of the region.
    pub rows: Range<u64>,
}

impl Part<'_> {
    /// Reads a selection of a variable, as many elements on every dimension as the region has.
    pub fn read(
        &mut self,
        array: usize,
        container: &dyn Container,
        var: VarId,
        slab: &Hyperslab,
    ) -> Result<()> {
        let layout = container.layout(var)?;
        slab.check(&container.schema().shape(var), &layout.name)?;
        if slab.count != self.region.count || layout.element.size != self.size || layout.element.heap {
            return Err(Error::Length(format!("`{}` does not fit its place", layout.name)));
        }
        let inner = &*self.engine.inner;
        let number = inner.reads.fetch_add(1, Ordering::Relaxed) + 1;
        let source =
            Source { engine: self.engine, store: container.store(), var, layout: &layout, newer: None };
        let how = How::new(number, self.parallel, Keep::Parts);
        // SAFETY: the regions are disjoint and inside the destination, both checked by `read_parts`, and this one is
        // ours alone.
        unsafe { source.read(slab, self.steps, &self.place(array), how)? };
        add(&inner.counters.delivered, slab.len().saturating_mul(self.size as u64));
        Ok(())
    }

    /// Has bytes of a store in memory that is used again.
    pub fn fetch(
        &mut self,
        store: &dyn ReadStore,
        offset: u64,
        len: usize,
        use_them: impl FnOnce(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let inner = &*self.engine.inner;
        let mut bytes = Aligned::new(&inner.scratch, len, offset)?;
        store.read_at(bytes.bytes(), offset)?;
        add(&inner.counters.fetched, len as u64);
        use_them(self, bytes.bytes())
    }

    /// Takes rows from memory.
    pub fn take(&mut self, array: usize, from: &Rows<'_>) -> Result<()> {
        let (count, rows) = (&self.region.count, &from.rows);
        let fits = rows.start <= rows.end
            && count.first().is_some_and(|&n| rows.end <= n)
            && from.steps.len() == count.len()
            && (from.element.size, from.element.heap) == (self.size, false);
        if !fits {
            return Err(Error::Length("rows that do not fit their place".into()));
        }
        let lens = std::iter::once(rows.end - rows.start).chain(count[1..].iter().copied());
        let axes = lens
            .zip(from.steps.iter().zip(self.steps))
            .map(|(count, (&from, &to))| Axis { count, from, to })
            .collect::<Vec<_>>();
        if axes.iter().any(|a| a.count == 0) {
            return Ok(());
        }
        let axes = boxes::merge(axes, self.size);
        let to = rows.start * self.steps[0];
        // SAFETY: as in `read`: the rows are inside the region.
        unsafe { boxes::move_box(from.bytes, from.at, &self.place(array), to, &axes, from.element) };
        let moved = axes.iter().map(|a| a.count).product::<u64>() * self.size as u64;
        add(&self.engine.inner.counters.delivered, moved);
        Ok(())
    }

    /// The destination from the region's first element in an array on.
    fn place(&self, array: usize) -> SharedOut<'_> {
        let first: u64 = self.region.start.iter().zip(self.steps).map(|(s, step)| s * step).sum();
        self.out.from(array as u64 * self.array + first)
    }
}

impl Engine {
    /// Reads parts of several files into row-major arrays of shape `shape` and elements of `size` bytes, in
    /// native order, that stand one behind the other in `out`. `part` fills the region of an index in all of them, on
    /// whatever thread; what no region covers stays as it is.
    ///
    /// # Errors
    /// Regions that overlap or reach outside, parts that do not fit their region, and as reading.
    pub fn read_parts(
        &self,
        shape: &[u64],
        size: usize,
        regions: &[Region],
        out: &mut [u8],
        part: impl Fn(usize, &mut Part<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let array = shape::checked(shape, size as u64);
        let Some(array) = array.filter(|&n| n > 0 && (out.len() as u64).is_multiple_of(n)) else {
            return Err(Error::Length(format!("{} bytes for arrays of shape {shape:?}", out.len())));
        };
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
            let (engine, steps, out, parallel) = (self, &steps[..], &out, !many);
            part(i, &mut Part { engine, region, steps, size, array, out, parallel })
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
pub fn overlap(a: &Region, b: &Region) -> bool {
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
