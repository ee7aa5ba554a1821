//! The ends of chunks with access points: their tables, fetched in one round of requests and kept for the next read.

use std::ops::Range;
use std::sync::Arc;

use super::super::cache::Key;
use super::super::fetch::{self, Joining};
use super::super::policy::{GUESSED_TABLE, TABLES, TAIL_LEAST};
use super::super::stats::add;
use super::{ChunkedRead, Stored, range_of};
use crate::codec::{AccessPoints, FOOTER, Segmented, Tail};
use crate::error::{Error, Result};

/// The end of a chunk that is to be fetched.
struct End {
    /// The number of the chunk in the list.
    chunk: usize,
    own: Segmented,
    range: Range<u64>,
}

/// The last `bytes` bytes of a chunk.
fn end_of(s: &Stored, bytes: u64) -> Range<u64> {
    let all = range_of(s.record);
    all.end - bytes.min(s.record.len)..all.end
}

impl ChunkedRead<'_> {
    /// The access points of chunks, of those that have some. Unknown ones are fetched in one round of requests, or two if a table is longer
    /// than expected.
    pub(super) fn tables(&self, stored: &[Stored]) -> Result<Vec<Option<Arc<AccessPoints>>>> {
        let (inner, len) = (&*self.engine.inner, self.chunk_bytes()?);
        let mut found = Vec::with_capacity(stored.len());
        let mut ends = Vec::new();
        for (chunk, s) in stored.iter().enumerate() {
            let known = self.table(s);
            if known.is_none()
                && let Some(own) = self.codecs.segmented(s.record.mask)
                && let Some(range) = self.end(s, len)
            {
                ends.push(End { chunk, own, range });
            }
            found.push(known.flatten());
        }
        for _ in 0..2 {
            ends = self.fetch_ends(stored, ends, len, |chunk, points| {
                let s = &stored[chunk];
                let key = Key::new(self.store, self.var, s.record.offset);
                found[chunk] = points.map(Arc::new);
                inner.points.keep_table(self.store, key, s.record.len, found[chunk].clone(), self.room());
            })?;
        }
        Ok(found)
    }

    /// The access points of a chunk, or `Some(None)` if it has none; `None` if that is not known.
    pub(super) fn table(&self, s: &Stored) -> Option<Option<Arc<AccessPoints>>> {
        let key = Key::new(self.store, self.var, s.record.offset);
        self.engine.inner.points.table(key, s.record.len, self.room())
    }

    /// Bytes of tables that are kept.
    fn room(&self) -> u64 {
        self.engine.inner.budget.for_chunks() / TABLES
    }

    /// Fetches ends of chunks; gives those that were too short, and are to be fetched once more.
    fn fetch_ends(
        &self,
        stored: &[Stored],
        mut ends: Vec<End>,
        len: u64,
        mut found: impl FnMut(usize, Option<AccessPoints>),
    ) -> Result<Vec<End>> {
        let inner = &*self.engine.inner;
        let mut longer = Vec::new();
        if ends.is_empty() {
            return Ok(longer);
        }
        ends.sort_by_key(|end| end.range.start);
        let joining = Joining { gap: 0, ..Joining::of(&self.store.io_profile()) };
        let mut requests = Vec::new();
        fetch::join(ends.len(), |i| ends[i].range.clone(), joining, |_| false, |r| requests.push(r));
        let explain = |e: Error, _: &fetch::Request| e;
        fetch::stream(&**self.store, &requests, self.engine.fetch_memory(), explain, |arrived| {
            add(&inner.counters.fetched, fetch::bytes_of(arrived));
            for (request, part) in fetch::parts(arrived) {
                let End { chunk, own, range } = &ends[part];
                let s = &stored[*chunk];
                match own.points(arrived[request].range(range), s.record.len, len as usize) {
                    Tail::Points(points) => found(*chunk, Some(points)),
                    Tail::Longer(n) if range.end - range.start < n as u64 => {
                        longer.push(End { chunk: *chunk, own: *own, range: end_of(s, n as u64) });
                    }
                    _ => found(*chunk, None),
                }
            }
            Ok(())
        })?;
        Ok(longer)
    }

    /// The end of a chunk that most likely holds its table; `None` if it has none, or does not lie in the store, as whoever decodes it says.
    pub(super) fn end(&self, s: &Stored, len: u64) -> Option<Range<u64>> {
        let own = self.codecs.segmented(s.record.mask)?;
        (range_of(s.record).end <= self.store.len()).then(|| end_of(s, self.expected_end(own, len)))
    }

    /// Bytes of a chunk's end that most likely hold its table: as long as the segments of the variable say, if they are known.
    fn expected_end(&self, own: Segmented, len: u64) -> u64 {
        let known = self.engine.inner.points.segment(self.store, self.var).flatten();
        let table = match known {
            Some(segment) => {
                let segments = len / segment.max(1) + 1;
                // A sum, and one to two bytes for each plane.
                segments.saturating_mul(4 + 2 * own.planes as u64)
            }
            None => len / GUESSED_TABLE,
        };
        table.saturating_add((FOOTER + own.behind) as u64).max(TAIL_LEAST)
    }
}
