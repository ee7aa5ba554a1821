//! A netCDF-4 file that is being written: its state, and space in it for data.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::facts::FileFacts;
use super::heap::HeapWriter;
use super::options::Alignment;
use super::space::{Extent, FileSpace};
use super::standing::Standing;
use super::state::{LiveIndex, PlaceState, VarState};
use crate::error::{Error, Result};
use crate::layout::ChunkRecord;
use crate::model::{DimId, Schema, VarId};
use crate::store::{ReadStore, WriteStore};

/// Contiguous data starts at a multiple of this, …
const DATA_ALIGN: u64 = 64;
/// … and at the beginning of a page of the system from this many bytes on, also for chunks that are whole pages: every
/// page that is written in part is written twice.
const PAGED_FROM: u64 = 1 << 20;
const PAGE: u64 = 4096;
/// Chunks without filters of at least this many bytes begin on a page, if they end on one.
pub(super) const PAGED_CHUNK: u64 = 64 << 10;
/// Bytes written at once when filling.
pub(super) const FILL_BUFFER: usize = 1 << 20;

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Netcdf4Writer {
    pub(super) store: Arc<dyn WriteStore>,
    /// The store, for reading.
    pub(super) read_store: Arc<dyn ReadStore>,
    pub(super) schema: Schema,
    pub(super) vars: Vec<VarState>,
    /// Properties of the file that netcdf-c would store differently.
    pub(super) facts: FileFacts,
    pub(super) space: FileSpace,
    /// The alignment of data in new space.
    pub(super) alignment: Option<Alignment>,
    /// The byte up to which disk space was reserved for chunks.
    pub(super) reserved: u64,
    pub(super) heap: HeapWriter,
    /// Space for the first metadata block of a new file.
    pub(super) front: Option<Extent>,
    /// The extent of the committed metadata, if it is known.
    pub(super) current: Option<Extent>,
    /// Whether everything that is used by neither the next commit nor data of a variable is free after that commit.
    pub(super) reclaim: bool,
    /// Whether anything changed since the last commit.
    pub(super) dirty: bool,
    /// Variables whose stored values moved, or became more, since then.
    pub(super) touched: BTreeSet<VarId>,
    /// Dimensions that grew since then.
    pub(super) grown: BTreeSet<DimId>,
    /// Variables in one run of bytes, of which some may have to be filled.
    pub(super) unsettled: BTreeSet<VarId>,
    /// The metadata as they are kept up to date in the file, after several commits.
    pub(super) standing: Option<Standing>,
    /// Whether the schema is that of the last commit.
    pub(super) is_steady: bool,
}

/// The place for a chunk.
pub(super) struct ChunkSpace {
    /// The table for its record.
    pub(super) table: Arc<LiveIndex>,
    pub(super) offset: u64,
    /// The space that is free once the object is stored there.
    pub(super) freed: Extent,
    /// Whether the space was taken for it, and is not that of the former chunk.
    pub(super) is_fresh: bool,
}

impl Netcdf4Writer {
    /// Records that what the metadata say about a variable changed.
    pub(super) fn touch(&mut self, var: VarId) {
        self.touched.insert(var);
        self.dirty = true;
    }

    pub(super) fn path(&self, var: VarId) -> String {
        self.schema.var_path(var)
    }

