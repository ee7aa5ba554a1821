//! The compact table that an index is read into.

use crate::error::Result;
use crate::layout::ChunkRecord;
use crate::select::{unravel, unravel_into};

const ABSENT: ChunkRecord = ChunkRecord { offset: u64::MAX, len: 0, mask: 0 };

/// Chunks by their row-major number in the grid.
#[derive(Debug)]
pub(super) struct Table {
    counts: Vec<u64>,
    rows: Rows,
    /// Chunks that the index has outside of the grid.
    pub(super) outside: u64,
}

#[derive(Debug)]
enum Rows {
    /// One entry a grid cell; [`ABSENT`] where nothing is stored.
    Dense(Vec<ChunkRecord>),
    /// Stored chunks only, sorted.
    Sorted(Vec<(u64, ChunkRecord)>),
}

/// Gathers records in any order.
#[derive(Debug)]
pub(super) struct Builder {
    counts: Vec<u64>,
    rows: Vec<(u64, ChunkRecord)>,
    outside: u64,
}

impl Builder {
    pub(super) fn new(counts: &[u64]) -> Self {
        Builder { counts: counts.to_vec(), rows: Vec::new(), outside: 0 }
    }

    /// Adds the chunk at grid coordinates `at`. One outside of the grid is counted: nothing reads it.
    pub(super) fn push(&mut self, at: &[u64], record: ChunkRecord) {
        if at.len() == self.counts.len() && at.iter().zip(&self.counts).all(|(i, n)| i < n) {
            self.rows.push((linear(&self.counts, at), record));
        } else {
            self.outside += 1;
        }
    }

    /// The table, or the coordinates of a chunk that was added twice.
    pub(super) fn finish(self) -> Result<Table, Vec<u64>> {
        let Builder { counts, mut rows, outside } = self;
        if !rows.is_sorted_by_key(|r| r.0) {
            rows.sort_unstable_by_key(|r| r.0);
        }
        if let Some(w) = rows.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(unravel(w[0].0, &counts));
        }
        let cells: u64 = counts.iter().product();
        let rows = if cells <= 2 * rows.len() as u64 {
            let mut dense = vec![ABSENT; cells as usize];
            for (i, r) in rows {
                dense[i as usize] = r;
            }
            Rows::Dense(dense)
        } else {
            rows.shrink_to_fit();
            Rows::Sorted(rows)
        };
        Ok(Table { counts, rows, outside })
    }
}

impl Table {
    pub(super) fn get(&self, at: &[u64]) -> Option<ChunkRecord> {
        let i = linear(&self.counts, at);
        match &self.rows {
            Rows::Dense(rows) => rows.get(i as usize).copied().filter(|r| *r != ABSENT),
            Rows::Sorted(rows) => rows.binary_search_by_key(&i, |r| r.0).ok().map(|p| rows[p].1),
        }
    }

    /// Shows all stored chunks, until there is an error.
    pub(super) fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord) -> Result<()>) -> Result<()> {
        let mut at = vec![0; self.counts.len()];
        let mut show = |i: u64, r: ChunkRecord| {
            unravel_into(i, &self.counts, &mut at);
            see(&at, r)
        };
        match &self.rows {
            Rows::Dense(rows) => {
                let mut stored = (0..).zip(rows).filter(|(_, r)| **r != ABSENT);
                stored.try_for_each(|(i, r)| show(i, *r))
            }
            Rows::Sorted(rows) => rows.iter().try_for_each(|(i, r)| show(*i, *r)),
        }
    }
}

fn linear(counts: &[u64], at: &[u64]) -> u64 {
    at.iter().zip(counts).fold(0, |a, (&i, &n)| a * n + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(offset: u64) -> ChunkRecord {
        ChunkRecord { offset, len: 1, mask: 0 }
    }

    #[test]
    fn full_and_sparse_tables_find_the_same() {
        for counts in [[2, 3], [200, 300]] {
            let mut b = Builder::new(&counts);
            for (i, at) in [[1, 2], [0, 0], [1, 0], [0, 2]].iter().enumerate() {
                b.push(at, record(i as u64));
            }
            b.push(&[counts[0], 0], record(9));
            let t = b.finish().unwrap();
            assert_eq!(t.outside, 1);
            assert_eq!(t.get(&[1, 0]), Some(record(2)));
            assert_eq!(t.get(&[0, 1]), None);
            let mut seen = Vec::new();
            t.visit(&mut |at, r| {
                seen.push((at.to_vec(), r));
                Ok(())
            })
            .unwrap();
            assert_eq!(seen.len(), 4);
            assert_eq!(seen[0], (vec![0, 0], record(1)));
        }
    }

    #[test]
    fn a_chunk_stored_twice_is_reported() {
        let mut b = Builder::new(&[4]);
        b.push(&[3], record(0));
        b.push(&[3], record(1));
        assert_eq!(b.finish().unwrap_err(), [3]);
    }
}
