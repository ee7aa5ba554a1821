//! Where the parts of a sample lie, and how large they are.

use crate::boxes::each_row;
use ncforge::model::shape;
use ncforge::raw::{Chunks, VarLayout, unravel};
use ncforge::{Buffer, Hyperslab, Result};
use ncforge_tune::coding::SIZES;
use ncforge_tune::{Coding, Grid, Machine};

/// The sizes whose stored bytes are sampled; nothing smaller is read.
pub(super) const SMALL: usize = 1;
pub(super) const LARGE: usize = 3;
/// The least cost of a chunk, in bytes: finding it takes the time of as many.
const OF_CHUNK: f64 = 512.0;
/// Neighbouring chunks are read together if that takes this many times as long as one of them.
const TOGETHER_COST: f64 = 1.25;

/// The cost limit of looking at chunks of one shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Bytes that may be encoded, but for one part.
    pub(crate) encoded: u64,
    /// Bytes that may be read, and decoded where the source's chunks are.
    pub(crate) read: u64,
}

/// Box number `i`: as large as `limit` allows, with the array's proportions; or, where too much would have to be
/// read for that, of whole rows; or inside one chunk, of which all is decoded for it.
pub(super) fn sampled_box(layout: &VarLayout, i: u64, limit: Limit) -> Option<Hyperslab> {
    let element = layout.element.size as u64;
    let at = |shape: &[u64]| -> Vec<u64> {
        layout.shape.iter().zip(shape).enumerate().map(|(d, (n, c))| place(i, d, n - c)).collect()
    };
    // Whole rows have nothing between them that would be read in vain.
    for shape_of in [part_shape, shortened] {
        for size in SIZES[SMALL..].iter().rev() {
            let shape = shape_of(&layout.shape, element, *size);
            let slab = Hyperslab::new(&at(&shape), &shape);
            if decoded(layout, &slab) <= limit.encoded {
                return Some(slab);
            }
        }
    }
    let Chunks { chunk, .. } = layout.place.chunks()?;
    let mut start = at(&vec![1; chunk.len()]);
    let mut space = chunk.to_vec();
    for d in 0..start.len() {
        start[d] -= start[d] % chunk[d].max(1);
        space[d] = chunk[d].min(layout.shape[d] - start[d]);
    }
    let size = SIZES.iter().rev().find(|&&size| size <= limit.encoded).unwrap_or(&SIZES[SMALL]);
    let slab = Hyperslab::new(&start, &part_shape(&space, element, *size));
    (decoded(layout, &slab) <= limit.read).then_some(slab)
}

/// A box out of a row-major array of `shape`.
pub(super) fn cut(bytes: &[u8], shape: &[u64], start: &[u64], count: &[u64], element: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(count.iter().product::<u64>() as usize * element);
    each_row(shape, start, count, element, |_, outside| out.extend_from_slice(&bytes[outside]));
    out
}

/// A whole chunk of which `count` lies in the array: what sticks out is stored, too, as fill, and decodes more slowly
/// than values do.
pub(super) fn padded(values: &[u8], count: &[u64], shape: &[u64], layout: &VarLayout) -> Result<Buffer> {
    let element = layout.element.size;
    let mut chunk = Buffer::try_zeroed(shape.iter().product::<u64>() as usize * element)?;
    let fill = layout.unwritten();
    chunk.chunks_exact_mut(element).for_each(|e| e.copy_from_slice(&fill));
    each_row(shape, &vec![0; shape.len()], count, element, |inside, outside| {
        chunk[outside].copy_from_slice(&values[inside]);
    });
    Ok(chunk)
}

