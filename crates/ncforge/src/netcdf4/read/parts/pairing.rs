//! Which element of a source is which one of a virtual dataset: two selections with as many elements each, in row-major order.
//!
//! Nearly all selections are products: along each dimension, blocks at equal distances. Two products that are as long in the same
//! order, apart from dimensions of one element, make one part, however many elements they have. All others are cut into runs along
//! the last dimension, and joined again where runs follow each other at equal distances.

use std::sync::Arc;

use smallvec::smallvec;

use crate::hdf5::dataspace::UNLIMITED;
use crate::hdf5::selection::{Blocks, Selection};
use crate::layout::{ArrayPart, PartAxis, PartSource, Stretch, Stretches};
use crate::select::coordinates;

/// Runs or stretches that one mapping may consist of.
const MOST: usize = 1 << 18;

/// Elements along one dimension: `n` of them, in blocks of `block` whose beginnings are `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lattice {
    start: u64,
    stride: u64,
    block: u64,
    n: u64,
}

impl Lattice {
    /// Adjacent elements.
    pub(super) fn run(start: u64, n: u64) -> Self {
        Self { start, stride: 1, block: n.max(1), n }
    }

    /// Those of `blocks` that lie in an array of this length; all of them, if they are limited.
    pub(super) fn of(blocks: &Blocks, len: u64) -> Self {
        let Blocks { start, stride, count, block } = *blocks;
        let room = len.saturating_sub(start);
        match (count, block) {
            (_, UNLIMITED) => Self::run(start, room),
            (UNLIMITED, _) if stride == block => Self::run(start, room),
            (UNLIMITED, _) => {
                let n = room / stride.max(1) * block + (room % stride.max(1)).min(block);
                Self { start, stride, block, n }
            }
            (count, block) if count == 1 || stride == block => Self::run(start, count.saturating_mul(block)),
            (count, block) => Self { start, stride, block, n: count.saturating_mul(block) },
        }
    }

    /// The first `n` of them.
    pub(super) fn first(self, n: u64) -> Self {
        Self { n: self.n.min(n), ..self }
    }

    fn is_run(&self) -> bool {
        self.n <= self.block
    }

    fn at(&self, i: u64) -> u64 {
        self.start + i / self.block * self.stride + i % self.block
    }

    /// The first index behind them; 0 if there are none.
    pub(super) fn end(&self) -> u64 {
        if self.n == 0 { 0 } else { self.at(self.n - 1) + 1 }
    }

    pub(super) fn len(&self) -> u64 {
        self.n
    }

    /// Its runs: first element and length.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let lattice = *self;
        let blocks = lattice.n.div_ceil(lattice.block);
        (0..blocks).map(move |b| {
            (lattice.start + b * lattice.stride, lattice.block.min(lattice.n - b * lattice.block))
        })
    }
}

/// Selected elements, in their order.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    /// All combinations of these.
    Product(Vec<Lattice>),
    /// Runs along the last dimension.
    Runs(Vec<Run>),
}

/// Adjacent elements along the last dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    at: Vec<u64>,
    len: u64,
}

/// A mapping that is not one, or too complicated.
#[derive(Debug)]
pub(super) enum Trouble {
    Damaged(String),
    Unsupported(String),
}

impl Cells {
    /// The elements of a selection of an array of this shape. Only what is unlimited, and all, depend on its lengths.
    pub(super) fn of(selection: &Selection, shape: &[u64]) -> Result<Self, Trouble> {
        let rank = shape.len();
        let misfit =
            |n: usize| Trouble::Damaged(format!("a selection of {n} dimensions of an array of {rank}"));
        match selection {
            Selection::None => Ok(Cells::Runs(Vec::new())),
            Selection::All => Ok(Cells::Product(shape.iter().map(|&n| Lattice::run(0, n)).collect())),
            Selection::Regular(dims) if dims.len() == rank => {
                Ok(Cells::Product(dims.iter().zip(shape).map(|(b, &len)| Lattice::of(b, len)).collect()))
            }
            Selection::Points { rank: n, at } if *n == rank => {
                // Their order counts.
                Ok(Cells::Runs(at.chunks_exact(rank).map(|at| Run { at: at.to_vec(), len: 1 }).collect()))
            }
            Selection::Boxes { rank: n, corners } if *n == rank => {
                let lattices = |b: &[u64]| -> Vec<Lattice> {
                    b[..rank].iter().zip(&b[rank..]).map(|(&s, &e)| Lattice::run(s, e - s + 1)).collect()
                };
                let mut boxes = corners.chunks_exact(2 * rank).map(lattices);
                if corners.len() == 2 * rank {
                    return Ok(Cells::Product(boxes.next().unwrap_or_default()));
                }
                let mut runs = Vec::new();
                boxes.try_for_each(|one| cut(&one, &mut runs))?;
                runs.sort_by(|a, b| a.at.cmp(&b.at));
                Ok(Cells::Runs(runs))
            }
            Selection::Regular(dims) => Err(misfit(dims.len())),
            Selection::Points { rank, .. } | Selection::Boxes { rank, .. } => Err(misfit(*rank)),
        }
    }

