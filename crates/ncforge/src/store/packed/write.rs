//! Writing into the image: changed blocks are held decoded, and compressed and stored in batches.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{self, Encoded};
use super::choice;
use super::format::{Entry, SLOT, Window};
use super::image::{Piece, group};
use super::read::{Fetch, load_block};
use super::space::Space;
use super::tree::Tree;
use super::{Core, PackedStore};
use crate::error::Result;
use crate::store::{Part, Store};

/// Tree and block.
type Id = (u32, u64);

/// Blocks that are encoded before the first of them is written.
const BATCH: usize = 128;
/// Stored blocks that follow each other go to the file in requests of up to this many bytes.
const REQUEST: usize = 4 << 20;

/// What has happened since the last commit.
#[derive(Debug)]
pub(super) struct Tx {
    /// Changed blocks that are not stored yet.
    dirty: HashMap<Id, Box<[u8]>>,
    /// The one that was changed last: likely to be changed again.
    latest: Option<Id>,
    pub(super) space: Space,
    /// Whether there is anything to commit.
    pub(super) changed: bool,
    /// Whether only [`Store::sync`] may commit: the image makes no sense in between.
    pub(super) hold: bool,
    /// Bytes written since the last commit.
    pub(super) written: u64,
    /// Where the map of the last commit is stored.
    pub(super) map: Entry,
    /// Index pages and maps that have their place, by slot, and are not written yet.
    pub(super) pages: BTreeMap<u64, Vec<u8>>,
}

impl Tx {
    pub(super) fn new(space: Space, map: Entry) -> Self {
        Tx {
            dirty: HashMap::new(),
            latest: None,
            space,
            changed: false,
            hold: false,
            written: 0,
            map,
            pages: BTreeMap::new(),
        }
    }

    /// The bytes of a changed block.
    pub(super) fn dirty(&self, tree: u32, block: u64) -> Option<&[u8]> {
        self.dirty.get(&(tree, block)).map(|b| &b[..])
    }

    /// Forgets the changed blocks of a tree.
    pub(super) fn drop_dirty(&mut self, tree: u32) {
        self.dirty.retain(|id, _| id.0 != tree);
    }

    /// Frees what an entry points to.
    pub(super) fn free(&mut self, entry: &Entry) {
        if let Some((slot, slots)) = entry.extent() {
            // It may be a page of a commit that failed.
            self.pages.remove(&slot);
            self.space.give(slot, slots);
        }
    }
}

/// The parts of a store that is open for writing, borrowed apart.
pub(super) fn parts(core: &mut Core) -> (&mut Vec<Tree>, &mut Tx) {
    let Core { trees, tx, .. } = core;
    (trees, tx.as_mut().expect("a store that is open for writing"))
}

impl PackedStore {
    /// Writes bytes of the image (or of what is being built to replace it), which grows as needed.
    pub(super) fn write_image(&self, mut buf: &[u8], offset: u64, beside: bool) -> Result<()> {
        let end =
            offset.checked_add(buf.len() as u64).filter(|&e| e <= i64::MAX as u64).ok_or_else(|| {
                crate::Error::Invalid(format!("{} bytes at offset {offset} of `{}`", buf.len(), self.name()))
            })?;
        let mut core = self.core_mut();
        let core = &mut *core;
        let mut at = offset;
        while !buf.is_empty() {
            let piece = core.map_of(beside).pieces(at, buf.len(), self.shift).next();
            let Some(piece) = piece else { break };
            let (part, rest) = buf.split_at(piece.len);
            self.write_piece(core, piece, part)?;
            at += piece.len as u64;
            buf = rest;
        }
        let map = if beside { core.beside.as_mut().unwrap_or(&mut core.map) } else { &mut core.map };
        map.len = map.len.max(end);
        self.len.store(core.map.len, Ordering::Release);
        let is_committed = core.sequence > 0;
        let (_, tx) = parts(core);
        tx.changed = true;
        tx.written += end - offset;
        if is_committed && !tx.hold && tx.written >= self.resources.commit_every {
            self.commit_core(core)?;
        }
        Ok(())
    }

    fn write_piece(&self, core: &mut Core, piece: Piece, part: &[u8]) -> Result<()> {
        let id = (piece.tree, piece.block);
        let size = 1usize << self.shift;
        let (_, tx) = parts(core);
        if let Some(bytes) = tx.dirty.get_mut(&id) {
            bytes[piece.at..piece.at + piece.len].copy_from_slice(part);
            tx.latest = Some(id);
            return Ok(());
        }
        let bytes: Box<[u8]> = if piece.len == size {
            part.into()
        } else {
            let mut bytes = self.block_of(core, id)?;
            bytes[piece.at..piece.at + piece.len].copy_from_slice(part);
            bytes
        };
        let (_, tx) = parts(core);
        if (tx.dirty.len() as u64 + 1) << self.shift > self.resources.pending {
            let keep = tx.latest;
            self.spill(core, keep)?;
        }
        let (_, tx) = parts(core);
        tx.dirty.insert(id, bytes);
        tx.latest = Some(id);
        Ok(())
    }

