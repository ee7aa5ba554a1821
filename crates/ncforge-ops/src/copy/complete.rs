//! Whether an earlier run has finished an output.

use std::path::Path;

use super::identity::Identity;
use super::options::CopyOptions;
use super::planned::{Memory, Plan, Route, VarWork};
use super::{numbering, quantized, verify};
use crate::compare::compare_schemas;
use crate::progress::Progress;
use ncforge::model::{Storage, VarId, shape};
use ncforge::raw::Chunks;
use ncforge::store::OutputFile;
use ncforge::{Buffer, Dataset, Error, Hyperslab, Result};

/// Elements of each part of a variable that is compared.
const PART: u64 = 4096;

/// Whether an earlier run had brought the output to its end: it is there, it is younger than the source, nothing is left of
/// the work, it is described and stored as this copy's output would be, and the values at the beginning, in the middle and at
/// the end of each variable are the source's. With `verify`, all values; of a selection, too: another one of the same file may differ
/// in a few.
pub(super) fn is_complete(
    output: &Path,
    plan: &Plan,
    options: &CopyOptions,
    source: &Dataset,
    memory: Memory,
    progress: &dyn Progress,
) -> Result<bool> {
    let files = source.files();
    let modified = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
    let younger = || {
        let made = modified(output)?;
        files.iter().map(|f| modified(f)).try_fold(true, |all, m| Some(all && made >= m?))
    };
    if OutputFile::is_begun(output) || younger() != Some(true) {
        return Ok(false);
    }
    let own = Identity::of(output).ok();
    if files.iter().any(|f| Identity::of(f).ok() == own) {
        return Ok(false);
    }
    let Ok(made) = Dataset::open_with(output, source.engine()) else { return Ok(false) };
    let is_alike = made.schema().format == plan.schema.format
        && made.container().store().blocks().is_some() == options.zipped.is_some()
        && compare_schemas(&plan.schema, made.schema(), false).is_same()
        && numbering::check(&plan.schema, made.schema()).is_ok()
        && plan.work.iter().all(|work| is_stored_so(plan, work.moved.to, &made));
    if !is_alike {
        return Ok(false);
    }
    for work in &plan.work {
        if work.route == Route::Points && !has_points(plan, work, &made)? {
            return Ok(false);
        }
    }
    let values = || plan.work.iter().filter(|w| w.moved.values);
    if options.verify || !options.select.is_empty() {
        return match verify::values(source, plan, &made, false, source.engine(), memory, progress) {
            Ok(found) => Ok(found.is_same()),
            Err(Error::Verify(_)) => Ok(false),
            Err(e) => Err(e),
        };
    }
    for work in values() {
        if !has_values(source, plan, work, &made)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the variable's chunks and filters are those of the plan.
fn is_stored_so(plan: &Plan, v: VarId, made: &Dataset) -> bool {
    let ids = |filters: &[ncforge::model::Filter]| filters.iter().map(|f| f.id).collect::<Vec<_>>();
    match (&plan.schema.var(v).storage, &made.schema().var(v).storage) {
        (Storage::Chunked { chunks: a, filters: x }, Storage::Chunked { chunks: b, filters: y }) => {
            a == b && ids(x) == ids(y)
        }
        (Storage::Chunked { .. }, _) | (_, Storage::Chunked { .. }) => false,
        _ => true,
    }
}

/// Whether the chunks with a few parts of the variable have the access points that they can have.
fn has_points(plan: &Plan, work: &VarWork, made: &Dataset) -> Result<bool> {
    let to = work.moved.to;
    let layout = made.container().layout(to)?;
    let Some(Chunks { chunk, codecs, .. }) = layout.place.chunks() else { return Ok(true) };
    let codecs = codecs.clone().with_segments(plan.schema.var(to).access_points);
    let len = usize::try_from(shape::bytes(chunk, layout.element.size as u64)).unwrap_or(usize::MAX);
    for part in parts(&plan.schema.shape(to)) {
        let at: Vec<u64> = part.start.iter().zip(chunk).map(|(start, c)| start / c).collect();
        if let Some((bytes, mask)) = made.raw_chunk(to, &at)?.encoded()
            && codecs.add_segments(bytes, mask, len).is_some()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the output has the source's values in a few parts of the variable.
fn has_values(source: &Dataset, plan: &Plan, work: &VarWork, made: &Dataset) -> Result<bool> {
    let (shape, dtype) = (plan.schema.shape(work.moved.to), plan.schema.var(work.moved.to).dtype);
    if shape.contains(&0) {
        return Ok(true);
    }
    for part in parts(&shape) {
        let Some(size) = plan.schema.fixed_size(dtype) else {
            let wanted = source.read(work.moved.from, &part)?;
            match made.read(work.moved.to, &part) {
                Ok(found) if found == wanted => continue,
                _ => return Ok(false),
            }
        };
        let len = usize::try_from(part.len()).unwrap_or(usize::MAX) * size;
        let (mut wanted, mut found) = (Buffer::try_zeroed(len)?, Buffer::try_zeroed(len)?);
        source.read_bytes(work.moved.from, &part, &mut wanted)?;
        if let Some(rounding) = &work.quantize {
            quantized::round(source.engine(), rounding, dtype, &mut wanted)?;
        }
        if made.read_bytes(work.moved.to, &part, &mut found).is_err() || wanted[..] != found[..] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first, the middle and the last part of an array, each along the last dimensions, as far as they fit.
fn parts(shape: &[u64]) -> Vec<Hyperslab> {
    let mut left = PART;
    let mut count: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&n| {
            let here = n.min(left.max(1));
            left /= here.max(1);
            here
        })
        .collect();
    count.reverse();
    let at = |place: u64| {
        let start: Vec<u64> = shape.iter().zip(&count).map(|(n, c)| (n - c) * place / 2).collect();
        Hyperslab::new(&start, &count)
    };
    let mut all = vec![at(0), at(1), at(2)];
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_within_the_array() {
        for shape in [vec![], vec![1], vec![3, 5000], vec![7, 100, 300], vec![5, 1 << 40]] {
            let found = parts(&shape);
            assert!(!found.is_empty() && found.len() <= 3);
            for part in &found {
                assert!(part.check(&shape, "v").is_ok() && part.len() <= PART, "{shape:?} {part:?}");
            }
            let last = found.last().unwrap();
            assert!(shape.iter().enumerate().all(|(d, n)| last.start[d] + last.count[d] == *n));
        }
    }
}
