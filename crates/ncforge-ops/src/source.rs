//! Sources of whole-file work: a file, or something that passes for one file.
//!
//! A copy, a verification or a comparison asks a [`Source`] for its description, for how each variable is held, and
//! for boxes of values. A mosaic of tiles or one tile of a whole answers the same questions as a file does, so that
//! combining and splitting are copies, with everything that a copy can do.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::boxes::each_row;
use crate::raw_chunks;
pub(crate) use crate::raw_chunks::RawChunk;
use ncforge::model::{Format, Schema, Values, VarId, shape};
use ncforge::raw::{Chunks, Region, Remark, Runs, VarLayout, coordinates, remarks};
use ncforge::store::ReadStore;
use ncforge::{Buffer, Dataset, Engine, Error, FileId, Hyperslab, Result};

/// Variables whose values lie next to each other in the files: asked for together, they are read in fewer requests.
/// All are of one shape and of elements of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VarGroup {
    /// Their numbers.
    pub(crate) vars: Range<usize>,
    /// The box that is best asked for at a time.
    pub(crate) lens: Vec<u64>,
}

/// Elements of a heap type that are read at a time.
pub(crate) const HEAP_BATCH: u64 = 1 << 14;

/// Bytes that progress counts for a variable: its values once; 16 bytes for an element of a heap type.
pub(crate) fn work_bytes(schema: &Schema, var: VarId) -> u64 {
    let size = schema.fixed_size(schema.var(var).dtype).unwrap_or(16) as u64;
    shape::bytes(&schema.shape(var), size)
}

/// Records as a classic file holds them: a piece of every variable that grows, then the next record; in one file, or in
/// several that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    /// Bytes from one record to the next.
    pub(crate) stride: u64,
    /// The place of each variable in a record, from that of the first of them on.
    pub(crate) behind: Vec<u64>,
    /// For each file the number of its records, and the place of the first variable in the first of them.
    pub(crate) files: Vec<(u64, u64)>,
}

impl Records {
    /// The records of one file with these variables; `None` unless all of them lie in records of one length, the first of them first.
    pub(crate) fn of(layouts: &[Arc<VarLayout>]) -> Option<Records> {
        let runs = layouts.iter().map(|layout| layout.runs()).collect::<Option<Vec<Runs>>>()?;
        let first = runs.first()?;
        let stride = first.stride?;
        let alike = runs.iter().all(|r| r.stride == Some(stride))
            && layouts.iter().all(|layout| layout.shape.first() == layouts[0].shape.first());
        let behind = runs.iter().map(|r| r.begin.checked_sub(first.begin)).collect::<Option<Vec<u64>>>()?;
        let count = *layouts[0].shape.first()?;
        alike.then(|| Records { stride, behind, files: vec![(count, first.begin)] })
    }
}

