//! One variable while its file is being written: how it is stored, and where.

use std::sync::{Arc, PoisonError, RwLock};

use super::coverage::Coverage;
use super::types::{byte_order, element, stored_type};
use super::values::Encoder;
use crate::codec::kernels::order_in_place;
use crate::codec::{self, CodecChain};
use crate::error::{Error, Result};
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::emit::{ChunkSource, ChunkTable};
use crate::hdf5::fill::{FillKind, FillValue};
use crate::layout::{Absent, ChunkIndex, ChunkRecord, Element, Place, VarLayout};
use crate::model::{DType, Fill, Filter, Schema, Storage, Values, VarId, Variable, shape};
use crate::select::ChunkGrid;

/// The time of fill values that are never written.
const NEVER: u8 = 1;
/// Most bytes of compact data: those that fit into a header message after its head.
const MAX_COMPACT: u64 = 65_520;

/// A variable's storage.
#[derive(Debug)]
pub(super) struct VarState {
    /// Type of stored elements.
    pub(super) stored: Datatype,
    /// The conversion between stored elements and those in memory.
    pub(super) element: Element,
    /// The stored fill value.
    pub(super) fill: FillValue,
    /// How elements read that are never written.
    pub(super) absent: Absent,
    /// The location of the bytes.
    pub(super) place: PlaceState,
    /// The dataspace, of a variable that the file had when it was opened.
    pub(super) found: Option<FoundSpace>,
}

/// The dataspace of a variable when the file was opened.
#[derive(Clone, Debug)]
pub(super) struct FoundSpace {
    /// Its lengths, up to the last value that was written since.
    pub(super) dims: Vec<u64>,
    /// The lengths that it may get.
    pub(super) max: Vec<u64>,
    /// Whether it lacks a fill value that HDF5 reads: inside its lengths that reads zeros, or nothing at all, and netCDF missing values
    /// beyond.
    pub(super) is_unfilled: bool,
    /// Whether a dimension was invented for it: what else has that one has nothing in common with it but a length.
    pub(super) is_alone: bool,
}

impl FoundSpace {
    /// Its lengths, if they stay while the dimensions grow.
    pub(super) fn own(&self) -> Option<&[u64]> {
        (self.is_unfilled || self.is_alone).then_some(&self.dims)
    }

    /// Makes it as long as what is written, which ends here.
    pub(super) fn reach(&mut self, ends: impl Iterator<Item = u64>) {
        self.dims.iter_mut().zip(ends).for_each(|(len, end)| *len = (*len).max(end));
    }
}

/// The location of a variable's bytes.
#[derive(Debug)]
pub(super) enum PlaceState {
    /// The metadata.
    Compact(Vec<u8>),
    Contiguous {
        /// Its first byte; `None` before the first write.
        offset: Option<u64>,
        /// The written bytes.
        written: Coverage,
        /// Whether a state on disk refers to these bytes.
        committed: bool,
    },
    /// Chunks.
    Chunked {
        /// Chunk lengths.
        chunk: Vec<u64>,
        /// The filters, as stored.
        filters: Vec<Filter>,
        /// The filter chain; or why it cannot be used.
        codecs: Result<CodecChain, String>,
        /// The chunks.
        table: Arc<LiveIndex>,
    },
}

impl PlaceState {
    /// The place without data, of a variable that has none.
    fn untouched(&self, pattern: &[u8]) -> Self {
        match self {
            PlaceState::Compact(bytes) => {
                PlaceState::Compact(pattern.repeat(bytes.len() / pattern.len().max(1)))
            }
            PlaceState::Contiguous { .. } => {
                PlaceState::Contiguous { offset: None, written: Coverage::default(), committed: false }
            }
            PlaceState::Chunked { chunk, filters, codecs, table } => PlaceState::Chunked {
                chunk: chunk.clone(),
                filters: filters.clone(),
                codecs: codecs.clone(),
                table: Arc::clone(table),
            },
        }
    }

