//! How far to look ahead: the requests that come next, as one box, and where it ends.

use super::pattern::Level;
use crate::model::shape;
use crate::select::Hyperslab;

/// Requests in one window at most.
const MAX_REQUESTS: u64 = 1 << 16;

/// How large a window may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) bytes: u64,
    pub(super) requests: u64,
}

impl Limit {
    /// As much as fits `bytes` bytes.
    pub(super) fn bytes(bytes: u64) -> Self {
        Self { bytes, requests: MAX_REQUESTS }
    }
}

/// The facts about a variable that decide about windows.
#[derive(Clone, Debug)]
pub(super) struct Grid<'a> {
    /// Extents that the file holds.
    pub(super) shape: &'a [u64],
    /// The unit that costs little more to read whole than in part: a chunk, or a page of contiguous data.
    pub(super) chunk: Vec<u64>,
    /// Bytes of an element.
    pub(super) size: u64,
}

/// The purpose of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Keep what comes out of the chunks that are decoded anyway.
    Keep,
    /// Decode chunks that nobody asked for yet: at least this many bytes at a time.
    Fetch(u64),
}

/// A window: coming requests as one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// All elements of all its requests.
    pub(super) region: Hyperslab,
    /// The order of the axes in memory, slowest first: each request lies together.
    pub(super) order: Vec<usize>,
    pub(super) bytes: u64,
    /// The number of requests that it serves.
    pub(super) requests: u64,
    /// Whether later requests come back to the same chunks.
    pub(super) returns: bool,
    /// The loops and the first request after it, if that is known.
    pub(super) next: Option<(Vec<Level>, Hyperslab)>,
}

/// The window that begins with the request `slab`, at which the loops `levels` (innermost first) stand, within
/// `limit`; `None` if it does not hold even one request.
pub(super) fn plan(
    grid: &Grid<'_>,
    levels: &[Level],
    slab: &Hyperslab,
    limit: Limit,
    purpose: Purpose,
) -> Option<Plan> {
    let Limit { bytes: limit, requests: most_requests } = limit;
    let bytes = shape::checked(&slab.count, grid.size)?;
    if bytes == 0 || bytes > limit {
        return None;
    }
    let mut turns = vec![1u64; levels.len()];
    let mut clipped = false;
    let mut held = bytes;
    let mut requests = 1u64;
    for (l, level) in levels.iter().enumerate() {
        let lower_whole = levels[..l].iter().zip(&turns).all(|(j, &n)| j.index == 0 && j.len == Some(n));
        let reach = Reach::of(grid, level, slab);
        if !lower_whole {
            clipped |= reach.row.min(reach.all) > 1;
            continue;
        }
        // Bytes of one more turn; requests of several elements with gaps between them are held with the gaps.
        let (count, step) = (slab.count[level.axis], level.step.unsigned_abs());
        let turn =
            if count > 1 && step > reach.extent { held.saturating_mul(step.div_ceil(count)) } else { held };
        let most = (limit / turn).min(most_requests / requests).max(1);
        let mut wanted = reach.row.min(reach.all);
        // A whole pass of this loop, when the next one comes back to the same chunks.
        let again = levels.get(l + 1).is_some_and(|outer| {
            let reach = Reach::of(grid, outer, slab);
            level.index == 0 && level.len.is_some() && reach.row.min(reach.all) > 1
        });
        if again && reach.all <= most / 2 {
            wanted = reach.all;
        }
        if let Purpose::Fetch(least) = purpose {
            let rows = least.div_ceil(turn.saturating_mul(wanted).max(1)).max(1);
            wanted = wanted.saturating_mul(rows).min(reach.all).min(most.max(wanted));
        }
        // In equal parts when not all of it fits.
        let n = if wanted <= most { wanted } else { wanted.div_ceil(wanted.div_ceil(most)) };
        if n < reach.row.min(reach.all) && purpose != Purpose::Keep {
            // Fetched in two parts, chunks would be decoded twice.
            return None;
        }
        clipped |= n < reach.row.min(reach.all);
        turns[l] = n;
        held = turn.saturating_mul(n);
        requests *= n;
    }
    let mut region = slab.clone();
    for (level, &n) in levels.iter().zip(&turns).filter(|(_, n)| **n > 1) {
        let (d, step) = (level.axis, level.step.unsigned_abs());
        let last = level.start(level.index + n - 1)?;
        region.start[d] = slab.start[d].min(last);
        let (count, stride) = (slab.count[d], slab.stride[d]);
        if count == 1 {
            (region.count[d], region.stride[d]) = (n, step);
        } else if Some(step) == count.checked_mul(stride) {
            region.count[d] = n * count;
        } else if stride == 1 {
            region.count[d] = (n - 1) * step + count;
        } else {
            return None;
        }
    }
    let bytes = shape::checked(&region.count, grid.size).filter(|&n| n <= limit)?;
    let mut order: Vec<usize> = levels.iter().rev().map(|l| l.axis).collect();
    order.extend((0..slab.rank()).filter(|d| levels.iter().all(|l| l.axis != *d)));
    Some(Plan {
        returns: clipped || returns(grid, levels, slab),
        next: advance(levels, &turns, grid, slab),
        region,
        order,
        bytes,
        requests,
    })
}

