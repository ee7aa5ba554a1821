//! Long chunks with access points that are read whole: decoded in groups of segments, by all threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::policy::{DECODE_PARALLEL, GROUP, GROUPED_CHUNK};
use super::super::shared::SharedOut;
use super::ChunkedRead;
use crate::codec::{PaddedInput, Tail, kernels};
use crate::error::Result;
use crate::layout::ChunkRecord;

impl ChunkedRead<'_> {
    /// Whether a chunk that is decoded whole has access points and is long enough to be decoded in groups of segments.
    pub(super) fn has_groups(&self, record: ChunkRecord, encoded: &[u8], len: usize) -> bool {
        let own = self.codecs.segmented(record.mask).filter(|_| len >= GROUPED_CHUNK as usize);
        own.is_some_and(|own| own.segment(encoded).is_some())
    }

    /// Decodes all of a chunk into memory that is its own, if it has access points and is long enough: group after group of segments, each
    /// of them by any thread, so that what is inflated is still in a cache when it is unshuffled. Returns whether it could.
    pub(super) fn decode_groups(
        &self,
        record: ChunkRecord,
        encoded: PaddedInput<'_>,
        out: &mut [u8],
    ) -> Result<bool> {
        let len = out.len();
        let own = self.codecs.segmented(record.mask).filter(|_| self.has_groups(record, &encoded, len));
        let Some(own) = own else { return Ok(false) };
        let Tail::Points(points) = own.points(&encoded, encoded.len() as u64, len) else { return Ok(false) };
        let inner = &*self.engine.inner;
        let size = points.planes();
        let each = (GROUP as usize / (points.segment() * size)).max(1);
        let groups = points.len().div_ceil(each);
        let parallel = self.how.parallel && inner.pool.shares(len as u64, DECODE_PARALLEL);
        let (whole, out) = (AtomicBool::new(true), SharedOut::new(out));
        inner.pool.run(groups, parallel, |group| {
            let segments = group * each..((group + 1) * each).min(points.len());
            let part = |r: &Range<u64>| encoded.part(r.start as usize..r.end as usize);
            let parts: Vec<_> = points.ranges(&segments).iter().map(part).collect();
            let bytes = points.bytes(&segments);
            let len = bytes.len() * size;
            let mut planes = inner.scratch.lease(len)?;
            if points.decode(&segments, &parts, &mut planes[..len]) {
                // SAFETY: groups are disjoint parts of the chunk.
                let dst = unsafe { out.slice(bytes.start * size, len) };
                kernels::unshuffle(&planes[..len], dst, size);
            } else {
                whole.store(false, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(whole.into_inner())
    }
}
