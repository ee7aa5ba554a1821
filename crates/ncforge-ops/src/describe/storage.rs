//! How each variable is stored: place, bytes, chunks, filters, access points; counted from metadata and the ends of chunks.

use super::zipped::{self, ZippedStorage};
use crate::points::Points;
use ncforge::Result;
use ncforge::model::{Filter, Storage, VarId, shape};
use ncforge::raw::{ChunkGrid, Chunks, Container, Remark, VarLayout, own_remarks};
use ncforge::store::zipped::ZippedStore;

/// The storage of one variable.
#[derive(Clone, Debug, PartialEq)]
pub struct VarStorage {
    /// The variable.
    pub var: VarId,
    /// "contiguous", "compact", "chunked", "records", "nothing stored", or "unsupported".
    pub place: &'static str,
    /// The first byte, for places that have one.
    pub offset: Option<u64>,
    /// Bytes of the values in memory, as the current shape says (saturating). For strings and rows these are
    /// the bytes of the references, as their lengths are known only after reading them.
    pub logical_bytes: u64,
    /// Bytes that the values take in the file, encoded; `None` where they cannot be counted (see `trouble`).
    /// Bytes past the end of a short file are not counted.
    pub stored_bytes: Option<u64>,
    /// Chunk lengths, slowest first, for chunked variables.
    pub chunks: Option<Vec<u64>>,
    /// The filters, in the order in which they are applied on writing.
    pub filters: Vec<Filter>,
    /// The number of chunks that the file holds.
    pub chunks_stored: Option<u64>,
    /// The number of chunks that the shape has.
    pub chunks_possible: Option<u64>,
    /// Encoded bytes of the smallest and of the largest chunk.
    pub chunk_bytes: Option<(u64, u64)>,
    /// The chunks with access points, where there may be some.
    pub points: Option<Points>,
    /// The reason why the values cannot be read, or the index not counted.
    pub trouble: Option<String>,
}

impl VarStorage {
    /// Bytes of the values in memory for each in the file; `None` when nothing is stored.
    pub fn ratio(&self) -> Option<f64> {
        self.stored_bytes.filter(|&n| n > 0).map(|n| self.logical_bytes as f64 / n as f64)
    }
}

/// The storage of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileStorage {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the values of all variables in memory (saturating).
    pub logical_bytes: u64,
    /// Bytes of the values of all variables in the file (saturating).
    pub stored_bytes: u64,
    /// Bytes of metadata, chunk indexes included, where the format can tell.
    pub metadata_bytes: Option<u64>,
    /// The variables, in the order of the schema.
    pub vars: Vec<VarStorage>,
    /// What the user should know of the file.
    pub remarks: Vec<Remark>,
    /// The blocks of a zipped file.
    pub zipped: Option<ZippedStorage>,
}

impl FileStorage {
    /// Bytes of the values in memory for each of the file.
    pub fn ratio(&self) -> Option<f64> {
        (self.file_bytes > 0 && self.logical_bytes > 0)
            .then(|| self.logical_bytes as f64 / self.file_bytes as f64)
    }
}

