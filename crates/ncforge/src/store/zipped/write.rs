//! Writing into the image: changed blocks are buffered decoded, and compressed and stored in batches.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{self, Encoded};
use super::choice;
use super::format::{Entry, SLOT};
use super::image::{Piece, RunOver, tree_pieces};
use super::read::{Fetch, load_block, no_column};
use super::table::Table;
use super::tree::Tree;
use super::tx::{Id, Tx};
use super::{Core, ZippedStore};
use crate::error::Result;
use crate::store::{ReadStore, WriteStore};

/// Blocks that are encoded before the first of them is written.
const BATCH: usize = 128;
/// Stored blocks that follow each other go to the file in requests of up to this many bytes.
const REQUEST: usize = 4 << 20;

/// The parts of a store that is open for writing, borrowed separately.
pub(super) fn parts(core: &mut Core) -> (&mut Vec<Tree>, &mut Tx) {
    let Core { trees, tx, .. } = core;
    (trees, tx.as_mut().expect("a store that is open for writing"))
}

impl ZippedStore {
    /// Writes bytes of the image (or of its replacement while that is built), which grows as needed.
    pub(super) fn write_image(&self, buf: &[u8], offset: u64, replacement: bool) -> Result<()> {
        let end =
            offset.checked_add(buf.len() as u64).filter(|&e| e <= i64::MAX as u64).ok_or_else(|| {
                crate::Error::TooLarge(format!("{} bytes at offset {offset} of `{}`", buf.len(), self.name()))
            })?;
        let mut core = self.core_mut();
        let core = &mut *core;
        match core.map_of(replacement).first_piece(offset, buf.len(), self.shift) {
            Some(piece) if piece.len == buf.len() => self.write_piece(core, piece, buf)?,
            None => {}
            _ => {
                let mut rest = buf;
                for run in core.map_of(replacement).runs(offset, buf.len()) {
                    let (part, others) = rest.split_at(run.len);
                    rest = others;
                    match run.over {
                        RunOver::Tree(tree) => self.write_tree(core, tree, run.place, part)?,
                        RunOver::Table(table) => self.write_table(core, &table, run.place, part)?,
                    }
                }
            }
        }
        let map = core.map_of_mut(replacement);
        map.len = map.len.max(end);
        self.written(core, end - offset)
    }

    /// Writes runs of a column of records, which [`Map::column`](super::image::Map::column) found.
    pub(super) fn write_column(&self, bytes: &[u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let mut core = self.core_mut();
        let core = &mut *core;
        let n = (bytes.len() / run.max(1)) as u64;
        let found = core.map.column(offset, run as u64, step, n);
        let Some((tree, from)) = found else { return Err(no_column(self.name())) };
        self.write_tree(core, tree, from, bytes)?;
        core.map.len = core.map.len.max(offset + (n - 1) * step + run as u64);
        self.written(core, bytes.len() as u64)
    }

    /// Counts bytes that were written.
    fn written(&self, core: &mut Core, bytes: u64) -> Result<()> {
        self.len.store(core.map.len, Ordering::Release);
        let is_committed = core.sequence > 0;
        let (_, tx) = parts(core);
        tx.changed = true;
        tx.written += bytes;
        if is_committed && !tx.hold && tx.written >= self.resources.commit_every {
            self.commit_core(core)?;
        }
        Ok(())
    }

    fn write_tree(&self, core: &mut Core, tree: u32, from: u64, mut bytes: &[u8]) -> Result<()> {
        for piece in tree_pieces(tree, from, bytes.len(), self.shift) {
            let (part, rest) = bytes.split_at(piece.len);
            self.write_piece(core, piece, part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Writes bytes of a table, column by column.
    fn write_table(&self, core: &mut Core, table: &Table, place: u64, bytes: &[u8]) -> Result<()> {
        for c in &table.columns {
            let (from, to) = (table.before(c, place), table.before(c, place + bytes.len() as u64));
            let mut t = from;
            for piece in tree_pieces(c.tree, from, (to - from) as usize, self.shift) {
                self.change_piece(core, piece, &mut |own| table.gather(c, t, own, place, bytes))?;
                t += piece.len as u64;
            }
        }
        Ok(())
    }

    fn write_piece(&self, core: &mut Core, piece: Piece, part: &[u8]) -> Result<()> {
        self.change_piece(core, piece, &mut |bytes| bytes.copy_from_slice(part))
    }

    /// Changes bytes of a block: all of `piece` is overwritten.
    pub(super) fn change_piece(
        &self,
        core: &mut Core,
        piece: Piece,
        put: &mut dyn FnMut(&mut [u8]),
    ) -> Result<()> {
        let id = (piece.tree, piece.block);
        let range = piece.at..piece.at + piece.len;
        let (_, tx) = parts(core);
        if let Some(bytes) = tx.dirty.get_mut(&id) {
            put(&mut bytes[range]);
            tx.latest.insert(piece.tree, piece.block);
            return Ok(());
        }
        let mut bytes = if piece.len == 1 << self.shift {
            vec![0; piece.len].into_boxed_slice()
        } else {
            self.block_of(core, id)?
        };
        put(&mut bytes[range]);
        let (_, tx) = parts(core);
        let limit = self.resources.pending >> self.shift;
        if tx.dirty.len() as u64 >= limit.max(1) {
            // The last changed block of each tree is likely to be changed again.
            let keep = if tx.latest.len() as u64 <= limit / 2 {
                std::mem::take(&mut tx.latest)
            } else {
                HashMap::new()
            };
            self.spill(core, &keep)?;
            parts(core).1.latest = keep;
        }
        let (_, tx) = parts(core);
        tx.dirty.insert(id, bytes);
        tx.latest.insert(piece.tree, piece.block);
        Ok(())
    }

    /// A copy of the stored state of a block.
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

    /// Compresses and stores changed blocks, all but `keep` (a block of each tree). After an error none is lost.
    pub(super) fn spill(&self, core: &mut Core, keep: &HashMap<u32, u64>) -> Result<()> {
        let (_, tx) = parts(core);
        if keep.is_empty() {
            tx.latest.clear();
        }
        let mut ids: Vec<Id> = tx.dirty.keys().copied().filter(|id| keep.get(&id.0) != Some(&id.1)).collect();
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
            out.push(
                result.unwrap_or_else(|| Err(crate::Error::Internal("a block was not encoded".into())))?,
            );
        }
        for encoded in &mut out {
            if encoded.entry.extent().is_some() {
                encoded.entry.slot = tx.space.take(encoded.entry.slots());
            }
        }
        let writes = out.iter().filter(|e| e.entry.extent().is_some()).map(|e| (e.entry.slot, &e.bytes[..]));
        if let Err(e) = self.sink().and_then(|sink| write_joined(sink, writes.collect())) {
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

    /// Chooses how elements are split for trees without a choice, if they have a block to try it on.
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
            let samples = choice::samples(head, &telling);
            head.choice = choice::choose(head, &samples, self.codec)?;
        }
        Ok(())
    }
}

/// Writes stored bytes at their slots; adjacent ones are coalesced into one request.
pub(super) fn write_joined(backing: &dyn WriteStore, mut writes: Vec<(u64, &[u8])>) -> Result<()> {
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
