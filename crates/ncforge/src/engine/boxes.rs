//! Boxes of elements that lie in two places at once, and moving them from one to the other.
//!
//! A selection's part of a chunk, of a file's row-major array, of a caller's buffer: each is a box whose
//! elements stand at `origin + Σ index × step`. One list of [`Axis`] describes the box in both places, so that
//! axes which are adjacent in both are merged once, and the rest is one loop.

mod transpose;

use super::shared::SharedOut;
use crate::codec::kernels;
use crate::error::{Error, Result};
use crate::layout::{Element, Order};

/// Rows up to this many bytes, which go to places far from each other, are announced to the processor before they are
/// written: …
const SHORT_ROW: u64 = 256;
/// … this many of them at a time. It waits for one place after the other otherwise, which takes longer than all else.
const ANNOUNCED: usize = 16;

/// One axis of a box: how many elements, and the distance between neighbours in bytes, where they come from
/// and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) count: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Axis {
    /// The axis with source and destination exchanged.
    pub(super) fn reversed(self) -> Self {
        Self { count: self.count, from: self.to, to: self.from }
    }
}

/// Bytes from one element to the next on each axis of a dense row-major array.
pub(super) fn steps(shape: &[u64], size: usize) -> Result<Vec<u64>> {
    let mut steps = vec![0; shape.len()];
    let mut step = size as u64;
    for (slot, &n) in steps.iter_mut().zip(shape).rev() {
        *slot = step;
        step = step
            .checked_mul(n.max(1))
            .ok_or_else(|| Error::TooLarge(format!("an array of shape {shape:?} is too large to address")))?;
    }
    Ok(steps)
}

/// Merges axes (slowest first) that are adjacent on both sides, and drops those of one element. At least one
/// axis is left; no axis may have count 0.
pub(super) fn merge(axes: impl IntoIterator<Item = Axis>, size: usize) -> Vec<Axis> {
    let mut out: Vec<Axis> = Vec::with_capacity(4);
    for a in axes {
        if a.count == 1 {
            continue;
        }
        match out.last_mut() {
            Some(p)
                if Some(p.from) == a.from.checked_mul(a.count) && Some(p.to) == a.to.checked_mul(a.count) =>
            {
                *p = Axis { count: p.count * a.count, ..a };
            }
            _ => out.push(a),
        }
    }
    if out.is_empty() {
        out.push(Axis { count: 1, from: size as u64, to: size as u64 });
    }
    out
}

/// Whether merged axes are one run of bytes on both sides; then its length.
pub(super) fn single_run(axes: &[Axis], size: usize) -> Option<u64> {
    match axes {
        [a] if a.from == size as u64 && a.to == size as u64 => a.count.checked_mul(size as u64),
        _ => None,
    }
}

/// Moves a box of elements from `src` (its first element at byte `from`) into the destination (at byte `to`),
/// converting byte order on the way. Axes must be merged.
///
/// # Safety
/// Nobody else may touch the box's elements in the destination meanwhile.
///
/// # Panics
/// When the box is not inside `src` or the destination.
pub(super) unsafe fn move_box(
    src: &[u8],
    from: u64,
    out: &SharedOut<'_>,
    to: u64,
    axes: &[Axis],
    element: &Element,
) {
    let Some((row, outer)) = axes.split_last() else { return };
    if let Some(column) = transpose::column(axes, element) {
        let (inner, mut others) = (outer[column], outer.to_vec());
        others.remove(column);
        for_each_origin(&others, from, to, |f, t| {
            // SAFETY: the plane is part of the box, which is the caller's alone.
            unsafe { transpose::move_plane(src, f as usize, out, t as usize, &inner, row, element) };
        });
        return;
    }
    if row.count * row.to > SHORT_ROW {
        return for_each_origin(outer, from, to, |f, t| {
            // SAFETY: the row is part of the box, which is the caller's alone.
            unsafe { move_row(src, f as usize, out, t as usize, row, element) };
        });
    }
    // One batch is announced while the one before it is moved.
    let (mut next, mut before) = (Batch::default(), Batch::default());
    for_each_origin(outer, from, to, |f, t| {
        out.announce(t as usize);
        next.add(f, t);
        if next.len == ANNOUNCED {
            // SAFETY: the rows are part of the box, which is the caller's alone.
            unsafe { before.move_all(src, out, row, element) };
            std::mem::swap(&mut next, &mut before);
        }
    });
    // SAFETY: as above.
    unsafe {
        before.move_all(src, out, row, element);
        next.move_all(src, out, row, element);
    }
}

/// The two byte positions of some rows.
#[derive(Default)]
struct Batch {
    rows: [(u64, u64); ANNOUNCED],
    len: usize,
}

impl Batch {
    #[inline]
    fn add(&mut self, from: u64, to: u64) {
        self.rows[self.len] = (from, to);
        self.len += 1;
    }