    /// New space in the file.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Result<u64> {
        self.space.take(len, align).ok_or_else(|| self.too_large())
    }

    fn too_large(&self) -> Error {
        Error::TooLarge(format!("`{}` would be larger than 2^63 bytes", self.store.name()))
    }

    /// Space for a chunk.
    pub(super) fn take_for_chunk(&mut self, len: u64, is_plain: bool) -> Result<u64> {
        let paged = is_plain && len >= PAGED_CHUNK && len.is_multiple_of(PAGE);
        self.take_for_data(len, if paged { PAGE } else { 1 })
    }

    /// Space for data, at a multiple of `align` unless the options require another alignment.
    pub(super) fn take_for_data(&mut self, len: u64, align: u64) -> Result<u64> {
        match self.alignment.filter(|a| len >= a.threshold && a.multiple > 1) {
            Some(asked) => self.space.take_of_many(len, asked.multiple).ok_or_else(|| self.too_large()),
            None => self.take(len, align),
        }
    }

    /// Fills `from..to` (relative bytes) of a contiguous variable at `offset`.
    pub(super) fn fill(&mut self, var: VarId, offset: u64, ranges: &[(u64, u64)]) -> Result<()> {
        let pattern = self.vars[var.0].pattern();
        let size = pattern.len().max(1) as u64;
        let most = ranges.iter().map(|r| r.1 - r.0).max().unwrap_or(0);
        let count = (most.min(FILL_BUFFER as u64) / size).max(1) as usize;
        let buffer = pattern.repeat(count);
        for &(from, to) in ranges {
            let mut at = from;
            while at < to {
                let n = (to - at).min(buffer.len() as u64);
                if self.vars[var.0].element.heap {
                    let mut own = buffer[..n as usize].to_vec();
                    self.own(var, &mut own)?;
                    self.store.write_at(&own, offset + at)?;
                } else {
                    self.store.write_at(&buffer[..n as usize], offset + at)?;
                }
                at += n;
            }
        }
        Ok(())
    }

    /// Space for a chunk of `len` encoded bytes.
    pub(super) fn space_for_chunk(&mut self, var: VarId, at: &[u64], len: u64) -> Result<ChunkSpace> {
        self.check(var)?;
        let state = &self.vars[var.0];
        // Chunks may be as small as a value: names and shapes are formatted for errors only.
        let path = || self.path(var);
        let PlaceState::Chunked { chunk, filters, table, .. } = &state.place else {
            return Err(Error::not_chunked(path()));
        };
        let lens = self.schema.var(var).dims.iter().map(|&d| self.schema.dim(d).len);
        let is_inside = |((&i, &c), n): ((&u64, &u64), u64)| i < n.div_ceil(c);
        if at.len() != chunk.len() || !at.iter().zip(chunk).zip(lens).all(is_inside) {
            return Err(Error::NoChunk { variable: path(), at: at.to_vec() });
        }
        let whole: u64 = chunk.iter().product::<u64>() * u64::from(state.stored.size);
        if len == 0 || u32::try_from(len).is_err() || (filters.is_empty() && len != whole) {
            return Err(Error::Length(format!(
                "a chunk of `{}` of {len} bytes (unencoded: {whole})",
                path()
            )));
        }
        let is_plain = filters.is_empty();
        let table = Arc::clone(table);
        let old = table.read().get(at);
        let (offset, freed, is_fresh) = match old {
            Some(old) if self.stays(state, old, len, is_plain) => {
                (old.offset, Extent { offset: old.offset + len, len: old.len - len }, false)
            }
            old => {
                let freed =
                    old.map_or(Extent { offset: 0, len: 0 }, |o| Extent { offset: o.offset, len: o.len });
                (self.take_for_chunk(len, is_plain)?, freed, true)
            }
        };
        Ok(ChunkSpace { table, offset, freed, is_fresh })
    }

    /// Whether a chunk is stored where the former one is: the committed state does not refer to that yet; or both are numbers without
    /// filters, each of which may be old or new after a crash, as those in one run. References may not, since the committed state
    /// does not have what new ones lead to.
    fn stays(&self, state: &VarState, old: ChunkRecord, len: u64, is_plain: bool) -> bool {
        if self.space.is_new(old.offset) {
            return len <= old.len;
        }
        let is_inside = old.offset.checked_add(len).is_some_and(|end| end <= self.space.end());
        is_plain && !state.element.heap && len == old.len && is_inside
    }

    /// A whole chunk is written to: a variable that keeps its lengths has at least those that the chunk needs.
    pub(super) fn reach_chunk(&mut self, var: VarId, at: &[u64]) {
        let lens = self.schema.shape(var);
        let VarState { place: PlaceState::Chunked { chunk, .. }, found: Some(found), .. } =
            &mut self.vars[var.0]
        else {
            return;
        };
        found.reach(at.iter().zip(&*chunk).zip(lens).map(|((i, c), n)| (i + 1).saturating_mul(*c).min(n)));
    }

    pub(super) fn check(&self, var: VarId) -> Result<()> {
        if var.0 < self.vars.len() {
            return Ok(());
        }
        Err(Error::NoSuchId { kind: "variable", id: var.0 })
    }
}

/// The alignment of contiguous data.
pub(super) fn data_align(bytes: u64) -> u64 {
    match bytes {
        PAGED_FROM.. => PAGE,
        DATA_ALIGN.. => DATA_ALIGN,
        _ => 8,
    }
}
