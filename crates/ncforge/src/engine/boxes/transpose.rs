//! Moving a box whose fastest axis here is not the fastest there.
//!
//! Row by row, every element would touch a cache line of its own at the destination, and be gone from the cache before
//! its neighbour comes. Square tiles use every line that they touch in full, on both sides: read a tile row by row
//! into registers' reach, write it column by column.

use super::super::shared::SharedOut;
use super::Axis;
use crate::layout::{Element, Order};

/// Elements on each side of a tile: a cache line of four-byte elements.
const TILE: usize = 16;

/// Which of the outer axes is the fastest one at the destination, if the box is worth transposing: the last axis has
/// no gaps at the source only.
pub(super) fn column(axes: &[Axis], element: &Element) -> Option<usize> {
    let (row, outer) = axes.split_last()?;
    let size = element.size as u64;
    let plain = match element.order {
        Order::Keep => true,
        Order::Swap(unit) => unit == element.size,
        Order::Fields(_) => false,
    };
    if !plain || !matches!(size, 1 | 2 | 4 | 8) || row.from != size || row.to == size || row.count < 4 {
        return None;
    }
    outer.iter().position(|a| a.to == size && a.count >= 4)
}

/// Moves one plane: `inner` lies without gaps at the destination, `row` at the source.
///
/// # Safety
/// Nobody else may touch the plane's elements in the destination meanwhile.
///
/// # Panics
/// When the plane is not inside `src` or the destination.
pub(super) unsafe fn move_plane(
    src: &[u8],
    from: usize,
    out: &SharedOut<'_>,
    to: usize,
    inner: &Axis,
    row: &Axis,
    element: &Element,
) {
    let swap = element.order != Order::Keep;
    // SAFETY: as for us.
    unsafe {
        match element.size {
            1 => tiles::<1>(src, from, out, to, inner, row, false),
            2 => tiles::<2>(src, from, out, to, inner, row, swap),
            4 => tiles::<4>(src, from, out, to, inner, row, swap),
            8 => tiles::<8>(src, from, out, to, inner, row, swap),
            _ => unreachable!("other sizes are not transposed"),
        }
    }
}

/// # Safety
/// As for [`move_plane`].
unsafe fn tiles<const N: usize>(
    src: &[u8],
    from: usize,
    out: &SharedOut<'_>,
    to: usize,
    inner: &Axis,
    row: &Axis,
    swap: bool,
) {
    let (rows, columns) = (inner.count as usize, row.count as usize);
    let mut tile = [[[0u8; N]; TILE]; TILE];
    for j in (0..columns).step_by(TILE) {
        let width = TILE.min(columns - j);
        for i in (0..rows).step_by(TILE) {
            let height = TILE.min(rows - i);
            for (k, line) in tile.iter_mut().enumerate().take(height) {
                let at = from + (i + k) * inner.from as usize + j * N;
                for (slot, e) in line.iter_mut().zip(src[at..at + width * N].chunks_exact(N)) {
                    slot.copy_from_slice(e);
                }
            }
            for c in 0..width {
                // SAFETY: inside the caller's plane.
                let dst = unsafe { out.slice(to + (j + c) * row.to as usize + i * N, height * N) };
                for (slot, line) in dst.chunks_exact_mut(N).zip(&tile) {
                    let mut e = line[c];
                    if swap {
                        e.reverse();
                    }
                    slot.copy_from_slice(&e);
                }
            }
        }
    }
}