    /// Moves its rows, and has none any more.
    ///
    /// # Safety
    /// As for [`move_box`].
    unsafe fn move_all(&mut self, src: &[u8], out: &SharedOut<'_>, row: &Axis, element: &Element) {
        let rows = &self.rows[..std::mem::take(&mut self.len)];
        let size = element.size as u64;
        if (row.from, row.to) != (size, size) {
            for &(f, t) in rows {
                // SAFETY: inside the caller's box.
                unsafe { move_row(src, f as usize, out, t as usize, row, element) };
            }
            return;
        }
        let len = (row.count * size) as usize;
        let mut both: [kernels::Row<'_>; ANNOUNCED] = std::array::from_fn(|_| (&[][..], &mut [][..]));
        for (slot, &(f, t)) in both.iter_mut().zip(rows) {
            // SAFETY: inside the caller's box, of which no two rows overlap.
            *slot = (&src[f as usize..][..len], unsafe { out.slice(t as usize, len) });
        }
        kernels::order_copy_rows(&mut both[..rows.len()], element);
    }
}

/// Calls `visit` with the two byte positions of every row of the outer axes, in row-major order.
pub(super) fn for_each_origin(outer: &[Axis], from: u64, to: u64, mut visit: impl FnMut(u64, u64)) {
    match outer {
        [] => visit(from, to),
        [a] => (0..a.count).for_each(|i| visit(from + i * a.from, to + i * a.to)),
        [a, b] => {
            for i in 0..a.count {
                let (from, to) = (from + i * a.from, to + i * a.to);
                (0..b.count).for_each(|j| visit(from + j * b.from, to + j * b.to));
            }
        }
        [a, rest @ ..] => {
            for i in 0..a.count {
                for_each_origin(
                    rest,
                    from + i * a.from,
                    to + i * a.to,
                    &mut visit as &mut dyn FnMut(u64, u64),
                );
            }
        }
    }
}

/// # Safety
/// As for [`move_box`].
unsafe fn move_row(src: &[u8], from: usize, out: &SharedOut<'_>, to: usize, row: &Axis, element: &Element) {
    let (n, size) = (row.count as usize, element.size);
    if row.from == size as u64 && row.to == size as u64 {
        let len = n * size;
        // SAFETY: inside the caller's box.
        let dst = unsafe { out.slice(to, len) };
        kernels::order_copy(&src[from..from + len], dst, element);
        return;
    }
    let swap = match &element.order {
        Order::Keep => false,
        Order::Swap(unit) if *unit == size => true,
        _ => {
            for i in 0..n {
                let at = from + i * row.from as usize;
                // SAFETY: inside the caller's box.
                let dst = unsafe { out.slice(to + i * row.to as usize, size) };
                kernels::order_copy(&src[at..at + size], dst, element);
            }
            return;
        }
    };
    // SAFETY: inside the caller's box.
    unsafe {
        match size {
            1 => strided::<1>(src, from, out, to, row, false),
            2 => strided::<2>(src, from, out, to, row, swap),
            4 => strided::<4>(src, from, out, to, row, swap),
            8 => strided::<8>(src, from, out, to, row, swap),
            _ => {
                for i in 0..n {
                    let at = from + i * row.from as usize;
                    kernels::order_copy(
                        &src[at..at + size],
                        out.slice(to + i * row.to as usize, size),
                        element,
                    );
                }
            }
        }
    }
}

/// # Safety
/// As for [`move_box`].
unsafe fn strided<const N: usize>(
    src: &[u8],
    from: usize,
    out: &SharedOut<'_>,
    to: usize,
    row: &Axis,
    swap: bool,
) {
    let put = |dst: &mut [u8], at: usize| {
        let mut one = [0u8; N];
        one.copy_from_slice(&src[at..at + N]);
        if swap {
            one.reverse();
        }
        dst.copy_from_slice(&one);
    };
    let (n, from_step, to_step) = (row.count as usize, row.from as usize, row.to as usize);
    if to_step == N {
        // SAFETY: inside the caller's box.
        let dst = unsafe { out.slice(to, n * N) };
        dst.chunks_exact_mut(N).enumerate().for_each(|(i, d)| put(d, from + i * from_step));
    } else {
        for i in 0..n {
            // SAFETY: inside the caller's box.
            put(unsafe { out.slice(to + i * to_step, N) }, from + i * from_step);
        }
    }
}

/// Fills a box of the destination with one element in native byte order; only the `to` side of the axes
/// counts. An empty `fill` means zeros.
///
/// # Safety
/// Nobody else may touch the box's elements in the destination meanwhile.
pub(super) unsafe fn fill_box(fill: &[u8], out: &SharedOut<'_>, to: u64, axes: &[Axis], size: usize) {
    let axes = merge(axes.iter().map(|a| Axis { from: a.to, ..*a }), size);
    let Some((row, outer)) = axes.split_last() else { return };
    for_each_origin(outer, 0, to, |_, t| {
        let (n, t) = (row.count as usize, t as usize);
        if row.to == size as u64 {
            // SAFETY: inside the caller's box.
            fill_run(fill, unsafe { out.slice(t, n * size) });
        } else {
            // SAFETY: inside the caller's box.
            (0..n).for_each(|i| fill_run(fill, unsafe { out.slice(t + i * row.to as usize, size) }));
        }
    });
}

/// Repeats `fill` over `out`, whose length is a multiple of it; zeros when `fill` is empty.
pub(super) fn fill_run(fill: &[u8], out: &mut [u8]) {
    let first = fill.first().copied().unwrap_or(0);
    if fill.iter().all(|&b| b == first) {
        out.fill(first);
        return;
    }
    let n = fill.len().min(out.len());
    out[..n].copy_from_slice(&fill[..n]);
    // Copy what is there until all is: first doubling, then by whole elements that stay in cache.
    let most = ((1 << 16) / fill.len() * fill.len()).max(fill.len());
    let mut done = n;
    while done < out.len() {
        let step = done.min(most).min(out.len() - done);
        out.copy_within(0..step, done);
        done += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Endian};

    #[test]
    fn adjacent_axes_merge() {
        let axes = |from: [u64; 3], to: [u64; 3]| {
            (0..3).map(move |d| Axis { count: [2, 3, 4][d], from: from[d], to: to[d] }).collect::<Vec<_>>()
        };
        let one = merge(axes([48, 16, 4], [48, 16, 4]), 4);
        assert_eq!(one, [Axis { count: 24, from: 4, to: 4 }]);
        assert_eq!(single_run(&one, 4), Some(96));
        assert_eq!(merge(axes([480, 16, 4], [48, 16, 4]), 4).len(), 2);
        assert_eq!(merge([Axis { count: 1, from: 9, to: 7 }], 4), [Axis { count: 1, from: 4, to: 4 }]);
    }

    #[test]
    fn boxes_move_with_steps_on_both_sides() {
        let src: Vec<u8> = (0..=255).collect();
        for (endian, size) in [(Endian::Little, 4), (Endian::Big, 4)] {
            let element = Element::atomic(Atomic::Int, endian);
            let axes = [Axis { count: 3, from: 40, to: 32 }, Axis { count: 4, from: 8, to: 8 }];
            let mut dst = vec![0u8; 128];
            // SAFETY: one thread.
            unsafe { move_box(&src, 2, &SharedOut::new(&mut dst), 4, &axes, &element) };
            for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let mut want = src[2 + i * 40 + j * 8..][..size].to_vec();
                kernels::order_in_place(&mut want, &element);
                assert_eq!(dst[4 + i * 32 + j * 8..][..size], want);
            }
            assert_eq!(dst[8..12], [0; 4]);
        }
    }