/// Something to read variables from.
pub(crate) trait Source: Sync {
    /// The description.
    fn schema(&self) -> &Schema;
    /// The name in messages.
    fn name(&self) -> String;
    /// Format of the files behind it.
    fn format(&self) -> Format {
        self.schema().format
    }
    /// The files behind it: what a journal belongs to.
    fn files(&self) -> Vec<PathBuf>;
    /// The files with the states that are read.
    fn ids(&self) -> Result<Vec<FileId>> {
        self.files().iter().map(|path| FileId::at(path)).collect()
    }
    /// Which part of the files it is: of the same files, another text is another part.
    fn part(&self) -> String {
        String::new()
    }
    /// What the user should know of the files: contents that are read otherwise than they are stored.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// The engine that reads.
    fn engine(&self) -> &Engine;
    /// The file that the offsets of layouts point into, where all variables lie in one.
    fn store(&self) -> Option<&Arc<dyn ReadStore>> {
        None
    }
    /// Whether each request to the files takes long.
    fn has_latency(&self) -> bool {
        self.store().is_some_and(|store| store.io_profile().has_latency())
    }
    /// The end of the last value of a variable that is stored row by row, and the length of the store that holds it.
    fn last_byte(&self, var: VarId) -> Result<Option<(u64, u64)>> {
        let layout = self.layout(var)?;
        let runs = layout.runs().filter(|_| !layout.shape.contains(&0));
        Ok(runs.zip(self.store()).map(|(runs, store)| (runs.end(), store.len())))
    }
    /// The layout of a variable: extents, element, chunks. Offsets point into [`Source::store`], or mean nothing to others.
    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>>;
    /// Whether the chunks that the layout tells can be asked for by [`Source::raw_chunk`], and those that it does
    /// not have read as its fill. Otherwise the layout tells costs only.
    fn has_chunks(&self, var: VarId) -> bool {
        let _ = var;
        true
    }
    /// Whether the bytes of a variable that is stored row by row lie in [`Source::store`], or in the one file, where the layout tells.
    /// Otherwise it tells costs only.
    fn has_runs(&self, var: VarId) -> bool {
        let _ = var;
        true
    }
    /// Whether the chunk at these coordinates was written, where [`Source::has_chunks`].
    fn is_stored(&self, var: VarId, at: &[u64]) -> Result<bool> {
        match self.layout(var)?.place.chunks() {
            Some(Chunks { index, .. }) => Ok(index.get(at)?.is_some()),
            None => Ok(true),
        }
    }
    /// Shows the grid coordinates of all chunks that were written, in no particular order, where [`Source::has_chunks`].
    /// `false`: that is not known without asking for each.
    fn each_stored(&self, var: VarId, see: &mut dyn FnMut(&[u64])) -> Result<bool> {
        let _ = (var, see);
        Ok(false)
    }
    /// Reads a selection of a variable of any type.
    fn read(&self, var: VarId, slab: &Hyperslab) -> Result<Values>;
    /// Reads a selection of a variable of a fixed-size type: row-major, no gaps, native byte order.
    fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()>;
    /// Reads parts of a variable of a fixed-size type into a box of lengths `count`: each selection to its place there.
    fn read_parts(
        &self,
        var: VarId,
        count: &[u64],
        parts: &[(Region, Hyperslab)],
        out: &mut [u8],
    ) -> Result<()> {
        let size = self.schema().fixed_size(self.schema().var(var).dtype).unwrap_or(0);
        for (region, slab) in parts {
            for (region, slab) in bands(region, slab, size) {
                let mut values = Buffer::try_zeroed(slab.len() as usize * size)?;
                self.read_bytes(var, &slab, &mut values)?;
                each_row(count, &region.start, &region.count, size, |from, to| {
                    out[to].copy_from_slice(&values[from]);
                });
            }
        }
        Ok(())
    }
    /// The variables that a variable is best read together with, itself among them.
    fn var_group(&self, var: VarId) -> Option<&VarGroup> {
        let _ = var;
        None
    }
    /// Reads the same selection of several such variables, as [`Source::read_bytes`] does, one behind the other.
    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let each = (out.len() / vars.len().max(1)).max(1);
        vars.iter().zip(out.chunks_exact_mut(each)).try_for_each(|(&v, out)| self.read_bytes(v, slab, out))
    }
    /// The records that these variables make, if they lie in records, as [`Source::layout`] tells types and lengths.
    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        let _ = vars;
        Ok(None)
    }
    /// The file with this number of [`Records::files`].
    fn record_file(&self, number: usize) -> Result<Arc<dyn ReadStore>> {
        let _ = number;
        Err(Error::Internal(format!("`{}` has no records", self.name())))
    }
    /// One chunk as it is stored.
    fn raw_chunk(&self, var: VarId, at: &[u64]) -> Result<RawChunk>;
    /// A box of chunks as they are stored, row-major, read in as few requests as may be; `None` where asking one by one
    /// is as good, and where they take more than `most` bytes. `touched`: ranges of chunk coordinates.
    fn raw_chunks(&self, var: VarId, touched: &[Range<u64>], most: u64) -> Result<Option<Vec<RawChunk>>> {
        let _ = (var, touched, most);
        Ok(None)
    }
    /// Bytes that a variable takes in the files, estimated where counting costs much.
    fn stored_bytes(&self, var: VarId) -> Result<u64> {
        self.layout(var)?.stored_bytes(u64::MAX)
    }
}

/// Bytes of a part that are held beside the place where they go.
const BAND: u64 = 16 << 20;

/// An error where one stored chunk of a variable, which is decoded as a whole, passes the whole budget.
pub(crate) fn check_chunk(source: &dyn Source, var: VarId) -> Result<()> {
    let (layout, budget) = (source.layout(var)?, source.engine().memory());
    let needed = layout.place.chunks().map_or(0, |c| shape::bytes(c.chunk, layout.element.size as u64));
    let mut is_stored = false;
    if needed <= budget || source.each_stored(var, &mut |_| is_stored = true)? && !is_stored {
        return Ok(());
    }
    let what = format!("a chunk of `{}` in `{}`", source.schema().var_path(var), source.name());
    Err(Error::Budget { what, needed, budget })
}

