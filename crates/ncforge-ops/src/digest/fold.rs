//! Hashes of tiles become one hash: dimension by dimension, and along each of them group by group.
//!
//! What lies below a node of this tree is the same wherever nothing was written, and hashed once: the work on a sparse array is in
//! proportion to what is stored of it, however many elements it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use blake3::{Hash, Hasher};

use super::canonical::Canonical;
use crate::boxes::Walk;
use ncforge::raw::{ChunkGrid, unravel};

/// Hashes that become one at a time.
const GROUP: usize = 1024;

fn hash_of<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> Hash {
    let mut all = Hasher::new();
    hashes.into_iter().for_each(|hash| _ = all.update(hash.as_bytes()));
    all.finalize()
}

/// The hash of an array without elements.
pub(super) fn of_nothing() -> Hash {
    hash_of([])
}

/// A list that becomes one hash: while it has more than one, each [`GROUP`] of them, and what is left, are replaced by their hash.
#[derive(Clone, Debug, Default)]
struct List {
    /// The hashes of each level that are not in a whole group.
    levels: Vec<Vec<Hash>>,
}

impl List {
    /// Adds the same hash several times.
    fn push(&mut self, hash: Hash, count: u64) {
        self.push_at(0, hash, count);
    }

    fn push_at(&mut self, level: usize, hash: Hash, mut count: u64) {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        let begun = &mut self.levels[level];
        if !begun.is_empty() {
            let n = count.min((GROUP - begun.len()) as u64);
            begun.extend(std::iter::repeat_n(hash, n as usize));
            count -= n;
            if begun.len() == GROUP {
                let whole = hash_of(&std::mem::take(begun));
                self.push_at(level + 1, whole, 1);
            }
        }
        let (groups, rest) = (count / GROUP as u64, count % GROUP as u64);
        if groups > 0 {
            self.push_at(level + 1, hash_of(std::iter::repeat_n(&hash, GROUP)), groups);
        }
        self.levels[level].extend(std::iter::repeat_n(hash, rest as usize));
    }

    fn finish(self) -> Hash {
        let (mut below, levels) = (None, self.levels.len());
        for (i, mut level) in self.levels.into_iter().enumerate() {
            level.extend(below.take());
            below = match level[..] {
                [] => None,
                [one] if i + 1 == levels => Some(one),
                _ => Some(hash_of(&level)),
            };
        }
        below.unwrap_or_else(of_nothing)
    }
}

/// The tiles of an array, which come in any order, folded in theirs.
pub(super) struct Fold<'a> {
    counts: Vec<u64>,
    /// The next tile.
    next: Vec<u64>,
    /// For each dimension the hashes of what lies side by side along it, where the next tile is.
    open: Vec<List>,
    done: Option<Hash>,
    early: BTreeMap<u64, Hash>,
    unwritten: Option<Unwritten<'a>>,
}

impl<'a> Fold<'a> {
    /// The tiles of an array that has elements. Those of boxes where nothing was written do not come.
    pub(super) fn new(tiles: &ChunkGrid, unwritten: Option<Unwritten<'a>>) -> Self {
        let counts = tiles.counts();
        let (next, open) = (vec![0; counts.len()], vec![List::default(); counts.len()]);
        let mut fold = Fold { counts, next, open, done: None, early: BTreeMap::new(), unwritten };
        fold.advance();
        fold
    }

    /// Takes in hashes of tiles, with their numbers in row-major order.
    pub(super) fn add_all(&mut self, hashes: impl IntoIterator<Item = (u64, Hash)>) {
        self.early.extend(hashes);
        self.advance();
    }

    fn advance(&mut self) {
        while self.done.is_none() {
            if let Some((depth, hash, count)) = self.unwritten_here() {
                self.push(depth, hash, count);
                continue;
            }
            let number = self.next.iter().zip(&self.counts).fold(0, |i, (at, n)| i * n + at);
            let Some(hash) = self.early.remove(&number) else { break };
            self.push(self.counts.len(), hash, 1);
        }
    }

    /// What begins at the next tile without a written element: how many of its coordinates say which it is, its hash, and how many of
    /// them follow each other.
    fn unwritten_here(&mut self) -> Option<(usize, Hash, u64)> {
        let unwritten = self.unwritten.as_mut()?;
        let first = self.next.iter().rposition(|&at| at > 0).map_or(1, |d| d + 1);
        (first..=self.counts.len()).find_map(|depth| {
            let to = unwritten.until(&self.next[..depth])?;
            let (d, at) = (depth - 1, self.next[depth - 1]);
            // The last one may be smaller.
            let last = self.counts[d] - 1;
            let count = if at == last { 1 } else { to.min(last) - at };
            Some((depth, unwritten.hash(&self.next[..depth]), count))
        })
    }

    /// Takes in the next nodes with so many coordinates, which have the same hash.
    fn push(&mut self, mut depth: usize, mut hash: Hash, mut count: u64) {
        while let Some(d) = depth.checked_sub(1) {
            self.open[d].push(hash, count);
            self.next[d] += count;
            if self.next[d] < self.counts[d] {
                return;
            }
            self.next[d] = 0;
            (depth, hash, count) = (d, std::mem::take(&mut self.open[d]).finish(), 1);
        }
        self.done = Some(hash);
    }

    /// The hash of all.
    pub(super) fn finish(self) -> Option<Hash> {
        self.done
    }
}

