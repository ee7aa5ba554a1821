//! Access points of chunks: the stream decoded as a whole, with the checksum of another filter if there is one, and every
//! segment decoded alone.
//!
//! Reading values checks a long chunk with access points by its segments, and does not need the rest.

use crate::points::ends;
use ncforge::codec::{CodecChain, locate};
use ncforge::raw::ChunkRecord;
use ncforge::store::ReadStore;
use ncforge::{Buffer, Engine, Error, Result};

/// The fault of a chunk.
pub(super) enum Fault {
    /// The chunk cannot be decoded as a whole.
    Values(Error),
    /// The chunk can be decoded, but its access points disagree.
    Points(Error),
}

/// Chunks of a variable, and how they are encoded.
pub(super) struct Chunks<'a> {
    pub(super) store: &'a dyn ReadStore,
    pub(super) codecs: &'a CodecChain,
    /// Bytes of a decoded chunk.
    pub(super) len: usize,
}

impl Chunks<'_> {
    /// Checks those chunks of a list that have access points, and hands on the number of each with what is wrong with it, if something is.
    pub(super) fn check(
        &self,
        engine: &Engine,
        list: &[ChunkRecord],
        mut see: impl FnMut(usize, Option<Fault>) -> Result<()>,
    ) -> Result<()> {
        let mut marked = Vec::new();
        ends(self.store, self.codecs, list.iter().copied(), |number, own, end| {
            if own.is_marked(end) {
                marked.push(number);
            }
        })?;
        marked.sort_unstable_by_key(|&number| list[number].offset);
        // A chunk is there encoded, decoded, and shuffled.
        let all = (3 * engine.threads() as u64).saturating_mul(self.len as u64);
        if all > engine.memory() {
            return marked.iter().try_for_each(|&number| see(number, self.fault(list[number])?));
        }
        let fault = |i: usize| self.fault(list[marked[i]]);
        engine.ordered(marked.len(), 2 * engine.threads(), fault, |i, fault| see(marked[i], fault))
    }

    /// The fault of one chunk.
    fn fault(&self, record: ChunkRecord) -> Result<Option<Fault>> {
        let Some(own) = self.codecs.segmented(record.mask) else { return Ok(None) };
        let (file, codecs) = (self.store.name(), self.codecs);
        let encoded = self.store.read_vec(record.offset, record.len)?;
        let mut whole = match codecs.check_len(encoded.len(), record.mask, self.len) {
            Ok(()) => Buffer::try_zeroed(self.len)?,
            Err(e) => return Ok(Some(Fault::Values(locate(e, file, record.offset)))),
        };
        if let Err(e) = codecs.decode(&encoded, record.mask, &mut whole) {
            return Ok(Some(Fault::Values(locate(e, file, record.offset))));
        }
        let found = own.check(&encoded, &whole).err();
        Ok(found.map(|d| Fault::Points(Error::corrupt(file, record.offset.saturating_add(d.at), d.what))))
    }
}
