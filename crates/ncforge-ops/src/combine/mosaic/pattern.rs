//! How tiles cover the dimensions that they split: no place twice, which places not at all.

use std::collections::HashMap;

use super::super::tiles::Tiles;
use super::facts::{DimKind, Facts};
use ncforge::model::{DimId, shape};
use ncforge::raw::{Region, overlap};
use ncforge::{Error, Result};

/// Cells of the tiles' lattice that are looked at one by one, to find holes.
const MOST_CELLS: u64 = 1 << 22;
/// Names that a message lists.
pub(crate) const MOST_NAMES: usize = 6;

/// The tiles over one set of split dimensions.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The split dimensions, in the order of the variables that have them.
    pub(crate) dims: Vec<DimId>,
    /// Lengths of these.
    pub(crate) shape: Vec<u64>,
    /// Tiles and their places, by the first dimension's start, and so on.
    pub(crate) boxes: Vec<(usize, Region)>,
    /// Tiles that have the same place as an earlier one, with that one: they differ in other dimensions.
    pub(crate) replicas: Vec<(usize, usize)>,
    /// The pattern of all tiles, where these are only those that have a variable.
    pub(crate) of_all: Option<usize>,
    /// Places that none of these tiles has.
    pub(crate) holes: Vec<Region>,
    /// Elements of all holes.
    pub(crate) hole_elements: u64,
    /// The longest place along the first dimension: how far before a point a tile with it may begin.
    pub(super) longest: u64,
}

impl Pattern {
    /// The pattern of the tiles in `who`.
    pub(crate) fn new(
        dims: Vec<DimId>,
        shape: Vec<u64>,
        who: &[usize],
        facts: &[Facts],
        kinds: &[DimKind],
        tiles: &Tiles,
    ) -> Result<Pattern> {
        let mut boxes: Vec<(usize, Region)> = Vec::with_capacity(who.len());
        let mut replicas = Vec::new();
        let mut by_place: HashMap<Region, usize> = HashMap::new();
        for &tile in who {
            let spans: Vec<_> = dims.iter().map(|d| facts[tile].spans[d.0]).collect();
            if spans.iter().any(|s| s.count == 0) {
                continue;
            }
            let place = Region {
                start: spans.iter().map(|s| s.first).collect(),
                count: spans.iter().map(|s| s.count).collect(),
            };
            if let Some(&other) = by_place.get(&place) {
                let differs = (0..kinds.len()).any(|d| {
                    kinds[d] == DimKind::Split && facts[tile].spans[d].first != facts[other].spans[d].first
                });
                if !differs {
                    return Err(claimed(tiles, other, tile, &place));
                }
                replicas.push((tile, other));
                continue;
            }
            by_place.insert(place.clone(), tile);
            boxes.push((tile, place));
        }
        boxes.sort_by(|a, b| a.1.start.cmp(&b.1.start));
        check_overlaps(&boxes, tiles)?;
        let longest = boxes.iter().map(|(_, r)| r.count[0]).max().unwrap_or(0);
        let covered = boxes.iter().fold(0u64, |a, (_, r)| a.saturating_add(shape::elements(&r.count)));
        let hole_elements = shape::elements(&shape).saturating_sub(covered);
        let holes = if hole_elements > 0 { find_holes(&shape, &boxes) } else { Vec::new() };
        Ok(Pattern { dims, shape, boxes, replicas, of_all: None, holes, hole_elements, longest })
    }

    /// The tiles that touch a box of the pattern's dimensions.
    pub(crate) fn touching<'a>(
        &'a self,
        wanted: &'a Region,
    ) -> impl Iterator<Item = (usize, &'a Region)> + 'a {
        let from = wanted.start[0].saturating_sub(self.longest.saturating_sub(1));
        let first = self.boxes.partition_point(|(_, r)| r.start[0] < from);
        self.boxes[first..]
            .iter()
            .take_while(|(_, r)| r.start[0] < wanted.start[0].saturating_add(wanted.count[0]))
            .filter(|(_, r)| overlap(r, wanted))
            .map(|(tile, r)| (*tile, r))
    }
}

/// A place in words.
pub(super) fn place_text(place: &Region) -> String {
    let spans = place.start.iter().zip(&place.count);
    spans.map(|(s, n)| format!("{s}..{}", s + n)).collect::<Vec<_>>().join(" x ")
}

fn claimed(tiles: &Tiles, a: usize, b: usize, place: &Region) -> Error {
    let (a, b, place) = (tiles.name(a), tiles.name(b), place_text(place));
    Error::Tiles(format!("`{a}` and `{b}` both claim the place {place}"))
}