    /// A copy of a block as it is stored.
    fn block_of(&self, core: &Core, (tree, block): Id) -> Result<Box<[u8]>> {
        let mut bytes = vec![0; 1 << self.shift].into_boxed_slice();
        let entry = core.trees[tree as usize].get(block, &Fetch { backing: &*self.backing })?;
        if entry != Entry::default() {
            match self.resources.cache.get(&self.key(&entry)) {
                Some(known) => bytes.copy_from_slice(&known),
                None => {
                    let name = || core.name_of(tree, block, self.shift);
                    load_block(&*self.backing, &entry, &mut bytes, &name)?;
                }
            }
        }
        Ok(bytes)
    }

    /// Compresses and stores changed blocks, all but `keep`. On an error none is lost.
    pub(super) fn spill(&self, core: &mut Core, keep: Option<Id>) -> Result<()> {
        let (_, tx) = parts(core);
        let mut ids: Vec<Id> = tx.dirty.keys().copied().filter(|id| Some(*id) != keep).collect();
        ids.sort_unstable();
        self.choose_ways(core, &ids)?;
        for batch in ids.chunks(BATCH) {
            self.spill_batch(core, batch)?;
        }
        Ok(())
    }

    fn spill_batch(&self, core: &mut Core, ids: &[Id]) -> Result<()> {
        let (trees, tx) = parts(core);
        let results: Vec<Mutex<Option<Result<Encoded>>>> = ids.iter().map(|_| Mutex::new(None)).collect();
        {
            let (trees, tx) = (&*trees, &*tx);
            let work = |i: usize| {
                let id = ids[i];
                let bytes = &tx.dirty[&id];
                let width = choice::width(&trees[id.0 as usize].head, bytes.len());
                let encoded = block::encode(bytes, width, self.codec);
                *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(encoded);
            };
            self.resources.workers.run(ids.len(), &work);
        }
        let mut out = Vec::with_capacity(ids.len());
        for result in results {
            let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
            out.push(result.unwrap_or_else(|| Err(crate::Error::Invalid("a block was not encoded".into())))?);
        }
        for encoded in &mut out {
            if encoded.entry.extent().is_some() {
                encoded.entry.slot = tx.space.take(encoded.entry.slots());
            }
        }
        let writes = out.iter().filter(|e| e.entry.extent().is_some()).map(|e| (e.entry.slot, &e.bytes[..]));
        if let Err(e) = write_joined(&*self.backing, writes.collect()) {
            for encoded in &out {
                tx.free(&encoded.entry);
            }
            return Err(e);
        }
        let fetch = Fetch { backing: &*self.backing };
        for (id, encoded) in ids.iter().zip(&out) {
            let old = match trees[id.0 as usize].set(id.1, encoded.entry, &fetch) {
                Ok(old) => old,
                Err(e) => {
                    tx.free(&encoded.entry);
                    return Err(e);
                }
            };
            tx.free(&old);
            if let Some(bytes) = tx.dirty.remove(id)
                && encoded.entry.extent().is_some()
            {
                self.resources.cache.put(self.key(&encoded.entry), Arc::from(bytes));
            }
        }
        Ok(())
    }

    /// Trees whose way of taking elements apart is not chosen yet get one, if they have a block to try it on.
    fn choose_ways(&self, core: &mut Core, ids: &[Id]) -> Result<()> {
        let (trees, tx) = parts(core);
        for of_tree in ids.chunk_by(|a, b| a.0 == b.0) {
            let head = &mut trees[of_tree[0].0 as usize].head;
            if head.choice != 0 {
                continue;
            }
            let telling: Vec<&[u8]> =
                of_tree.iter().map(|id| &tx.dirty[id][..]).filter(|b| !block::is_trivial(b)).collect();
            if telling.is_empty() {
                continue;
            }
            // From the beginning, the middle and the end of what is there.
            let n = telling.len().min(choice::TRIED);
            let samples: Vec<&[u8]> =
                (0..n).map(|i| telling[if n == 1 { 0 } else { i * (telling.len() - 1) / (n - 1) }]).collect();
            head.choice = choice::choose(head, &samples, self.codec)?;
        }
        Ok(())
    }