    /// A commit that refers to it is durable.
    pub(super) fn was_committed(&mut self) {
        if let PlaceState::Contiguous { offset: Some(_), committed, .. } = self {
            *committed = true;
        }
    }
}

/// A chunk table that grows while the dataset is being read.
#[derive(Debug, Default)]
pub(super) struct LiveIndex(pub(super) RwLock<ChunkTable>);

impl LiveIndex {
    pub(super) fn new(table: ChunkTable) -> Arc<Self> {
        Arc::new(Self(RwLock::new(table)))
    }

    pub(super) fn read(&self) -> std::sync::RwLockReadGuard<'_, ChunkTable> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, at: &[u64], record: ChunkRecord) -> Result<Option<ChunkRecord>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(at, record)
    }
}

impl ChunkSource for LiveIndex {
    fn count(&self) -> u64 {
        self.read().count()
    }

    fn each(&self, f: &mut dyn FnMut(&[u64], ChunkRecord) -> Result<()>) -> Result<()> {
        self.read().each(f)
    }
}

impl ChunkIndex for LiveIndex {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        Ok(self.read().get(at))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        Ok(self.read().list())
    }
}

impl VarState {
    /// The state of a new variable. Fill values of string types are set by the caller (they are stored in the heap).
    pub(super) fn new(schema: &Schema, id: VarId) -> Result<Self> {
        let var = schema.var(id);
        let stored = stored_type(schema, var.dtype, byte_order(var.endian))?;
        let element = element(schema, var.dtype, &stored, var.endian);
        Self::of_type(schema, id, stored, element)
    }

    /// The state of a variable to which nothing was written yet, after its definition changed (`before` is the former one).
    /// It keeps what it has in the file: the stored type, and the lengths that it may get.
    pub(super) fn again(&self, schema: &Schema, id: VarId, before: &Variable) -> Result<Self> {
        let var = schema.var(id);
        let mut state = self.redefined(schema, id, before)?;
        // The attribute goes, what elements read that nobody wrote stays, as in netCDF-C.
        let lost = before.attr("_FillValue").is_some() && var.attr("_FillValue").is_none();
        if lost && before.dtype == var.dtype && before.endian == var.endian && var.fill == before.fill {
            state.fill.value = self.fill.value.clone();
            state.absent.clone_from(&self.absent);
            state.place = state.place.untouched(self.pattern());
        }
        Ok(state)
    }

    fn redefined(&self, schema: &Schema, id: VarId, before: &Variable) -> Result<Self> {
        let var = schema.var(id);
        if self.found.is_none() || (before.endian != var.endian && matches!(var.dtype, DType::Atomic(_))) {
            return Self::new(schema, id);
        }
        let mut state = if before.storage == var.storage {
            let pattern = fill_pattern(schema, id, &self.stored, &self.element)?;
            let place = self.place.untouched(&pattern);
            let fill = fill_value(&var.fill, &pattern, self.fill.alloc_time);
            let (stored, element) = (self.stored.clone(), self.element.clone());
            VarState { stored, element, fill, absent: Absent::As(pattern), place, found: None }
        } else {
            Self::of_type(schema, id, self.stored.clone(), self.element.clone())?
        };
        if var.fill == Fill::None {
            state.fill.clone_from(&self.fill);
            state.absent.clone_from(&self.absent);
        }
        state.found.clone_from(&self.found);
        if let Some(found) = state.found.as_mut().filter(|_| state.fill.is_read(state.element.heap)) {
            found.is_unfilled = false;
        }
        Ok(state)
    }

