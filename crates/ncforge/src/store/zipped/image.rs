//! The map from the image, the sequence of bytes that the store presents, to blocks in trees.
//!
//! Each window of the image is stored in one tree, or in one table. Bytes can be inserted anywhere in the image with a new
//! window: nothing stored moves. A range of the image with values of one kind has a tree of its own, so that its
//! blocks begin where the range does.

use std::sync::Arc;

use super::format::{Column, Contents, MAX_PARTS, Over, TreeHead, Window};
use super::recent::Shown;
use super::table::Table;

/// A run of bytes inside one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) tree: u32,
    pub(super) block: u64,
    /// Offset in the block.
    pub(super) at: usize,
    pub(super) len: usize,
}

/// A run of bytes inside one window.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) over: RunOver,
    /// Byte of the tree or of the table.
    pub(super) place: u64,
    pub(super) len: usize,
}

/// The tree or table that stores a run.
#[derive(Clone, Debug)]
pub(super) enum RunOver {
    Tree(u32),
    Table(Arc<Table>),
}

/// Bytes of the image that are stored in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The first one.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
    /// The bytes of the column and the bytes of a record, from the first one on, for a column of records.
    pub every: Option<(u64, u64)>,
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.every {
            Some((n, of)) => {
                write!(f, "{n} of every {of} bytes from {} to {} of the image", self.from, self.to)
            }
            None => write!(f, "bytes {} to {} of the image", self.from, self.to),
        }
    }
}

/// An image: its length and its windows. There is always a window that starts at byte 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) len: u64,
    pub(super) windows: Vec<Window>,
    pub(super) tables: Vec<Arc<Table>>,
}

/// The pieces of a run of bytes of a tree, in order. `shift` is log2 of the block size.
pub(super) fn tree_pieces(tree: u32, from: u64, len: usize, shift: u8) -> impl Iterator<Item = Piece> {
    let (mut at, end) = (from, from.saturating_add(len as u64));
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let inside = at & ((1 << shift) - 1);
        let rest = ((1u64 << shift) - inside).min(end - at);
        let piece = Piece { tree, block: at >> shift, at: inside as usize, len: rest as usize };
        at += rest;
        Some(piece)
    })
}

impl Map {
    /// An empty image over one tree.
    pub(super) fn new(tree: u32) -> Self {
        let windows = vec![Window { start: 0, offset: 0, over: Over::Tree(tree) }];
        Map { len: 0, windows, tables: Vec::new() }
    }

    /// The image of `len` bytes with these stored contents.
    pub(super) fn of_contents(len: u64, contents: Contents) -> (Self, Vec<TreeHead>) {
        let tables = contents.tables.iter().map(|c| Arc::new(Table::new(c))).collect();
        (Map { len, windows: contents.windows, tables }, contents.trees)
    }

    /// The stored form, with the trees of the map.
    pub(super) fn contents(&self, trees: Vec<TreeHead>) -> Contents {
        let tables = self.tables.iter().map(|t| t.stored()).collect();
        Contents { windows: self.windows.clone(), trees, tables }
    }

    /// The window that contains a byte.
    pub(super) fn find(&self, at: u64) -> usize {
        self.windows.partition_point(|w| w.start <= at).saturating_sub(1)
    }

    /// End of a window in the image; the last one has none.
    pub(super) fn end_of(&self, i: usize) -> u64 {
        self.windows.get(i + 1).map_or(u64::MAX, |w| w.start)
    }

    /// The first piece of a run of bytes; `None` if it is empty.
    pub(super) fn first_piece(&self, at: u64, len: usize, shift: u8) -> Option<Piece> {
        let i = self.find(at);
        let w = self.windows[i];
        let len = (len as u64).min(self.end_of(i) - at);
        let place = w.offset.saturating_add(at - w.start);
        match w.over {
            Over::Tree(tree) => tree_pieces(tree, place, len as usize, shift).next(),
            Over::Table(n) => {
                let (column, t, rest) = self.tables[n as usize].locate(place);
                tree_pieces(column.tree, t, len.min(rest) as usize, shift).next()
            }
        }
    }