/// The parts of an array that hold a fill value alone.
pub(super) struct Unwritten<'a> {
    tiles: &'a ChunkGrid,
    /// Lengths of the boxes.
    boxes: Vec<u64>,
    /// The first coordinates of written boxes: one, two, …
    written: Vec<BTreeSet<Vec<u64>>>,
    canonical: &'a Canonical,
    fill: Vec<u8>,
    /// Hashes, by which dimensions they are at the end of, where tiles are shorter.
    known: HashMap<Vec<bool>, Hash>,
}

impl<'a> Unwritten<'a> {
    /// All but these boxes of a walk, which are whole tiles. `fill`: an element.
    pub(super) fn new(
        tiles: &'a ChunkGrid,
        walk: &Walk,
        written: &BTreeSet<u64>,
        canonical: &'a Canonical,
        fill: Vec<u8>,
    ) -> Self {
        let counts = walk.grid.counts();
        let mut found = vec![BTreeSet::new(); counts.len()];
        for &number in written {
            let at = unravel(number, &counts);
            (0..at.len()).for_each(|d| _ = found[d].insert(at[..=d].to_vec()));
        }
        let boxes = walk.grid.chunk.clone();
        Unwritten { tiles, boxes, written: found, canonical, fill, known: HashMap::new() }
    }

    /// The tile along the last of these dimensions before which nothing is written, from this one on; `None` if something is in it.
    fn until(&self, at: &[u64]) -> Option<u64> {
        let d = at.len() - 1;
        let box_of = |d: usize| at[d] * self.tiles.chunk[d] / self.boxes[d];
        let here: Vec<u64> = (0..at.len()).map(box_of).collect();
        let mut from = self.written[d].range((Bound::Included(here.clone()), Bound::Unbounded));
        match from.next() {
            Some(next) if *next == here => None,
            Some(next) if next[..d] == here[..d] => {
                Some((next[d] * self.boxes[d]).div_ceil(self.tiles.chunk[d]))
            }
            _ => Some(u64::MAX),
        }
    }

    /// The hash of all tiles with these first coordinates.
    fn hash(&mut self, at: &[u64]) -> Hash {
        let counts = self.tiles.counts();
        let ends =
            (0..at.len()).map(|d| at[d] + 1 == counts[d] && self.length(d, true) < self.tiles.chunk[d]);
        self.of(ends.collect(), &counts)
    }

    /// The length of a tile along a dimension, of the last one there.
    fn length(&self, d: usize, is_last: bool) -> u64 {
        let (shape, chunk) = (self.tiles.shape[d], self.tiles.chunk[d]);
        match shape % chunk {
            rest if is_last && rest > 0 => rest,
            _ => chunk,
        }
    }

    fn of(&mut self, ends: Vec<bool>, counts: &[u64]) -> Hash {
        if let Some(known) = self.known.get(&ends) {
            return *known;
        }
        let d = ends.len();
        let hash = match counts.get(d) {
            None => {
                let elements: u64 = ends.iter().enumerate().map(|(d, end)| self.length(d, *end)).product();
                let mut bytes = Vec::new();
                self.canonical.fixed(&self.fill.repeat(elements as usize), &mut bytes);
                blake3::hash(&bytes)
            }
            Some(n) => {
                let mut list = List::default();
                let below = |is_last: bool| [&ends[..], &[is_last]].concat();
                let is_shorter = self.length(d, true) < self.tiles.chunk[d];
                if n - u64::from(is_shorter) > 0 {
                    let hash = self.of(below(false), counts);
                    list.push(hash, n - u64::from(is_shorter));
                }
                if is_shorter {
                    let hash = self.of(below(true), counts);
                    list.push(hash, 1);
                }
                list.finish()
            }
        };
        self.known.insert(ends, hash);
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(n: u64) -> Vec<Hash> {
        (0..n).map(|i| blake3::hash(&i.to_le_bytes())).collect()
    }

    /// As the specification says it.
    fn reduced(mut list: Vec<Hash>) -> Hash {
        while list.len() > 1 {
            list = list.chunks(GROUP).map(hash_of).collect();
        }
        list[0]
    }

    #[test]
    fn lists_are_reduced_group_by_group() {
        for n in [1, 2, 1023, 1024, 1025, 2048, 2049, (1 << 20) - 1, 1 << 20, (1 << 20) + 1] {
            let (mut list, one) = (List::default(), blake3::hash(b"x"));
            list.push(one, n);
            assert_eq!(list.finish(), reduced(vec![one; n as usize]), "{n}");
        }
        let all = hashes(5000);
        let mut list = List::default();
        all[..100].iter().for_each(|hash| list.push(*hash, 1));
        list.push(all[7], 3000);
        all[100..].iter().for_each(|hash| list.push(*hash, 1));
        let same = [&all[..100], &vec![all[7]; 3000], &all[100..]].concat();
        assert_eq!(list.finish(), reduced(same));
    }

    #[test]
    fn tiles_are_folded_in_their_order() {
        let all = hashes(6);
        let tiles = ChunkGrid::new(&[20, 24], &[10, 8]);
        let of = |order: [usize; 6]| {
            let mut fold = Fold::new(&tiles, None);
            order.iter().for_each(|&i| fold.add_all([(i as u64, all[i])]));
            fold.finish().expect("all tiles came")
        };
        let rows = all.chunks(3).map(|row| reduced(row.to_vec())).collect();
        assert_eq!(of([0, 1, 2, 3, 4, 5]), reduced(rows));
        assert_eq!(of([0, 1, 2, 3, 4, 5]), of([3, 1, 5, 0, 2, 4]));
    }
}