    fn of_type(schema: &Schema, id: VarId, stored: Datatype, element: Element) -> Result<Self> {
        let var = schema.var(id);
        let path = schema.var_path(id);
        let pattern = fill_pattern(schema, id, &stored, &element)?;
        let shape = schema.shape(id);
        let unlimited = var.dims.iter().any(|d| schema.dim(*d).unlimited);
        let refuse = |why: String| Error::BadStorage { variable: path.clone(), why };
        let (place, alloc_time) = match &var.storage {
            Storage::Contiguous | Storage::Compact if unlimited => {
                return Err(refuse("has an unlimited dimension, so it must be stored in chunks".into()));
            }
            Storage::Contiguous => {
                size_of(&shape, stored.size).ok_or_else(|| refuse("has more than 2^63 bytes".into()))?;
                (PlaceState::Contiguous { offset: None, written: Coverage::default(), committed: false }, 2)
            }
            Storage::Compact => {
                let size = size_of(&shape, stored.size).filter(|&n| n <= MAX_COMPACT);
                let size = size.ok_or_else(|| {
                    refuse(format!("has more than the {MAX_COMPACT} bytes that compact storage can hold"))
                })?;
                (PlaceState::Compact(pattern.repeat(size as usize / stored.size as usize)), 1)
            }
            Storage::Chunked { chunks, filters } => {
                check_chunks(schema, id, chunks, stored.size)
                    .map_err(|why| Error::BadChunks { variable: path.clone(), why })?;
                let filters = complete(filters, stored.size);
                let codecs = CodecChain::new(&filters, stored.size as usize).map_err(not_damage)?;
                let codecs = codecs.with_segments(var.access_points);
                let table = ChunkTable::new(&ChunkGrid::new(&shape, chunks).counts())?;
                let table = LiveIndex::new(table);
                (PlaceState::Chunked { chunk: chunks.clone(), filters, codecs: Ok(codecs), table }, 3)
            }
        };
        let fill = fill_value(&var.fill, &pattern, alloc_time);
        Ok(VarState { stored, element, fill, absent: Absent::As(pattern), place, found: None })
    }

    /// Bytes of all elements.
    pub(super) fn bytes(&self, shape: &[u64]) -> u64 {
        size_of(shape, self.stored.size).unwrap_or(u64::MAX)
    }

    /// Whether values that are never written are those of the fill value, or zeros.
    pub(super) fn is_filled(&self) -> bool {
        self.fill.write_time != NEVER
    }

    /// One stored element as it reads where nothing was written.
    pub(super) fn pattern(&self) -> &[u8] {
        self.absent.inside().unwrap_or_default()
    }

    /// Whether no data was stored yet.
    pub(super) fn is_untouched(&self) -> bool {
        // netCDF-C cannot open a file with a fill value of such texts, so they must not get one.
        let is_fixed_text = matches!(self.stored.class, Class::String { .. }) && self.stored.size > 1;
        match &self.place {
            _ if is_fixed_text && self.found.is_some() => false,
            // Values that another program wrote may be equal to the fill value.
            PlaceState::Compact(_) if self.found.is_some() => false,
            PlaceState::Compact(bytes) => {
                let pattern = self.pattern();
                bytes.chunks(pattern.len().max(1)).all(|b| b == pattern)
            }
            PlaceState::Contiguous { offset, .. } => offset.is_none(),
            PlaceState::Chunked { table, .. } => table.read().is_empty(),
        }
    }

    /// The lengths in the file of a variable that is seen in a shape.
    pub(super) fn extents<'a>(&'a self, shape: &'a [u64]) -> &'a [u64] {
        self.found.as_ref().and_then(FoundSpace::own).unwrap_or(shape)
    }

    /// The layout for the engine.
    pub(super) fn layout(&self, name: String, shape: &[u64]) -> VarLayout {
        let place = match &self.place {
            PlaceState::Compact(bytes) => Place::Inline(bytes.as_slice().into()),
            PlaceState::Contiguous { offset: Some(offset), .. } => Place::Contiguous { offset: *offset },
            PlaceState::Contiguous { offset: None, .. } => Place::Nowhere,
            PlaceState::Chunked { codecs: Err(why), .. } => Place::Unsupported(why.clone()),
            PlaceState::Chunked { chunk, codecs: Ok(codecs), table, .. } => Place::Chunked {
                chunk: chunk.clone(),
                codecs: codecs.clone(),
                index: Arc::clone(table) as Arc<dyn ChunkIndex>,
            },
        };
        let extents = self.extents(shape).to_vec();
        let absent = self.absent.clone().within(&extents, shape);
        VarLayout { name, shape: extents, element: self.element.clone(), absent, place }
    }
}

