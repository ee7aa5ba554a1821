//! How long the segments of variables are whose chunks have access points, and how much was decoded of single chunks.
//!
//! A variable's first partial read looks at the end of one chunk; from then on the answer is known, for all of them. A chunk of which parts were
//! decoded again and again is decoded whole, and kept, when the parts took as long as that: no loop decodes much more than twice
//! what it would have decoded without access points.

use std::sync::{Arc, Mutex, Weak};

use rustc_hash::FxHashMap;

use super::cache::{Key, address};
use super::pool::lock;
use crate::store::ReadStore;

/// Chunks and variables that are remembered; more are forgotten together.
const REMEMBERED: usize = 1 << 14;

/// A variable's store, and the bytes of a plane in a segment of its chunks.
type Known = (Weak<dyn ReadStore>, Option<u64>);

/// What an engine knows of access points.
#[derive(Debug, Default)]
pub(super) struct Points {
    variables: Mutex<FxHashMap<Key, Known>>,
    /// Decoded bytes of chunks of which parts were read.
    parts: Mutex<FxHashMap<Key, u64>>,
}

impl Points {
    /// Bytes of a plane in a segment of a variable's chunks, if they have access points: as the first one said, which `look` asks.
    pub(super) fn known(
        &self,
        store: &Arc<dyn ReadStore>,
        var: usize,
        look: impl FnOnce() -> Option<u64>,
    ) -> Option<u64> {
        let key = Key::new(store, var, 0);
        // The address of a closed store may be another one's now.
        if let Some((own, has)) = lock(&self.variables).get(&key)
            && own.strong_count() > 0
        {
            return *has;
        }
        let has = look();
        let mut variables = lock(&self.variables);
        if variables.len() >= REMEMBERED {
            variables.clear();
        }
        variables.insert(key, (Arc::downgrade(store), has));
        has
    }

    /// Notes that `bytes` more of a chunk are decoded.
    pub(super) fn add_part(&self, chunk: Key, bytes: u64) {
        let mut parts = lock(&self.parts);
        if parts.len() >= REMEMBERED {
            parts.clear();
        }
        *parts.entry(chunk).or_default() += bytes;
    }

    /// How many bytes of a chunk were decoded in parts.
    pub(super) fn in_parts(&self, chunk: Key) -> u64 {
        lock(&self.parts).get(&chunk).copied().unwrap_or(0)
    }

    /// Forgets everything of one store, because it is being written.
    pub(super) fn forget_store(&self, store: &Arc<dyn ReadStore>) {
        let store = address(store);
        lock(&self.variables).retain(|key, _| key.store() != store);
        lock(&self.parts).retain(|key, _| key.store() != store);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        lock(&self.variables).clear();
        lock(&self.parts).clear();
    }
}
