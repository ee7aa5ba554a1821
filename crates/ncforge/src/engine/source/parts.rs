//! Arrays whose parts lie in other variables: a selection is cut along the parts, and each piece is read by a [`Source`] of its own,
//! straight into its place.

mod converted;
mod meet;
mod values;

use std::borrow::Cow;
use std::ops::Range;

use super::super::boxes::Axis;
use super::super::fill;
use super::super::how::How;
use super::super::parts::{Region, overlap};
use super::super::shared::SharedOut;
use super::Source;
use crate::error::{Error, Result};
use crate::layout::{ArrayPart, OpenPart, PartIndex, VarLayout};
use crate::select::{Hyperslab, coordinates};
use crate::store::attempts::Attempts;

use meet::{Common, meet};

/// Arrays of parts that lie in arrays of parts; what is deeper goes in a circle.
const MAX_DEPTH: u32 = 16;
/// Parts that lie under all others, at most.
const LOWEST: usize = 3;

/// What a selection takes of a part.
struct Met<'a> {
    part: Cow<'a, ArrayPart>,
    /// For each dimension, the elements that both have, …
    common: Vec<Common>,
    /// … and the end of its own among them.
    ends: Vec<usize>,
}

/// Elements at equal distances on all dimensions.
struct Piece {
    /// For each dimension of the selection, the first of its elements, and from each to the next.
    first: Vec<u64>,
    step: Vec<u64>,
    /// The elements of the source.
    slab: Hyperslab,
}

impl<'a> Met<'a> {
    fn new(part: Cow<'a, ArrayPart>, slab: &Hyperslab) -> Option<Self> {
        let mut common = Vec::with_capacity(part.axes.len());
        let mut ends = Vec::with_capacity(part.axes.len());
        for (d, axis) in part.axes.iter().enumerate() {
            let own = |s| meet(s, slab.start[d], slab.stride[d], slab.count[d]);
            common.extend(axis.stretches.iter().filter_map(own));
            if ends.last().map_or(0, |&end| end) == common.len() {
                return None;
            }
            ends.push(common.len());
        }
        Some(Self { part, common, ends })
    }

    /// For each dimension, the elements that both have.
    fn axes(&self) -> impl Iterator<Item = &[Common]> + Clone {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.common[begin..end])
    }

    /// Elements in all.
    fn len(&self) -> u64 {
        let along = |axis: &[Common]| axis.iter().map(|c| c.count).fold(0, u64::saturating_add);
        self.axes().map(along).fold(1, u64::saturating_mul)
    }

    /// The smallest box of the selection that holds them.
    fn region(&self) -> Region {
        let first = |axis: &[Common]| axis.iter().map(|c| c.first).min().unwrap_or(0);
        let end = |axis: &[Common]| axis.iter().map(Common::end).max().unwrap_or(0);
        let start: Vec<u64> = self.axes().map(first).collect();
        let count = self.axes().map(end).zip(&start).map(|(end, start)| end - start).collect();
        Region { start, count }
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let ranges: Vec<_> = self.axes().map(|axis| 0..axis.len() as u64).collect();
        coordinates(&ranges).map(|at| self.piece(&at))
    }

    fn piece(&self, at: &[u64]) -> Piece {
        let rank = self.part.origin.len();
        let mut slab = Hyperslab::new(&self.part.origin, &vec![1; rank]);
        let common = at.iter().zip(self.axes()).map(|(&i, axis)| &axis[i as usize]);
        for (c, along) in common.clone().zip(self.part.axes.iter().map(|a| a.along)) {
            if let Some(e) = along {
                (slab.start[e], slab.count[e], slab.stride[e]) = (c.from, c.count, c.from_step);
            }
        }
        Piece {
            first: common.clone().map(|c| c.first).collect(),
            step: common.map(|c| c.step).collect(),
            slab,
        }
    }

    /// The number of elements of a piece along each dimension of the selection.
    fn counts(&self, piece: &Piece) -> Vec<u64> {
        self.part.axes.iter().map(|a| a.along.map_or(1, |e| piece.slab.count[e])).collect()
    }
}

