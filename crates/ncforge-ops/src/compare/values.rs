//! The values of one variable in two files, in bounded memory and on all threads.

pub(super) mod element;
mod fingerprint;

use std::sync::{Mutex, PoisonError};

use self::element::{format_element, format_value};
use super::difference::{Comparison, Difference, Kind, Largest};
use crate::boxes::{HEAP_BATCH, Side, Walk, check_chunk, choose_comfortable, work_bytes};
use crate::progress::{Progress, check_stop};
use crate::written;
use ncforge::model::agreement::{Offsets, same_type};
use ncforge::model::equality::{Equality, Tolerance};
use ncforge::model::{DType, Values, VarId, shape};
use ncforge::raw::unravel;
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Result};

/// Elements that one thread compares at a time.
const GRAIN: usize = 1 << 16;
/// [`GRAIN`] for heap types.
const HEAP_GRAIN: usize = 1 << 10;
/// Boxes are given up for sums when they would take this many times longer.
const WORTH_SUMS: f64 = 1.5;

/// How values are compared.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    /// Numbers are the same when they are no further apart than this.
    pub(crate) tolerance: Option<f64>,
    /// Memory for a box of one file; two are held.
    pub(crate) box_bytes: u64,
    /// The receiver of progress.
    pub(crate) progress: &'a dyn Progress,
}

/// Compares the values of one variable. Different types or shapes are one difference; a variable that one file
/// cannot give is reported as such, unless both cannot.
pub(crate) fn compare_values(
    a: &Dataset,
    va: VarId,
    b: &Dataset,
    vb: VarId,
    how: How<'_>,
) -> Result<Comparison> {
    let progress = how.progress;
    let path = a.schema().var_path(va);
    let mut out = Comparison::default();
    let (shape, other) = (a.schema().shape(va), b.schema().shape(vb));
    let types = same_type(
        (a.schema(), a.schema().var(va).dtype),
        (b.schema(), b.schema().var(vb).dtype),
        Offsets::MayDiffer,
    );
    if shape != other || !types {
        progress.advance(work_bytes(a.schema(), va));
        if types {
            out.differences.push(
                Difference::new(Kind::Values, path, "values not compared, the shapes differ")
                    .sides(format!("{shape:?}"), format!("{other:?}")),
            );
        }
        return Ok(out);
    }
    match (unsupported(a, va), unsupported(b, vb)) {
        (None, None) => {}
        (Some(x), Some(_)) => {
            out.not_compared.push(format!("the values of `{path}` cannot be read in either file: {x}"));
            return Ok(out);
        }
        (x, y) => {
            out.differences
                .push(Difference::new(Kind::Unreadable, path, "values cannot be read").sides(x, y));
            return Ok(out);
        }
    }
    check_chunk(a, va)?;
    check_chunk(b, vb)?;
    out.variables = 1;
    out.values = shape::elements(&shape);
    let job = Job { a, va, b, vb, how, path, shape };
    let found = match a.schema().fixed_size(a.schema().var(va).dtype) {
        Some(size) => {
            out.bytes = out.values.saturating_mul(size as u64);
            job.fixed(size)
        }
        None => job.heap(),
    };
    let found = match found {
        // The types are the same only where one holds all values of the other.
        Err(e @ Error::NotRepresentable { .. }) => {
            out.differences.push(Difference::new(Kind::Type, job.path, format!("types differ: {e}")));
            return Ok(out);
        }
        found => found?,
    };
    if let Some(first) = found.first {
        out.differing_values = found.count;
        let of = out.values;
        let mut d = Difference::new(Kind::Values, job.path, format!("{} of {of} values differ", found.count))
            .sides(first.left, first.right);
        d.index = (!first.index.is_empty()).then_some(first.index);
        d.differing = Some(found.count);
        (d.largest_absolute, d.largest_relative) = (found.absolute, found.relative);
        d.of = Some(of);
        out.differences.push(d);
    }
    Ok(out)
}

fn unsupported(d: &Dataset, v: VarId) -> Option<String> {
    match d.layout(v) {
        Ok(layout) => layout.place.unsupported().map(str::to_owned),
        Err(e) => Some(e.to_string()),
    }
}

struct Job<'a> {
    a: &'a Dataset,
    va: VarId,
    b: &'a Dataset,
    vb: VarId,
    how: How<'a>,
    path: String,
    shape: Vec<u64>,
}

