//! Compacting: all live blocks are copied, in the order of the image, into another file. Nothing is decoded.

use std::sync::Arc;

use super::format::{Entry, Kind};
use super::read::{Fetch, stored_bytes};
use super::tree::Tree;
use super::write::{parts, write_joined};
use super::{Options, Resources, ZippedStore};
use crate::error::Result;
use crate::store::WriteStore;

/// Bytes that are gathered before they are written.
const GATHERED: usize = 4 << 20;

impl ZippedStore {
    /// Writes the open state to an empty file, without unused space. Stored bytes are
    /// checked and copied without decoding. `progress` is called with the number of bytes that were copied.
    pub fn compact_into(
        &self,
        backing: Arc<dyn WriteStore>,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let options = Options { block: self.block_size(), codec: self.codec };
        let new = ZippedStore::create(backing, &options, Resources::default())?;
        let old = self.core();
        let mut core = new.core_mut();
        core.map = old.map.clone();
        let fetch = Fetch { backing: &*self.backing };
        let own = Fetch { backing: &*new.backing };
        core.trees = old
            .trees
            .iter()
            .map(|t| {
                let mut head = t.head;
                (head.top, head.height) = (Entry::default(), 0);
                Tree::new(head)
            })
            .collect();
        for (number, tree) in old.trees.iter().enumerate() {
            let mut gathered: Vec<(u64, Vec<u8>)> = Vec::new();
            let mut held = 0;
            let name = |block: u64| old.name_of(number as u32, block, self.shift);
            tree.visit(&fetch, &mut |block, entry| {
                let Some(block) = block else { return Ok(()) };
                let mut moved = *entry;
                let (trees, tx) = parts(&mut core);
                if entry.extent().is_some() {
                    let bytes = stored_bytes(&*self.backing, entry, &|| name(block))?;
                    moved.slot = tx.space.take(entry.slots());
                    held += bytes.len();
                    progress(bytes.len() as u64)?;
                    gathered.push((moved.slot, bytes));
                }
                debug_assert_ne!(moved.kind, Kind::Page);
                trees[number].set(block, moved, &own)?;
                if held >= GATHERED {
                    write_gathered(new.sink()?, &mut gathered)?;
                    held = 0;
                }
                Ok(())
            })?;
            write_gathered(new.sink()?, &mut gathered)?;
        }
        new.len.store(core.map.len, std::sync::atomic::Ordering::Release);
        let (_, tx) = parts(&mut core);
        tx.changed = true;
        new.commit_core(&mut core)
    }
}

fn write_gathered(backing: &dyn WriteStore, gathered: &mut Vec<(u64, Vec<u8>)>) -> Result<()> {
    write_joined(backing, gathered.iter().map(|(slot, bytes)| (*slot, &bytes[..])).collect())?;
    gathered.clear();
    Ok(())
}