/// The parts that a selection meets, in their order.
fn met<'a>(parts: &'a dyn PartIndex, slab: &Hyperslab) -> Result<Vec<Met<'a>>> {
    let within: Vec<Range<u64>> = (0..slab.rank()).map(|d| slab.start[d]..slab.end(d)).collect();
    let parts = parts.meeting(&within)?;
    Ok(parts.into_iter().filter_map(|part| Met::new(part, slab)).collect())
}

/// Layers of parts, from the lowest on: no two of one layer can have an element in common. A few that lie under all others, as what is
/// between tiles does, are layers of their own.
fn layers(met: &[Met<'_>]) -> Vec<Range<usize>> {
    if let [_] = met {
        return std::iter::once(0..1).collect();
    }
    let regions: Vec<Region> = met.iter().map(Met::region).collect();
    let alone = |n: usize| (0..n).map(|i| i..i + 1);
    let below = (0..=LOWEST.min(met.len())).find(|&below| are_apart(&regions[below..]));
    match below {
        Some(below) => alone(below).chain(std::iter::once(below..met.len())).collect(),
        None => alone(met.len()).collect(),
    }
}

/// Whether no two boxes have an element in common.
fn are_apart(regions: &[Region]) -> bool {
    let Some(axis) = regions.first().and_then(|r| (0..r.start.len()).max_by_key(|&d| starts(regions, d)))
    else {
        return regions.len() <= 1;
    };
    let mut regions: Vec<&Region> = regions.iter().collect();
    regions.sort_by_key(|r| r.start[axis]);
    let mut open: Vec<&Region> = Vec::new();
    for r in regions {
        open.retain(|o| o.start[axis] + o.count[axis] > r.start[axis]);
        if open.iter().any(|o| overlap(o, r)) {
            return false;
        }
        open.push(r);
    }
    true
}

/// At how many places regions begin along a dimension.
fn starts(regions: &[Region], d: usize) -> usize {
    let mut starts: Vec<u64> = regions.iter().map(|r| r.start[d]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts.len()
}

impl Source<'_> {
    /// Reads elements of an array of parts. `slab` lies inside the extents.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn read_parts(
        &self,
        parts: &dyn PartIndex,
        slab: &Hyperslab,
        steps: &[u64],
        out: &SharedOut<'_>,
        how: How,
    ) -> Result<()> {
        let how = deeper(self, how)?;
        let met = met(parts, slab)?;
        let layers = layers(&met);
        let covered = |layer: &Range<usize>| {
            met[layer.clone()].iter().map(Met::len).fold(0, u64::saturating_add) >= slab.len()
        };
        // Where the lowest layer is all of it, absent sources alone are filled.
        let fill_first = !layers.first().is_some_and(covered);
        if fill_first {
            // SAFETY: as for us.
            unsafe { self.fill(out, 0, &slab.count, steps)? };
        }
        for (number, layer) in layers.into_iter().enumerate() {
            let met = &met[layer];
            // Many parts: a thread each. Few: all threads on one after the other.
            let many = how.parallel && met.len() >= 2 * self.engine.threads();
            let how = How { parallel: how.parallel && !many, ..how };
            let is_filled = fill_first || number > 0;
            // SAFETY: parts that are read at the same time are apart, and all of them are the caller's alone.
            let read = |i: usize| unsafe { self.read_part(&met[i], steps, out, how, is_filled) };
            self.engine.inner.pool.run(met.len(), many, read)?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Self::read_parts`].
    unsafe fn read_part(
        &self,
        met: &Met<'_>,
        steps: &[u64],
        out: &SharedOut<'_>,
        how: How,
        is_filled: bool,
    ) -> Result<()> {
        opened(&met.part, |open| {
            let Some(open) = open else {
                for piece in met.pieces().filter(|_| !is_filled) {
                    let (to, own) = place(&piece, steps);
                    // SAFETY: the piece is the caller's alone.
                    unsafe { self.fill(out, to, &met.counts(&piece), &own)? };
                }
                return Ok(());
            };
            let layout = open.layout()?;
            let source = self.of_part(open, &layout)?;
            for piece in met.pieces() {
                let (to, own) = place(&piece, steps);
                let mut source_steps = vec![self.layout.element.size as u64; piece.slab.rank()];
                for (axis, step) in met.part.axes.iter().zip(own) {
                    if let Some(e) = axis.along {
                        source_steps[e] = step;
                    }
                }
                without(&mut source_steps, open.lacks());
                let (slab, out) = (held(piece.slab, open, &layout)?, out.from(to));
                // SAFETY: the piece is the caller's alone.
                unsafe {
                    match open.convert() {
                        None => source.read(&slab, &source_steps, &out, how)?,
                        Some(convert) => {
                            let size = self.layout.element.size;
                            source.read_converted(&slab, &source_steps, &out, how, (convert, size))?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// The variable of a part; an error unless its elements can be elements of this one.
    fn of_part<'b>(&'b self, open: &'b dyn OpenPart, layout: &'b VarLayout) -> Result<Source<'b>> {
        let (own, other) = (&self.layout.element, &layout.element);
        let is_alike = (own.size, own.heap) == (other.size, other.heap) || own.heap && other.heap;
        match is_alike || open.convert().is_some() {
            true => {
                Ok(Source { engine: self.engine, store: open.store(), var: open.var(), layout, newer: None })
            }
            false => Err(Error::Unsupported {
                path: format!("{}: {}", self.store.name(), self.layout.name),
                what: format!("a part of {}-byte elements in an array of {}-byte ones", other.size, own.size),
            }),
        }
    }

    /// # Safety
    /// Nobody else may touch the box's elements in the destination meanwhile.
    unsafe fn fill(&self, out: &SharedOut<'_>, to: u64, counts: &[u64], steps: &[u64]) -> Result<()> {
        let axes: Vec<Axis> =
            counts.iter().zip(steps).map(|(&count, &step)| Axis { count, from: step, to: step }).collect();
        // SAFETY: as for us.
        unsafe {
            fill::fill_parallel(
                self.engine,
                &self.layout.unwritten(),
                out,
                to,
                axes,
                self.layout.element.size,
            )
        }
    }
}

/// How the parts of an array are read.
fn deeper(source: &Source<'_>, how: How) -> Result<How> {
    let VarLayout { name, .. } = source.layout;
    match how.depth {
        MAX_DEPTH.. => Err(Error::Unsupported {
            path: format!("{}: {name}", source.store.name()),
            what: format!(
                "a chain of more than {MAX_DEPTH} arrays, each a part of the one before, or a circle of them,"
            ),
        }),
        depth => Ok(How { depth: depth + 1, ..how }),
    }
}

/// The place of a piece in the destination, and its steps there.
fn place(piece: &Piece, steps: &[u64]) -> (u64, Vec<u64>) {
    let to = piece.first.iter().zip(steps).map(|(first, step)| first * step).sum();
    (to, piece.step.iter().zip(steps).map(|(a, b)| a * b).collect())
}

/// The elements of a source that a piece takes, which the source must have.
fn held(mut slab: Hyperslab, open: &dyn OpenPart, layout: &VarLayout) -> Result<Hyperslab> {
    for list in [&mut slab.start, &mut slab.count, &mut slab.stride] {
        without(list, open.lacks());
    }
    slab.check(open.shape().as_deref().unwrap_or(&layout.shape), &layout.name)?;
    Ok(slab)
}

/// Leaves out the entries of dimensions that a source does not have.
fn without(of_dims: &mut Vec<u64>, lacks: &[usize]) {
    let mut d = 0;
    of_dims.retain(|_| {
        d += 1;
        !lacks.contains(&(d - 1))
    });
}

/// Reads from the present state of a source.
fn opened<T>(part: &ArrayPart, mut read: impl FnMut(Option<&dyn OpenPart>) -> Result<T>) -> Result<T> {
    let mut attempts = Attempts::at_a_source();
    loop {
        let open = part.source.open()?;
        match read(open.as_deref()) {
            Err(Error::Changed { .. }) if attempts.again() => {}
            done => return done,
        }
    }
}
