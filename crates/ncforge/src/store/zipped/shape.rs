//! Changes of the image's shape: its length, and insertions.

use std::sync::atomic::Ordering;

use super::block;
use super::format::{Entry, Kind, Over};
use super::image::{Map, Piece, tree_pieces};
use super::read::Fetch;
use super::tree::Tree;
use super::write::parts;
use super::{Core, ZippedStore};
use crate::error::Result;
use crate::store::Wider;

impl ZippedStore {
    /// Sets the length of the image; truncated bytes are discarded, new bytes are zero.
    pub(super) fn set_image_len(&self, len: u64, replacement: bool) -> Result<()> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let old = core.map_of(replacement).len;
        if len < old {
            self.cut_off(core, len, replacement)?;
        }
        core.map_of_mut(replacement).len = len;
        self.len.store(core.map.len, Ordering::Release);
        let (_, tx) = parts(core);
        tx.changed = true;
        tx.hold |= len < old;
        Ok(())
    }

    /// Zeroes everything from byte `len` of the image on; blocks without other bytes are freed.
    fn cut_off(&self, core: &mut Core, len: u64, replacement: bool) -> Result<()> {
        let map = core.map_of(replacement).clone();
        for (i, w) in map.windows.iter().enumerate() {
            if map.end_of(i) <= len {
                continue;
            }
            // The remaining part of the tree in this window ends here; windows over the same tree follow in order.
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
        let map = core.map_of_mut(replacement);
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
            let rest = (1u64 << self.shift) - edge;
            let piece = Piece { tree, block: first, at: edge as usize, len: rest as usize };
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

    /// Inserts bytes into the image; insertions after its end are not necessary. All or nothing.
    pub(super) fn insert_bytes(&self, insertions: &[(u64, u64)], wider: Option<&Wider>) -> Result<bool> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let mut map = core.map.clone();
        let mut next = core.trees.len() as u32;
        let mut records = 0;
        if let Some(wider) = wider {
            let insertions: Vec<(u64, u64)> = wider.rooms.iter().map(|r| (r.at, r.len)).collect();
            match map.widen(wider.start, wider.stride, &insertions, next) {
                Some(n) => records = n,
                None => return Ok(false),
            }
            next += insertions.len() as u32;
        }
        // From the back: offsets before an insertion do not change.
        for &(at, len) in insertions.iter().rev().filter(|&&(at, len)| len > 0 && at < core.map.len) {
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
        for (insertion, tree) in wider.iter().flat_map(|w| &w.rooms).zip(first..) {
            core.trees[tree as usize].head.width = insertion.element;
            if let Err(e) = self.fill_tree(core, tree, records * insertion.len, insertion.fill) {
                core.map = old;
                return Err(e);
            }
        }
        self.len.store(core.map.len, Ordering::Release);
        Ok(true)
    }

    /// Fills the first `len` bytes of an empty tree with repetitions of eight bytes.
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
        // The last one is not full: it is padded with zeros.
        for piece in
            tree_pieces(tree, whole << self.shift, (len - (whole << self.shift)) as usize, self.shift)
        {
            self.change_piece(core, piece, &mut |bytes| block::fill(&fill, 0, bytes))?;
        }
        Ok(())
    }
}

impl Core {
    /// The map of the image, or of its replacement while that is built.
    pub(super) fn map_of(&self, replacement: bool) -> &Map {
        match (&self.replacement, replacement) {
            (Some(map), true) => map,
            _ => &self.map,
        }
    }

    pub(super) fn map_of_mut(&mut self, replacement: bool) -> &mut Map {
        match (&mut self.replacement, replacement) {
            (Some(map), true) => map,
            _ => &mut self.map,
        }
    }
}