    /// The first index behind all of them, for each dimension.
    pub(super) fn end(&self, rank: usize) -> Vec<u64> {
        match self {
            Cells::Product(dims) if dims.iter().any(|d| d.n == 0) => vec![0; rank],
            Cells::Product(dims) => dims.iter().map(Lattice::end).collect(),
            Cells::Runs(runs) => {
                let mut end = vec![0; rank];
                for run in runs {
                    for (d, slot) in end.iter_mut().enumerate() {
                        let len = if d + 1 == rank { run.len } else { 1 };
                        *slot = (*slot).max(run.at[d].saturating_add(len));
                    }
                }
                end
            }
        }
    }

    fn into_runs(self) -> Result<Vec<Run>, Trouble> {
        match self {
            Cells::Runs(runs) => Ok(runs),
            Cells::Product(dims) => {
                let mut runs = Vec::new();
                cut(&dims, &mut runs)?;
                Ok(runs)
            }
        }
    }
}

/// Appends the runs of a product.
fn cut(dims: &[Lattice], runs: &mut Vec<Run>) -> Result<(), Trouble> {
    if dims.iter().any(|d| d.n == 0) {
        return Ok(());
    }
    let Some((last, outer)) = dims.split_last() else {
        runs.push(Run { at: Vec::new(), len: 1 });
        return Ok(());
    };
    let number = outer.iter().map(|d| d.n).try_fold(last.n.div_ceil(last.block), u64::checked_mul);
    if number.is_none_or(|n| n > (MOST - runs.len().min(MOST)) as u64) {
        return Err(Trouble::Unsupported(
            "a virtual dataset whose mapping changes the shape in too many places".into(),
        ));
    }
    let ranges: Vec<_> = outer.iter().map(|d| 0..d.n).collect();
    for at in coordinates(&ranges) {
        let at: Vec<u64> = at.iter().zip(outer).map(|(&i, d)| d.at(i)).collect();
        for (first, len) in last.runs() {
            let at = at.iter().copied().chain([first]).collect();
            runs.push(Run { at, len });
        }
    }
    Ok(())
}

/// The parts that a mapping gives.
pub(super) fn pair(to: Cells, from: Cells, source: &Arc<dyn PartSource>) -> Result<Vec<ArrayPart>, Trouble> {
    if let (Cells::Product(to), Cells::Product(from)) = (&to, &from)
        && let Some(part) = product(to, from, source)?
    {
        return Ok(part);
    }
    let (to, from) = (to.into_runs()?, from.into_runs()?);
    let number = |runs: &[Run]| runs.iter().map(|r| r.len).fold(0, u64::saturating_add);
    if number(&to) != number(&from) {
        return Err(unequal(number(&to), number(&from)));
    }
    Ok(joined(&to, &from).into_iter().map(|piece| piece.part(source)).collect())
}

fn unequal(to: u64, from: u64) -> Trouble {
    Trouble::Damaged(format!("a mapping of {from} elements of a source to {to} of a virtual dataset"))
}

/// The one part that two products give if they have the same lengths; `None` if they have not.
fn product(
    to: &[Lattice],
    from: &[Lattice],
    source: &Arc<dyn PartSource>,
) -> Result<Option<Vec<ArrayPart>>, Trouble> {
    let several = |dims: &[Lattice]| -> Vec<usize> { (0..dims.len()).filter(|&d| dims[d].n != 1).collect() };
    let (there, here) = (several(from), several(to));
    if there.len() != here.len() || !here.iter().zip(&there).all(|(&a, &b)| to[a].n == from[b].n) {
        return Ok(None);
    }
    if to.iter().any(|d| d.n == 0) {
        return Ok(Some(Vec::new()));
    }
    let mut axes = Vec::with_capacity(to.len());
    for (d, lattice) in to.iter().enumerate() {
        let along = here.iter().position(|&h| h == d).map(|i| there[i]);
        let stretches = match along {
            Some(e) => stretches(lattice, &from[e])?,
            None => smallvec![Stretch::run(lattice.start, 0, 1)],
        };
        axes.push(PartAxis { along, stretches });
    }
    let origin = from.iter().map(|d| d.start).collect();
    Ok(Some(vec![ArrayPart { axes, origin, source: source.clone() }]))
}

