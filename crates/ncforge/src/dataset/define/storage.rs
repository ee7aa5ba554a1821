//! How a new variable is stored: chunks, filters, byte order, fill.
//!
//! All of it is set when the variable is defined, or afterwards until it is in the file (netCDF-C's `nc_def_var_chunking`,
//! `_deflate`, `_filter`, `_fletcher32`, `_endian`, `_fill`).

use super::chunks::ChunkChooser;
use super::{Definer, known};
use crate::codec::filters;
use crate::error::{Error, Late, Limit, Result};
use crate::model::{
    Atomic, DType, Definition, Endian, Fill, Filter, Format, Schema, Segments, Storage, VarId, Variable,
    shape,
};

/// The storage of a new variable. Classic files store variables in one way only, and scalars lie in one piece: there
/// chunks and filters are passed over.
#[derive(Clone, Debug, PartialEq)]
pub struct NewStorage {
    /// The layout: one run of bytes, or chunks.
    pub layout: NewLayout,
    /// The filters, in the order in which they are applied on writing.
    pub filters: Vec<NewFilter>,
    /// Byte order; of numbers in netCDF-4 files alone.
    pub endian: Endian,
    /// Whether what is never written reads as the fill value.
    pub fill: bool,
    /// The access points that chunks get, if they are deflated.
    pub access_points: Segments,
}

impl Default for NewStorage {
    fn default() -> Self {
        NewStorage {
            layout: NewLayout::Automatic,
            filters: Vec::new(),
            endian: Endian::Native,
            fill: true,
            access_points: Segments::Auto,
        }
    }
}

/// The layout of a new variable's values.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NewLayout {
    /// Chunks where filters or unlimited dimensions need them, with lengths that are chosen; else one run of bytes.
    #[default]
    Automatic,
    /// One run of bytes.
    Contiguous,
    /// Inside the metadata.
    Compact,
    /// Chunks of these lengths.
    Chunked(Vec<u64>),
    /// Chunks with lengths that are chosen.
    ChunkedAsChosen,
}

/// A filter whose remaining parameters follow from the variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewFilter {
    /// Bytes into planes; of elements of one byte, nothing.
    Shuffle,
    /// zlib at a level of 0 to 9.
    Deflate(u32),
    /// Zstandard at a level of −131072 to 22.
    Zstd(i32),
    /// bzip2 at a level of 1 to 9.
    Bzip2(u32),
    /// Blosc 1.
    Blosc {
        /// 0 to 9.
        level: u32,
        /// 0 none, 1 bytes, 2 bits.
        shuffle: u32,
        /// 0 BloscLZ, 1 LZ4, 2 LZ4HC, 4 zlib, 5 zstd.
        compressor: u32,
    },
    /// A checksum over each chunk.
    Fletcher32,
    /// Any filter, with all its parameters.
    Other(Filter),
}

impl NewFilter {
    /// The filter for elements of `element` bytes in chunks of about `chunk` bytes; `None` where it has no effect.
    pub fn of(&self, element: usize, chunk: usize) -> Option<Filter> {
        Some(match self {
            NewFilter::Shuffle if element <= 1 => return None,
            NewFilter::Shuffle => filters::shuffle(element),
            NewFilter::Deflate(level) => filters::deflate(*level),
            NewFilter::Zstd(level) => filters::zstd(*level),
            NewFilter::Bzip2(level) => filters::bzip2(*level),
            NewFilter::Blosc { level, shuffle, compressor } => {
                filters::blosc(element, chunk, *level, *shuffle, *compressor)
            }
            NewFilter::Fletcher32 => filters::fletcher32(),
            NewFilter::Other(filter) => filter.clone(),
        })
    }

    /// All of a list, see [`NewFilter::of`].
    pub fn all(list: &[NewFilter], element: usize, chunk: usize) -> Vec<Filter> {
        list.iter().filter_map(|f| f.of(element, chunk)).collect()
    }
}

/// The chunk size in bytes that filters are given before the chunk lengths are known.
const USUAL_CHUNK: usize = 1 << 20;

