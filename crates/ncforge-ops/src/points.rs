//! Access points of stored chunks: how many chunks have them, as the last bytes of each say.

use ncforge::codec::{CodecChain, Segmented, Segments};
use ncforge::model::shape;
use ncforge::raw::{ChunkRecord, Chunks, RawChunk, read_chunks};
use ncforge::store::ReadStore;
use ncforge::{Dataset, Result};
use ncforge_tune::words::{bytes, count};

/// Chunks of a variable that are looked at, at most, …
const MOST: usize = 1000;
/// … and in a store of which each request takes its time.
const MOST_WITH_LATENCY: usize = 8;
/// Bytes of the ends of chunks that are fetched at a time.
const MEMORY: u64 = 1 << 20;

/// The access points of a variable's chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// Chunks whose ends were looked at: all that are stored, or some from the whole length of the file.
    pub looked_at: u64,
    /// Whether these are all that are stored.
    pub complete: bool,
    /// Chunks with access points.
    pub chunks: u64,
    /// Bytes that their tables take.
    pub table_bytes: u64,
    /// Bytes of the values in a segment of one of them.
    pub segment_bytes: u64,
    /// One of those without.
    pub without: Option<ChunkRecord>,
}

impl Points {
    /// Looks at the ends of chunks. `None` if no chunk of such a chain can have access points, or nothing can be read.
    pub(crate) fn of(
        store: &dyn ReadStore,
        codecs: &CodecChain,
        list: &[(Vec<u64>, ChunkRecord)],
    ) -> Option<Self> {
        codecs.segmented(0)?;
        let most = if store.io_profile().has_latency() { MOST_WITH_LATENCY } else { MOST };
        let n = list.len().min(most);
        let some: Vec<ChunkRecord> = (0..n).map(|i| list[(2 * i + 1) * list.len() / (2 * n)].1).collect();
        let mut found = Points { looked_at: n as u64, complete: n == list.len(), ..Points::default() };
        let mut without = Vec::new();
        ends(store, codecs, some.iter().copied(), |i, own, end| match (own.table(end), own.segment(end)) {
            (Some(table), Some(segment)) => {
                found.chunks += 1;
                found.table_bytes += table as u64;
                found.segment_bytes = (segment * own.planes) as u64;
            }
            _ => without.push(i),
        })
        .ok()?;
        // The first and the last chunks may be none as all the others are.
        without.sort_unstable();
        found.without = without.get(without.len() / 2).map(|&i| some[i]);
        Some(found)
    }

    /// The access points in words; `None` where no chunk has any.
    ///
    /// ```
    /// use ncforge_ops::describe::Points;
    /// let some = Points { looked_at: 1000, chunks: 998, table_bytes: 2048, ..Points::default() };
    /// assert_eq!(some.words().unwrap(), "access points in 998 of 1,000 chunks looked at (2.00 KiB)");
    /// let all = Points { complete: true, chunks: 1000, ..some };
    /// assert_eq!(all.words().unwrap(), "access points (2.00 KiB)");
    /// ```
    pub fn words(&self) -> Option<String> {
        let tables = bytes(self.table_bytes);
        Some(match (self.chunks, self.complete) {
            (0, _) => return None,
            (n, true) if n == self.looked_at => format!("access points ({tables})"),
            (n, true) => format!("access points in {} of them ({tables})", count(n)),
            (n, false) => {
                format!(
                    "access points in {} of {} chunks looked at ({tables})",
                    count(n),
                    count(self.looked_at)
                )
            }
        })
    }
}

/// Notes on variables of which some chunks have no access points, though all were asked to get some.
pub(crate) fn lacking(output: &Dataset) -> Result<Vec<String>> {
    let schema = output.schema();
    let mut notes = Vec::new();
    for id in schema.var_ids() {
        let layout = output.layout(id)?;
        let Some(Chunks { chunk, codecs, index }) = layout.place.chunks() else { continue };
        let var = schema.var(id);
        let Some(len) = schema.fixed_size(var.dtype).map(|size| shape::bytes(chunk, size as u64)) else {
            continue;
        };
        if !Segments::Auto.may_cut(usize::try_from(len).unwrap_or(usize::MAX)) {
            continue;
        }
        let Some(found) = Points::of(&**output.container().store(), codecs, &index.list()?) else { continue };
        if found.chunks < found.looked_at {
            let (without, all) = (count(found.looked_at - found.chunks), count(found.looked_at));
            let looked_at = if found.complete { "" } else { " that were looked at" };
            notes.push(format!(
                "`{}`: {without} of {all} chunks{looked_at} have no access points: with some, each would be larger by more than 1 %, or hardly be read faster",
                schema.var_path(id)
            ));
        }
    }
    Ok(notes)
}

/// Reads the ends of those chunks that may have access points, and hands each on with its number, in any order. Chunks
/// beyond the end of the store are left out.
pub(crate) fn ends(
    store: &dyn ReadStore,
    codecs: &CodecChain,
    chunks: impl Iterator<Item = ChunkRecord>,
    mut see: impl FnMut(usize, Segmented, &[u8]),
) -> Result<()> {
    let end_of = |(number, record): (usize, ChunkRecord)| {
        let len = codecs.segmented(record.mask)?.tail() as u64;
        let end = record.offset.checked_add(record.len).filter(|&end| end <= store.len())?;
        (record.len >= len).then_some((number, ChunkRecord { offset: end - len, len, mask: record.mask }))
    };
    let ends = chunks.enumerate().filter_map(end_of).collect();
    read_chunks(store, ends, MEMORY, |number, end| {
        if let RawChunk::Shared(bytes, mask) = end
            && let Some(own) = codecs.segmented(mask)
        {
            see(number, own, &bytes);
        }
    })
}