fn fill_value(fill: &Fill, pattern: &[u8], alloc_time: u8) -> FillValue {
    let value = match fill {
        // Filled only if set, and nothing is set: no value is written, and HDF5 reads zeros where none was. Never filled, as
        // netCDF-C's own, HDF5 leaves there what memory happens to hold: a copy of zeros that the source does not store would
        // have lost them, and for strings and rows these would be invalid pointers.
        Fill::None => FillKind::Default,
        Fill::Default => FillKind::User(pattern.to_vec()),
    };
    FillValue { alloc_time, write_time: 2, value }
}

/// Bytes of an array, if they are fewer than 2^63.
fn size_of(shape: &[u64], element: u32) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let n = shape::checked(shape, u64::from(element))?;
    i64::try_from(n).is_ok().then_some(n)
}

fn check_chunks(schema: &Schema, id: VarId, chunks: &[u64], element: u32) -> Result<(), String> {
    let var = schema.var(id);
    if var.dims.is_empty() {
        return Err("is a scalar, which cannot be stored in chunks".into());
    }
    if chunks.len() != var.dims.len() {
        return Err(format!("has {} dimensions, its chunk shape has {}", var.dims.len(), chunks.len()));
    }
    for (&c, dim) in chunks.iter().zip(&var.dims) {
        let dim = schema.dim(*dim);
        if c == 0 || u32::try_from(c).is_err() {
            return Err(format!("has a chunk length of {c} along `{}`", dim.name));
        }
        if !dim.unlimited && c > dim.len.max(1) {
            let name = &dim.name;
            return Err(format!("has a chunk length of {c} along `{name}`, whose length is {}", dim.len));
        }
    }
    match size_of(chunks, element) {
        Some(n) if u32::try_from(n).is_ok() => Ok(()),
        _ => Err("has chunks of 4 GiB or more".into()),
    }
}

/// Wrong filter parameters of a new variable are not damage of a file.
fn not_damage(error: codec::Error) -> Error {
    match error {
        codec::Error::Corrupt(what) => Error::BadFilter(what),
        other => other.into(),
    }
}

/// Adds the element's size to filters that need it, if it is missing (HDF5 stores it with shuffle).
fn complete(filters: &[Filter], element: u32) -> Vec<Filter> {
    let mut filters = filters.to_vec();
    for f in &mut filters {
        if f.id == 2 && f.params.is_empty() {
            f.params.push(element);
        }
    }
    filters
}

/// One stored element with the fill value.
fn fill_pattern(schema: &Schema, id: VarId, stored: &Datatype, element: &Element) -> Result<Vec<u8>> {
    let var = schema.var(id);
    if element.heap || var.fill == Fill::None {
        return Ok(vec![0; stored.size as usize]);
    }
    if let Some(a) = var.attr("_FillValue").filter(|a| a.dtype == var.dtype && a.len(schema) == 1) {
        let encoder = Encoder { schema, endian: var.endian };
        let mut bytes = encoder.values(var.dtype, stored, &a.values)?.bytes;
        if let Values::Fixed(native) = &a.values {
            // An existing type may have numbers of both byte orders.
            bytes.copy_from_slice(native);
            order_in_place(&mut bytes, element);
        }
        return Ok(bytes);
    }
    let mut native = schema.default_fill(var.dtype).unwrap_or_else(|| vec![0; element.size]);
    order_in_place(&mut native, element);
    Ok(native)
}