/// The number of elements that differ, the first of them in row-major order, and those that are farthest apart.
#[derive(Default)]
struct Found {
    count: u64,
    first: Option<First>,
    absolute: Option<Largest>,
    relative: Option<Largest>,
}

struct First {
    index: Vec<u64>,
    left: String,
    right: String,
}

impl Found {
    /// Adds what a box has; `text` shows the elements at a position of it.
    fn add(&mut self, slab: &Hyperslab, seen: &Seen, text: impl FnOnce(usize) -> (String, String)) {
        let Some(at) = seen.first else { return };
        self.count += seen.count;
        let index = index_in(slab, at as u64);
        // Boxes are not visited in row-major order of their elements.
        if self.first.as_ref().is_none_or(|old| index < old.index) {
            let (left, right) = text(at);
            self.first = Some(First { index, left, right });
        }
        let largest =
            |far: Option<(f64, usize)>| far.map(|(by, at)| Largest { by, index: index_in(slab, at as u64) });
        Largest::take(&mut self.absolute, largest(seen.absolute));
        Largest::take(&mut self.relative, largest(seen.relative));
    }
}

impl Job<'_> {
    fn walk(&self, size: u64, sides: &[Side], budget: u64) -> Walk {
        choose_comfortable(&self.shape, size, sides, &vec![1; self.shape.len()], budget)
    }

    /// Whether the variable is the same in both files, where boxes for both would cost much more than reading
    /// each once in its own order. `None`: that is not so, or cannot be found this way.
    fn same_by_sums(&self, sides: &[Side; 2], walk: &Walk) -> Result<Option<bool>> {
        let dtype = self.a.schema().var(self.va).dtype;
        let DType::Atomic(kind) = dtype else { return Ok(None) };
        if self.how.tolerance.is_some() || !sides.iter().all(|s| matches!(s, Side::Chunks { .. })) {
            return Ok(None);
        }
        let own: Vec<Walk> = sides
            .iter()
            .map(|s| self.walk(kind.size() as u64, std::slice::from_ref(s), self.how.box_bytes))
            .collect();
        if walk.seconds < WORTH_SUMS * own.iter().map(|w| w.seconds).sum::<f64>() {
            return Ok(None);
        }
        let left = fingerprint::sum(self.a, self.va, kind, &own[0], self.how.progress)?;
        let right = fingerprint::sum(self.b, self.vb, kind, &own[1], self.how.progress)?;
        Ok(Some(left == right))
    }

    fn fixed(&self, size: usize) -> Result<Found> {
        let mut found = Found::default();
        if self.shape.contains(&0) || size == 0 {
            return Ok(found);
        }
        let (sa, sb) = (self.a.schema(), self.b.schema());
        let (ta, tb) = (sa.var(self.va).dtype, sb.var(self.vb).dtype);
        let equality = Equality::new((sa, ta), (sb, tb), Tolerance::new(self.how.tolerance));
        let (m, n) = equality.sizes();
        let sides = [Side::of(&*self.a.layout(self.va)?), Side::of(&*self.b.layout(self.vb)?)];
        let walk = self.walk(m.max(n) as u64, &sides, self.how.box_bytes);
        let (x, y) = ((self.a, self.va), (self.b, self.vb));
        let written = written::boxes_of_either(x, y, &walk.grid, &equality)?;
        if written.is_none() && self.same_by_sums(&sides, &walk)? == Some(true) {
            return Ok(found);
        }
        let walked: Box<dyn Iterator<Item = u64>> = match &written {
            Some(boxes) => {
                let unwritten = written::elements_outside(&walk, boxes);
                self.how.progress.advance(unwritten.saturating_mul(size as u64));
                Box::new(boxes.iter().copied())
            }
            None => Box::new(0..walk.len()),
        };
        let largest = usize::try_from(walk.box_at(0).len()).expect("a box is within memory");
        let (mut left, mut right) = (Buffer::try_zeroed(largest * m)?, Buffer::try_zeroed(largest * n)?);
        for i in walked {
            check_stop(self.how.progress, "comparison")?;
            let slab = walk.box_at(i);
            let len = slab.len() as usize;
            let (left, right) = (&mut left[..len * m], &mut right[..len * n]);
            self.a.read_bytes(self.va, &slab, left)?;
            self.b.read_bytes(self.vb, &slab, right)?;
            let (left, right) = (&*left, &*right);
            let element = |i: usize| (&left[i * m..(i + 1) * m], &right[i * n..(i + 1) * n]);
            let seen = look(self.a.engine(), len, GRAIN, |r| {
                let (x, y) = (&left[r.start * m..r.end * m], &right[r.start * n..r.end * n]);
                // Most pieces are the same bytes: comparing those at once is far faster than element by element.
                if m == n && x == y {
                    return Seen::default();
                }
                let mut seen = Seen::default();
                for i in r {
                    let (x, y) = element(i);
                    if !equality.same(x, y) {
                        seen.add(i, equality.apart(x, y));
                    }
                }
                seen
            })?;
            found.add(&slab, &seen, |at| {
                let (x, y) = element(at);
                (format_element(sa, ta, x), format_element(sb, tb, y))
            });
            self.how.progress.advance(slab.len().saturating_mul(size as u64));
        }
        Ok(found)
    }

    fn heap(&self) -> Result<Found> {
        let mut found = Found::default();
        let (sa, sb) = (self.a.schema(), self.b.schema());
        let (ta, tb) = (sa.var(self.va).dtype, sb.var(self.vb).dtype);
        let sides = [Side::of(&*self.a.layout(self.va)?), Side::of(&*self.b.layout(self.vb)?)];
        let walk = self.walk(1, &sides, HEAP_BATCH);
        for i in 0..walk.len() {
            check_stop(self.how.progress, "comparison")?;
            let slab = walk.box_at(i);
            let (x, y) = (self.a.read(self.va, &slab)?, self.b.read(self.vb, &slab)?);
            let (Values::Heap(x), Values::Heap(y)) = (x, y) else { continue };
            let equality = Equality::new((sa, ta), (sb, tb), Tolerance::new(self.how.tolerance));
            let len = x.len().min(y.len());
            let seen = look(self.a.engine(), len, HEAP_GRAIN, |r| {
                let mut seen = Seen::default();
                for i in r {
                    if !equality.same_value(&x[i], &y[i]) {
                        seen.add(i, None);
                    }
                }
                seen
            })?;
            found.add(&slab, &seen, |at| (format_value(&x[at]), format_value(&y[at])));
            self.how.progress.advance(slab.len().saturating_mul(16));
        }
        Ok(found)
    }
}

