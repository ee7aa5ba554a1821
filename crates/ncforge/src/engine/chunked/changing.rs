//! Reads of a variable that is being changed: some of its chunks are newer in memory.

use super::super::boxes;
use super::super::plan::ChunkPlan;
use super::ChunkedRead;
use crate::error::{Error, Result};
use crate::model::VarId;
use crate::select::Hyperslab;

impl ChunkedRead<'_> {
    /// Whether a selection is not to be read ahead while its variable is changed: some of it is newer in memory; or the cache keeps its
    /// chunks, and a chunk that is changed after it was read is taken from there.
    pub(in super::super) fn is_changing(&self, slab: &Hyperslab) -> Result<bool> {
        let is_inside = (0..slab.rank()).all(|d| slab.end(d) <= self.layout.shape[d]);
        if self.newer.is_none() || !is_inside {
            return Ok(false);
        }
        let steps = boxes::steps(&slab.count, self.layout.element.size)?;
        let plan = ChunkPlan::new(&self.layout.shape, self.chunk, slab, &steps, self.layout.element.size)?;
        let bytes = plan.len().saturating_mul(self.chunk_bytes()?);
        if !self.codecs.is_empty() && bytes <= self.engine.inner.cache.limit() {
            return Ok(true);
        }
        let mut at = Vec::new();
        for number in 0..plan.len() {
            plan.at(number, &mut at);
            if self.newer_chunk(&at)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bytes of a chunk that is newer in memory.
    pub(super) fn newer_chunk(&self, at: &[u64]) -> Result<Option<&[u8]>> {
        let Some(chunk) = self.newer.and_then(|newer| newer.chunk(VarId(self.var), at)) else {
            return Ok(None);
        };
        if chunk.len() as u64 != self.chunk_bytes()? {
            return Err(Error::Internal(format!(
                "chunk {at:?} of `{}` has {} bytes",
                self.layout.name,
                chunk.len()
            )));
        }
        Ok(Some(chunk))
    }
}