    /// The storage of the bytes around byte `at` of the image in their tree.
    pub(super) fn shown(&self, at: u64) -> Shown {
        let i = self.find(at);
        let w = self.windows[i];
        let base = w.start.wrapping_sub(w.offset);
        let (from, to) = (w.start, self.end_of(i));
        match w.over {
            Over::Tree(_) => Shown { from, to, base, stride: u64::MAX, at: 0, width: u64::MAX },
            Over::Table(n) => {
                let table = &self.tables[n as usize];
                let (column, ..) = table.locate(at.wrapping_sub(base));
                Shown { from, to, base, stride: table.stride, at: column.at, width: column.bytes }
            }
        }
    }

    /// The parts of a run of bytes, window by window.
    pub(super) fn runs(&self, offset: u64, len: usize) -> Vec<Run> {
        let (mut at, end) = (offset, offset.saturating_add(len as u64));
        let mut runs = Vec::new();
        while at < end {
            let i = self.find(at);
            let w = self.windows[i];
            let n = self.end_of(i).min(end) - at;
            let over = match w.over {
                Over::Tree(tree) => RunOver::Tree(tree),
                Over::Table(n) => RunOver::Table(self.tables[n as usize].clone()),
            };
            runs.push(Run { over, place: w.offset.saturating_add(at - w.start), len: n as usize });
            at += n;
        }
        runs
    }

    /// The tree and its byte where `n` runs of `run` bytes, `step` bytes apart from byte `offset` on, are (or would
    /// be) stored one after the other, if they are a column of records.
    pub(super) fn column(&self, offset: u64, run: u64, step: u64, n: u64) -> Option<(u32, u64)> {
        if self.tables.is_empty() || n == 0 {
            return None;
        }
        let i = self.find(offset);
        let w = self.windows[i];
        let Over::Table(number) = w.over else { return None };
        let table = &self.tables[number as usize];
        let end = (n - 1).checked_mul(step)?.checked_add(offset)?.checked_add(run)?;
        if table.stride != step || end > self.end_of(i).min(i64::MAX as u64) {
            return None;
        }
        let (column, t, rest) = table.locate(w.offset + (offset - w.start));
        (column.bytes == run && rest == run).then_some((column.tree, t))
    }

    /// The windows over a tree: each with its first byte in the tree, the one after its last (as far as the
    /// image goes), and its column if it is a table.
    fn shows(&self, tree: u32) -> impl Iterator<Item = (&Window, u64, u64, Option<(&Table, usize)>)> {
        let len = |i: usize, w: &Window| self.end_of(i).min(self.len.max(w.start)) - w.start;
        self.windows.iter().enumerate().flat_map(move |(i, w)| {
            let end = w.offset.saturating_add(len(i, w));
            match w.over {
                Over::Tree(n) if n == tree => vec![(w, w.offset, end, None)],
                Over::Tree(_) => Vec::new(),
                Over::Table(n) => {
                    let table = &*self.tables[n as usize];
                    let own = |(_, c): &(usize, &super::table::Placed)| c.tree == tree;
                    let columns = table.columns.iter().enumerate().filter(own);
                    let part = |c| (table.before(c, w.offset), table.before(c, end));
                    columns
                        .map(|(k, c)| {
                            let (a, b) = part(c);
                            (w, a, b, Some((table, k)))
                        })
                        .collect()
                }
            }
        })
    }

    /// Bytes of the image that are stored in a block of a tree, as far as one run reaches: for messages.
    pub(super) fn bytes_of(&self, tree: u32, block: u64, shift: u8) -> Option<Reach> {
        let (from, to) = (block << shift, (block + 1) << shift);
        let mut reach: Option<Reach> = None;
        for (w, first, end, column) in self.shows(tree) {
            let (a, b) = (from.max(first), to.min(end));
            if a >= b {
                continue;
            }
            let image = |place: u64| w.start + place.saturating_sub(w.offset);
            let (from, to, every) = match column {
                None => (image(a), image(b), None),
                Some((table, k)) => {
                    let c = &table.columns[k];
                    let run = a / c.bytes * c.bytes;
                    let last = image(table.place_of(c, b - 1)) + 1;
                    (image(table.place_of(c, run)), last, Some((c.bytes, table.stride)))
                }
            };
            match &mut reach {
                Some(reach) => (reach.to, reach.every) = (to, None),
                None => reach = Some(Reach { from, to, every }),
            }
        }
        reach
    }