fn index_in(slab: &Hyperslab, at: u64) -> Vec<u64> {
    unravel(at, &slab.count).iter().zip(&slab.start).map(|(i, s)| i + s).collect()
}

/// The differences within a box, by positions in it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u64,
    /// The first element that differs.
    first: Option<usize>,
    /// The largest difference of numbers, and its first place.
    absolute: Option<(f64, usize)>,
    /// The largest difference as a share of the larger value.
    relative: Option<(f64, usize)>,
}

impl Seen {
    /// An element that differs, behind all that were seen; and how far, absolutely and relatively, where that is known.
    fn add(&mut self, at: usize, apart: Option<(f64, f64)>) {
        self.count += 1;
        self.first.get_or_insert(at);
        if let Some((absolute, relative)) = apart {
            farther(&mut self.absolute, Some((absolute, at)));
            farther(&mut self.relative, Some((relative, at)));
        }
    }

    /// Adds the differences that another thread has seen in other elements.
    fn join(&mut self, other: Seen) {
        self.count += other.count;
        self.first = self.first.into_iter().chain(other.first).min();
        farther(&mut self.absolute, other.absolute);
        farther(&mut self.relative, other.relative);
    }
}

/// The larger one; of two that are as large, the first.
fn farther(own: &mut Option<(f64, usize)>, other: Option<(f64, usize)>) {
    let Some((by, at)) = other else { return };
    if own.is_none_or(|(most, first)| by > most || (by == most && at < first)) {
        *own = other;
    }
}

/// Looks at `n` elements on all threads; `piece` looks at a range of them.
fn look(
    engine: &Engine,
    n: usize,
    grain: usize,
    piece: impl Fn(std::ops::Range<usize>) -> Seen + Sync,
) -> Result<Seen> {
    let total = Mutex::new(Seen::default());
    engine.for_each(n.div_ceil(grain), |i| {
        let seen = piece(i * grain..((i + 1) * grain).min(n));
        if seen.count > 0 {
            total.lock().unwrap_or_else(PoisonError::into_inner).join(seen);
        }
        Ok(())
    })?;
    Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
}