/// The reach of a loop from its present place, the present turn counted.
struct Reach {
    /// Turns until the loop ends, or the array.
    all: u64,
    /// Turns that meet the chunks of the present one.
    row: u64,
    /// From a request's first element to its last on this axis, both counted.
    extent: u64,
}

impl Reach {
    fn of(grid: &Grid<'_>, level: &Level, slab: &Hyperslab) -> Self {
        let d = level.axis;
        let (start, end, chunk) = (slab.start[d], slab.end(d), grid.chunk[d].max(1));
        let extent = end - start;
        let all = level.remaining(level.index, grid.shape[d], extent).saturating_add(1);
        let step = level.step.unsigned_abs();
        let row = if level.step > 0 {
            // Those that begin before the next chunk does.
            (chunk - start % chunk).div_ceil(step)
        } else {
            (end - 1) % chunk / step + 1
        };
        Self { all, row, extent }
    }
}

/// Whether a pattern comes back to the chunks of a window, other than because the window is too small.
fn returns(grid: &Grid<'_>, levels: &[Level], slab: &Hyperslab) -> bool {
    (0..slab.rank()).any(|d| {
        let chunk = grid.chunk[d].min(grid.shape[d]);
        match levels.iter().find(|l| l.axis == d) {
            // Requests that lie across chunk borders need both sides twice.
            Some(l) => {
                let step = l.step.unsigned_abs();
                slab.count[d] > 1
                    && step < chunk
                    && (!chunk.is_multiple_of(step) || !slab.start[d].is_multiple_of(step))
            }
            // A loop over this axis, tile by tile, may be around what was seen so far.
            None => {
                let n = slab.count[d];
                n < chunk && chunk.is_multiple_of(n) && slab.start[d].is_multiple_of(n)
            }
        }
    })
}