    /// Sets the length of the image; what is cut off is gone, what is added is zero.
    pub(super) fn set_image_len(&self, len: u64, beside: bool) -> Result<()> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let old = core.map_of(beside).len;
        if len < old {
            self.cut_off(core, len, beside)?;
        }
        let map = if beside { core.beside.as_mut().unwrap_or(&mut core.map) } else { &mut core.map };
        map.len = len;
        self.len.store(core.map.len, Ordering::Release);
        let (_, tx) = parts(core);
        tx.changed = true;
        tx.hold |= len < old;
        Ok(())
    }

    /// Zeroes everything from byte `len` of the image on; blocks that hold nothing else go.
    fn cut_off(&self, core: &mut Core, len: u64, beside: bool) -> Result<()> {
        let map = core.map_of(beside).clone();
        let fetch = Fetch { backing: &*self.backing };
        for (i, w) in map.windows.iter().enumerate() {
            if map.end_of(i) <= len {
                continue;
            }
            // What stays of the tree in this window ends here; windows over the same tree follow in order.
            let keep = w.offset + len.saturating_sub(w.start);
            let edge = keep & ((1 << self.shift) - 1);
            let mut first = keep >> self.shift;
            if edge > 0 {
                // Bytes of later windows in the same block are beyond the new end as well.
                let room = (1u64 << self.shift) - edge;
                let piece = Piece { tree: w.tree, block: first, at: edge as usize, len: room as usize };
                let is_there = {
                    let (trees, tx) = parts(core);
                    tx.dirty.contains_key(&(w.tree, first))
                        || trees[w.tree as usize].get(first, &fetch)? != Entry::default()
                };
                if is_there {
                    self.write_piece(core, piece, &vec![0; room as usize])?;
                }
                first += 1;
            }
            let (trees, tx) = parts(core);
            tx.dirty.retain(|&(tree, block), _| tree != w.tree || block < first);
            let tree = &mut trees[w.tree as usize];
            let mut gone = Vec::new();
            tree.visit(&fetch, &mut |block, _| {
                gone.extend(block.filter(|&b| b >= first));
                Ok(())
            })?;
            for block in gone {
                let old = tree.set(block, Entry::default(), &fetch)?;
                tx.free(&old);
            }
        }
        let map = if beside { core.beside.as_mut().unwrap_or(&mut core.map) } else { &mut core.map };
        let keep = map.windows.partition_point(|w| w.start < len).max(1);
        map.windows.truncate(keep);
        Ok(())
    }

    /// Makes room in the image; rooms behind its end need not be made.
    pub(super) fn insert_rooms(&self, rooms: &[(u64, u64)]) -> Result<bool> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let mut map = core.map.clone();
        let mut next = core.trees.len() as u32;
        // From the back: what is before a room keeps its offset.
        for &(at, len) in rooms.iter().rev().filter(|&&(at, len)| len > 0 && at < core.map.len) {
            if map.len.checked_add(len).is_none_or(|n| n > i64::MAX as u64) || !map.insert(at, len, next) {
                return Ok(false);
            }
            next += 1;
        }
        core.map = map;
        core.trees.resize_with(next as usize, Tree::default);
        self.len.store(core.map.len, Ordering::Release);
        let (_, tx) = parts(core);
        (tx.changed, tx.hold) = (true, true);
        Ok(true)
    }

    /// Gives stretches of the image that have nothing stored yet trees of their own, and tells trees what they hold.
    pub(super) fn plan(&self, described: &[Part], beside: bool) {
        let mut core = self.core_mut();
        let Core { map, beside: other, trees, tx: Some(tx), .. } = &mut *core else { return };
        let map = if beside { other.as_mut().unwrap_or(map) } else { map };
        let Some(last) = described.last() else { return };
        let groups = group(described, map.len.max(last.start), 1 << self.shift);
        let mut i = 0;
        while i < map.windows.len() {
            let w = map.windows[i];
            let end = map.end_of(i);
            let is_dirty = tx.dirty.keys().any(|id| id.0 == w.tree);
            let mut cuts = Vec::new();
            if trees[w.tree as usize].is_empty() && !is_dirty && w.offset == 0 {
                cuts.extend(groups.iter().map(|p| p.start).filter(|&s| s > w.start && s < end));
                map.cut(i, &cuts, trees.len() as u32);
                trees.extend(cuts.iter().map(|_| Tree::default()));
                tx.changed |= !cuts.is_empty();
            }
            for w in &map.windows[i..=i + cuts.len()] {
                let head = &mut trees[w.tree as usize].head;
                let part = groups.iter().rev().find(|p| p.start <= w.start);
                if let Some(part) = part.filter(|_| head.choice == 0) {
                    (head.width, head.stride) = (part.width, part.stride);
                }
            }
            i += cuts.len() + 1;
        }
    }
}

/// Writes stored bytes at their slots; those that follow each other in one request.
pub(super) fn write_joined(backing: &dyn Store, mut writes: Vec<(u64, &[u8])>) -> Result<()> {
    writes.sort_unstable_by_key(|w| w.0);
    let mut joined: Vec<u8> = Vec::new();
    let mut from = 0;
    for (slot, bytes) in writes {
        let at = slot * SLOT;
        let next = from + (joined.len() as u64).next_multiple_of(SLOT);
        if !joined.is_empty() && (at != next || joined.len() + bytes.len() > REQUEST) {
            backing.write_at(&joined, from)?;
            joined.clear();
        }
        if joined.is_empty() {
            from = at;
        } else {
            joined.resize((at - from) as usize, 0);
        }
        joined.extend_from_slice(bytes);
    }
    if joined.is_empty() { Ok(()) } else { backing.write_at(&joined, from) }
}

/// Windows that one map has and the other has not need their trees; this tells which trees a map uses.
pub(super) fn used_trees(windows: &[Window], n: usize) -> Vec<bool> {
    let mut used = vec![false; n];
    for w in windows {
        used[w.tree as usize] = true;
    }
    used
}