/// How many parts of `shape` along every axis, `most` at most, come with one for nothing (or nearly so: [`TOGETHER_COST`]), because what lies
/// between its rows must be read or decoded anyway.
pub(super) fn neighbours(layout: &VarLayout, shape: &[u64], chunk: &[u64], most: u64) -> Vec<u64> {
    let zeros = vec![0; shape.len()];
    let cost = |count: &[u64]| decoded(layout, &Hyperslab::new(&zeros, count)) as f64;
    let (mut count, mut parts) = (shape.to_vec(), vec![1; shape.len()]);
    let least = cost(&count);
    for d in (0..shape.len()).rev() {
        let len = layout.shape[d];
        let space = if shape[d] == chunk[d] { len.div_ceil(shape[d]) } else { len / shape[d] };
        let mut n = (most / parts.iter().product::<u64>().max(1)).min(space);
        while n > 1 {
            count[d] = shape[d].saturating_mul(n).min(len);
            if cost(&count) <= least * TOGETHER_COST {
                parts[d] = n;
                break;
            }
            n /= 2;
            count[d] = shape[d];
        }
    }
    parts
}

/// Box number `i` of neighbouring parts of `shape`, `together` along every axis, of an array of `lens`; and where each begins in the box.
/// On axes on which parts are as long as a chunk they are chunks. All chunks are met alike: those of an axis are divided into groups
/// that are as even as can be, for a chunk that is cut off at the end must not be met more often than it is there.
pub(super) fn group(
    i: u64,
    lens: &[u64],
    shape: &[u64],
    chunk: &[u64],
    together: &[u64],
) -> (Hyperslab, Vec<Vec<u64>>) {
    let (mut start, mut count, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..lens.len() {
        let (from, n) = if shape[d] == chunk[d] {
            let chunks = lens[d].div_ceil(chunk[d]);
            let groups = chunks.div_ceil(together[d]);
            let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
            let own = (wide(place(i, d, chunks - 1), groups) / u128::from(chunks)) as u64;
            let first = |group: u64| wide(group, chunks).div_ceil(u128::from(groups)) as u64;
            (first(own) * chunk[d], first(own + 1) - first(own))
        } else {
            (place(i, d, lens[d] - shape[d] * together[d]), together[d])
        };
        start.push(from);
        count.push((shape[d].saturating_mul(n)).min(lens[d] - from));
        parts.push(n);
    }
    let starts = (0..parts.iter().product::<u64>())
        .map(|k| unravel(k, &parts).iter().zip(shape).map(|(k, c)| k * c).collect())
        .collect();
    (Hyperslab::new(&start, &count), starts)
}

/// The selection of chunk number `i` in an array of `lens`.
pub(super) fn nth(i: u64, lens: &[u64], chunk: &[u64]) -> Hyperslab {
    let chunks: Vec<u64> = lens.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let start: Vec<u64> = unravel(i, &chunks).iter().zip(chunk).map(|(k, c)| k * c).collect();
    let count: Vec<u64> = (0..lens.len()).map(|d| chunk[d].min(lens[d] - start[d])).collect();
    Hyperslab::new(&start, &count)
}

/// A box of about `bytes`, with the proportions of the array.
pub(super) fn part_shape(shape: &[u64], element: u64, bytes: u64) -> Vec<u64> {
    let wanted = (bytes / element.max(1)).max(1);
    let mut part: Vec<u64> = shape.to_vec();
    // Halving the longest side in proportion keeps the box similar to the array until sides are down to 1.
    let total: f64 = shape.iter().map(|&n| n as f64).product();
    let scale = (wanted as f64 / total).min(1.0).powf(1.0 / shape.len() as f64);
    for (p, &n) in part.iter_mut().zip(shape) {
        *p = ((n as f64 * scale).round() as u64).clamp(1, n);
    }
    // Lengths lost by rounding go to the fastest axes.
    for d in (0..part.len()).rev() {
        let volume = shape::elements(&part);
        if volume < wanted {
            part[d] = (part[d].saturating_mul(wanted / volume.max(1))).clamp(part[d], shape[d]);
        }
    }
    part
}

/// The first rows of a box, as many of the slowest axis (then of the next) as `bytes` have space for.
pub(super) fn shortened(shape: &[u64], element: u64, bytes: u64) -> Vec<u64> {
    let mut part = shape.to_vec();
    for d in 0..part.len() {
        let row = shape::bytes(&part[d + 1..], element.max(1));
        part[d] = (bytes / row).clamp(1, shape[d]);
        if part[d] > 1 {
            break;
        }
    }
    part
}

/// A start below or at `most`, spread over the range for different parts, the same in every run.
///
/// Along every axis the first 2, 4, 8 … parts have one place in each half, quarter, eighth … of the range, in an order of the
/// axis's own: however few are taken, land and sea (or rain and none) have their share of them. The sequence is van der
/// Corput's, scrambled as by A. Owen ("Scrambling Sobol' and Niederreiter-Xing points", J. Complexity 14, 1998) with the hash of
/// S. Laine and T. Karras ("Stratified sampling for stochastic transparency", EGSR 2011).
pub(super) fn place(part: u64, axis: usize, most: u64) -> u64 {
    let mut x = (part as u32).wrapping_add((axis as u32 + 1).wrapping_mul(0x9E37_79B9));
    for factor in [0x6C50_B47C_u32, 0xB82F_1E52, 0xC7AF_E638, 0x8D22_F6E6] {
        // Even factors: a bit depends on those below it only, which keeps places of neighbouring parts apart.
        x ^= x.wrapping_mul(factor);
    }
    let turn = f64::from(x.reverse_bits()) / f64::from(u32::MAX);
    (turn * (most as f64 + 1.0)).min(most as f64) as u64
}

/// The beginning of one of the chunks of length `c` along an axis of `n`; of the last one, where it is cut off, that of the last `c`
/// elements.
pub(super) fn beginning(part: u64, axis: usize, n: u64, c: u64) -> u64 {
    (place(part, axis, n.div_ceil(c) - 1) * c).min(n - c)
}

/// Bytes that must be decoded (or read) for a box of the variable.
pub(super) fn decoded(layout: &VarLayout, slab: &Hyperslab) -> u64 {
    let element = layout.element.size as u64;
    let (chunk, coding) = match layout.place.chunks() {
        Some(Chunks { chunk, codecs, .. }) if !codecs.is_empty() => (Some(chunk), Coding::deflate(1)),
        _ => (None, Coding::none()),
    };
    let grid = Grid { lens: &layout.shape, chunk, element, coding };
    let cost = grid.at(&slab.start, &slab.count, &Machine::default());
    cost.decoded.max(cost.fetched).max(cost.chunks * OF_CHUNK).max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::raw::{Absent, Element, Order, Place};

    #[test]
    fn long_chunks_are_shortened_from_the_slowest_axis_on() {
        assert_eq!(shortened(&[2, 916, 312], 4, 512 << 10), [1, 420, 312]);
        assert_eq!(shortened(&[14, 39, 13], 4, 512 << 10), [14, 39, 13]);
        assert_eq!(shortened(&[3, 1 << 40], 4, 4096), [1, 1024]);
        assert_eq!(shortened(&[7, 1, 1 << 62, 1 << 62], 8, 4096), [1, 1, 1, 512]);
    }

    #[test]
    fn few_places_are_spread_over_all_of_an_axis() {
        for axis in 0..8 {
            for n in [2, 4, 8, 16, 64] {
                let mut seen: Vec<u64> = (0..n).map(|i| place(i, axis, n - 1)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..n).collect::<Vec<_>>(), "axis {axis}, {n} places");
            }
        }
        // The axes' orders are their own: places do not lie on a diagonal.
        let diagonal = (0..64).filter(|&i| place(i, 0, 7) == place(i, 1, 7)).count();
        assert!(diagonal < 24, "{diagonal}");
        // All chunks are met, the one that is cut off at the end too.
        let mut met: Vec<u64> = (0..4).map(|i| beginning(i, 3, 1442, 361)).collect();
        met.sort_unstable();
        assert_eq!(met, [0, 361, 722, 1081]);
    }

    /// Every chunk is met as often as any other, within one group's difference, also one that is cut off.
    #[test]
    fn groups_meet_all_chunks_alike() {
        for (len, chunk, together) in
            [(23, 6, 1), (23, 6, 3), (31, 16, 2), (31, 16, 8), (1000, 7, 4), (5, 5, 1)]
        {
            let chunks = u64::div_ceil(len, chunk);
            let mut met = vec![0; chunks as usize];
            for i in 0..1024 {
                let (slab, starts) = group(i, &[9, len], &[1, chunk], &[9, chunk], &[1, together]);
                assert!(slab.start[1] + slab.count[1] <= len && slab.count[0] == 1);
                assert_eq!(slab.start[1] % chunk, 0);
                starts.iter().for_each(|s| met[((slab.start[1] + s[1]) / chunk) as usize] += 1);
            }
            let (least, most) = (met.iter().min().unwrap(), met.iter().max().unwrap());
            assert!(
                *least > 0 && f64::from(*most) <= 1.6 * f64::from(*least),
                "{len} {chunk} {together}: {met:?}"
            );
        }
        // Of an axis along which chunks are looked at in part, any place will do, but nothing outside.
        for i in 0..64 {
            let (slab, starts) = group(i, &[100], &[7], &[50], &[3]);
            assert_eq!((slab.count[0], starts.len()), (21, 3));
            assert!(slab.start[0] + 21 <= 100);
        }
    }

    #[test]
    fn every_element_is_in_one_chunk() {
        let (lens, chunk) = ([7, 10], [3, 4]);
        let all: Vec<Hyperslab> = (0..9).map(|i| nth(i, &lens, &chunk)).collect();
        assert_eq!(all.iter().map(Hyperslab::len).sum::<u64>(), 70);
        assert_eq!((&all[0].start[..], &all[0].count[..]), (&[0, 0][..], &[3, 4][..]));
        assert_eq!((&all[8].start[..], &all[8].count[..]), (&[6, 8][..], &[1, 2][..]));
    }

    #[test]
    fn parts_lie_inside() {
        for shape in [&[1u64][..], &[7, 5000, 3], &[1 << 40], &[1, 1, 1, 99], &[3, 100_000]] {
            for bytes in [512 << 10, 16 << 10] {
                let part = part_shape(shape, 4, bytes);
                for i in 0..20 {
                    for (d, (p, n)) in part.iter().zip(shape).enumerate() {
                        assert!(*p >= 1 && place(i, d, n - p) + p <= *n);
                    }
                }
            }
        }
    }

    /// Numbers are stored with the high byte first; what nobody wrote is 1, and of some types nothing is known.
    #[test]
    fn chunks_are_padded_with_fill_in_the_order_of_memory() {
        let element = Element { size: 2, order: Order::Swap(2), heap: false };
        let mut layout = VarLayout {
            name: "v".into(),
            element,
            shape: vec![3, 2],
            absent: Absent::As(if cfg!(target_endian = "little") { vec![0, 1] } else { vec![1, 0] }),
            place: Place::Nowhere,
        };
        let values: Vec<u8> = [7u16, 8].into_iter().flat_map(u16::to_ne_bytes).collect();
        let numbers =
            |b: Buffer| -> Vec<u16> { b.chunks_exact(2).map(|n| u16::from_ne_bytes([n[0], n[1]])).collect() };
        assert_eq!(numbers(padded(&values, &[1, 2], &[2, 3], &layout).unwrap()), [7, 8, 1, 1, 1, 1]);
        layout.absent = Absent::Several;
        assert_eq!(numbers(padded(&values, &[2, 1], &[2, 2], &layout).unwrap()), [7, 0, 8, 0]);
    }
}