/// The request after `turns` of the loops.
pub(super) fn advance(
    levels: &[Level],
    turns: &[u64],
    grid: &Grid<'_>,
    slab: &Hyperslab,
) -> Option<(Vec<Level>, Hyperslab)> {
    let mut levels = levels.to_vec();
    let mut next = slab.clone();
    let outermost = turns.iter().rposition(|&n| n > 1).unwrap_or(0);
    for l in 0..levels.len() {
        let (d, shape) = (levels[l].axis, grid.shape[levels[l].axis]);
        let extent = slab.end(d) - slab.start[d];
        let level = &mut levels[l];
        let last = level.index + turns[l] - 1;
        if l >= outermost && level.remaining(last, shape, extent) > 0 {
            level.index = last + 1;
            next.start[d] = level.start(level.index)?;
            return Some((levels, next));
        }
        // Begins anew.
        level.len = Some(level.len.unwrap_or(last + 1));
        level.index = 0;
        next.start[d] = level.first;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(axis: usize, step: i64, first: u64, index: u64, len: Option<u64>) -> Level {
        Level { axis, step, first, index, len }
    }

    fn grid<'a>(shape: &'a [u64], chunk: &[u64]) -> Grid<'a> {
        Grid { shape, chunk: chunk.to_vec(), size: 4 }
    }

    #[test]
    fn slabs_are_looked_ahead_to_the_end_of_the_row_of_chunks() {
        let g = grid(&[100, 8, 8], &[10, 4, 4]);
        let slab = Hyperslab::new(&[3, 0, 0], &[1, 8, 8]);
        let p = plan(&g, &[level(0, 1, 0, 3, None)], &slab, Limit::bytes(1 << 20), Purpose::Keep).unwrap();
        assert_eq!(p.region, Hyperslab::new(&[3, 0, 0], &[7, 8, 8]));
        assert_eq!((p.bytes, p.requests, p.returns), (7 * 256, 7, false));
        let (levels, next) = p.next.unwrap();
        assert_eq!((next.start, levels[0].index), (vec![10, 0, 0], 10));
        // Every other slab; in equal parts when not all of them fit.
        let p = plan(
            &g,
            &[level(0, 2, 0, 0, None)],
            &Hyperslab::new(&[0; 3], &[1, 8, 8]),
            Limit::bytes(4 * 256),
            Purpose::Keep,
        );
        let p = p.unwrap();
        assert_eq!(p.region, Hyperslab::strided(&[0; 3], &[3, 8, 8], &[2, 1, 1]));
        assert!(p.returns, "the row is not done with");
        // Backwards.
        let p = plan(
            &g,
            &[level(0, -1, 99, 2, None)],
            &Hyperslab::new(&[97, 0, 0], &[1, 8, 8]),
            Limit::bytes(1 << 20),
            Purpose::Keep,
        );
        assert_eq!(p.unwrap().region, Hyperslab::new(&[90, 0, 0], &[8, 8, 8]));
    }

    #[test]
    fn series_are_looked_ahead_along_the_row_then_over_rows() {
        let g = grid(&[50, 16, 12], &[1, 8, 4]);
        let slab = Hyperslab::new(&[0, 0, 1], &[50, 1, 1]);
        let p = plan(&g, &[level(2, 1, 0, 1, None)], &slab, Limit::bytes(1 << 20), Purpose::Keep).unwrap();
        assert_eq!(p.region, Hyperslab::new(&[0, 0, 1], &[50, 1, 3]));
        assert_eq!(p.order, [2, 0, 1]);
        assert!(p.returns, "other rows of pixels may follow");
        // Once a second row is begun, all rows of pixels of this row of chunks are kept.
        let levels = [level(2, 1, 0, 0, Some(12)), level(1, 1, 0, 1, None)];
        let slab = Hyperslab::new(&[0, 1, 0], &[50, 1, 1]);
        let p = plan(&g, &levels, &slab, Limit::bytes(1 << 20), Purpose::Keep).unwrap();
        assert_eq!(p.region, Hyperslab::new(&[0, 1, 0], &[50, 7, 12]));
        assert_eq!((p.order.clone(), p.requests, p.returns), (vec![1, 2, 0], 84, false));
        assert_eq!(p.next.unwrap().1.start, [0, 8, 0]);
        // Only three of them fit.
        let p = plan(&g, &levels, &slab, Limit::bytes(3 * 12 * 200), Purpose::Keep).unwrap();
        assert_eq!((p.region.count, p.returns), (vec![50, 3, 12], true));
        // Not even two: along the row of chunks only.
        let p = plan(&g, &levels, &slab, Limit::bytes(2 * 12 * 200 - 1), Purpose::Keep).unwrap();
        assert_eq!((p.region.count, p.returns), (vec![50, 1, 4], true));
        assert_eq!(p.next.unwrap().1.start, [0, 1, 4]);
        assert_eq!(plan(&g, &levels, &slab, Limit::bytes(199), Purpose::Keep), None);
    }

    #[test]
    fn what_is_fetched_ahead_is_enough_to_pay_for_itself() {
        let g = grid(&[100, 8], &[1, 8]);
        let slab = Hyperslab::new(&[5, 0], &[1, 8]);
        let levels = [level(0, 1, 0, 5, None)];
        assert_eq!(plan(&g, &levels, &slab, Limit::bytes(1 << 20), Purpose::Keep).unwrap().requests, 1);
        let p = plan(&g, &levels, &slab, Limit::bytes(1 << 20), Purpose::Fetch(300)).unwrap();
        assert_eq!((p.requests, p.region.start), (10, vec![5, 0]));
        assert_eq!(plan(&g, &levels, &slab, Limit::bytes(100), Purpose::Fetch(300)).unwrap().requests, 3);
        // The last one of all.
        let slab = Hyperslab::new(&[99, 0], &[1, 8]);
        let p =
            plan(&g, &[level(0, 1, 0, 99, None)], &slab, Limit::bytes(1 << 20), Purpose::Fetch(300)).unwrap();
        assert_eq!((p.requests, p.next), (1, None));
    }

    #[test]
    fn blocks_across_chunk_borders_are_whole_requests() {
        let g = grid(&[40], &[8]);
        let p = plan(
            &g,
            &[level(0, 3, 0, 0, None)],
            &Hyperslab::new(&[0], &[3]),
            Limit::bytes(1 << 20),
            Purpose::Keep,
        )
        .unwrap();
        assert_eq!((p.region.count, p.requests, p.returns), (vec![9], 3, true));
        // Blocks with gaps between them are held with the gaps, overlapping ones once.
        let p = plan(
            &g,
            &[level(0, 4, 0, 0, None)],
            &Hyperslab::new(&[0], &[2]),
            Limit::bytes(1 << 20),
            Purpose::Keep,
        )
        .unwrap();
        assert_eq!((p.region.count, p.requests), (vec![6], 2));
        let p = plan(
            &g,
            &[level(0, 1, 0, 0, None)],
            &Hyperslab::new(&[0], &[5]),
            Limit::bytes(1 << 20),
            Purpose::Keep,
        )
        .unwrap();
        assert_eq!((p.region.count, p.requests), (vec![12], 8));
        // Strided requests that interleave are not a box.
        let odd = Hyperslab::strided(&[0], &[3], &[4]);
        assert_eq!(plan(&g, &[level(0, 1, 0, 0, None)], &odd, Limit::bytes(1 << 20), Purpose::Keep), None);
    }
}
