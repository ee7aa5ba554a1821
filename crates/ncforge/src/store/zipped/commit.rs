//! Commits: all changes are made durable, then the root that refers to them.
//!
//! At any moment, the disk contains the last root and everything reachable from it, because none of it is overwritten;
//! and the data of the next root, in any state, and possibly that root. The next root is written to the other place, in
//! two sectors of its own. One sync covers the first copy and everything reachable from it: there is no other
//! wait. Then the second copy is written. A root with a complete second copy is therefore valid; one with the first
//! alone is valid if everything that its commit added is intact (see [`super::open`]). And one damaged
//! byte does not destroy the newest state.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::super::lock::ranges;
use super::format::{Entry, Kind, MAGIC, MAX_PARTS, ROOT, ROOT_PLACES, Root, SLOT, emit_map, emit_page};
use super::open::FIRST;
use super::tree::{Sink, Tree};
use super::write::{parts, write_joined};
use super::{Core, Tx, ZippedStore};
use crate::error::{Error, Result};

/// The free end of a file is truncated if that saves this much, and an eighth of the file.
const CUT_FROM: u64 = 64 << 10;

/// Allocates slots for index pages, which are written later.
struct PageSink<'a>(&'a mut Tx);

impl Sink for PageSink<'_> {
    fn store(&mut self, level: u8, first: u64, entries: &[Entry]) -> Result<Entry> {
        let bytes = emit_page(level, first, entries);
        Ok(place(self.0, Kind::Page, bytes))
    }

    fn free(&mut self, entry: &Entry) {
        self.0.free(entry);
    }
}

/// Allocates slots for bytes of the index.
fn place(tx: &mut Tx, kind: Kind, bytes: Vec<u8>) -> Entry {
    let crc = crc32c::crc32c(&bytes);
    let len = bytes.len() as u32;
    let slot = tx.space.take(u64::from(len).div_ceil(SLOT));
    tx.pages.insert(slot, bytes);
    Entry { kind, slot, len, width: 0, crc }
}

impl ZippedStore {
    pub(super) fn commit(&self) -> Result<()> {
        self.commit_core(&mut self.core_mut())
    }

    pub(super) fn commit_core(&self, core: &mut Core) -> Result<()> {
        let (_, tx) = parts(core);
        if !tx.changed && core.sequence > 0 {
            return self.sink()?.sync();
        }
        self.spill(core, &HashMap::new())?;
        self.drop_unused(core)?;
        let (trees, tx) = parts(core);
        for tree in trees.iter_mut() {
            tree.write_pages(&mut PageSink(tx))?;
        }
        let heads: Vec<_> = trees.iter().map(|t| t.head).collect();
        let (map, counts) = emit_map(&core.map.contents(heads));
        let (_, tx) = parts(core);
        let old_map = std::mem::take(&mut tx.map);
        tx.free(&old_map);
        let inline = counts.fit_root();
        let (entry, inline) =
            if inline { (Entry::default(), map) } else { (place(tx, Kind::Raw, map), Vec::new()) };
        tx.map = entry;
        // After a failed attempt, these include its pages, as far as they are still needed.
        let writes = tx.pages.iter().map(|(slot, bytes)| (*slot, &bytes[..])).collect();
        write_joined(self.sink()?, writes)?;
        tx.pages.clear();
        let (number, level) = self.codec.numbers();
        let end = tx.space.end();
        let root = Root {
            sequence: core.sequence + 1,
            shift: self.shift,
            codec: number,
            level,
            len: core.map.len,
            end,
            map: entry,
            counts,
            inline,
        };
        // From here on, an error leaves it undefined which root is on disk.
        if let Err(e) = self.write_root(&root) {
            self.poisoned.store(true, Ordering::Relaxed);
            return Err(e);
        }
        core.sequence = root.sequence;
        let (_, tx) = parts(core);
        tx.space.committed(root.sequence);
        (tx.changed, tx.hold, tx.written) = (false, false, 0);
        self.recycle(core);
        self.cut_end(core)
    }

    /// Writes the root: a first copy, which is synced together with everything reachable from it, then the second one,
    /// which marks the end of the sync.
    pub(super) fn write_root(&self, root: &Root) -> Result<()> {
        let bytes = root.emit();
        let place = ROOT_PLACES[(root.sequence % 2) as usize];
        self.sink()?.write_at(&bytes, place)?;
        if root.sequence == FIRST {
            // The other place is empty: programs that know files by their first bytes find the magic number there.
            self.sink()?.write_at(&MAGIC, ROOT_PLACES[0])?;
        }
        self.sink()?.sync()?;
        self.sink()?.write_at(&bytes, place + ROOT as u64)?;
        self.check_root(&bytes, place)
    }

    /// An error unless both copies of the root are where readers expect them.
    fn check_root(&self, root: &[u8], place: u64) -> Result<()> {
        for at in [place, place + ROOT as u64] {
            if self.backing.read_vec(at, root.len() as u64)? != root {
                let what =
                    format!("`{}` does not hold the root that was written at byte {at}", self.backing.name());
                return Err(Error::Verify(what));
            }
        }
        Ok(())
    }

    /// Makes slots available that earlier commits freed, if no reader uses them.
    pub(super) fn recycle(&self, core: &mut Core) {
        let (_, tx) = parts(core);
        tx.space.recycle(|sequence| ranges::is_read(&*self.backing, sequence));
    }

    /// Truncates the free end of the file, if it is large enough.
    fn cut_end(&self, core: &mut Core) -> Result<()> {
        let (_, tx) = parts(core);
        let end = tx.space.end() * SLOT;
        let len = self.backing.len();
        let least = ROOT_PLACES[1] + 2 * ROOT as u64;
        if tx.space.is_settled() && len > end.max(least) && len - end > CUT_FROM.max(len / 8) {
            self.sink()?.set_len(end.max(least))?;
        }
        Ok(())
    }

    /// Removes trees that no window maps any more, and renumbers the others. There must be no changed blocks.
    fn drop_unused(&self, core: &mut Core) -> Result<()> {
        let used = core.map.used(core.trees.len());
        if core.replacement.is_some() || used.iter().all(|&u| u) {
            return Ok(());
        }
        let mut gone = Vec::new();
        for (tree, _) in core.trees.iter().zip(&used).filter(|(_, used)| !**used) {
            self.collect(tree, &mut gone)?;
        }
        let mut numbers = Vec::with_capacity(used.len());
        let mut next = 0;
        for &used in &used {
            numbers.push(next);
            next += u32::from(used);
        }
        core.map.renumber(&numbers);
        let mut i = 0;
        core.trees.retain(|_| {
            i += 1;
            used[i - 1]
        });
        let (_, tx) = parts(core);
        for entry in gone {
            tx.free(&entry);
        }
        if core.trees.len() > MAX_PARTS {
            return Err(Error::TooLarge("more parts than a zipped file can have".into()));
        }
        Ok(())
    }

    /// All entries of a tree.
    pub(super) fn collect(&self, tree: &Tree, out: &mut Vec<Entry>) -> Result<()> {
        let fetch = super::read::Fetch { backing: &*self.backing };
        tree.visit(&fetch, &mut |_, entry| {
            out.push(*entry);
            Ok(())
        })
    }
}
