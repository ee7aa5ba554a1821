//! Finding the chunks of a dataset, through all six kinds of index.
//!
//! An index is read on first use, whole, into a compact table; after that a chunk is found by arithmetic (most chunks
//! stored) or a binary search. Any number of threads may use it; the first one loads it. Of a large tree in a store with latency, the first
//! reads take what they need ([`descent`]).

mod descent;
mod extensible_array;
mod fixed_array;
mod loading;
mod table;
mod trees;

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::dataset::Dataset;
use super::file::File;
use super::layout::{Chunked, IndexKind};
use crate::error::{Error, Result};
use crate::layout::{ChunkIndex, ChunkRecord};
use crate::model::shape;
use crate::select::coordinates;
use crate::store::PerProcess;

use descent::Descent;
use loading::Loading;
use table::{Builder, Table};

/// Chunks of which a tree is read as a whole, always.
const SMALL: u64 = 1024;
/// The part of the chunks for which all of a tree is read.
const WORTH: f64 = 0.25;

/// The chunks of one dataset.
#[derive(Debug)]
pub(crate) struct DatasetChunks {
    file: Arc<File>,
    layout: Chunked,
    shape: Vec<u64>,
    max: Vec<u64>,
    filtered: bool,
    chunk_bytes: u64,
    /// Chunks along each dimension of the current shape.
    counts: Vec<u64>,
    table: OnceLock<Table>,
    loading: PerProcess<Mutex<Descent>>,
}

impl DatasetChunks {
    /// The chunks of a dataset with a chunked layout. Reads nothing yet.
    pub(crate) fn new(file: &Arc<File>, dataset: &Dataset, layout: &Chunked) -> Result<Self> {
        let shape = dataset.space.dims().to_vec();
        let counts: Vec<u64> = shape.iter().zip(&layout.chunk).map(|(&n, &c)| n.div_ceil(c)).collect();
        if shape::checked(&counts, 1).is_none() {
            return Err(file.source.unsupported("a dataset of more than 2^64 chunks"));
        }
        if matches!(layout.index, IndexKind::Single { .. }) && counts.iter().any(|&n| n > 1) {
            let what = format!("a single chunk of {:?} for a dataset of {shape:?}", layout.chunk);
            return Err(file.source.fail(layout.address.unwrap_or(0), what));
        }
        let size = u64::from(dataset.datatype.size);
        let chunk_bytes = shape::checked(&layout.chunk, size);
        let chunk_bytes =
            chunk_bytes.ok_or_else(|| file.source.unsupported("chunks of more than 2^64 bytes"))?;
        Ok(DatasetChunks {
            file: file.clone(),
            layout: layout.clone(),
            shape,
            max: dataset.space.max().to_vec(),
            filtered: !dataset.filters.is_empty(),
            chunk_bytes,
            counts,
            table: OnceLock::new(),
            loading: PerProcess::default(),
        })
    }

