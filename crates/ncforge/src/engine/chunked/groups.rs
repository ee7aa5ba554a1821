//! Several streams, or parts of one, at a time: long chunks with access points are decoded in groups of segments, by all threads, short ones
//! two in turn.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::policy::{DECODE_PARALLEL, GROUP, GROUPED_CHUNK};
use super::super::shared::SharedOut;
use super::{ChunkPlan, ChunkedRead, Stored};
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

    /// Decodes chunks whose streams are inflated two at a time; those where that is not possible are left.
    ///
    /// # Safety
    /// As for [`ChunkedRead::read`].
    pub(super) unsafe fn decode_in_turn<'a>(
        &self,
        plan: &ChunkPlan,
        left: &mut Vec<&Stored>,
        encoded: impl Fn(&Stored) -> PaddedInput<'a>,
        out: &SharedOut<'_>,
    ) -> Result<()> {
        let (scratch, len) = (&self.engine.inner.scratch, self.chunk_bytes()? as usize);
        let chunks: Vec<_> = left.iter().map(|s| (encoded(s), s.record.mask)).collect();
        // A damaged chunk shape must not become an allocation.
        if chunks.iter().any(|(bytes, mask)| self.codecs.check_len(bytes.len(), *mask, len).is_err()) {
            return Ok(());
        }
        let (mut a, mut b) = (scratch.lease(len)?, scratch.lease(len)?);
        let (mut result, mut done) = (Ok(()), vec![false; left.len()]);
        self.codecs.inflate_in_turn(&chunks, [&mut *a, &mut *b], |i, mask, bytes| {
            let record = ChunkRecord { mask, ..left[i].record };
            // SAFETY: the piece is the caller's alone.
            result = unsafe { self.decode_stored(plan, left[i], record, PaddedInput::unpadded(bytes), out) };
            done[i] = true;
            result.is_ok()
        });
        let mut done = done.into_iter();
        left.retain(|_| done.next() == Some(false));
        result
    }
}
