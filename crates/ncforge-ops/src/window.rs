//! A window of a source: some of its indices along each dimension, which answers like a file.
//!
//! A subset of a file and a tile of one are copies of windows. Dimensions, variables, attributes and types are those of the whole, with
//! the same numbers; only lengths differ. The indices along a dimension are a run, as a rule; two where a longitude wraps; or every
//! so many.
//!
//! Chunks of the window are chunks of the whole, and are moved as they are, where the indices begin at edges of chunks. A chunk that
//! holds elements outside of the window as well is not moved: they would be in the output, and seen where a dimension grows.

mod index;
mod ranges;

use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;

use self::index::WindowIndex;
pub(crate) use self::ranges::{Ranges, Span};
use crate::boxes::each_row;
use crate::source::{RawChunk, Source, VarGroup};
use ncforge::model::{DimId, Format, Schema, Value, Values, VarId, shape};
use ncforge::raw::{Absent, Place, Region, Remark, Runs, VarLayout, coordinates};
use ncforge::store::ReadStore;
use ncforge::{Buffer, Engine, Error, FileId, Hyperslab, Result};

/// Some of the indices of a source along each dimension.
pub(crate) struct Window<S> {
    whole: S,
    schema: Schema,
    /// The indices along each dimension; `None`: all.
    ranges: Vec<Option<Ranges>>,
    notes: Vec<String>,
}