/// A part in pieces along its first dimension of more than one index, so that none takes much memory.
fn bands(region: &Region, slab: &Hyperslab, size: usize) -> Vec<(Region, Hyperslab)> {
    let Some(axis) = slab.count.iter().position(|&n| n > 1) else {
        return vec![(region.clone(), slab.clone())];
    };
    let each = shape::bytes(&slab.count[axis + 1..], size as u64).max(1);
    let most = (BAND / each).max(1);
    let piece = |first: u64| {
        let (mut region, mut slab) = (region.clone(), slab.clone());
        let n = most.min(slab.count[axis] - first);
        region.start[axis] += first;
        slab.start[axis] += first * slab.stride[axis];
        (region.count[axis], slab.count[axis]) = (n, n);
        (region, slab)
    };
    (0..slab.count[axis].div_ceil(most)).map(|i| piece(i * most)).collect()
}

impl Source for Dataset {
    fn schema(&self) -> &Schema {
        Dataset::schema(self)
    }

    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path().to_owned()]
    }

    /// The identity at its opening: for a URL, another look is another request.
    fn ids(&self) -> Result<Vec<FileId>> {
        Ok(vec![match self.id() {
            Some(id) => id.clone(),
            None => FileId::at(self.path())?,
        }])
    }

    fn remarks(&self) -> Vec<Remark> {
        remarks(self.container())
    }

    fn engine(&self) -> &Engine {
        Dataset::engine(self)
    }

    fn store(&self) -> Option<&Arc<dyn ReadStore>> {
        Some(self.container().store())
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.container().layout(var)
    }

    fn each_stored(&self, var: VarId, see: &mut dyn FnMut(&[u64])) -> Result<bool> {
        match self.container().layout(var)?.place.chunks() {
            Some(Chunks { index, .. }) => index.visit(&mut |at, _| see(at)).map(|()| true),
            None => Ok(false),
        }
    }

    fn read(&self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        Dataset::read(self, var, slab)
    }

    fn read_bytes(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        Dataset::read_bytes(self, var, slab, out)
    }

    fn read_parts(
        &self,
        var: VarId,
        count: &[u64],
        parts: &[(Region, Hyperslab)],
        out: &mut [u8],
    ) -> Result<()> {
        self.note_read();
        let size = self.container().layout(var)?.element.size;
        let regions: Vec<Region> = parts.iter().map(|(region, _)| region.clone()).collect();
        Dataset::engine(self).read_parts(count, size, &regions, out, |i, part| {
            part.read(0, self.container(), var, &parts[i].1)
        })
    }

    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        if self.container().store().blocks().is_some() {
            return Ok(None);
        }
        let layouts = vars.iter().map(|&v| self.container().layout(v)).collect::<Result<Vec<_>>>()?;
        Ok(Records::of(&layouts))
    }

    fn record_file(&self, _number: usize) -> Result<Arc<dyn ReadStore>> {
        Ok(Arc::clone(self.container().store()))
    }

    fn raw_chunk(&self, var: VarId, at: &[u64]) -> Result<RawChunk> {
        Ok(match self.engine().raw_chunk(self.container(), var, at)? {
            Some((bytes, mask)) => RawChunk::Encoded(bytes, mask),
            None => RawChunk::Unwritten,
        })
    }

    fn raw_chunks(&self, var: VarId, touched: &[Range<u64>], most: u64) -> Result<Option<Vec<RawChunk>>> {
        let layout = self.container().layout(var)?;
        let Some(Chunks { index, .. }) = layout.place.chunks() else { return Ok(None) };
        let mut chunks = Vec::new();
        let mut stored = Vec::new();
        for (number, at) in coordinates(touched).enumerate() {
            chunks.push(RawChunk::Unwritten);
            stored.extend(index.get(&at)?.map(|record| (number, record)));
        }
        let bytes = raw_chunks::bytes(&stored);
        let store = self.container().store();
        let alone = bytes > stored.len() as u64 * raw_chunks::SMALL && !store.io_profile().has_latency();
        if bytes > most || alone {
            return Ok(None);
        }
        raw_chunks::read(&**store, stored, self.engine().fetch_memory(), |number, chunk| {
            chunks[number] = chunk;
        })?;
        index.check_places(store.name(), &mut coordinates(touched))?;
        Ok(Some(chunks))
    }
}