/// Pairs elements of two dimensions, as many in both.
fn stretches(to: &Lattice, from: &Lattice) -> Result<Stretches, Trouble> {
    let block = match (to.is_run(), from.is_run()) {
        (true, true) => return Ok(smallvec![Stretch::run(to.start, from.start, to.n)]),
        (true, false) => from.block,
        (false, true) => to.block,
        (false, false) if to.block == from.block => to.block,
        _ => return crossed(to, from),
    };
    let step = |l: &Lattice| if l.is_run() { block } else { l.stride };
    let (to_step, from_step) = (step(to), step(from));
    let (whole, rest) = (to.n / block, to.n % block);
    // The smaller number of stretches: block by block, or the first elements of all blocks, the second ones, …
    let (number, of_blocks) = if whole < block { (to.n.div_ceil(block), true) } else { (block, false) };
    if number > MOST as u64 {
        return Err(Trouble::Unsupported("a virtual dataset whose mapping has too many blocks".into()));
    }
    let one = |i: u64| match of_blocks {
        true => Stretch::run(to.start + i * to_step, from.start + i * from_step, block.min(to.n - i * block)),
        false => Stretch {
            to: to.start + i,
            to_step,
            from: from.start + i,
            from_step,
            count: whole + u64::from(i < rest),
        },
    };
    Ok((0..number).map(one).collect())
}

/// Blocks of different lengths: run by run.
fn crossed(to: &Lattice, from: &Lattice) -> Result<Stretches, Trouble> {
    let single = |l: &Lattice| -> Result<Vec<Run>, Trouble> {
        let mut runs = Vec::new();
        cut(&[*l], &mut runs)?;
        Ok(runs)
    };
    let mut out = Stretches::new();
    each(&single(to)?, &single(from)?, |to, from, len| out.push(Stretch::run(to[0], from[0], len)));
    Ok(out)
}

/// Walks two lists of runs with as many elements; each common run: where it begins in both, its length.
fn each(to: &[Run], from: &[Run], mut see: impl FnMut(&[u64], &[u64], u64)) {
    let advanced = |run: &Run, by: u64| {
        let mut at = run.at.clone();
        if let Some(last) = at.last_mut() {
            *last += by;
        }
        at
    };
    let (mut i, mut j, mut a, mut b) = (0, 0, 0, 0);
    while let (Some(here), Some(there)) = (to.get(i), from.get(j)) {
        let len = (here.len - a).min(there.len - b);
        see(&advanced(here, a), &advanced(there, b), len);
        (a, b) = (a + len, b + len);
        if a == here.len {
            (i, a) = (i + 1, 0);
        }
        if b == there.len {
            (j, b) = (j + 1, 0);
        }
    }
}

/// Runs that follow each other at equal distances.
struct Piece {
    to: Vec<u64>,
    from: Vec<u64>,
    len: u64,
    /// How many; along which dimensions, and how far from one to the next.
    rows: u64,
    row: Option<((usize, u64), (usize, u64))>,
}

fn joined(to: &[Run], from: &[Run]) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    each(to, from, |to, from, len| {
        let new = Piece { to: to.to_vec(), from: from.to_vec(), len, rows: 1, row: None };
        if !out.last_mut().is_some_and(|last| last.add(&new)) {
            out.push(new);
        }
    });
    out
}

/// The one dimension, not the last, in which `b` lies behind `a`, and how far.
fn behind(a: &[u64], b: &[u64], from: u64) -> Option<(usize, u64)> {
    let mut differ = (0..a.len()).filter(|&d| a[d] != b[d]);
    let d = differ.next().filter(|&d| d + 1 < a.len() && b[d] > a[d])?;
    let far = b[d] - a[d];
    (differ.next().is_none() && far.is_multiple_of(from)).then_some((d, far / from))
}

impl Piece {
    /// Takes in a run if it is the next row.
    fn add(&mut self, next: &Piece) -> bool {
        if self.len != next.len {
            return false;
        }
        let step = behind(&self.to, &next.to, self.rows).zip(behind(&self.from, &next.from, self.rows));
        let fits = step.is_some() && (self.row.is_none() || self.row == step);
        if fits {
            self.row = step;
            self.rows += 1;
        }
        fits
    }

    fn part(self, source: &Arc<dyn PartSource>) -> ArrayPart {
        let (last, source_last) = (self.to.len().wrapping_sub(1), self.from.len().wrapping_sub(1));
        let axis = |(d, &to): (usize, &u64)| match self.row {
            Some(((row, to_step), (along, from_step))) if row == d => {
                let stretch = Stretch { to, to_step, from: self.from[along], from_step, count: self.rows };
                PartAxis { along: Some(along), stretches: smallvec![stretch] }
            }
            _ if d == last && self.len > 1 => {
                PartAxis::run(source_last, to, self.from[source_last], self.len)
            }
            _ => PartAxis { along: None, stretches: smallvec![Stretch::run(to, 0, 1)] },
        };
        let axes = self.to.iter().enumerate().map(axis).collect();
        ArrayPart { axes, origin: self.from, source: source.clone() }
    }
}

#[cfg(test)]
mod tests;