impl<S> Window<S>
where
    S: Deref + Sync,
    S::Target: Source,
{
    /// The window with these indices, one entry for each dimension of the whole.
    pub(crate) fn new(whole: S, ranges: Vec<Option<Ranges>>) -> Self {
        let schema = whole.schema().clone();
        Self::described(whole, ranges, schema)
    }

    /// As [`Self::new`], with a description of its own: that of the whole, but for names, attributes and lengths.
    pub(crate) fn described(whole: S, mut ranges: Vec<Option<Ranges>>, mut schema: Schema) -> Self {
        ranges.resize(schema.dims.len(), None);
        for (d, own) in ranges.iter_mut().enumerate() {
            *own = own.take().filter(|r| !r.is_all(whole.schema().dims[d].len));
            schema.dims[d].len = own.as_ref().map_or(schema.dims[d].len, Ranges::len);
        }
        Window { whole, schema, ranges, notes: Vec::new() }
    }

    /// Adds notes for the user.
    pub(crate) fn with_notes(self, notes: Vec<String>) -> Self {
        Window { notes, ..self }
    }

    /// The indices along the axes of a variable.
    fn axes(&self, v: VarId) -> Vec<Ranges> {
        let all = |d: usize| Ranges::new([Span::run(0..self.schema.dims[d].len)]);
        self.schema.var(v).dims.iter().map(|d| self.ranges[d.0].clone().unwrap_or_else(|| all(d.0))).collect()
    }

    /// Whether a variable is the whole's.
    fn is_whole(&self, v: VarId) -> bool {
        self.schema.var(v).dims.iter().all(|d| self.ranges[d.0].is_none())
    }

    /// Whether the only indices that a variable lacks are some at the ends of its first dimension, or between equal steps there.
    fn is_first_cut(&self, v: VarId) -> bool {
        let own = |d: &DimId| self.ranges[d.0].as_ref();
        let dims = &self.schema.var(v).dims;
        dims.iter().skip(1).all(|d| own(d).is_none())
            && dims.first().and_then(own).is_none_or(|r| r.spans().len() == 1)
    }

    /// The parts of a selection: where each lies in it, and in the whole.
    fn parts(&self, v: VarId, slab: &Hyperslab) -> Result<Vec<(Region, Hyperslab)>> {
        slab.check(&self.schema.shape(v), &self.schema.var_path(v))?;
        if !slab.is_dense() {
            let name = self.schema.var_path(v);
            return Err(Error::Internal(format!("`{name}`: a window is read without strides")));
        }
        let axes = self.axes(v);
        let cuts: Vec<_> = (axes.iter().enumerate())
            .map(|(d, r)| r.cut(slab.start[d]..slab.start[d] + slab.count[d]))
            .collect();
        let each: Vec<Range<u64>> = cuts.iter().map(|c| 0..c.len() as u64).collect();
        let part = |at: Vec<u64>| {
            let own = || at.iter().zip(&cuts).map(|(&i, cuts)| cuts[i as usize]);
            let count: Vec<u64> = own().map(|c| c.span.count).collect();
            let local = Hyperslab {
                start: own().map(|c| c.span.first).collect(),
                count: count.clone(),
                // Of a single index the distance to the next means nothing.
                stride: own().map(|c| if c.span.count > 1 { c.span.step } else { 1 }).collect(),
            };
            (Region { start: own().map(|c| c.offset).collect(), count }, local)
        };
        Ok(coordinates(&each).map(part).collect())
    }

    /// The layout in the whole, and the chunk lengths, if it has chunks.
    fn chunk(&self, v: VarId) -> Result<Option<Vec<u64>>> {
        Ok(self.whole.layout(v)?.place.chunks().map(|c| c.chunk.to_vec()))
    }

    fn chunk_or_error(&self, v: VarId) -> Result<Vec<u64>> {
        self.chunk(v)?.ok_or_else(|| Error::not_chunked(self.schema.var_path(v)))
    }

    /// The chunks of the whole that one of the window touches.
    fn touched(&self, v: VarId, at: &[u64], chunk: &[u64]) -> Vec<Vec<u64>> {
        let along = |d: usize, ranges: &Ranges| -> Vec<u64> {
            let begin = at[d].saturating_mul(chunk[d]);
            let cuts = ranges.cut(begin..begin.saturating_add(chunk[d]).min(ranges.len()));
            let mut found: Vec<u64> = (cuts.iter())
                .flat_map(|c| (0..c.span.count).map(|i| (c.span.first + i * c.span.step) / chunk[d]))
                .collect();
            found.dedup();
            found
        };
        let lists: Vec<Vec<u64>> = self.axes(v).iter().enumerate().map(|(d, r)| along(d, r)).collect();
        let each: Vec<Range<u64>> = lists.iter().map(|l| 0..l.len() as u64).collect();
        coordinates(&each).map(|at| at.iter().zip(&lists).map(|(&i, l)| l[i as usize]).collect()).collect()
    }

    /// Whether the chunk of the whole has elements that the window lacks; chunks are aligned.
    fn is_cut(&self, v: VarId, at: &[u64], chunk: &[u64]) -> bool {
        let whole = self.whole.schema().shape(v);
        self.axes(v).iter().enumerate().any(|(d, ranges)| {
            let begin = at[d].saturating_mul(chunk[d]);
            let own = ranges.len().saturating_sub(begin).min(chunk[d]);
            let first = ranges.cut(begin..begin + own.min(1)).first().map_or(0, |c| c.span.first);
            own < chunk[d].min(whole[d].saturating_sub(first))
        })
    }

    /// The chunks of the whole that a box of the window's is, where they are a box.
    fn box_in_whole(&self, v: VarId, touched: &[Range<u64>], chunk: &[u64]) -> Option<Vec<Range<u64>>> {
        let along = |(d, ranges): (usize, &Ranges)| {
            let (t, c) = (&touched[d], chunk[d]);
            let cuts = ranges.cut(t.start * c..(t.end * c).min(ranges.len()));
            match cuts[..] {
                [one] if one.span.step == 1 || one.span.count == 1 => {
                    let first = one.span.first / c;
                    Some(first..first + (t.end - t.start))
                }
                _ => None,
            }
        };
        self.axes(v).iter().enumerate().map(along).collect()
    }
}

/// Where the rows of a span of the first dimension lie.
fn rows(runs: Runs, span: &Span, whole: &VarLayout) -> Place {
    let row = shape::bytes(whole.shape.get(1..).unwrap_or_default(), whole.element.size as u64);
    let stride = runs.stride.unwrap_or(row);
    let begin = runs.begin.saturating_add(span.first.saturating_mul(stride));
    match (runs.stride, span.step) {
        (None, 1) => Place::Contiguous { offset: begin },
        (_, step) => Place::Records { begin, stride: stride.saturating_mul(step) },
    }
}