    /// The length of the part of a tree that the image uses, from its first byte on.
    pub(super) fn extent_of(&self, tree: u32) -> u64 {
        self.shows(tree).map(|(_, _, end, _)| end).max().unwrap_or(0)
    }

    /// The trees of `n` that the image uses.
    pub(super) fn used(&self, n: usize) -> Vec<bool> {
        let mut used = vec![false; n];
        for w in &self.windows {
            match w.over {
                Over::Tree(tree) => used[tree as usize] = true,
                Over::Table(t) => {
                    self.tables[t as usize].columns.iter().for_each(|c| used[c.tree as usize] = true);
                }
            }
        }
        used
    }

    /// Gives each tree a new number, and removes tables that no window maps.
    pub(super) fn renumber(&mut self, trees: &[u32]) {
        let mut tables = Vec::new();
        let mut moved: Vec<Option<u32>> = vec![None; self.tables.len()];
        for w in &mut self.windows {
            match &mut w.over {
                Over::Tree(tree) => *tree = trees[*tree as usize],
                Over::Table(n) => {
                    let old = *n as usize;
                    *n = *moved[old].get_or_insert_with(|| {
                        let mut table = (*self.tables[old]).clone();
                        table.columns.iter_mut().for_each(|c| c.tree = trees[c.tree as usize]);
                        tables.push(Arc::new(table));
                        tables.len() as u32 - 1
                    });
                }
            }
        }
        self.tables = tables;
    }

    /// Inserts `len` bytes at byte `at`, which is inside the image, as a window over the empty tree `tree`.
    /// Returns false if there would be too many windows.
    pub(super) fn insert(&mut self, at: u64, len: u64, tree: u32) -> bool {
        if self.windows.len() + 2 > MAX_PARTS / 16 {
            return false;
        }
        let i = self.find(at);
        let w = self.windows[i];
        let inserted = Window { start: at, offset: 0, over: Over::Tree(tree) };
        let first = if w.start == at {
            self.windows.insert(i, inserted);
            i + 1
        } else {
            self.windows.insert(i + 1, inserted);
            self.windows.insert(i + 2, Window { start: at, offset: w.offset + (at - w.start), over: w.over });
            i + 2
        };
        for w in &mut self.windows[first..] {
            w.start += len;
        }
        self.len += len;
        true
    }

    /// Makes records wider: bytes are inserted into those of `stride` bytes from byte `start` to the end of the image (pairs of
    /// the byte of the record before which they are inserted, and their number), as columns over trees from number `next` on.
    /// Returns the number of records; `None`, without any change, if the way they are stored does not allow it.
    pub(super) fn widen(
        &mut self,
        start: u64,
        stride: u64,
        insertions: &[(u64, u64)],
        mut next: u32,
    ) -> Option<u64> {
        let i = self.windows.len() - 1;
        let w = self.windows[i];
        if w.start != start || w.offset != 0 || self.windows[..i].iter().any(|o| o.over == w.over) {
            return None;
        }
        let old: Vec<Column> = match w.over {
            // Consecutive records in a tree are a table of one column.
            Over::Tree(tree) => vec![Column { bytes: u32::try_from(stride).ok().filter(|&n| n > 0)?, tree }],
            Over::Table(n) => self.tables[n as usize].stored(),
        };
        if Table::new(&old).stride != stride || old.len() + insertions.len() > MAX_PARTS / 16 {
            return None;
        }
        let mut columns = Vec::with_capacity(old.len() + insertions.len());
        let mut insertions = insertions.iter().peekable();
        let mut at = 0;
        for column in old.iter().map(Some).chain([None]) {
            while let Some((_, len)) = insertions.next_if(|r| r.0 == at) {
                columns.push(Column { bytes: u32::try_from(*len).ok().filter(|&n| n > 0)?, tree: next });
                next += 1;
            }
            columns.extend(column);
            at += column.map_or(0, |c| u64::from(c.bytes));
        }
        if insertions.next().is_some() {
            return None;
        }
        let table = Arc::new(Table::new(&columns));
        let records = self.len.saturating_sub(start).div_ceil(stride);
        let len = records.checked_mul(table.stride)?.checked_add(start).filter(|&n| n <= i64::MAX as u64)?;
        self.windows[i].over = match w.over {
            Over::Table(n) => {
                self.tables[n as usize] = table;
                Over::Table(n)
            }
            Over::Tree(_) => {
                self.tables.push(table);
                Over::Table(self.tables.len() as u32 - 1)
            }
        };
        self.len = self.len.max(len);
        Some(records)
    }

