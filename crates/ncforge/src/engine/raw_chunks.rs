//! Chunks as they are stored, for moving them without decoding. Small ones are read together where they lie close: asked for one by
//! one, they cost many times what moving their bytes does.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::fetch::{self, Joining};
use super::{Engine, chunked};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::layout::{Cell, Cells, ChunkRecord, Holder};
use crate::model::VarId;
use crate::store::{ReadStore, past_end};

/// A chunk as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub enum RawChunk {
    /// Its encoded bytes and its filter mask.
    Encoded(Vec<u8>, u32),
    /// As `Encoded`, with bytes that are a part of a larger request.
    Shared(Bytes, u32),
    /// The chunk was never written.
    Unwritten,
    /// The chunk is not to be had in one piece; its values have to be read.
    Pieces,
}

impl RawChunk {
    /// The bytes and the mask of a chunk that is there as it is.
    pub fn encoded(&self) -> Option<(&[u8], u32)> {
        match self {
            RawChunk::Encoded(bytes, mask) => Some((bytes, *mask)),
            RawChunk::Shared(bytes, mask) => Some((bytes, *mask)),
            RawChunk::Unwritten | RawChunk::Pieces => None,
        }
    }
}

/// Bytes that are fetched at a time from a local file; what is handed on takes more only if its taker holds it.
const MEMORY: u64 = 8 << 20;

/// Chunks of more bytes than this, on average, are as well read one by one, each into memory that is warm from the
/// last: measured on copies within the page cache, where 4 KiB gain a third, 32 KiB nothing, and 64 KiB lose as much.
const SMALL: u64 = 16 << 10;

impl Engine {
    /// One chunk as it lies in its store. For moving chunks without decoding them; see
    /// [`Writer::write_chunk_raw`](super::Writer::write_chunk_raw).
    ///
    /// # Errors
    /// As reading; [`Error::NoChunk`] for coordinates of another rank.
    pub fn raw_chunk(&self, container: &dyn Container, var: VarId, at: &[u64]) -> Result<RawChunk> {
        let layout = container.layout(var)?;
        let Some(chunks) = layout.place.chunks() else { return Err(Error::not_chunked(&layout.name)) };
        if at.len() != chunks.chunk.len() {
            return Err(Error::NoChunk { variable: layout.name.clone(), at: at.to_vec() });
        }
        let own = Holder { store: container.store().clone(), index: chunks.index.clone() };
        let touched: Vec<Range<u64>> = at.iter().map(|&i| i..i.saturating_add(1)).collect();
        let explain = |e, name: &str, offset| chunked::explain(e, name, &layout.name, at, offset);
        let cells = own.index.cells(&own, &touched).map_err(|e| explain(e, own.store.name(), None))?;
        let Cells { list, holders } = cells;
        match list.into_iter().next() {
            None | Some(Cell::Pieces) => Ok(RawChunk::Pieces),
            Some(Cell::Unwritten) => Ok(RawChunk::Unwritten),
            Some(Cell::Stored { holder, at, record }) => {
                let Holder { store, index } = &holders[holder];
                let bytes = store.read_vec(record.offset, record.len);
                let bytes = bytes.map_err(|e| explain(e, store.name(), Some(record.offset)));
                index.check_places(store.name(), &mut std::iter::once(at))?;
                Ok(RawChunk::Encoded(bytes?, record.mask))
            }
        }
    }

    /// A box of chunks as they are stored, row-major, read in as few requests as may be; `None` where asking one by one
    /// is as good, and where they take more than `most` bytes. `touched`: ranges of chunk coordinates.
    ///
    /// # Errors
    /// As reading.
    pub fn raw_chunks(
        &self,
        container: &dyn Container,
        var: VarId,
        touched: &[Range<u64>],
        most: u64,
    ) -> Result<Option<Vec<RawChunk>>> {
        let layout = container.layout(var)?;
        let Some(chunks) = layout.place.chunks() else { return Ok(None) };
        let own = Holder { store: container.store().clone(), index: chunks.index.clone() };
        let Cells { list, holders } = own.index.cells(&own, touched)?;
        let mut found = Vec::with_capacity(list.len());
        // Of each store, the numbers of the chunks, their coordinates and their places.
        let mut of: Vec<OfHolder> = holders.iter().map(|_| OfHolder::default()).collect();
        for (number, cell) in list.into_iter().enumerate() {
            found.push(if cell == Cell::Pieces { RawChunk::Pieces } else { RawChunk::Unwritten });
            if let Cell::Stored { holder, at, record } = cell {
                of[holder].at.push(at);
                of[holder].stored.push((number, record));
            }
        }
        let all = of.iter().fold(0, |sum: u64, one| sum.saturating_add(bytes(&one.stored)));
        let stored: u64 = of.iter().map(|one| one.stored.len() as u64).sum();
        let has_latency = holders.iter().any(|h| h.store.io_profile().has_latency());
        // In several stores each has few of them.
        let alone = holders.len() == 1 && all > stored * SMALL && !has_latency;
        if all > most || alone {
            return Ok(None);
        }
        let (of, slots) = (Mutex::new(of), Mutex::new(&mut found));
        self.for_each(holders.len(), |i| {
            let OfHolder { at, stored } =
                std::mem::take(&mut of.lock().unwrap_or_else(PoisonError::into_inner)[i]);
            let Holder { store, index } = &holders[i];
            let mut here = Vec::with_capacity(stored.len());
            read_chunks(&**store, stored, self.fetch_memory(), |number, chunk| here.push((number, chunk)))?;
            index.check_places(store.name(), &mut at.into_iter())?;
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            here.into_iter().for_each(|(number, chunk)| slots[number] = chunk);
            Ok(())
        })?;
        Ok(Some(found))
    }
}

