//! Boxes: how to walk through an array that two sides cut in different ways.
//!
//! A copy reads an array in the source's pieces and writes it in the target's; a comparison reads it in two
//! ways at once. Either walks the array box by box, each box small enough for the memory budget. A chunk that
//! several boxes touch is decoded several times, so the choice of the box decides the cost.
//!
//! On one axis of length `n`, boxes of length `b` over chunks of length `s` touch
//! `ceil(n/b) + ceil(n/s) - 1 - floor((n-1)/lcm(b,s))` chunks in all (every edge of a box inside a chunk costs
//! one chunk more; edges that coincide cost nothing). The number over all axes is the product, so every candidate
//! box is priced exactly without walking the grid.

use std::ops::Range;

use ncforge::model::{Schema, VarId, shape};
use ncforge::raw::{ChunkGrid, Chunks, VarLayout, coordinates, unravel};
use ncforge::{Dataset, Error, Hyperslab, Result};
use ncforge_tune::rates::{BOX_SECONDS, RUN_SECONDS, decode_seconds_per_byte};

/// Elements of a heap type that are read at a time.
pub(crate) const HEAP_BATCH: u64 = 1 << 14;

/// Bytes that progress counts for a variable: its values once; 16 bytes for an element of a heap type.
pub(crate) fn work_bytes(schema: &Schema, var: VarId) -> u64 {
    let size = schema.fixed_size(schema.var(var).dtype).unwrap_or(16) as u64;
    shape::bytes(&schema.shape(var), size)
}

/// An error where one stored chunk of a variable, which is decoded as a whole, passes the whole budget.
pub(crate) fn check_chunk(source: &Dataset, var: VarId) -> Result<()> {
    let (layout, budget) = (source.layout(var)?, source.engine().memory());
    let needed = layout.place.chunks().map_or(0, |c| shape::bytes(c.chunk, layout.element.size as u64));
    let mut is_stored = false;
    if needed <= budget || layout.each_chunk(&mut |_| is_stored = true)? && !is_stored {
        return Ok(());
    }
    let what = format!("a chunk of `{}` in `{}`", source.schema().var_path(var), source.name());
    Err(Error::Budget { what, needed, budget })
}

/// The storage of the array on one side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Side {
    /// Chunks of these lengths, each of which is decoded (read) or encoded (written) as a whole. The weight is seconds a byte.
    Chunks {
        /// Chunk lengths.
        lens: Vec<u64>,
        /// Seconds for each byte of a touched chunk.
        seconds_per_byte: f64,
    },
    /// Row-major runs of bytes, any part of which can be moved.
    Runs,
    /// Costs nothing wherever it is cut.
    Free,
}

impl Side {
    /// The side of a source with this layout.
    pub(crate) fn of(layout: &VarLayout) -> Side {
        match layout.place.chunks() {
            Some(Chunks { chunk, codecs, .. }) => Side::Chunks {
                lens: chunk.to_vec(),
                seconds_per_byte: decode_seconds_per_byte(codecs.filters()),
            },
            None if layout.is_in_rows() => Side::Runs,
            None => Side::Free,
        }
    }
}

/// The rows of a box in a row-major array of `shape`: where each lies in the box's own bytes, and in the array's. With an
/// `element` of 1, these are numbers of elements.
pub(crate) fn each_row(
    shape: &[u64],
    start: &[u64],
    count: &[u64],
    element: usize,
    mut row: impl FnMut(Range<usize>, Range<usize>),
) {
    let Some(last) = shape.len().checked_sub(1) else { return row(0..element, 0..element) };
    let len = count[last] as usize * element;
    let mut at = vec![0u64; last];
    for i in 0..count[..last].iter().product::<u64>() as usize {
        let index = (0..last).fold(0, |k, d| k * shape[d] + start[d] + at[d]) * shape[last];
        let from = (index + start[last]) as usize * element;
        row(i * len..(i + 1) * len, from..from + len);
        for d in (0..last).rev() {
            at[d] += 1;
            if at[d] < count[d] {
                break;
            }
            at[d] = 0;
        }
    }
}

/// The number of candidate boxes that are priced, at most.
const MOST_CANDIDATES: usize = 8_000;

/// A walk through an array in equal boxes, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walk {
    /// The boxes, as a grid over the array.
    pub(crate) grid: ChunkGrid,
    /// Bytes of chunks touched on each side (0 for sides without chunks).
    pub(crate) touched: Vec<u64>,
    /// Estimated seconds of decoding and of run overhead, on one thread.
    pub(crate) seconds: f64,
}