/// Bytes of one element, for filters.
fn element_size(schema: &Schema, dtype: DType) -> usize {
    schema.fixed_size(dtype).unwrap_or_else(|| schema.memory_size(dtype))
}

/// The storage of a variable that is being defined.
pub(super) fn layout(
    schema: &Schema,
    var: &Variable,
    new: &NewStorage,
    choose: ChunkChooser,
) -> Result<Storage> {
    check_endian(schema, var, new.endian)?;
    let is_deflated =
        new.filters.iter().any(|f| f.of(2, USUAL_CHUNK).is_some_and(|f| f.id == filters::DEFLATE));
    if let (Segments::Bytes(_), false) = (new.access_points, is_deflated) {
        let why =
            format!("`{}` gets none: only chunks that are deflated (zlib) have access points", var.name);
        return Err(Error::bad_option("access_points", why));
    }
    if schema.format.is_classic() || var.dims.is_empty() {
        return Ok(Storage::Contiguous);
    }
    let size = element_size(schema, var.dtype);
    let unlimited = var.dims.iter().any(|&d| schema.dim(d).unlimited);
    let needs_chunks = unlimited || !new.filters.is_empty();
    let chunks = match &new.layout {
        NewLayout::Contiguous | NewLayout::Compact if needs_chunks => {
            let kind = if new.layout == NewLayout::Compact { "compact" } else { "contiguous" };
            let why = format!("cannot be {kind}: it has chunk sizes, filters or an unlimited dimension");
            return Err(Error::BadStorage { variable: var.name.clone(), why });
        }
        NewLayout::Contiguous => return Ok(Storage::Contiguous),
        NewLayout::Compact => return Ok(Storage::Compact),
        NewLayout::Automatic if !needs_chunks => return Ok(Storage::Contiguous),
        NewLayout::Chunked(chunks) => {
            check_chunks(var, chunks)?;
            chunks.clone()
        }
        NewLayout::Automatic | NewLayout::ChunkedAsChosen => {
            // Which filters there are decides; their parameters depend on the chunk's size.
            let list = NewFilter::all(&new.filters, size, USUAL_CHUNK);
            chosen(schema, var, &list, choose)?
        }
    };
    let bytes = shape::bytes(&chunks, size as u64);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(Storage::Chunked { chunks, filters: NewFilter::all(&new.filters, size, bytes) })
}

fn chosen(schema: &Schema, var: &Variable, filters: &[Filter], choose: ChunkChooser) -> Result<Vec<u64>> {
    choose(schema, var, filters)?.ok_or_else(|| Error::BadChunks {
        variable: var.name.clone(),
        why: "has a dimension of length 0 and cannot be chunked".into(),
    })
}

fn check_chunks(var: &Variable, chunks: &[u64]) -> Result<()> {
    let (given, rank) = (chunks.len(), var.dims.len());
    let why = if given != rank {
        format!("has {rank} dimensions, and {given} chunk sizes were given")
    } else if chunks.contains(&0) {
        "has a chunk size of 0: chunk sizes are at least 1".into()
    } else {
        return Ok(());
    };
    Err(Error::BadChunks { variable: var.name.clone(), why })
}

fn check_endian(schema: &Schema, var: &Variable, endian: Endian) -> Result<()> {
    let is_number = matches!(var.dtype, DType::Atomic(a) if a != Atomic::Char);
    let of = match endian {
        Endian::Native => return Ok(()),
        _ if !is_number => "numbers",
        _ if schema.format.is_classic() => "files of format netCDF-4",
        _ => return Ok(()),
    };
    Err(Error::bad_option("endian", format!("`{}`: a byte order can be chosen for {of} only", var.name)))
}

impl Definer {
    /// Sets where a variable's values shall lie.
    ///
    /// # Errors
    /// [`Error::TooLate`] once it is in the file; [`Error::BadChunks`], [`Error::BadStorage`] for what it cannot have;
    /// [`Error::Limit`] in classic files, which have no such choice.
    pub fn set_layout(&mut self, var: VarId, layout: NewLayout) -> Result<()> {
        self.set_storage(var, |new| new.layout = layout)
    }