    #[test]
    fn short_rows_all_arrive() {
        let element = Element::atomic(Atomic::Short, Endian::Big);
        let src: Vec<u8> = (0..400).map(|i| (i % 251) as u8).collect();
        for rows in [1, 15, 16, 17, 31, 32, 33, 40] {
            let axes = [Axis { count: rows, from: 10, to: 14 }, Axis { count: 3, from: 2, to: 2 }];
            let mut dst = vec![0u8; 600];
            // SAFETY: one thread.
            unsafe { move_box(&src, 0, &SharedOut::new(&mut dst), 2, &axes, &element) };
            for i in 0..rows as usize {
                let mut want = src[i * 10..][..6].to_vec();
                kernels::order_in_place(&mut want, &element);
                assert_eq!(dst[2 + i * 14..][..6], want, "row {i} of {rows}");
            }
        }
    }

    #[test]
    fn planes_are_transposed() {
        for size in [1usize, 2, 4, 8] {
            for order in [Order::Keep, Order::Swap(size)] {
                let element = Element { size, order, heap: false };
                let (z, y, x) = (3u64, 37u64, 53u64);
                let src: Vec<u8> = (0..z * y * x * size as u64).map(|i| (i * 31 + i / 251) as u8).collect();
                let s = size as u64;
                // From z, y, x to x, z, y.
                let axes = [
                    Axis { count: z, from: y * x * s, to: y * s },
                    Axis { count: y, from: x * s, to: s },
                    Axis { count: x, from: s, to: z * y * s },
                ];
                let mut dst = vec![0u8; src.len()];
                // SAFETY: one thread.
                unsafe { move_box(&src, 0, &SharedOut::new(&mut dst), 0, &axes, &element) };
                for (i, j, k) in (0..z).flat_map(|i| (0..y).flat_map(move |j| (0..x).map(move |k| (i, j, k))))
                {
                    let mut want = src[((i * y + j) * x + k) as usize * size..][..size].to_vec();
                    kernels::order_in_place(&mut want, &element);
                    assert_eq!(dst[((k * z + i) * y + j) as usize * size..][..size], want);
                }
            }
        }
    }

    #[test]
    fn fill_repeats_its_pattern() {
        for size in [1usize, 2, 3, 8, 12] {
            let fill: Vec<u8> = (1..=size as u8).collect();
            for n in [1, 2, 7, 100_000] {
                let mut out = vec![0; size * n];
                fill_run(&fill, &mut out);
                assert!(out.chunks(size).all(|c| c == fill), "{size} {n}");
            }
        }
        let mut out = [7; 5];
        fill_run(&[], &mut out);
        assert_eq!(out, [0; 5]);
    }
}
