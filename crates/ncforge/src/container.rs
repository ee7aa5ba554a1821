//! The interface of every format for the engine and for operations on whole files.

mod records;
mod remarks;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::{ChunkRecord, VarLayout};
use crate::model::{Attribute, Changes, DimId, Schema, Value, VarId};
use crate::select::Hyperslab;
use crate::store::{ReadStore, WriteStore};

pub use records::Records;
pub use remarks::{Remark, Said, own_remarks, remarks};

/// Variables whose values lie next to each other in the files: asked for together, they are read in fewer requests.
/// All are of one shape and of elements of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarGroup {
    /// Their numbers.
    pub vars: Range<usize>,
    /// The box that is best asked for at a time.
    pub lens: Vec<u64>,
}

/// An open dataset: its schema, and the layout of each variable.
pub trait Container: Send + Sync + Debug {
    /// The schema.
    fn schema(&self) -> &Schema;
    /// The store with the bytes, for reading.
    fn store(&self) -> &Arc<dyn ReadStore>;
    /// The layout of a variable. Cheap; chunk indexes are loaded on first use, not here.
    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>>;
    /// Converts stored elements of a heap type (as the engine read them, [`crate::layout::Element::size`] bytes each) to
    /// values. Formats without heap types need not implement it.
    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        let _ = stored;
        Err(Error::wrong_kind(self.schema().var_path(var), "has no heap values"))
    }
    /// The variables that a variable is best read together with ([`Self::read_together`]), itself among them.
    fn var_group(&self, var: VarId) -> Option<&VarGroup> {
        let _ = var;
        None
    }
    /// Reads the same selection of several variables of one group, one behind the other, in native byte order.
    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let _ = (slab, out);
        let names: Vec<String> = vars.iter().map(|v| self.schema().var_path(*v)).collect();
        Err(Error::Internal(format!("{names:?} do not lie together")))
    }
    /// The records that these variables make, if they lie in records; their elements are as [`Container::layout`] says.
    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        if self.store().blocks().is_some() {
            return Ok(None);
        }
        let layouts = vars.iter().map(|&v| self.layout(v)).collect::<Result<Vec<_>>>()?;
        Ok(Records::of(&layouts))
    }
    /// The file with this number of [`Records::files`].
    fn record_file(&self, number: usize) -> Result<Arc<dyn ReadStore>> {
        let _ = number;
        Ok(Arc::clone(self.store()))
    }
    /// What the format has to say to users about the file as a whole: "shorter than its header says by 400 bytes; missing values
    /// read as zero". [`remarks`] adds what there is to say about its variables.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// What the format has to say about a variable: "`/v` holds 2-byte floats, which netCDF has not; they are read as float".
    fn note_of(&self, var: VarId) -> Option<String> {
        let _ = var;
        None
    }
    /// The number of bytes by which the file is shorter than its metadata say. They read as zeros.
    fn missing_bytes(&self) -> u64 {
        0
    }
    /// Bytes of metadata (header, indexes), if the container can distinguish them from data.
    fn metadata_bytes(&self) -> Option<u64> {
        None
    }
    /// [`Container::metadata_bytes`] with the chunk indexes read so far: once all are listed, every byte that is not a value.
    fn metadata_and_indexes(&self) -> Option<u64> {
        self.metadata_bytes()
    }
}

