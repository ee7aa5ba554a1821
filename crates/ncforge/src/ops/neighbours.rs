//! Chunks as they are stored, read together where they lie close: asked for one by one, small ones cost many times what
//! moving their bytes does.

use std::sync::Arc;

use super::source::RawChunk;
use crate::error::Result;
use crate::layout::ChunkRecord;
use crate::store::Store;

/// Chunks with no more bytes between them are read in one request, …
const GAP: u64 = 4 << 10;
/// … which is no longer than this, unless one chunk is.
const MOST: u64 = 1 << 20;

/// Chunks of more bytes than this, on average, are as well read one by one, each into memory that is warm from the
/// last: measured on copies within the page cache, where 4 KiB gain a third, 32 KiB nothing, and 64 KiB lose as much.
pub(super) const SMALL: u64 = 16 << 10;

/// Bytes of some chunks. A damaged index may say of each that it is as large as the file.
pub(super) fn bytes(stored: &[(usize, ChunkRecord)]) -> u64 {
    stored.iter().fold(0, |sum, (_, record)| sum.saturating_add(record.len))
}

/// Reads chunks in the order of their places, and hands them on with their numbers.
pub(super) fn read(
    store: &dyn Store,
    mut stored: Vec<(usize, ChunkRecord)>,
    mut see: impl FnMut(usize, RawChunk),
) -> Result<()> {
    stored.sort_unstable_by_key(|(number, record)| (record.offset, *number));
    let mut rest = &stored[..];
    while let Some((_, first)) = rest.first() {
        let begin = first.offset;
        let mut end = begin.saturating_add(first.len);
        let mut n = 1;
        for (_, next) in &rest[1..] {
            let further = next.offset.saturating_add(next.len).max(end);
            if next.offset > end.saturating_add(GAP) || further - begin > MOST {
                break;
            }
            end = further;
            n += 1;
        }
        // The store knows whether so much is there before anything is allocated.
        let bytes = Arc::new(store.read_vec(begin, end - begin)?);
        for &(number, record) in &rest[..n] {
            let from = (record.offset - begin) as usize;
            let range = from..from + record.len as usize;
            see(number, RawChunk::Shared(Arc::clone(&bytes), range, record.mask));
        }
        rest = &rest[n..];
    }
    Ok(())
}
