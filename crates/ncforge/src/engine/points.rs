//! Access points that an engine remembers: how long the segments of variables are, the tables of chunks, and how much was decoded of
//! single chunks.
//!
//! A variable's first partial read looks at the end of one chunk; from then on the answer is known, for all of them. A chunk of which parts were
//! decoded again and again is decoded whole, and kept, when the parts took as long as that: no loop decodes much more than twice
//! what it would have decoded without access points. Until then its table stays, so that it is fetched and read once.
//!
//! Everything belongs to one state of a file, as decoded chunks do: it is found by the store, and forgotten with it. A table that is out of
//! date in spite of that leads to segments without their checksums, and these to the whole chunk.

use std::sync::{Arc, Mutex, Weak};

use rustc_hash::FxHashMap;

use super::cache::{Key, address};
use super::pool::lock;
use crate::codec::AccessPoints;
use crate::store::ReadStore;

/// Chunks and variables that are remembered in a generation.
const REMEMBERED: u64 = 1 << 13;

/// Something known of a store. The address of a closed one is no other one's as long as this is kept.
#[derive(Debug)]
struct Known<V> {
    store: Weak<dyn ReadStore>,
    value: V,
}

/// Recently used entries in two generations: when the younger one is full, the older one goes.
#[derive(Debug)]
struct Recent<V> {
    young: FxHashMap<Key, Known<V>>,
    old: FxHashMap<Key, Known<V>>,
    /// The weight of the younger generation.
    weight: u64,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Recent { young: FxHashMap::default(), old: FxHashMap::default(), weight: 0 }
    }
}

impl<V> Recent<V> {
    /// An entry of a store that is open, which becomes young again; `weight` is that of the entry.
    fn get(&mut self, key: Key, most: u64, weight: impl Fn(&V) -> u64) -> Option<&mut V> {
        if let Some(found) = self.old.remove(&key) {
            let weight = weight(&found.value);
            self.keep(key, found, most, weight);
        }
        let found = self.young.get_mut(&key)?;
        (found.store.strong_count() > 0).then_some(&mut found.value)
    }

    /// Notes something of a store, of a weight; a generation weighs `most`.
    fn put(&mut self, store: &Arc<dyn ReadStore>, key: Key, value: V, most: u64, weight: u64) {
        self.keep(key, Known { store: Arc::downgrade(store), value }, most, weight);
    }

    fn keep(&mut self, key: Key, known: Known<V>, most: u64, weight: u64) {
        if self.weight.saturating_add(weight) > most {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        if weight <= most {
            self.weight += weight;
            self.young.insert(key, known);
        }
    }

    fn forget_store(&mut self, store: usize) {
        self.young.retain(|key, _| key.store() != store);
        self.old.retain(|key, _| key.store() != store);
    }

    fn clear(&mut self) {
        *self = Recent::default();
    }
}

/// The access points of a chunk of so many stored bytes, if it has some.
type Table = (u64, Option<Arc<AccessPoints>>);

/// Access points that an engine remembers.
#[derive(Debug, Default)]
pub(super) struct Points {
    /// Bytes of a segment of a variable's chunks, if they have access points.
    variables: Mutex<Recent<Option<u64>>>,
    tables: Mutex<Recent<Table>>,
    /// Decoded bytes of chunks of which parts were read.
    parts: Mutex<Recent<u64>>,
}

impl Points {
    /// Bytes of a segment of a variable's chunks, or `Some(None)` if they have no access points, as the first chunk that was asked said;
    /// `None` if none was asked.
    pub(super) fn segment(&self, store: &Arc<dyn ReadStore>, var: usize) -> Option<Option<u64>> {
        lock(&self.variables).get(Key::new(store, var, 0), REMEMBERED, |_| 1).copied()
    }

    /// Notes what a variable's first chunk said.
    pub(super) fn note_segment(&self, store: &Arc<dyn ReadStore>, var: usize, bytes: Option<u64>) {
        lock(&self.variables).put(store, Key::new(store, var, 0), bytes, REMEMBERED, 1);
    }

    /// The access points of a chunk of `stored` bytes, or `Some(None)` if it has none; `None` if that is not known. `most` bytes of tables are
    /// kept.
    pub(super) fn table(&self, chunk: Key, stored: u64, most: u64) -> Option<Option<Arc<AccessPoints>>> {
        let mut tables = lock(&self.tables);
        let (len, points) = tables.get(chunk, most / 2, |(_, points)| weight(points))?;
        (*len == stored).then(|| points.clone())
    }

    /// Keeps the access points of a chunk, or that it has none.
    pub(super) fn keep_table(
        &self,
        store: &Arc<dyn ReadStore>,
        chunk: Key,
        stored: u64,
        points: Option<Arc<AccessPoints>>,
        most: u64,
    ) {
        let weight = weight(&points);
        lock(&self.tables).put(store, chunk, (stored, points), most / 2, weight);
    }

    /// Notes that `bytes` more of a store's chunk are decoded.
    pub(super) fn add_part(&self, store: &Arc<dyn ReadStore>, chunk: Key, bytes: u64) {
        let mut parts = lock(&self.parts);
        match parts.get(chunk, REMEMBERED, |_| 1) {
            Some(known) => *known += bytes,
            None => parts.put(store, chunk, bytes, REMEMBERED, 1),
        }
    }

    /// The bytes of a chunk that were decoded in parts.
    pub(super) fn in_parts(&self, chunk: Key) -> u64 {
        lock(&self.parts).get(chunk, REMEMBERED, |_| 1).map_or(0, |n| *n)
    }

    /// Forgets everything of one store, because it is being written.
    pub(super) fn forget_store(&self, store: &Arc<dyn ReadStore>) {
        let store = address(store);
        lock(&self.variables).forget_store(store);
        lock(&self.tables).forget_store(store);
        lock(&self.parts).forget_store(store);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        lock(&self.variables).clear();
        lock(&self.tables).clear();
        lock(&self.parts).clear();
    }
}

/// Bytes that a table takes.
fn weight(points: &Option<Arc<AccessPoints>>) -> u64 {
    let of_table = points.as_ref().map_or(0, |points| points.footprint());
    (size_of::<(Key, Known<Table>)>() + of_table) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn what_is_used_stays_and_what_is_too_much_goes() {
        let store: Arc<dyn ReadStore> = Arc::new(MemoryStore::new("m", Vec::new()));
        let mut recent = Recent::default();
        let key = |n| Key::new(&store, 0, n);
        for n in 0..100 {
            recent.put(&store, key(n), n, 10, 1);
            assert_eq!(recent.get(key(0), 10, |_| 1).copied(), Some(0), "used again and again");
            assert!(recent.young.len() + recent.old.len() <= 20);
        }
        assert!(recent.get(key(50), 10, |_| 1).is_none());
        recent.put(&store, key(200), 0, 10, 11);
        assert!(recent.get(key(200), 10, |_| 1).is_none(), "too large");
        recent.put(&store, key(201), 0, 10, 1);
        recent.forget_store(address(&store));
        assert!(recent.get(key(201), 10, |_| 1).is_none());
        recent.put(&store, key(202), 0, 10, 1);
        let key = key(202);
        drop(store);
        assert!(recent.get(key, 10, |_| 1).is_none(), "the store is closed");
    }
}