/// A dataset that is being written or updated.
///
/// Contiguous and record data are announced by [`ContainerMut::will_write`] and then written through the store
/// at the offsets of [`Container::layout`]; chunks are passed encoded, in the order in which they are stored in the
/// file. Nothing is guaranteed to be durable before [`ContainerMut::sync`].
pub trait ContainerMut: Container {
    /// The store with the bytes, for writing: that of [`Container::store`].
    fn write_store(&self) -> &Arc<dyn WriteStore>;
    /// Changes the schema: new dimensions, variables, groups, types at the ends of their
    /// arenas; any change of attributes; renamed dimensions and variables. Data are moved if necessary.
    fn redefine(&mut self, schema: Schema) -> Result<()>;
    /// [`ContainerMut::redefine`] for a schema that differs from the present one only by these additions, each of which the format can hold
    /// ([`crate::check_new`]).
    fn redefine_parts(&mut self, schema: &Schema, changes: &Changes) -> Result<()> {
        let _ = changes;
        self.redefine(schema.clone())
    }
    /// Sets the current length of an unlimited dimension (it never shrinks).
    fn grow(&mut self, dim: DimId, len: u64) -> Result<()>;
    /// Stores one encoded chunk of a chunked variable. Replacing a chunk never overwrites the old bytes before
    /// the next [`ContainerMut::sync`], unless they are numbers without filters: these may be overwritten as contiguous ones are.
    fn place_chunk(&mut self, var: VarId, at: &[u64], encoded: &[u8], mask: u32) -> Result<()>;
    /// Announces that chunks of `bytes` stored bytes in total will be placed next, so that space can be reserved for them
    /// at once. A hint: there may be more or fewer.
    fn will_place(&mut self, bytes: u64) -> Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Adopts a chunk that an earlier, interrupted writer of the same dataset stored at `record`, as if it had
    /// just been placed. Chunks must be adopted in the order in which they were written; a record that is
    /// not where this writer would have placed the chunk is an error.
    fn adopt_chunk(&mut self, var: VarId, at: &[u64], record: ChunkRecord) -> Result<()> {
        let _ = (at, record);
        Err(Error::not_chunked(self.schema().var_path(var)))
    }
    /// Allocates space for a chunk of `len` encoded bytes, which another process of a parallel program writes
    /// before the dataset is read. Like [`ContainerMut::place_chunk`] otherwise.
    fn reserve_chunk(&mut self, var: VarId, at: &[u64], len: u64, mask: u32) -> Result<ChunkRecord> {
        let _ = (at, len, mask);
        Err(Error::not_chunked(self.schema().var_path(var)))
    }
    /// Allocates space for all of a variable, with its current shape: other processes write its values
    /// ([`crate::DatasetMut::open_shared`]). An error for compressed chunks, whose length is not known before.
    fn reserve(&mut self, var: VarId) -> Result<()> {
        let shape = self.schema().shape(var);
        self.will_write(var, &Hyperslab::all(&shape))
    }
    /// Announces that values of a region will be written: of a contiguous or record variable through the store. Called
    /// once for every write, *before* its first byte: a format that fills unwritten values (classic) records
    /// the region here, and may fill the rest at any time from now on. Space may be allocated only now: call
    /// [`Container::layout`] afterwards.
    fn will_write(&mut self, var: VarId, region: &Hyperslab) -> Result<()> {
        let _ = (var, region);
        Ok(())
    }
    /// Makes a variable readable in its current state: values that were never written read as the fill value from now on.
    /// Call it before reading from a dataset that is being written. Nothing is made durable.
    fn settle(&mut self, var: VarId) -> Result<()> {
        let _ = var;
        Ok(())
    }
    /// Whether no value of a variable was ever stored, written or filled: its fill value can still be changed.
    fn is_untouched(&self, var: VarId) -> bool {
        let _ = var;
        false
    }
    /// Replaces all stored bytes of a variable inside the metadata ([`crate::layout::Place::Inline`]).
    fn place_inline(&mut self, var: VarId, bytes: &[u8]) -> Result<()> {
        let _ = bytes;
        Err(Error::wrong_kind(self.schema().var_path(var), "is not stored inline"))
    }
    /// Converts heap values of type `dtype` to stored elements ([`crate::layout::Element::size`] bytes each), and stores the
    /// objects to which they refer.
    fn encode_heap(&mut self, var: VarId, values: &[Value]) -> Result<Vec<u8>> {
        let _ = values;
        Err(Error::wrong_kind(self.schema().var_path(var), "has no heap values"))
    }
    /// Makes stored heap elements that nobody wrote independent of the stored fill value, before they are part of a chunk.
    fn own_elements(&mut self, var: VarId, elements: &mut [u8]) -> Result<()> {
        let _ = (var, elements);
        Ok(())
    }
    /// Makes everything durable: data first, then the metadata that refer to them. After a crash the file is in the state of
    /// the last sync, or of this one.
    fn sync(&mut self) -> Result<()>;
    /// The last [`ContainerMut::sync`], after which the file is closed.
    fn complete(&mut self) -> Result<()> {
        self.sync()
    }
    /// The read-only view.
    fn as_container(&self) -> &dyn Container;
}

/// Replaces or adds an attribute in a list, preserving its position.
pub fn put_attribute(attrs: &mut Vec<Attribute>, attr: Attribute) {
    match attrs.iter_mut().find(|a| a.name == attr.name) {
        Some(old) => *old = attr,
        None => attrs.push(attr),
    }
}
