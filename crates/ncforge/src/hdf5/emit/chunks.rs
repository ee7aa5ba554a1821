//! The chunks of one dataset, in memory, in the order of their coordinates.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::layout::ChunkRecord;

/// Chunks that an index is to be written for.
pub(crate) trait ChunkSource: std::fmt::Debug + Send + Sync {
    /// The number of chunks.
    fn count(&self) -> u64;
    /// Calls `f` with each one's grid coordinates and place, in the lexicographic order of coordinates.
    fn each(&self, f: &mut dyn FnMut(&[u64], ChunkRecord) -> Result<()>) -> Result<()>;
}

/// A number of chunks that are not placed yet: for sizing an index ahead of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned(pub u64);

impl ChunkSource for Planned {
    fn count(&self) -> u64 {
        self.0
    }

    fn each(&self, _: &mut dyn FnMut(&[u64], ChunkRecord) -> Result<()>) -> Result<()> {
        Err(Error::Internal("an index of chunks without places was to be written".into()))
    }
}

/// A table of chunks that grows.
///
/// A chunk's key is its row-major position in a grid whose capacity grows by doubling along all dimensions but
/// the slowest, so that keys stay in the order of coordinates and seldom change.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkTable {
    capacity: Vec<u64>,
    map: BTreeMap<u64, ChunkRecord>,
}

impl ChunkTable {
    /// An empty table for a grid of (at present) `counts` chunks.
    pub(crate) fn new(counts: &[u64]) -> Result<Self> {
        let mut table = Self { capacity: vec![1; counts.len()], map: BTreeMap::new() };
        table.reserve(counts)?;
        Ok(table)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Grows the table to hold coordinates below `counts`.
    fn reserve(&mut self, counts: &[u64]) -> Result<()> {
        if counts.iter().zip(&self.capacity).skip(1).all(|(n, c)| n <= c) {
            return Ok(());
        }
        let mut wider = self.clone_shape();
        for (c, &n) in wider.capacity.iter_mut().zip(counts).skip(1) {
            if n > *c {
                *c = if self.map.is_empty() { n } else { n.checked_next_power_of_two().unwrap_or(n) };
            }
        }
        let inner = wider.capacity.iter().skip(1).try_fold(1u64, |a, &c| a.checked_mul(c));
        inner.ok_or_else(|| Error::TooLarge("a grid of chunks too large to count".into()))?;
        for (&key, &record) in &self.map {
            let at = self.coordinates(key);
            wider.map.insert(wider.key(&at)?, record);
        }
        *self = wider;
        Ok(())
    }

    fn clone_shape(&self) -> Self {
        Self { capacity: self.capacity.clone(), map: BTreeMap::new() }
    }

    fn key(&self, at: &[u64]) -> Result<u64> {
        let mut key = 0u64;
        for (&i, &c) in at.iter().zip(&self.capacity) {
            key = key
                .checked_mul(c)
                .and_then(|k| k.checked_add(i))
                .ok_or_else(|| Error::TooLarge("a grid of chunks too large to count".into()))?;
        }
        Ok(key)
    }

    fn coordinates(&self, mut key: u64) -> Vec<u64> {
        let mut at = vec![0; self.capacity.len()];
        for d in (0..at.len()).rev() {
            if d == 0 {
                at[0] = key;
            } else {
                at[d] = key % self.capacity[d];
                key /= self.capacity[d];
            }
        }
        at
    }

    /// The chunk at grid coordinates.
    pub(crate) fn get(&self, at: &[u64]) -> Option<ChunkRecord> {
        if at.len() != self.capacity.len() || at.iter().zip(&self.capacity).skip(1).any(|(i, c)| i >= c) {
            return None;
        }
        self.map.get(&self.key(at).ok()?).copied()
    }

    /// Sets the place of a chunk; gives the old one.
    pub(crate) fn insert(&mut self, at: &[u64], record: ChunkRecord) -> Result<Option<ChunkRecord>> {
        if at.len() != self.capacity.len() {
            return Err(Error::Internal(format!(
                "chunk coordinates {at:?} in a grid of rank {}",
                self.capacity.len()
            )));
        }
        let counts: Vec<u64> = at.iter().map(|i| i.saturating_add(1)).collect();
        self.reserve(&counts)?;
        let key = self.key(at)?;
        Ok(self.map.insert(key, record))
    }

    /// All chunks with their coordinates, in order.
    pub(crate) fn list(&self) -> Vec<(Vec<u64>, ChunkRecord)> {
        self.map.iter().map(|(&k, &r)| (self.coordinates(k), r)).collect()
    }
}

impl ChunkSource for ChunkTable {
    fn count(&self) -> u64 {
        self.map.len() as u64
    }

    fn each(&self, f: &mut dyn FnMut(&[u64], ChunkRecord) -> Result<()>) -> Result<()> {
        self.map.iter().try_for_each(|(&k, &r)| f(&self.coordinates(k), r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_growth_on_every_dimension() {
        let rec = |i: u64| ChunkRecord { offset: i, len: 1, mask: 0 };
        let mut t = ChunkTable::new(&[2, 1]).unwrap();
        let mut all = Vec::new();
        for i in 0..5 {
            for j in 0..7 {
                assert_eq!(
                    t.insert(&[j % 3 + i, j], rec(i * 10 + j)).unwrap().is_some(),
                    all.contains(&[j % 3 + i, j])
                );
                all.push([j % 3 + i, j]);
            }
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(t.map.len(), all.len());
        assert_eq!(t.list().into_iter().map(|(a, _)| a).collect::<Vec<_>>(), all);
        assert_eq!(t.get(&[0, 8]), None);
        assert_eq!(t.get(&[0, 0]), Some(rec(0)));
        assert!(ChunkTable::new(&[1, u64::MAX, 3]).is_err());
    }
}
