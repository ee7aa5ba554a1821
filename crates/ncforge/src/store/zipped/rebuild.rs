//! Replacing the whole image in one step: the new one is built in free space of the same file.

use super::ZippedStore;
use super::image::Map;
use super::tree::Tree;
use super::write::parts;
use crate::error::{Error, Result};
use crate::store::{BlockStore, Part, ReadStore, WriteStore, past_end};

/// The image that is being built, as a store.
#[derive(Debug)]
struct NewImage<'a>(&'a ZippedStore);

impl ReadStore for NewImage<'_> {
    fn len(&self) -> u64 {
        self.0.core().map_of(true).len
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let len = self.len();
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > len) {
            return Err(past_end(self.name(), buf.len() as u64, offset, len));
        }
        self.0.read_map(buf, offset, true, false)
    }

    fn blocks(&self) -> Option<&dyn BlockStore> {
        Some(self)
    }
}

impl WriteStore for NewImage<'_> {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.0.write_image(buf, offset, true)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_image_len(len, true)
    }
}

impl BlockStore for NewImage<'_> {
    fn describe(&self, parts: &[Part]) {
        self.0.plan(parts, true);
    }
}

impl ZippedStore {
    pub(super) fn rebuild(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        {
            let mut core = self.core_mut();
            if core.replacement.is_some() {
                return Err(Error::wrong_kind(self.name(), "is being replaced already"));
            }
            let tree = core.trees.len() as u32;
            core.trees.push(Tree::default());
            core.replacement = Some(Map::new(tree));
            let (_, tx) = parts(&mut core);
            tx.hold = true;
        }
        let built = build(&NewImage(self));
        let mut core = self.core_mut();
        let core = &mut *core;
        let Some(new) = core.replacement.take() else { return built };
        let dropped = match &built {
            Ok(()) => std::mem::replace(&mut core.map, new),
            Err(_) => new,
        };
        // Changed blocks of the old map need not be stored.
        let used = core.map.used(core.trees.len());
        let gone = dropped.used(core.trees.len());
        let (_, tx) = parts(core);
        for tree in (0..used.len()).filter(|&t| gone[t] && !used[t]) {
            tx.drop_dirty_from(tree as u32, 0);
        }
        self.len.store(core.map.len, std::sync::atomic::Ordering::Release);
        built?;
        let (_, tx) = parts(core);
        tx.changed = true;
        self.commit_core(core)
    }
}