    /// Adds a filter behind those that a variable has; one of the same kind is replaced. A variable that needs chunks for it gets them. The
    /// shuffle filter goes first, and a checksum last.
    ///
    /// # Errors
    /// As [`Definer::set_layout`]; [`Error::BadFilter`] for parameters that it cannot have.
    pub fn add_filter(&mut self, var: VarId, filter: NewFilter) -> Result<()> {
        let id = filter.of(2, USUAL_CHUNK).map(|f| f.id);
        self.set_storage(var, |new| {
            new.filters.retain(|f| f.of(2, USUAL_CHUNK).map(|f| f.id) != id);
            new.filters.push(filter);
            new.filters.sort_by_key(|f| match f.of(2, USUAL_CHUNK).map(|f| f.id) {
                Some(filters::SHUFFLE) => 0,
                Some(filters::FLETCHER32) => 2,
                _ => 1,
            });
        })
    }

    /// Removes all filters of a variable.
    ///
    /// # Errors
    /// As [`Definer::set_layout`].
    pub fn clear_filters(&mut self, var: VarId) -> Result<()> {
        self.set_storage(var, |new| new.filters.clear())
    }

    /// Sets a variable's byte order.
    ///
    /// # Errors
    /// As [`Definer::set_layout`]; [`Error::BadOption`] for what are no numbers.
    pub fn set_endian(&mut self, var: VarId, endian: Endian) -> Result<()> {
        self.set_storage(var, |new| new.endian = endian)
    }

    /// Sets whether what is never written of a variable reads as its fill value.
    ///
    /// # Errors
    /// [`Error::TooLate`] once it is in the file.
    pub fn set_fill(&mut self, var: VarId, fill: bool) -> Result<()> {
        self.is_in_time(var)?;
        self.change(|draft| {
            draft.schema.vars[var.0].fill = if fill { Fill::Default } else { Fill::None };
            draft.changes.insert(Definition::Variable(var));
            Ok(())
        })
    }

    /// An error unless what belongs to a variable's storage may still be set.
    fn is_in_time(&self, var: VarId) -> Result<()> {
        known(&self.schema().vars, var.0, "variable")?;
        self.must_define("how a variable is stored")?;
        match self.is_in_file(var) {
            true => Err(Error::TooLate { variable: self.schema().var_path(var), what: Late::Storage }),
            false => Ok(()),
        }
    }

    fn set_storage(&mut self, var: VarId, set: impl FnOnce(&mut NewStorage)) -> Result<()> {
        self.is_in_time(var)?;
        self.change(|draft| {
            if draft.schema.format.is_classic() {
                let what = format!("a storage of `{}` other than its own", draft.schema.var_path(var));
                return Err(Error::Limit { format: name_of(draft.format), limit: Limit::Classic, what });
            }
            let old = draft.schema.var(var).clone();
            let mut new = storage_of(&old);
            set(&mut new);
            let storage = layout(draft.schema, &old, &new, draft.choose)?;
            let changed = &mut draft.schema.vars[var.0];
            (changed.storage, changed.endian) = (storage, new.endian);
            draft.accept_change(Definition::Variable(var), |s| s.vars[var.0] = old)
        })
    }
}

fn name_of(format: Format) -> &'static str {
    match format {
        Format::Cdf1 => "CDF-1",
        Format::Cdf2 => "CDF-2",
        Format::Cdf5 => "CDF-5",
        Format::Netcdf4 | Format::Netcdf4Classic => "netCDF-4",
    }
}

/// The storage that was asked for a variable, as far as its definition shows it.
fn storage_of(var: &Variable) -> NewStorage {
    let (layout, filters) = match &var.storage {
        Storage::Contiguous => (NewLayout::Automatic, Vec::new()),
        Storage::Compact => (NewLayout::Compact, Vec::new()),
        Storage::Chunked { chunks, filters } => {
            (NewLayout::Chunked(chunks.clone()), filters.iter().cloned().map(NewFilter::Other).collect())
        }
    };
    let (fill, access_points) = (var.fill == Fill::Default, var.access_points);
    NewStorage { layout, filters, endian: var.endian, fill, access_points }
}
