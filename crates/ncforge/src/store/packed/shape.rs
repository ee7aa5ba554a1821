//! Changes of the image's shape: its length, and room in its middle.

use std::sync::atomic::Ordering;

use super::block;
use super::format::{Entry, Kind, Over};
use super::image::{Map, Piece, tree_pieces};
use super::read::Fetch;
use super::tree::Tree;
use super::write::parts;
use super::{Core, PackedStore};
use crate::error::Result;
use crate::store::Wider;

impl PackedStore {
    /// Sets the length of the image; what is cut off is gone, what is added is zero.
    pub(super) fn set_image_len(&self, len: u64, beside: bool) -> Result<()> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let old = core.map_of(beside).len;
        if len < old {
            self.cut_off(core, len, beside)?;
        }
        core.map_of_mut(beside).len = len;
        self.len.store(core.map.len, Ordering::Release);
        let (_, tx) = parts(core);
        tx.changed = true;
        tx.hold |= len < old;
        Ok(())
    }

    /// Zeroes everything from byte `len` of the image on; blocks that hold nothing else go.
    fn cut_off(&self, core: &mut Core, len: u64, beside: bool) -> Result<()> {
        let map = core.map_of(beside).clone();
        for (i, w) in map.windows.iter().enumerate() {
            if map.end_of(i) <= len {
                continue;
            }
            // What stays of the tree in this window ends here; windows over the same tree follow in order.
            let keep = w.offset + len.saturating_sub(w.start);
            match w.over {
                Over::Tree(tree) => self.cut_tree(core, tree, keep)?,
                Over::Table(n) => {
                    let table = &map.tables[n as usize];
                    for c in &table.columns {
                        self.cut_tree(core, c.tree, table.before(c, keep))?;
                    }
                }
            }
        }
        let map = core.map_of_mut(beside);
        let keep = map.windows.partition_point(|w| w.start < len).max(1);
        map.windows.truncate(keep);
        Ok(())
    }

    /// Zeroes a tree from its byte `keep` on.
    fn cut_tree(&self, core: &mut Core, tree: u32, keep: u64) -> Result<()> {
        let fetch = Fetch { backing: &*self.backing };
        let edge = keep & ((1 << self.shift) - 1);
        let mut first = keep >> self.shift;
        if edge > 0 {
            // Bytes of later windows in the same block are beyond the new end as well.
            let room = (1u64 << self.shift) - edge;
            let piece = Piece { tree, block: first, at: edge as usize, len: room as usize };
            let is_there = {
                let (trees, tx) = parts(core);
                tx.dirty(tree, first).is_some()
                    || trees[tree as usize].get(first, &fetch)? != Entry::default()
            };
            if is_there {
                self.change_piece(core, piece, &mut |bytes| bytes.fill(0))?;
            }
            first += 1;
        }
        let (trees, tx) = parts(core);
        tx.drop_dirty_from(tree, first);
        let tree = &mut trees[tree as usize];
        let mut gone = Vec::new();
        tree.visit(&fetch, &mut |block, _| {
            gone.extend(block.filter(|&b| b >= first));
            Ok(())
        })?;
        for block in gone {
            let old = tree.set(block, Entry::default(), &fetch)?;
            tx.free(&old);
        }
        Ok(())
    }

    /// Makes room in the image; rooms behind its end need not be made. All or nothing.
    pub(super) fn insert_rooms(&self, rooms: &[(u64, u64)], wider: Option<&Wider>) -> Result<bool> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let mut map = core.map.clone();
        let mut next = core.trees.len() as u32;
        let mut records = 0;
        if let Some(wider) = wider {
            let rooms: Vec<(u64, u64)> = wider.rooms.iter().map(|r| (r.at, r.len)).collect();
            match map.widen(wider.start, wider.stride, &rooms, next) {
                Some(n) => records = n,
                None => return Ok(false),
            }
            next += rooms.len() as u32;
        }
        // From the back: what is before a room keeps its offset.
        for &(at, len) in rooms.iter().rev().filter(|&&(at, len)| len > 0 && at < core.map.len) {
            if map.len.checked_add(len).is_none_or(|n| n > i64::MAX as u64) || !map.insert(at, len, next) {
                return Ok(false);
            }
            next += 1;
        }
        let first = core.trees.len() as u32;
        let old: Map = std::mem::replace(&mut core.map, map);
        core.trees.resize_with(next as usize, Tree::default);
        let (_, tx) = parts(core);
        (tx.changed, tx.hold) = (true, true);
        for (room, tree) in wider.iter().flat_map(|w| &w.rooms).zip(first..) {
            core.trees[tree as usize].head.width = room.element;
            if let Err(e) = self.fill_tree(core, tree, records * room.len, room.fill) {
                core.map = old;
                return Err(e);
            }
        }
        self.len.store(core.map.len, Ordering::Release);
        Ok(true)
    }

    /// Fills the first `len` bytes of a tree that holds nothing yet with eight bytes over and over.
    fn fill_tree(&self, core: &mut Core, tree: u32, len: u64, fill: [u8; 8]) -> Result<()> {
        if fill == [0; 8] {
            return Ok(());
        }
        let fetch = Fetch { backing: &*self.backing };
        let entry = Entry { kind: Kind::Pattern(fill), crc: crc32c::crc32c(&fill), ..Entry::default() };
        let whole = len >> self.shift;
        for block in 0..whole {
            core.trees[tree as usize].set(block, entry, &fetch)?;
        }
        // The last one is not full: behind its end stand zeros.
        for piece in
            tree_pieces(tree, whole << self.shift, (len - (whole << self.shift)) as usize, self.shift)
        {
            self.change_piece(core, piece, &mut |bytes| block::fill(&fill, 0, bytes))?;
        }
        Ok(())
    }
}

impl Core {
    /// The map of the image, or of what is being built to replace it.
    pub(super) fn map_of(&self, beside: bool) -> &Map {
        match (&self.beside, beside) {
            (Some(map), true) => map,
            _ => &self.map,
        }
    }

    pub(super) fn map_of_mut(&mut self, beside: bool) -> &mut Map {
        match (&mut self.beside, beside) {
            (Some(map), true) => map,
            _ => &mut self.map,
        }
    }
}
