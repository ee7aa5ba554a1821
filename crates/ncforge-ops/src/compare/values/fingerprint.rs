//! Equality of two arrays that are cut so differently that no box suits both.
//!
//! Walking two badly crossing layouts box by box decodes one of them many times over when memory is short. Whether
//! they are *equal* can be found in one pass over each, in its own order: every element gives a hash of its
//! index and its value, and the sum of all hashes does not depend on the order. Equal sums of 64 bits mean equal
//! arrays, but for a chance of 1 in 2^64; different sums mean that the boxes must be walked after all, to say
//! where.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::boxes::Walk;
use crate::progress::{Progress, check_stop};
use ncforge::model::{Atomic, VarId};
use ncforge::raw::unravel;
use ncforge::{Buffer, Dataset, Hyperslab, Result};

/// Elements that one thread hashes at a time.
const GRAIN: u64 = 1 << 18;

/// The sum over all elements of a variable, read in the order of `walk`.
pub(super) fn sum(d: &Dataset, v: VarId, kind: Atomic, walk: &Walk, progress: &dyn Progress) -> Result<u64> {
    let size = kind.size();
    let total = AtomicU64::new(0);
    let mut buffer = Buffer::zeroed(0);
    for i in 0..walk.len() {
        check_stop(progress, "comparison")?;
        let slab = walk.box_at(i);
        let len = slab.len() as usize * size;
        if buffer.len() < len {
            buffer = Buffer::try_zeroed(len)?;
        }
        d.read_bytes(v, &slab, &mut buffer[..len])?;
        let bytes = &buffer[..len];
        let n = slab.len();
        d.engine().for_each(n.div_ceil(GRAIN) as usize, |piece| {
            let from = piece as u64 * GRAIN;
            let part = sum_piece(bytes, kind, &slab, &walk.grid.shape, from, (from + GRAIN).min(n));
            total.fetch_add(part, Ordering::Relaxed);
            Ok(())
        })?;
        progress.advance(len as u64 / 2);
    }
    Ok(total.into_inner())
}

/// The sum over elements `from..to` of a box.
fn sum_piece(bytes: &[u8], kind: Atomic, slab: &Hyperslab, shape: &[u64], from: u64, to: u64) -> u64 {
    let size = kind.size();
    let row = slab.count.last().copied().unwrap_or(1);
    let mut sum = 0u64;
    let mut at = from;
    while at < to {
        // To the end of the row: there the indexes in the array are consecutive.
        let n = (row - at % row).min(to - at);
        let place = unravel(at, &slab.count);
        let index = (0..shape.len())
            .fold(0u64, |x, d| x.wrapping_mul(shape[d]).wrapping_add(slab.start[d] + place[d]));
        let run = &bytes[at as usize * size..(at + n) as usize * size];
        sum = sum.wrapping_add(match kind {
            Atomic::Float => hashes::<4>(run, index, |b| {
                let bits = u64::from(u32::from_ne_bytes(b));
                if f32::from_bits(bits as u32).is_nan() { u64::from(f32::NAN.to_bits()) } else { bits }
            }),
            Atomic::Double => hashes::<8>(run, index, |b| {
                let bits = u64::from_ne_bytes(b);
                if f64::from_bits(bits).is_nan() { f64::NAN.to_bits() } else { bits }
            }),
            _ => match size {
                1 => hashes::<1>(run, index, |b| u64::from(b[0])),
                2 => hashes::<2>(run, index, |b| u64::from(u16::from_ne_bytes(b))),
                4 => hashes::<4>(run, index, |b| u64::from(u32::from_ne_bytes(b))),
                _ => hashes::<8>(run, index, u64::from_ne_bytes),
            },
        });
        at += n;
    }
    sum
}

fn hashes<const N: usize>(run: &[u8], first: u64, bits: impl Fn([u8; N]) -> u64) -> u64 {
    let (elements, _) = run.as_chunks::<N>();
    elements.iter().zip(first..).fold(0u64, |sum, (&e, index)| {
        sum.wrapping_add(mix(bits(e) ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    })
}

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the result.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::{Side, price};

    fn total(values: &[f32], shape: &[u64], lens: &[u64]) -> u64 {
        let walk = price(shape, 4, &[Side::Free], lens);
        let all = Hyperslab::all(shape);
        (0..walk.len())
            .map(|i| {
                let slab = walk.box_at(i);
                let mut bytes = Vec::new();
                for k in 0..slab.len() {
                    let at: Vec<u64> =
                        unravel(k, &slab.count).iter().zip(&slab.start).map(|(a, s)| a + s).collect();
                    let index = (0..3).fold(0, |x, d| x * all.count[d] + at[d]);
                    bytes.extend(values[index as usize].to_ne_bytes());
                }
                let half = slab.len() / 2;
                sum_piece(&bytes, Atomic::Float, &slab, shape, 0, half).wrapping_add(sum_piece(
                    &bytes,
                    Atomic::Float,
                    &slab,
                    shape,
                    half,
                    slab.len(),
                ))
            })
            .fold(0, u64::wrapping_add)
    }

    #[test]
    fn the_order_does_not_matter_and_every_value_does() {
        let shape = [5, 7, 9];
        let mut values: Vec<f32> = (0..315).map(|i| (i % 100) as f32).collect();
        let slabs = total(&values, &shape, &[1, 7, 9]);
        assert_eq!(slabs, total(&values, &shape, &[5, 2, 4]));
        values.swap(3, 40);
        assert_ne!(slabs, total(&values, &shape, &[5, 2, 4]));
        values.swap(3, 40);
        values[17] = f32::NAN;
        let one = total(&values, &shape, &[5, 7, 9]);
        values[17] = f32::from_bits(0xFFC0_0001);
        assert_eq!(one, total(&values, &shape, &[1, 1, 1]));
    }
}