impl Walk {
    /// The boxes in row-major order, as hyperslabs.
    pub(crate) fn box_at(&self, i: u64) -> Hyperslab {
        let (start, count) = self.grid.region(&unravel(i, &self.grid.counts()));
        Hyperslab::new(&start, &count)
    }

    /// Number of boxes (0 for an empty array).
    pub(crate) fn len(&self) -> u64 {
        if self.grid.is_empty() { 0 } else { self.grid.len() }
    }
}

/// Chooses boxes of at most `budget` bytes, multiples of `align` (which may be all ones), so that touching both
/// sides is cheapest. A box is never smaller than `align`, even when that is larger than the budget.
pub(crate) fn choose(shape: &[u64], element: u64, sides: &[Side], align: &[u64], budget: u64) -> Walk {
    // One box is the best there is, whatever the sides.
    let all: Vec<u64> = shape.iter().map(|&n| n.max(1)).collect();
    if shape::bytes(&all, element) <= budget {
        return price(shape, element, sides, &all);
    }
    let lists = candidates(shape, sides, align);
    let mut best: Option<Walk> = None;
    let mut smallest: Option<(u64, Walk)> = None;
    let places: Vec<Range<u64>> = lists.iter().map(|l| 0..l.len() as u64).collect();
    for pick in coordinates(&places) {
        let lens: Vec<u64> = pick.iter().zip(&lists).map(|(&i, l)| l[i as usize]).collect();
        let bytes =
            shape::product(lens.iter().zip(shape).map(|(&l, &n)| l.min(n.max(1)))).saturating_mul(element);
        if bytes <= budget {
            let walk = price(shape, element, sides, &lens);
            if best.as_ref().is_none_or(|b| walk.seconds < b.seconds) {
                best = Some(walk);
            }
        } else if best.is_none() && smallest.as_ref().is_none_or(|(b, _)| bytes < *b) {
            smallest = Some((bytes, price(shape, element, sides, &lens)));
        }
    }
    best.or(smallest.map(|(_, w)| w)).expect("there is always a smallest box")
}

/// Boxes of this size keep every thread busy and memory warm; larger ones are taken only where they save work.
pub(crate) const COMFORTABLE: u64 = 64 << 20;

/// As [`choose`], in boxes of a modest size, unless larger ones save work.
pub(crate) fn choose_comfortable(
    shape: &[u64],
    element: u64,
    sides: &[Side],
    align: &[u64],
    budget: u64,
) -> Walk {
    let modest = choose(shape, element, sides, align, budget.min(COMFORTABLE));
    if budget <= COMFORTABLE {
        return modest;
    }
    let large = choose(shape, element, sides, align, budget);
    if large.seconds < 0.9 * modest.seconds { large } else { modest }
}

/// The cost of boxes of lengths `lens`.
pub(crate) fn price(shape: &[u64], element: u64, sides: &[Side], lens: &[u64]) -> Walk {
    let grid = ChunkGrid::new(shape, lens);
    let mut seconds = grid.len() as f64 * BOX_SECONDS;
    let mut touched = Vec::with_capacity(sides.len());
    for side in sides {
        match side {
            Side::Free => touched.push(0),
            Side::Chunks { lens: s, seconds_per_byte } => {
                let along = |d: usize| touched_chunks(shape[d], lens[d], s[d]).saturating_mul(s[d]);
                let bytes = shape::product((0..shape.len()).map(along)).saturating_mul(element);
                seconds += bytes as f64 * seconds_per_byte;
                touched.push(bytes);
            }
            Side::Runs => {
                let mut run = 1u64;
                for d in (0..shape.len()).rev() {
                    run = run.saturating_mul(lens[d].min(shape[d].max(1)));
                    if lens[d] < shape[d] {
                        break;
                    }
                }
                let elements = shape::elements(shape);
                seconds += (elements / run.max(1)) as f64 * RUN_SECONDS;
                touched.push(0);
            }
        }
    }
    Walk { grid, touched, seconds }
}

/// Chunks of length `s` that boxes of length `b` touch in all, on an axis of length `n`.
fn touched_chunks(n: u64, b: u64, s: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let both = lcm(b, s).map_or(0, |m| (n - 1) / m);
    n.div_ceil(b).saturating_add(n.div_ceil(s)) - 1 - both
}

/// The greatest common divisor; that of a number and 0 is the number.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b)).checked_mul(b)
}