/// A sweep along the first dimension.
fn check_overlaps(boxes: &[(usize, Region)], tiles: &Tiles) -> Result<()> {
    let mut open: Vec<&(usize, Region)> = Vec::new();
    for one in boxes {
        open.retain(|(_, o)| o.start[0] + o.count[0] > one.1.start[0]);
        if let Some((other, place)) = open.iter().find(|(_, o)| overlap(o, &one.1)) {
            let both = (0..place.start.len()).map(|d| {
                let from = place.start[d].max(one.1.start[d]);
                let to = (place.start[d] + place.count[d]).min(one.1.start[d] + one.1.count[d]);
                (from, to - from)
            });
            let (start, count) = both.unzip();
            return Err(claimed(tiles, *other, one.0, &Region { start, count }));
        }
        open.push(one);
    }
    Ok(())
}

/// The boxes that nothing covers: cells of the lattice that all edges make, joined along the last dimension and then
/// along the first. Where there are too many cells, none are listed.
fn find_holes(shape: &[u64], boxes: &[(usize, Region)]) -> Vec<Region> {
    let cuts: Vec<Vec<u64>> = (0..shape.len())
        .map(|d| {
            let mut c: Vec<u64> =
                boxes.iter().flat_map(|(_, r)| [r.start[d], r.start[d] + r.count[d]]).collect();
            c.extend([0, shape[d]]);
            c.sort_unstable();
            c.dedup();
            c
        })
        .collect();
    let cells: Vec<u64> = cuts.iter().map(|c| c.len() as u64 - 1).collect();
    let Some(all) = shape::checked(&cells, 1).filter(|&n| n <= MOST_CELLS) else {
        return Vec::new();
    };
    let mut taken = vec![false; all as usize];
    for (_, r) in boxes {
        let ranges: Vec<std::ops::Range<u64>> = (0..shape.len())
            .map(|d| {
                let at = |x: u64| cuts[d].partition_point(|&c| c < x) as u64;
                at(r.start[d])..at(r.start[d] + r.count[d])
            })
            .collect();
        for at in ncforge::raw::coordinates(&ranges) {
            let i = at.iter().zip(&cells).fold(0u64, |a, (&x, &n)| a * n + x);
            taken[i as usize] = true;
        }
    }
    let mut holes: Vec<Region> = Vec::new();
    for (i, _) in taken.iter().enumerate().filter(|(_, t)| !**t) {
        let at = ncforge::raw::unravel(i as u64, &cells);
        let start: Vec<u64> = at.iter().zip(&cuts).map(|(&x, c)| c[x as usize]).collect();
        let count: Vec<u64> =
            at.iter().zip(&cuts).zip(&start).map(|((&x, c), s)| c[x as usize + 1] - s).collect();
        let last = shape.len() - 1;
        match holes.last_mut() {
            Some(h)
                if h.start[..last] == start[..last]
                    && h.count[..last] == count[..last]
                    && h.start[last] + h.count[last] == start[last] =>
            {
                h.count[last] += count[last];
            }
            _ => holes.push(Region { start, count }),
        }
    }
    join_rows(holes)
}

/// Joins boxes that are the same but for the first dimension, where they touch.
fn join_rows(holes: Vec<Region>) -> Vec<Region> {
    let mut out: Vec<Region> = Vec::new();
    'next: for h in holes {
        for o in out.iter_mut().rev() {
            if h.start.len() > 1
                && o.start[1..] == h.start[1..]
                && o.count[1..] == h.count[1..]
                && o.start[0] + o.count[0] == h.start[0]
            {
                o.count[0] += h.count[0];
                continue 'next;
            }
        }
        out.push(h);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &[u64], count: &[u64]) -> Region {
        Region { start: start.to_vec(), count: count.to_vec() }
    }

    #[test]
    fn holes_are_joined() {
        // A tile missing in the middle of the second row, and the whole last column.
        let boxes: Vec<(usize, Region)> = [(0, 0), (0, 3), (2, 0)]
            .iter()
            .enumerate()
            .map(|(i, &(y, x))| (i, region(&[y, x], &[2, 3])))
            .collect();
        let holes = find_holes(&[4, 8], &boxes);
        assert_eq!(holes, [region(&[0, 6], &[2, 2]), region(&[2, 3], &[2, 5])]);
        let elements: u64 = holes.iter().map(|h| h.count.iter().product::<u64>()).sum();
        assert_eq!(elements, 32 - 18);
    }
}
