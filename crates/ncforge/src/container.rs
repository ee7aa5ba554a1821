//! What every format offers to the engine and to whole-file work.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::{ChunkRecord, VarLayout};
use crate::model::{Attribute, DimId, Schema, Value, VarId};
use crate::select::Hyperslab;
use crate::store::{ReadStore, WriteStore};

/// An open dataset: its description, and where each variable's bytes lie.
pub trait Container: Send + Sync + Debug {
    /// The description.
    fn schema(&self) -> &Schema;
    /// Where the bytes live, for reading.
    fn store(&self) -> &Arc<dyn ReadStore>;
    /// Where a variable's bytes lie. Cheap; chunk indexes are loaded on first use, not here.
    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>>;
    /// Turns stored elements of a heap type (as the engine read them, [`crate::layout::Element::size`] bytes each) into
    /// values. Formats without heap types need not implement it.
    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        let _ = stored;
        Err(Error::WrongKind { name: self.schema().var_path(var), what: "has no heap values" })
    }
    /// What a person should know about the file: "shorter than its header says by 400 bytes; missing values
    /// read as zero". Shown by `info`.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Bytes that the file is shorter than its description says. They read as zeros.
    fn missing_bytes(&self) -> u64 {
        0
    }
    /// Bytes of the metadata that the container can tell apart from data (header, indexes), if it can.
    fn metadata_bytes(&self) -> Option<u64> {
        None
    }
}

/// A dataset that is being written or updated.
///
/// Contiguous and record data is announced by [`ContainerMut::will_write`] and then written through the store
/// at the place that [`Container::layout`] gives; chunks are handed over encoded, in the order in which they shall lie in the file. Nothing is promised to be
/// durable before [`ContainerMut::sync`].
pub trait ContainerMut: Container {
    /// Where the bytes live, for writing: the store of [`Container::store`].
    fn write_store(&self) -> &Arc<dyn WriteStore>;
    /// Adds to, or changes, the description: new dimensions, variables, groups, types at the ends of their
    /// arenas; attributes at will; renamed dimensions and variables. Data that must move is moved.
    fn redefine(&mut self, schema: Schema) -> Result<()>;
    /// Sets the current length of an unlimited dimension (it never shrinks).
    fn grow(&mut self, dim: DimId, len: u64) -> Result<()>;
    /// Stores one encoded chunk of a chunked variable. Replacing a chunk never overwrites the old bytes before
    /// the next [`ContainerMut::sync`].
    fn place_chunk(&mut self, var: VarId, at: &[u64], encoded: &[u8], mask: u32) -> Result<()>;
    /// Says that chunks of so many stored bytes in all will be placed next, so that space can be reserved for them
    /// at once. A hint: more or fewer may come.
    fn will_place(&mut self, bytes: u64) -> Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Takes over a chunk that an earlier, interrupted writer of the same dataset stored at `record`, as if it had
    /// just been placed. Everything must be taken over in the order in which it was written; a record that is
    /// not where this writer would have placed the chunk is an error.
    fn adopt_chunk(&mut self, var: VarId, at: &[u64], record: ChunkRecord) -> Result<()> {
        let _ = (at, record);
        Err(Error::not_chunked(self.schema().var_path(var)))
    }
    /// Gives a chunk of `len` encoded bytes its place, which somebody else (another process of a parallel program) fills
    /// before the dataset is read. Like [`ContainerMut::place_chunk`] otherwise.
    fn reserve_chunk(&mut self, var: VarId, at: &[u64], len: u64, mask: u32) -> Result<ChunkRecord> {
        let _ = (at, len, mask);
        Err(Error::not_chunked(self.schema().var_path(var)))
    }
    /// Gives all of a variable its place in the file, as it stands: somebody else writes all of its values
    /// ([`crate::DatasetMut::open_shared`]). An error for compressed chunks, whose length nobody knows before.
    fn reserve(&mut self, var: VarId) -> Result<()> {
        let shape = self.schema().shape(var);
        self.will_write(var, &Hyperslab::all(&shape))
    }
    /// Says that a region of a contiguous or record variable is about to be written through the store. Called
    /// once for every write, *before* its first byte: a format that fills what nobody writes (classic) keeps
    /// account here, and may fill the rest at any time from now on. The place may be given only now: ask
    /// [`Container::layout`] afterwards.
    fn will_write(&mut self, var: VarId, region: &Hyperslab) -> Result<()> {
        let _ = (var, region);
        Ok(())
    }
    /// Makes a variable readable as it stands: what was never written reads as fill from here on. Call it
    /// before reading from a dataset that is being written. Nothing is made durable.
    fn settle(&mut self, var: VarId) -> Result<()> {
        let _ = var;
        Ok(())
    }
    /// Whether no value of a variable was ever stored, written or filled: what it reads as is still to be chosen.
    fn is_untouched(&self, var: VarId) -> bool {
        let _ = var;
        false
    }
    /// Replaces all stored bytes of a variable that lies inside the metadata ([`crate::layout::Place::Inline`]).
    fn place_inline(&mut self, var: VarId, bytes: &[u8]) -> Result<()> {
        let _ = bytes;
        Err(Error::WrongKind { name: self.schema().var_path(var), what: "is not stored inline" })
    }
    /// Turns heap values of type `dtype` into stored elements ([`crate::layout::Element::size`] bytes each), storing what
    /// they refer to.
    fn encode_heap(&mut self, var: VarId, values: &[Value]) -> Result<Vec<u8>> {
        let _ = values;
        Err(Error::WrongKind { name: self.schema().var_path(var), what: "has no heap values" })
    }
    /// Makes everything durable: data first, then what points to it. After a crash the file is in the state of
    /// the last sync, or of this one.
    fn sync(&mut self) -> Result<()>;
    /// The read-only view.
    fn as_container(&self) -> &dyn Container;
}

/// Replaces or adds an attribute in a list, keeping its place.
pub fn put_attribute(attrs: &mut Vec<Attribute>, attr: Attribute) {
    match attrs.iter_mut().find(|a| a.name == attr.name) {
        Some(old) => *old = attr,
        None => attrs.push(attr),
    }
}