/// The box lengths to try on each axis: multiples of `align` near those of the chunks, roughly doubling.
fn candidates(shape: &[u64], sides: &[Side], align: &[u64]) -> Vec<Vec<u64>> {
    let each = (MOST_CANDIDATES as f64).powf(1.0 / shape.len().max(1) as f64).floor().max(2.0) as usize;
    (0..shape.len())
        .map(|d| {
            let n = shape[d].max(1);
            let unit = align[d].clamp(1, n);
            let whole = n.div_ceil(unit).saturating_mul(unit);
            let mut steps = vec![unit];
            for side in sides {
                if let Side::Chunks { lens, .. } = side {
                    steps.extend(lcm(unit, lens[d].min(n)).filter(|&m| m < n));
                    // Nearest multiples of `align` to the chunk, when the two share no small multiple.
                    steps.push((lens[d].min(n) / unit).max(1) * unit);
                }
            }
            let mut list: Vec<u64> = vec![unit, whole.max(n)];
            for step in steps {
                let mut k = 1u64;
                while let Some(len) = step.checked_mul(k).filter(|&l| l < n) {
                    list.push(len);
                    // An array may be as long as numbers go.
                    k = if k < 4 { k + 1 } else { k.saturating_add(k / 2) };
                }
            }
            list.sort_unstable();
            list.dedup();
            thin(list, each)
        })
        .collect()
}

/// At most `most` of the values, the first and the last among them.
fn thin(list: Vec<u64>, most: usize) -> Vec<u64> {
    if list.len() <= most {
        return list;
    }
    let last = list.len() - 1;
    (0..most).map(|i| list[i * last / (most - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ncforge::raw::coordinates;

    fn chunks(lens: &[u64]) -> Side {
        Side::Chunks { lens: lens.to_vec(), seconds_per_byte: 1e-9 }
    }

    #[test]
    fn aligned_sides_cost_one_pass() {
        let w = choose(&[64, 64], 4, &[chunks(&[8, 64]), chunks(&[64, 8])], &[64, 8], 1 << 30);
        assert_eq!(w.touched, [64 * 64 * 4, 64 * 64 * 4]);
        assert_eq!(w.len(), 1);
    }

    #[test]
    fn a_small_budget_makes_passes_and_is_kept() {
        let w = choose(&[512, 1024, 1024], 4, &[chunks(&[1, 1024, 1024])], &[512, 32, 32], 128 << 20);
        assert!(w.grid.chunk.iter().product::<u64>() * 4 <= 128 << 20);
        assert_eq!(w.touched[0], 16 << 31);
    }

    #[test]
    fn runs_prefer_whole_rows() {
        let w = choose(&[1000, 1000], 8, &[Side::Runs], &[10, 10], 1 << 20);
        assert_eq!(w.grid.chunk[1], 1000);
    }

    #[test]
    fn arrays_as_long_as_numbers_go_are_walked_in_boxes() {
        for chunk in [1, 1000, u64::MAX - 1] {
            let w = choose(&[u64::MAX - 1], 4, &[chunks(&[chunk]), chunks(&[1])], &[1], 1 << 20);
            assert!(w.grid.chunk[0] > 0 && w.grid.chunk[0] <= 1 << 18 && w.len() > 1 << 45, "{w:?}");
        }
    }

    #[test]
    fn scalars_and_empty_arrays() {
        assert_eq!(choose(&[], 8, &[Side::Runs, Side::Free], &[], 1).len(), 1);
        assert_eq!(choose(&[0, 5], 8, &[Side::Runs], &[1, 1], 1).len(), 0);
    }

    proptest! {
        #[test]
        fn the_price_is_what_walking_finds(
            dims in prop::collection::vec((1u64..30, 1u64..12, 1u64..12), 1..4),
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let lens: Vec<u64> = dims.iter().map(|d| d.1).collect();
            let side: Vec<u64> = dims.iter().map(|d| d.2).collect();
            let walk = price(&shape, 1, &[chunks(&side)], &lens);
            let grid = ChunkGrid::new(&shape, &side);
            let count: u64 = (0..walk.len()).map(|i| coordinates(&grid.touched(&walk.box_at(i))).count() as u64).sum();
            prop_assert_eq!(walk.touched[0], count * grid.chunk_len());
        }

        #[test]
        fn boxes_cover_the_array_once(
            dims in prop::collection::vec((0u64..20, 1u64..9, 1u64..9), 0..4),
            budget in 1u64..5000,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let align: Vec<u64> = dims.iter().map(|d| d.1).collect();
            let source: Vec<u64> = dims.iter().map(|d| d.2).collect();
            let walk = choose(&shape, 4, &[chunks(&source), Side::Runs], &align, budget);
            let sum: u64 = (0..walk.len()).map(|i| walk.box_at(i).len()).sum();
            prop_assert_eq!(sum, shape.iter().product::<u64>());
            for d in 0..shape.len() {
                let b = walk.grid.chunk[d];
                prop_assert!(b.is_multiple_of(align[d]) || b >= shape[d], "{b} {}", align[d]);
            }
        }
    }
}
