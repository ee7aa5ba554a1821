//! Chunks as they are stored, read together where they lie close: asked for one by one, small ones cost many times what
//! moving their bytes does.

use bytes::Bytes;

use ncforge::Result;
use ncforge::raw::ChunkRecord;
use ncforge::raw::fetch::{self, Joining};
use ncforge::store::{ReadStore, past_end};

/// A chunk as a source holds it.
pub(crate) enum RawChunk {
    /// Its encoded bytes and its filter mask.
    Encoded(Vec<u8>, u32),
    /// As `Encoded`, with bytes that are a part of a larger request.
    Shared(Bytes, u32),
    /// The chunk was never written.
    Unwritten,
    /// The chunk is not to be had in one piece; [`Source::read_bytes`](crate::source::Source::read_bytes) has its values.
    Pieces,
}

/// Bytes that are fetched at a time from a local file; what is handed on takes more only if its taker holds it.
const MEMORY: u64 = 8 << 20;

/// Chunks of more bytes than this, on average, are as well read one by one, each into memory that is warm from the
/// last: measured on copies within the page cache, where 4 KiB gain a third, 32 KiB nothing, and 64 KiB lose as much.
pub(super) const SMALL: u64 = 16 << 10;

/// Bytes of some chunks. A damaged index may say of each that it is as large as the file.
pub(super) fn bytes(stored: &[(usize, ChunkRecord)]) -> u64 {
    stored.iter().fold(0, |sum, (_, record)| sum.saturating_add(record.len))
}

/// Reads chunks and hands them on with their numbers: in the order of their places, or as a store with latency sends them;
/// then in the requests that decoding would make, with `memory` bytes of them under way.
pub(super) fn read(
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
    use ncforge::store::{IoProfile, MemoryStore};

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
        read(&store, stored, MEMORY, |number, chunk| {
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
        assert!(read(&store, record(8, u64::MAX), MEMORY, |_, _| panic!("nothing is there")).is_err());
        assert_eq!(bytes(&[record(0, u64::MAX), record(5, 9)].concat()), u64::MAX);
    }
}