/// The chunks of a box that one store holds.
#[derive(Default)]
struct OfHolder {
    at: Vec<Vec<u64>>,
    /// Their numbers in the box, and their places.
    stored: Vec<(usize, ChunkRecord)>,
}

/// Bytes of some chunks. A damaged index may say of each that it is as large as the file.
fn bytes(stored: &[(usize, ChunkRecord)]) -> u64 {
    stored.iter().fold(0, |sum, (_, record)| sum.saturating_add(record.len))
}

/// Reads chunks and hands them on with their numbers: in the order of their places, or as a store with latency sends them;
/// then in the requests that decoding would make, with `memory` bytes of them under way.
pub fn read_chunks(
    store: &dyn ReadStore,
    mut stored: Vec<(usize, ChunkRecord)>,
    memory: u64,
    mut see: impl FnMut(usize, RawChunk),
) -> Result<()> {
    stored.sort_unstable_by_key(|(number, record)| (record.offset, *number));
    // Nothing is allocated for more than the store has.
    let (len, mut requests) = (store.len(), Vec::new());
    for (_, r) in &stored {
        if r.offset.checked_add(r.len).is_none_or(|end| end > len) {
            return Err(past_end(store.name(), r.len, r.offset, len));
        }
    }
    let range = |i: usize| {
        let r: &ChunkRecord = &stored[i].1;
        r.offset..r.offset + r.len
    };
    let profile = store.io_profile();
    let (joining, memory) = match profile.has_latency() {
        true => (Joining::apart(&profile, memory, bytes(&stored)), memory),
        false => (Joining::of(&profile), MEMORY),
    };
    fetch::join(stored.len(), range, joining, |_| false, |r| requests.push(r));
    fetch::stream(
        store,
        &requests,
        memory,
        |e, _| e,
        |arrived| {
            for a in arrived {
                for i in a.request.parts.clone() {
                    let (number, record) = stored[i];
                    see(number, RawChunk::Shared(a.bytes.slice(a.request.within(&range(i))), record.mask));
                }
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{IoProfile, MemoryStore};

    #[test]
    fn chunks_come_back_whatever_their_order_and_distance() {
        let IoProfile { read_gap: gap, largest_request: most, .. } = IoProfile::LOCAL;
        let all: Vec<u8> = (0..3 * most).map(|i| (i % 251) as u8).collect();
        let store = MemoryStore::new("m", all.clone());
        // Backwards, side by side, overlapping, far apart, across the longest request, and none.
        let places = [(40, 8), (32, 8), (36, 8), (gap * 9, 5), (most - 3, 6), (3 * most - 2, 2), (77, 0)];
        let stored = places.iter().enumerate().map(|(number, &(offset, len))| {
            let mask = number as u32;
            (number, ChunkRecord { offset, len, mask })
        });
        let stored: Vec<_> = stored.collect();
        assert_eq!(bytes(&stored), 37);
        let mut seen = vec![false; places.len()];
        read_chunks(&store, stored, MEMORY, |number, chunk| {
            let RawChunk::Shared(bytes, mask) = chunk else { panic!("a part of what was read") };
            let (offset, len) = (places[number].0 as usize, places[number].1 as usize);
            assert_eq!((&bytes[..], mask), (&all[offset..offset + len], number as u32));
            seen[number] = true;
        })
        .unwrap();
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn what_reaches_past_the_end_is_an_error_before_anything_is_allocated() {
        let store = MemoryStore::new("m", vec![0; 10]);
        let record = |offset, len| vec![(0, ChunkRecord { offset, len, mask: 0 })];
        assert!(read_chunks(&store, record(8, u64::MAX), MEMORY, |_, _| panic!("nothing is there")).is_err());
        assert_eq!(bytes(&[record(0, u64::MAX), record(5, 9)].concat()), u64::MAX);
    }
}