    fn table(&self) -> Result<&Table> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let mut one_loads = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if self.table.get().is_none() {
            let _ = self.table.set(self.load()?);
            *one_loads = Descent::default();
        }
        Ok(self.table.get().expect("just set"))
    }

    /// Whether some chunks may be looked for without the rest.
    fn may_descend(&self) -> bool {
        self.table.get().is_none()
            && matches!(self.layout.index, IndexKind::BtreeV1)
            && self.layout.address.is_some()
            && self.file.source.has_latency()
            && shape::elements(&self.counts) > SMALL
    }

    fn loading(&self) -> Loading<'_> {
        Loading {
            source: &self.file.source,
            base: self.file.superblock.base,
            address: self.layout.address.unwrap_or(0),
            chunk: &self.layout.chunk,
            max: &self.max,
            filtered: self.filtered,
            chunk_bytes: self.chunk_bytes,
        }
    }

    fn load(&self) -> Result<Table> {
        let mut builder = Builder::new(&self.counts);
        let loading = self.loading();
        if self.layout.address.is_some() {
            match &self.layout.index {
                IndexKind::BtreeV1 => trees::load_v1(&loading, &mut builder)?,
                IndexKind::BtreeV2 => trees::load_v2(&loading, &mut builder)?,
                IndexKind::FixedArray => fixed_array::load(&loading, &mut builder)?,
                IndexKind::ExtensibleArray => extensible_array::load(&loading, &mut builder)?,
                IndexKind::Single { .. } | IndexKind::Implicit => {}
            }
        }
        builder.finish().map_err(|at| {
            loading.source.fail(loading.address, format!("the chunk at {at:?} is stored twice"))
        })
    }

    /// The record as it is given out: unfiltered edge chunks say so, and nothing reaches past the file.
    fn checked(&self, at: &[u64], mut r: ChunkRecord) -> Result<ChunkRecord> {
        let source = &self.file.source;
        if r.offset.checked_add(r.len).is_none_or(|end| end > source.len()) {
            let what = format!("chunk {at:?} of {} bytes reaches past the end of the file", r.len);
            return Err(Error::corrupt(source.name(), r.offset, what));
        }
        if self.layout.edge_unfiltered && self.filtered {
            let sticks_out =
                (0..at.len()).any(|d| (at[d] + 1).saturating_mul(self.layout.chunk[d]) > self.shape[d]);
            if sticks_out {
                r.mask = u32::MAX;
            }
        }
        Ok(r)
    }

    fn find(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        if at.len() != self.counts.len() || at.iter().zip(&self.counts).any(|(i, n)| i >= n) {
            return Ok(None);
        }
        let Some(address) = self.layout.address else { return Ok(None) };
        match &self.layout.index {
            IndexKind::Single { filtered } => {
                let (len, mask) = filtered.unwrap_or((self.chunk_bytes, 0));
                Ok(Some(self.loading().record(address, len, mask)))
            }
            IndexKind::Implicit => {
                let linear = at
                    .iter()
                    .zip(self.loading().max_counts()?)
                    .try_fold(0u64, |a, (&i, n)| a.checked_mul(n).and_then(|a| a.checked_add(i)));
                let offset = linear.and_then(|l| l.checked_mul(self.chunk_bytes));
                let place = offset.and_then(|o| o.checked_add(address)).unwrap_or(u64::MAX);
                Ok(Some(self.loading().record(place, self.chunk_bytes, 0)))
            }
            _ => {
                if self.may_descend() {
                    let mut descent = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(found) = descent.find(&self.loading(), at)? {
                        return Ok(found);
                    }
                }
                Ok(self.table()?.get(at))
            }
        }
    }
}

impl ChunkIndex for DatasetChunks {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        self.find(at)?.map(|r| self.checked(at, r)).transpose()
    }

    fn prepare(&self, touched: &[Range<u64>]) -> Result<()> {
        if !self.may_descend() {
            return Ok(());
        }
        let part: f64 =
            touched.iter().zip(&self.counts).map(|(r, n)| (r.end - r.start) as f64 / *n as f64).product();
        let is_enough = part < WORTH && {
            let mut descent = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
            descent.prepare(&self.loading(), touched)?
        };
        if !is_enough {
            self.table()?;
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let mut all = Vec::new();
        self.visit(&mut |at, r| all.push((at.to_vec(), r)))?;
        Ok(all)
    }

    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        let mut checked = |at: &[u64], r| self.checked(at, r).map(|r| see(at, r));
        match &self.layout.index {
            IndexKind::Single { .. } | IndexKind::Implicit => {
                let ranges: Vec<_> = self.counts.iter().map(|&n| 0..n).collect();
                for at in coordinates(&ranges) {
                    if let Some(r) = self.find(&at)? {
                        // The first chunk past the end of the file ends what could be endless.
                        checked(&at, r)?;
                    }
                }
                Ok(())
            }
            _ => self.table()?.visit(&mut checked),
        }
    }

    fn outside(&self) -> Result<u64> {
        match &self.layout.index {
            IndexKind::Single { .. } | IndexKind::Implicit => Ok(0),
            _ => Ok(self.table()?.outside),
        }
    }
}
