//! A window of a file, which answers like a file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::describe::Described;
use crate::source::{RawChunk, Source};
use ncforge::model::{Schema, Values, VarId, shape};
use ncforge::raw::{Chunks, VarLayout};
use ncforge::{Dataset, Engine, Error, FileId, Hyperslab, Result};

/// A part of a file, along its dimensions.
pub(super) struct Window<'a> {
    whole: &'a Dataset,
    schema: Schema,
    /// The first index in the whole, for each dimension.
    starts: Vec<u64>,
}

impl<'a> Window<'a> {
    pub(super) fn new(whole: &'a Dataset, described: Described) -> Self {
        Window { whole, schema: described.schema, starts: described.starts }
    }

    fn start(&self, v: VarId) -> impl Iterator<Item = u64> + '_ {
        self.schema.var(v).dims.iter().map(|d| self.starts[d.0])
    }

    /// The selection in the whole.
    fn shifted(&self, v: VarId, slab: &Hyperslab) -> Result<Hyperslab> {
        slab.check(&self.schema.shape(v), &self.schema.var_path(v))?;
        let start: Vec<u64> = slab.start.iter().zip(self.start(v)).map(|(a, b)| a + b).collect();
        Ok(Hyperslab { start, ..slab.clone() })
    }

    /// The chunk of the whole that is this one's, if chunks begin at the window's edges.
    fn chunk(&self, v: VarId, at: &[u64], chunk: &[u64]) -> Vec<u64> {
        at.iter().zip(self.start(v)).zip(chunk).map(|((a, s), c)| a + s / c).collect()
    }
}

impl Source for Window<'_> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn name(&self) -> String {
        self.whole.path().display().to_string()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.whole.files()
    }

    fn ids(&self) -> Result<Vec<FileId>> {
        self.whole.ids()
    }

    fn notes(&self) -> Vec<String> {
        self.whole.container().notes()
    }

    fn engine(&self) -> &Engine {
        self.whole.engine()
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        let whole = self.whole.container().layout(v)?;
        let mut layout = VarLayout::clone(&whole);
        for ((n, start), want) in layout.shape.iter_mut().zip(self.start(v)).zip(self.schema.shape(v)) {
            *n = n.saturating_sub(start).min(want);
        }
        Ok(Arc::new(layout))
    }

    fn has_chunks(&self, v: VarId) -> bool {
        let Ok(layout) = self.whole.container().layout(v) else { return false };
        let aligned = |c: Chunks<'_>| self.start(v).zip(c.chunk).all(|(s, n)| s.is_multiple_of(*n));
        layout.place.chunks().is_some_and(aligned)
    }

    fn is_stored(&self, v: VarId, at: &[u64]) -> Result<bool> {
        match self.whole.container().layout(v)?.place.chunks() {
            Some(Chunks { chunk, index, .. }) => Ok(index.get(&self.chunk(v, at, chunk))?.is_some()),
            None => Ok(true),
        }
    }

    fn each_stored(&self, v: VarId, see: &mut dyn FnMut(&[u64])) -> Result<bool> {
        let layout = self.whole.container().layout(v)?;
        let Some(Chunks { chunk, index, .. }) = layout.place.chunks() else { return Ok(false) };
        let lens = self.schema.shape(v);
        let bounds = self.start(v).zip(chunk).zip(&lens);
        let ranges: Vec<Range<u64>> = bounds.map(|((s, c), n)| s / c..(s + n).div_ceil(*c)).collect();
        let mut here = vec![0; ranges.len()];
        index.visit(&mut |at, _| {
            if at.iter().zip(&ranges).all(|(a, r)| r.contains(a)) {
                here.iter_mut().zip(at).zip(&ranges).for_each(|((h, a), r)| *h = a - r.start);
                see(&here);
            }
        })?;
        Ok(true)
    }

    fn read(&self, v: VarId, slab: &Hyperslab) -> Result<Values> {
        self.whole.read(v, &self.shifted(v, slab)?)
    }

    fn read_bytes(&self, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.whole.read_bytes(v, &self.shifted(v, slab)?, out)
    }

    fn raw_chunk(&self, v: VarId, at: &[u64]) -> Result<RawChunk> {
        let layout = self.whole.container().layout(v)?;
        let Some(Chunks { chunk, .. }) = layout.place.chunks() else {
            return Err(Error::not_chunked(&layout.name));
        };
        let at = self.chunk(v, at, chunk);
        Ok(match self.engine().raw_chunk(self.whole.container(), v, &at)? {
            Some((bytes, mask)) => RawChunk::Encoded(bytes, mask),
            None => RawChunk::Unwritten,
        })
    }

    fn stored_bytes(&self, v: VarId) -> Result<u64> {
        // Counting the chunks of the whole for every tile would cost more than the plan is worth.
        let element = self.schema.fixed_size(self.schema.var(v).dtype).unwrap_or(16) as u64;
        Ok(shape::bytes(&self.schema.shape(v), element))
    }
}
