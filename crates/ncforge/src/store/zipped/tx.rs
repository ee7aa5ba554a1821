//! The changes of a zipped file between two commits.

use std::collections::{BTreeMap, HashMap};

use super::format::Entry;
use super::space::Space;

/// Tree and block.
pub(super) type Id = (u32, u64);

/// Changes since the last commit.
#[derive(Debug)]
pub(super) struct Tx {
    /// Changed blocks that are not stored yet.
    pub(super) dirty: HashMap<Id, Box<[u8]>>,
    /// The last changed block of each tree.
    pub(super) latest: HashMap<u32, u64>,
    pub(super) space: Space,
    /// Whether there is anything to commit.
    pub(super) changed: bool,
    /// Whether only [`WriteStore::sync`](crate::store::WriteStore::sync) may commit, because the image is not consistent
    /// before.
    pub(super) hold: bool,
    /// Bytes written since the last commit.
    pub(super) written: u64,
    /// The place of the map of the last commit.
    pub(super) map: Entry,
    /// Index pages and maps with allocated slots that are not written yet, by slot.
    pub(super) pages: BTreeMap<u64, Vec<u8>>,
}

impl Tx {
    pub(super) fn new(space: Space, map: Entry) -> Self {
        Tx {
            dirty: HashMap::new(),
            latest: HashMap::new(),
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

    /// Discards the changed blocks of a tree from one on.
    pub(super) fn drop_dirty_from(&mut self, tree: u32, first: u64) {
        self.dirty.retain(|id, _| id.0 != tree || id.1 < first);
    }

    /// Marks the trees that have changed blocks.
    pub(super) fn dirty_trees(&self, marks: &mut [bool]) {
        self.dirty.keys().for_each(|id| marks[id.0 as usize] = true);
    }

    /// Frees the slots of an entry.
    pub(super) fn free(&mut self, entry: &Entry) {
        if let Some((slot, slots)) = entry.extent() {
            // The entry may be a page of a commit that failed.
            self.pages.remove(&slot);
            self.space.give(slot, slots);
        }
    }
}
