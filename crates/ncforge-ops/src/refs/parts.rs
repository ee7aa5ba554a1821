//! The parts of a variable: the box of it that each file holds.
//!
//! A variable of a file is one part; of several files that are joined it has one of each, of which a selection takes some, or cuts them.
//! The layouts of the whole say so, down to the one of each file.

use std::ops::Range;
use std::sync::Arc;

use super::source::{Source, refuse_zipped};
use ncforge::Result;
use ncforge::model::VarId;
use ncforge::raw::{ArrayPart, Stretch, VarLayout, coordinates};
use ncforge::store::ReadStore;

/// A box of a variable that one file holds.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The number of the file.
    pub(super) file: usize,
    /// For each dimension, its elements in the variable, where they are adjacent, and in the file's.
    pub(super) axes: Vec<Stretch>,
    /// The file's variable, …
    pub(super) layout: Arc<VarLayout>,
    /// … and its bytes.
    pub(super) store: Arc<dyn ReadStore>,
}

impl Part {
    /// The first element.
    pub(super) fn start(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.to).collect()
    }

    /// Elements along each dimension.
    pub(super) fn count(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.count).collect()
    }
}

/// The reason why a variable has no such parts.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    /// The file that is to blame.
    pub(super) file: usize,
    pub(super) why: String,
}

/// The parts of a variable, in their order; none if it is empty.
pub(super) fn parts(source: &Source, v: VarId) -> Result<Result<Vec<Part>, Misfit>> {
    let shape = source.dataset.schema().shape(v);
    let mut found = Vec::new();
    if shape.contains(&0) {
        return Ok(Ok(found));
    }
    let all = Part {
        file: 0,
        axes: shape.iter().map(|&n| Stretch::run(0, 0, n)).collect(),
        layout: source.dataset.layout(v)?,
        store: source.dataset.container().store().clone(),
    };
    Ok(take(source, all, &mut found)?.map(|()| found))
}

/// Takes a part, or what it is made of.
fn take(source: &Source, part: Part, found: &mut Vec<Part>) -> Result<Result<(), Misfit>> {
    let number = source.number(&*part.store);
    let misfit = |why: &str| Ok(Err(Misfit { file: number.unwrap_or(0), why: why.to_owned() }));
    let layout = part.layout.clone();
    let within: Vec<Range<u64>> = part.axes.iter().map(|axis| axis.from..last(axis) + 1).collect();
    let inner = layout.place.parts().map_or_else(|| Ok(Vec::new()), |parts| parts.meeting(&within))?;
    // A source with a name is a variable to which a file leads: this one is the file's.
    if inner.iter().all(|inner| inner.source.name().is_some()) {
        refuse_zipped(&*part.store)?;
        let Some(file) = number else { return misfit("its values lie in no file that was given") };
        found.push(Part { file, ..part });
        return Ok(Ok(()));
    }
    for inner in inner {
        let Some(open) = inner.source.open()? else { return misfit("a file lacks it") };
        if open.convert().is_some() {
            return misfit("its values are converted, as they have other units in other files");
        }
        for axes in met(&part.axes, &inner) {
            let part = Part { file: 0, axes, layout: open.layout()?, store: open.store().clone() };
            if let Err(misfit) = take(source, part, found)? {
                return Ok(Err(misfit));
            }
        }
    }
    Ok(Ok(()))
}

/// What a box takes of a part: boxes whose elements are adjacent, or lie at equal distances in the source.
fn met(axes: &[Stretch], part: &ArrayPart) -> Vec<Vec<Stretch>> {
    let met: Vec<Vec<Stretch>> = axes
        .iter()
        .zip(&part.axes)
        .map(|(own, of_part)| of_part.stretches.iter().filter_map(|s| through(own, s)).collect())
        .collect();
    let ranges: Vec<Range<u64>> = met.iter().map(|axis| 0..axis.len() as u64).collect();
    coordinates(&ranges).map(|at| at.iter().zip(&met).map(|(&i, axis)| axis[i as usize]).collect()).collect()
}

/// The elements of a stretch whose source is an array of which another stretch is adjacent elements, in the source of that.
fn through(own: &Stretch, other: &Stretch) -> Option<Stretch> {
    let below = |end: u64| end.saturating_sub(own.from).div_ceil(own.from_step).min(own.count);
    let (first, end) = (below(other.to), below(other.to.saturating_add(other.count)));
    let count = end.checked_sub(first).filter(|&n| n > 0)?;
    let between = own.from + first * own.from_step;
    let from = other.from + (between - other.to) * other.from_step;
    Some(Stretch { to: own.to + first, to_step: 1, from, from_step: own.from_step * other.from_step, count })
}

/// The last element of a stretch in its source.
pub(super) fn last(axis: &Stretch) -> u64 {
    axis.from + (axis.count - 1) * axis.from_step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_of_joined_files() {
        let every = |from, from_step, count| Stretch { to: 0, to_step: 1, from, from_step, count };
        // Every third element of 20, of which a file has the elements 7 to 12.
        let file = Stretch::run(7, 0, 6);
        let met = through(&every(1, 3, 7), &file);
        assert_eq!(met, Some(Stretch { to: 2, to_step: 1, from: 0, from_step: 3, count: 2 }));
        assert_eq!(through(&every(14, 1, 6), &file), None);
        assert_eq!(through(&every(0, 1, 20), &file), Some(Stretch::run(7, 0, 6)));
        assert_eq!(through(&every(10, 1, 10), &file), Some(Stretch::run(0, 3, 3)));
    }
}
