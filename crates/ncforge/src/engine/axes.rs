//! A selection as axes: where its elements lie in a store, and in memory.

use super::boxes::{self, Axis};
use crate::error::{Error, Result};
use crate::layout::{Order, Place, VarLayout};
use crate::select::Hyperslab;

/// Runs of up to this many bytes are read in the shortest way; larger ones may be worth several threads.
const LONGEST: u64 = 64 << 10;

/// Byte offset and length of the run that a selection is, if it is one and lies inside what the store holds.
/// `None` says nothing about the selection: it may be several runs, long, or wrong.
pub(super) fn run(layout: &VarLayout, slab: &Hyperslab) -> Option<(u64, usize)> {
    let rank = layout.shape.len();
    if slab.start.len() != rank || slab.count.len() != rank || slab.stride.len() != rank {
        return None;
    }
    if layout.element.heap || matches!(layout.element.order, Order::Fields(_)) {
        return None;
    }
    let (base, records) = match layout.place {
        Place::Contiguous { offset } => (offset, None),
        Place::Records { begin, stride } => (begin, Some(stride)),
        _ => return None,
    };
    // From the fastest dimension on: bytes of one step, bytes of the run so far, and whether it may still grow.
    let mut step = layout.element.size as u64;
    let (mut from, mut bytes, mut open) = (0u64, step, true);
    for d in (0..rank).rev() {
        let (start, count, len) = (slab.start[d], slab.count[d], layout.shape[d]);
        if count == 0 || start.checked_add(count)? > len || (count > 1 && (slab.stride[d] != 1 || !open)) {
            return None;
        }
        if d == 0
            && let Some(stride) = records
        {
            // Records may have others between them.
            if count > 1 && stride != step {
                return None;
            }
            step = stride;
        }
        from = from.checked_add(start.checked_mul(step)?)?;
        bytes = bytes.checked_mul(count)?;
        open = open && count == len;
        step = step.checked_mul(len)?;
    }
    let offset = base.checked_add(from)?;
    (bytes <= LONGEST).then_some((offset, bytes as usize))
}

/// Whether a selection is one run of bytes, read from the store itself at each request.
pub(crate) fn is_run(layout: &VarLayout, slab: &Hyperslab) -> bool {
    run(layout, slab).is_some()
}

/// A selection of a dense row-major array: byte of its first element, and its axes.
pub(super) fn dense_axes(
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
) -> Result<(u64, Vec<Axis>)> {
    axes_of(&boxes::steps(&layout.shape, layout.element.size)?, slab, memory_steps, &layout.name)
}

/// A selection of classic records: byte of its first element from record 0, and its axes.
pub(super) fn record_axes(
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
    stride: u64,
) -> Result<(u64, Vec<Axis>)> {
    let mut steps = boxes::steps(layout.shape.get(1..).unwrap_or(&[]), layout.element.size)?;
    steps.insert(0, stride);
    axes_of(&steps, slab, memory_steps, &layout.name)
}

fn axes_of(
    file_steps: &[u64],
    slab: &Hyperslab,
    memory_steps: &[u64],
    name: &str,
) -> Result<(u64, Vec<Axis>)> {
    let too_far = || Error::TooLarge(format!("`{name}` reaches beyond any file"));
    let mut first = 0u64;
    let mut axes = Vec::with_capacity(slab.rank());
    for d in 0..slab.rank() {
        let last = slab.end(d).saturating_sub(1).checked_mul(file_steps[d]);
        last.and_then(|n| n.checked_add(first)).filter(|&n| i64::try_from(n).is_ok()).ok_or_else(too_far)?;
        first += slab.start[d] * file_steps[d];
        let from = if slab.count[d] > 1 { file_steps[d] * slab.stride[d] } else { 0 };
        axes.push(Axis { count: slab.count[d], from, to: memory_steps[d] });
    }
    Ok((first, axes))
}

/// The box of a selection as it lies in memory, for filling.
pub(super) fn memory_axes(count: &[u64], out_steps: &[u64]) -> Vec<Axis> {
    count.iter().zip(out_steps).map(|(&count, &to)| Axis { count, from: to, to }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Absent, Element};
    use crate::model::{Atomic, Endian};

    fn layout(shape: &[u64], place: Place) -> VarLayout {
        let element = Element::atomic(Atomic::Short, Endian::Big);
        VarLayout { name: "v".into(), shape: shape.to_vec(), element, absent: Absent::As(vec![0; 2]), place }
    }

    fn slab(start: &[u64], count: &[u64]) -> Hyperslab {
        Hyperslab { start: start.to_vec(), count: count.to_vec(), stride: vec![1; start.len()] }
    }

    #[test]
    fn runs_are_found_and_nothing_else() {
        let fixed = layout(&[4, 5, 6], Place::Contiguous { offset: 100 });
        let run = |s, c| run(&fixed, &slab(s, c));
        assert_eq!(run(&[1, 2, 3], &[1, 1, 1]), Some((100 + 2 * (30 + 12 + 3), 2)));
        assert_eq!(run(&[1, 2, 3], &[1, 1, 3]), Some((100 + 2 * (30 + 12 + 3), 6)));
        assert_eq!(run(&[1, 2, 0], &[1, 2, 6]), Some((100 + 2 * (30 + 12), 24)));
        assert_eq!(run(&[0, 0, 0], &[4, 5, 6]), Some((100, 240)));
        assert_eq!(run(&[0, 2, 0], &[2, 1, 6]), None);
        assert_eq!(run(&[0, 0, 1], &[1, 2, 1]), None);
        assert_eq!(run(&[0, 0, 4], &[1, 1, 3]), None, "beyond the end");
        assert_eq!(run(&[0, 0, 4], &[1, 1, 0]), None, "nothing");
        assert_eq!(run(&[0, u64::MAX, 4], &[1, 2, 1]), None, "nowhere");
        assert_eq!(run(&[0, 0], &[1, 1]), None, "another rank");
    }

    #[test]
    fn a_stride_counts_only_where_there_is_a_second_value() {
        let fixed = layout(&[4, 6], Place::Contiguous { offset: 0 });
        let strided = |count| Hyperslab { stride: vec![1, 3], ..slab(&[1, 0], &[1, count]) };
        assert_eq!(run(&fixed, &strided(1)), Some((12, 2)));
        assert_eq!(run(&fixed, &strided(2)), None);
    }

    #[test]
    fn records_are_one_run_only_without_gaps() {
        let apart = layout(&[9, 6], Place::Records { begin: 10, stride: 40 });
        assert_eq!(run(&apart, &slab(&[2, 0], &[1, 6])), Some((90, 12)));
        assert_eq!(run(&apart, &slab(&[2, 0], &[2, 6])), None);
        let alone = layout(&[9, 6], Place::Records { begin: 10, stride: 12 });
        assert_eq!(run(&alone, &slab(&[2, 0], &[2, 6])), Some((34, 24)));
        assert_eq!(
            run(&layout(&[3], Place::Records { begin: 0, stride: 8 }), &slab(&[2], &[1])),
            Some((16, 2))
        );
    }

    #[test]
    fn scalars_are_runs() {
        assert_eq!(run(&layout(&[], Place::Contiguous { offset: 8 }), &slab(&[], &[])), Some((8, 2)));
    }
}