impl<S> Source for Window<S>
where
    S: Deref + Sync,
    S::Target: Source,
{
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn name(&self) -> String {
        self.whole.name()
    }

    fn format(&self) -> Format {
        self.whole.format()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.whole.files()
    }

    fn ids(&self) -> Result<Vec<FileId>> {
        self.whole.ids()
    }

    fn part(&self) -> String {
        format!("{}{:?}", self.whole.part(), self.ranges)
    }

    fn remarks(&self) -> Vec<Remark> {
        self.whole.remarks().into_iter().chain(self.notes.iter().map(Remark::of_file)).collect()
    }

    fn engine(&self) -> &Engine {
        self.whole.engine()
    }

    fn store(&self) -> Option<&Arc<dyn ReadStore>> {
        self.whole.store().filter(|_| self.schema.var_ids().all(|v| self.is_first_cut(v)))
    }

    fn has_latency(&self) -> bool {
        self.whole.has_latency()
    }

    fn last_byte(&self, v: VarId) -> Result<Option<(u64, u64)>> {
        let Some(store) = self.whole.store() else { return Ok(None) };
        let mut layout = VarLayout::clone(&*self.whole.layout(v)?);
        if let (Some(n), Some(ranges)) = (layout.shape.first_mut(), self.axes(v).first()) {
            *n = (*n).min(ranges.end());
        }
        let empty = layout.shape.contains(&0);
        Ok(layout.runs().filter(|_| !empty).map(|runs| (runs.end(), store.len())))
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        let whole = self.whole.layout(v)?;
        if self.is_whole(v) {
            return Ok(whole);
        }
        let mut layout = VarLayout::clone(&whole);
        let (axes, want) = (self.axes(v), self.schema.shape(v));
        for (d, ranges) in axes.iter().enumerate().take(layout.shape.len()) {
            let stored = ranges.first_below(layout.shape[d]);
            layout.shape[d] = stored.unwrap_or(want[d]);
            // What lies beyond the end of the whole is in the middle of the window.
            if stored.is_none() && layout.absent.one().is_none() {
                layout.absent = Absent::Several;
            }
        }
        if let (Absent::Split { inside, .. }, true) = (&layout.absent, layout.shape == want) {
            layout.absent = Absent::As(inside.clone());
        }
        layout.place = match whole.place.clone() {
            Place::Chunked { chunk, codecs, index } => {
                let aligned = axes.iter().zip(&chunk).all(|(r, &c)| r.is_aligned(c));
                let index = Arc::new(WindowIndex { whole: index, chunk: chunk.clone(), axes, aligned });
                Place::Chunked { chunk, codecs, index }
            }
            // Where its elements lie is the whole's business.
            Place::Inline(_) => Place::Inline(Arc::from([])),
            other => match (whole.runs(), axes.first().and_then(|r| r.spans().first())) {
                (Some(runs), Some(span)) if self.is_first_cut(v) => rows(runs, span, &whole),
                _ => other,
            },
        };
        Ok(Arc::new(layout))
    }

    fn has_runs(&self, v: VarId) -> bool {
        self.whole.has_runs(v) && self.is_first_cut(v)
    }

    fn has_chunks(&self, v: VarId) -> bool {
        if self.is_whole(v) || !self.whole.has_chunks(v) {
            return self.whole.has_chunks(v);
        }
        let Ok(layout) = self.whole.layout(v) else { return false };
        let Some(chunks) = layout.place.chunks() else { return layout.place.is_nowhere() };
        // A chunk that reaches past the end of the whole holds anything there: it may be at the end only.
        let fits = |((r, &c), &n): ((&Ranges, &u64), &u64)| r.is_aligned(c) && r.first_below(n).is_some();
        self.axes(v).iter().zip(chunks.chunk).zip(&layout.shape).all(fits)
    }

    fn is_stored(&self, v: VarId, at: &[u64]) -> Result<bool> {
        let Some(chunk) = self.chunk(v)? else { return Ok(true) };
        for at in self.touched(v, at, &chunk) {
            if self.whole.is_stored(v, &at)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn each_stored(&self, v: VarId, see: &mut dyn FnMut(&[u64])) -> Result<bool> {
        if self.is_whole(v) {
            return self.whole.each_stored(v, see);
        }
        if !self.has_chunks(v) {
            return Ok(false);
        }
        let (axes, chunk) = (self.axes(v), self.chunk_or_error(v)?);
        self.whole.each_stored(v, &mut |at| {
            let here = axes.iter().zip(at).zip(&chunk).map(|((r, &a), &c)| r.chunk_of(a, c));
            if let Some(here) = here.collect::<Option<Vec<u64>>>() {
                see(&here);
            }
        })
    }

    fn read(&self, v: VarId, slab: &Hyperslab) -> Result<Values> {
        if let Some(size) = self.schema.fixed_size(self.schema.var(v).dtype) {
            let len = usize::try_from(slab.len()).unwrap_or(usize::MAX).saturating_mul(size);
            let mut bytes = Buffer::try_zeroed(len)?;
            self.read_bytes(v, slab, &mut bytes)?;
            return Ok(Values::Fixed(bytes));
        }
        let parts = self.parts(v, slab)?;
        if let [(_, one)] = &parts[..] {
            return self.whole.read(v, one);
        }
        let mut found: Vec<Option<Value>> = vec![None; slab.len() as usize];
        for (region, local) in parts {
            let Values::Heap(mut values) = self.whole.read(v, &local)? else {
                return Err(Error::Internal(format!("`{}` changes its type", self.schema.var_path(v))));
            };
            let mut values = values.drain(..);
            each_row(&slab.count, &region.start, &region.count, 1, |_, to| {
                found[to].iter_mut().for_each(|slot| *slot = values.next());
            });
        }
        Ok(Values::Heap(found.into_iter().flatten().collect()))
    }

    fn read_bytes(&self, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let parts = self.parts(v, slab)?;
        match &parts[..] {
            [] => Ok(()),
            [(_, one)] => self.whole.read_bytes(v, one, out),
            several => self.whole.read_parts(v, &slab.count, several, out),
        }
    }

    fn var_group(&self, v: VarId) -> Option<&VarGroup> {
        self.whole.var_group(v).filter(|group| group.vars.clone().all(|v| self.is_whole(VarId(v))))
    }

    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        // Asked for where there is a group.
        self.whole.read_together(vars, slab, out)
    }

    fn raw_chunk(&self, v: VarId, at: &[u64]) -> Result<RawChunk> {
        let chunk = self.chunk_or_error(v)?;
        match &self.touched(v, at, &chunk)[..] {
            [one] if !self.is_cut(v, at, &chunk) => self.whole.raw_chunk(v, one),
            _ => Ok(RawChunk::Pieces),
        }
    }

    fn raw_chunks(&self, v: VarId, touched: &[Range<u64>], most: u64) -> Result<Option<Vec<RawChunk>>> {
        let chunk = self.chunk_or_error(v)?;
        let Some(whole) = self.box_in_whole(v, touched, &chunk) else { return Ok(None) };
        let Some(mut chunks) = self.whole.raw_chunks(v, &whole, most)? else { return Ok(None) };
        for (found, at) in chunks.iter_mut().zip(coordinates(touched)) {
            if self.is_cut(v, &at, &chunk) {
                *found = RawChunk::Pieces;
            }
        }
        Ok(Some(chunks))
    }

    fn stored_bytes(&self, v: VarId) -> Result<u64> {
        // By its share of the values.
        let (own, all) =
            (shape::elements(&self.schema.shape(v)), shape::elements(&self.whole.schema().shape(v)));
        let share = own as f64 / all.max(1) as f64;
        Ok((self.whole.stored_bytes(v)? as f64 * share) as u64)
    }
}
