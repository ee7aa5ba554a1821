//! The map from the image, the run of bytes that the store seems to be, to blocks in trees.
//!
//! Each window of the image lies in one tree. Room can be made anywhere in the image by a new window: nothing
//! stored moves. And a stretch of the image that is of one kind has a tree of its own, so that its blocks begin
//! where it does.

use super::format::{MAX_PARTS, Window};
use crate::store::Part;

/// A run of bytes inside one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) tree: u32,
    pub(super) block: u64,
    /// Where in the block.
    pub(super) at: usize,
    pub(super) len: usize,
}

/// An image: its length and its windows. There is always a window that starts at byte 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) len: u64,
    pub(super) windows: Vec<Window>,
}

impl Map {
    /// An empty image over one tree.
    pub(super) fn new(tree: u32) -> Self {
        Map { len: 0, windows: vec![Window { start: 0, offset: 0, tree }] }
    }

    /// The window that holds a byte.
    fn find(&self, at: u64) -> usize {
        self.windows.partition_point(|w| w.start <= at).saturating_sub(1)
    }

    /// End of a window in the image; the last one has none.
    pub(super) fn end_of(&self, i: usize) -> u64 {
        self.windows.get(i + 1).map_or(u64::MAX, |w| w.start)
    }

    /// The pieces that a run of bytes is made of, in order. `shift` is log2 of the block size.
    pub(super) fn pieces(&self, offset: u64, len: usize, shift: u8) -> impl Iterator<Item = Piece> + '_ {
        let mut at = offset;
        let end = offset + len as u64;
        let mut i = self.find(offset);
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            while self.end_of(i) <= at {
                i += 1;
            }
            let w = self.windows[i];
            let place = w.offset.saturating_add(at - w.start);
            let inside = place & ((1 << shift) - 1);
            let room = ((1u64 << shift) - inside).min(end - at).min(self.end_of(i) - at);
            at += room;
            Some(Piece { tree: w.tree, block: place >> shift, at: inside as usize, len: room as usize })
        })
    }

    /// Bytes of the image that lie in a block of a tree, as far as one run goes: for messages.
    pub(super) fn bytes_of(&self, tree: u32, block: u64, shift: u8) -> Option<(u64, u64)> {
        let (from, to) = (block << shift, (block + 1) << shift);
        let (mut first, mut last) = (None, 0);
        for (i, w) in self.windows.iter().enumerate().filter(|(_, w)| w.tree == tree) {
            let len = self.end_of(i).min(self.len.max(w.start)) - w.start;
            let (a, b) = (from.max(w.offset), to.min(w.offset.saturating_add(len)));
            if a < b {
                first.get_or_insert(w.start + (a - w.offset));
                last = w.start + (b - w.offset);
            }
        }
        Some((first?, last))
    }

    /// Makes room for `len` bytes at byte `at`, which lies inside the image: the room is a window over `tree`, an
    /// empty one. False if there would be too many windows.
    pub(super) fn insert(&mut self, at: u64, len: u64, tree: u32) -> bool {
        if self.windows.len() + 2 > MAX_PARTS / 16 {
            return false;
        }
        let i = self.find(at);
        let w = self.windows[i];
        let room = Window { start: at, offset: 0, tree };
        let first = if w.start == at {
            self.windows.insert(i, room);
            i + 1
        } else {
            self.windows.insert(i + 1, room);
            let rest = Window { start: at, offset: w.offset + (at - w.start), tree: w.tree };
            self.windows.insert(i + 2, rest);
            i + 2
        };
        for w in &mut self.windows[first..] {
            w.start += len;
        }
        self.len += len;
        true
    }

    /// Cuts window `i` at the given bytes of the image (rising, inside it), each part over a new tree from number
    /// `next` on.
    pub(super) fn cut(&mut self, i: usize, at: &[u64], mut next: u32) {
        for (k, &start) in at.iter().enumerate() {
            self.windows.insert(i + 1 + k, Window { start, offset: 0, tree: next });
            next += 1;
        }
    }
}

/// Which parts of a described image are worth a tree of their own: groups of neighbours, with the width and the
/// stride that suit most of their bytes.
pub(super) fn group(parts: &[Part], end: u64, block: u64) -> Vec<Part> {
    const MOST: usize = 512;
    let mut least = 4 * block;
    loop {
        let groups = group_from(parts, end, least);
        if groups.len() <= MOST || least > 1 << 60 {
            return groups;
        }
        least *= 2;
    }
}

/// Parts of `least` bytes, and records, stand alone; smaller neighbours stand together.
fn group_from(parts: &[Part], end: u64, least: u64) -> Vec<Part> {
    let mut groups: Vec<(Part, u64, bool)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let next = parts.get(i + 1).map_or(end, |p| p.start);
        let size = next.saturating_sub(part.start);
        // The header changes with every record: it must not drag data along.
        let alone = size >= least || part.stride > 0 || i == 0;
        match groups.last_mut() {
            Some((group, most, false)) if !alone => {
                if size > *most {
                    (group.width, group.stride, *most) = (part.width, part.stride, size);
                }
            }
            _ => groups.push((*part, size, alone)),
        }
    }
    groups.into_iter().map(|(part, ..)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(map: &Map, offset: u64, len: usize) -> Vec<(u32, u64, usize, usize)> {
        map.pieces(offset, len, 12).map(|p| (p.tree, p.block, p.at, p.len)).collect()
    }

    #[test]
    fn room_moves_nothing_that_is_stored() {
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
        assert_eq!(map.bytes_of(0, 1, 12), Some((4096 + 109, 8192 + 109)));
        assert_eq!(map.bytes_of(7, 1, 12), None);
    }

    #[test]
    fn parts_are_grouped_by_size() {
        let part = |start, width| Part { start, width, stride: 0 };
        let parts = [part(0, 1), part(100, 8), part(200, 4), part(900, 2), part(100_000, 4)];
        let groups = group(&parts, 200_000, 4096);
        assert_eq!(groups, [part(0, 1), part(100, 4), part(900, 2), part(100_000, 4)]);
    }
}