/// Counts how a dataset is stored. Reads chunk indexes, and the last bytes of chunks that may have access points; a damaged index is reported in
/// [`VarStorage::trouble`] and does not stop the count.
pub fn storage(container: &dyn Container) -> FileStorage {
    let mut vars: Vec<VarStorage> = container.schema().var_ids().map(|v| of_variable(container, v)).collect();
    let zipped = ZippedStore::of(&**container.store()).map(|store| {
        for v in vars.iter_mut().filter(|v| v.stored_bytes.is_some()) {
            let stored = container.layout(v.var).and_then(|layout| zipped::stored_of(store, &layout));
            match stored {
                Ok(bytes) => v.stored_bytes = bytes,
                Err(e) => (v.stored_bytes, v.trouble) = (None, Some(e.to_string())),
            }
        }
        zipped::of_store(store)
    });
    let sum = |of: fn(&VarStorage) -> u64| vars.iter().map(of).fold(0, u64::saturating_add);
    let mut remarks = own_remarks(container);
    remarks.extend(free_bytes(container, &vars).map(Remark::of_file));
    remarks.extend(zipped.iter().flat_map(ZippedStorage::notes).map(Remark::of_file));
    FileStorage {
        file_bytes: zipped.as_ref().map_or_else(|| container.store().len(), |p| p.file_bytes),
        logical_bytes: sum(|v| v.logical_bytes),
        stored_bytes: sum(|v| v.stored_bytes.unwrap_or(0)),
        metadata_bytes: zipped
            .as_ref()
            .map_or_else(|| container.metadata_and_indexes(), |p| Some(p.index_bytes)),
        vars,
        remarks,
        zipped,
    }
}

/// Says how many bytes a classic file has between its header and its data, if there are some.
fn free_bytes(container: &dyn Container, vars: &[VarStorage]) -> Option<String> {
    let header = container.metadata_bytes().filter(|_| container.schema().format.is_classic())?;
    let first = vars.iter().filter_map(|v| v.offset).min()?;
    (first > header).then(|| format!("{} bytes are free between the header and the data", first - header))
}

fn of_variable(container: &dyn Container, id: VarId) -> VarStorage {
    let schema = container.schema();
    let var = schema.var(id);
    let (chunks, filters) = match &var.storage {
        Storage::Chunked { chunks, filters } => (Some(chunks.clone()), filters.clone()),
        Storage::Contiguous | Storage::Compact => (None, Vec::new()),
    };
    let mut facts = VarStorage {
        var: id,
        place: match var.storage {
            Storage::Contiguous => "contiguous",
            Storage::Compact => "compact",
            Storage::Chunked { .. } => "chunked",
        },
        offset: None,
        logical_bytes: shape::elements(&schema.shape(id))
            .saturating_mul(schema.memory_size(var.dtype) as u64),
        stored_bytes: None,
        chunks,
        filters,
        chunks_stored: None,
        chunks_possible: None,
        chunk_bytes: None,
        points: None,
        trouble: None,
    };
    let counted = container.layout(id).and_then(|layout| count(container, &layout, &mut facts));
    if let Err(e) = counted {
        facts.trouble = Some(e.to_string());
    }
    facts
}

fn count(container: &dyn Container, layout: &VarLayout, facts: &mut VarStorage) -> Result<()> {
    let shape = container.schema().shape(facts.var);
    let file = container.store().len();
    if let Some(why) = layout.place.unsupported() {
        facts.place = "unsupported";
        facts.trouble = Some(format!("{why} is not supported"));
        return Ok(());
    }
    match (layout.place.chunks(), layout.runs()) {
        (Some(Chunks { chunk, codecs, index }), _) => {
            let list = index.list()?;
            // Other variables may have made an unlimited dimension longer than this one's own extent.
            facts.chunks_possible = Some(ChunkGrid::new(&shape, chunk).len());
            facts.chunks_stored = Some(list.len() as u64);
            facts.offset = list.iter().map(|c| c.1.offset).min();
            let smallest = list.iter().map(|c| c.1.len).min();
            facts.chunk_bytes = smallest.zip(list.iter().map(|c| c.1.len).max());
            facts.points = Points::of(&**container.store(), codecs, &list);
        }
        (None, Some(runs)) => {
            facts.offset = Some(runs.begin);
            if runs.stride.is_some() {
                facts.place = "records";
            }
        }
        (None, None) => {
            facts.place = match (layout.place.parts(), layout.place.is_nowhere()) {
                (Some(_), _) => "virtual",
                (None, true) => "nothing stored",
                (None, false) => "compact",
            }
        }
    }
    facts.stored_bytes = Some(layout.stored_bytes(file)?);
    Ok(())
}