    /// Cuts window `i` at the given bytes of the image (rising, inside it), each part over a new tree from number
    /// `next` on.
    pub(super) fn cut(&mut self, i: usize, at: &[u64], mut next: u32) {
        for (k, &start) in at.iter().enumerate() {
            self.windows.insert(i + 1 + k, Window { start, offset: 0, over: Over::Tree(next) });
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(map: &Map, offset: u64, len: usize) -> Vec<(u32, u64, usize, usize)> {
        let (mut at, end) = (offset, offset + len as u64);
        let mut pieces = Vec::new();
        while let Some(p) = map.first_piece(at, (end - at) as usize, 12).filter(|_| at < end) {
            pieces.push((p.tree, p.block, p.at, p.len));
            at += p.len as u64;
        }
        pieces
    }

    fn bytes(from: u64, to: u64) -> Option<Reach> {
        Some(Reach { from, to, every: None })
    }

    #[test]
    fn insertions_do_not_move_stored_bytes() {
        let mut map = Map::new(0);
        map.len = 10_000;
        assert_eq!(all(&map, 4000, 200), [(0, 0, 4000, 96), (0, 1, 0, 104)]);
        assert!(map.insert(4000, 100, 1));
        assert_eq!(map.len, 10_100);
        assert_eq!(all(&map, 3990, 130), [(0, 0, 3990, 10), (1, 0, 0, 100), (0, 0, 4000, 20)]);
        assert!(map.insert(4000, 8, 2));
        assert!(map.insert(0, 1, 3));
        assert_eq!(all(&map, 0, 2), [(3, 0, 0, 1), (0, 0, 0, 1)]);
        assert_eq!(all(&map, 4001, 10), [(2, 0, 0, 8), (1, 0, 0, 2)]);
        assert_eq!(map.bytes_of(0, 1, 12), bytes(4096 + 109, 8192 + 109));
        assert_eq!(map.bytes_of(7, 1, 12), None);
    }

    #[test]
    fn records_get_wider_in_place() {
        let mut map = Map::new(0);
        map.cut(0, &[100], 1);
        map.len = 100 + 12 * 10 - 2;
        let before = map.clone();
        assert_eq!(map.widen(99, 12, &[(12, 4)], 2), None);
        assert_eq!(map.widen(100, 12, &[(13, 4)], 2), None);
        assert_eq!(map, before);
        assert_eq!(map.widen(100, 12, &[(12, 4)], 2), Some(10));
        assert_eq!(map.len, 100 + 16 * 10);
        // Record 3: its old bytes are where they were in the tree.
        assert_eq!(all(&map, 100 + 48, 16), [(1, 0, 36, 12), (2, 0, 12, 4)]);
        assert_eq!(map.widen(100, 16, &[(0, 1), (12, 3)], 3), Some(10));
        assert_eq!(all(&map, 100 + 60, 20), [(3, 0, 3, 1), (1, 0, 36, 12), (4, 0, 9, 3), (2, 0, 12, 4)]);
        assert_eq!(map.column(100 + 60 + 16, 4, 20, 7), Some((2, 12)));
        assert_eq!(map.column(100 + 60 + 17, 3, 20, 7), None, "a part of a column");
        assert_eq!(map.bytes_of(2, 0, 12), Some(Reach { from: 116, to: 300, every: Some((4, 20)) }));
        assert_eq!(map.extent_of(1), 120);
        // An insertion in the middle of a record is a window like any other.
        assert!(map.insert(100 + 60 + 3, 50, 5));
        assert_eq!(all(&map, 161, 60), [(1, 0, 36, 2), (5, 0, 0, 50), (1, 0, 38, 8)]);
        assert_eq!(map.used(7), [true, true, true, true, true, true, false]);
        map.renumber(&[5, 4, 3, 2, 1, 0]);
        assert_eq!(all(&map, 161, 60), [(4, 0, 36, 2), (0, 0, 0, 50), (4, 0, 38, 8)]);
    }
}
