//! Writing selections: gather, encode, place.

mod chunks;
mod encode;
mod gather;
mod linear;
mod lost;
mod raw;
mod shared;
mod tail;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::policy::WRITE_GAP;
use super::read::Reading;
use super::{Engine, axes, boxes};
use crate::codec::CodecChain;
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::layout::{ChunkRecord, Place, VarLayout};
use crate::model::{Changes, DimId, Schema, Values, VarId, shape};
use crate::select::{Hyperslab, Picks};

use gather::Gather;
use lost::Lost;
use tail::Tail;

/// Writes hyperslabs of any shape, in any order, into a container.
///
/// Chunked variables: parts are gathered until a chunk is whole; whole chunks are encoded on the engine's
/// threads in batches and placed in the order in which they became whole, row-major within one call, so that
/// **the file's bytes do not depend on the number of threads**. A chunk that one call covers is encoded straight
/// from the caller's memory. When the parts outgrow their share of the budget some are written as they are, and
/// read back when more of them comes. Reads take chunks that wait from memory. Contiguous variables and records are
/// converted block by block on all threads, and written in place; small ones that follow each other wait until they
/// are worth a request.
///
/// Writing past the end of an unlimited dimension grows it. Errors may come late, from data of an earlier call;
/// nothing is sure to be in the file before [`Writer::sync`] or [`Writer::finish`]. A writer that is dropped
/// without them loses what it still holds.
///
/// After an error, nothing is reported as written that is not: what waits in memory goes on waiting, and comes into the file
/// with the next sync; values of a write that failed are [`Error::Lost`], at every sync until they are written again.
#[derive(Debug)]
pub struct Writer {
    engine: Engine,
    container: Box<dyn ContainerMut>,
    gather: Gather,
    /// Small writes of plain data on their way to the store.
    tail: Tail,
    /// Values that could not be written.
    lost: Lost,
    /// Unlimited dimensions that grew by writing past their end: their last chunks are likely to get more.
    growing: BTreeSet<DimId>,
    /// Whether chunks of nothing but fill values are left out.
    skip_fill: bool,
    /// True if others write to the file at the same time: nothing but the values in question may be touched.
    shared: bool,
    /// Bytes of values of the chunks that were encoded and placed.
    placed: Arc<AtomicU64>,
    /// The number of changes of the description as a whole.
    revision: u64,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.forget();
        self.engine.inner.budget.writer_ended();
    }
}

impl Writer {
    /// A writer into `container`.
    pub fn new(engine: Engine, container: Box<dyn ContainerMut>) -> Self {
        let gather = Gather::new(engine.memory());
        engine.inner.budget.writer_begins();
        Self {
            engine,
            container,
            gather,
            tail: Tail::default(),
            lost: Lost::default(),
            growing: BTreeSet::new(),
            skip_fill: false,
            shared: false,
            placed: Arc::default(),
            revision: 0,
        }
    }

    /// A writer into a container whose every value has its place already ([`Writer::reserve`]), and which others
    /// (threads, processes) write to at the same time: each value by one of them. No byte is touched but
    /// those of the values that are written.
    pub fn shared(engine: Engine, container: Box<dyn ContainerMut>) -> Self {
        let mut writer = Self::new(engine, container);
        writer.shared = true;
        writer
    }

    /// Gives all of a variable its place, see [`ContainerMut::reserve`].
    pub fn reserve(&mut self, var: VarId) -> Result<()> {
        let var = self.known(var)?;
        self.flush_tail()?;
        self.container.reserve(var)
    }

    /// Gives one chunk its place, see [`ContainerMut::reserve_chunk`].
    pub fn reserve_chunk(&mut self, var: VarId, at: &[u64], len: u64, mask: u32) -> Result<ChunkRecord> {
        let var = self.known(var)?;
        self.flush_tail()?;
        self.container.reserve_chunk(var, at, len, mask)
    }

    /// Leaves out chunks that hold nothing but the variable's fill value, where the file has none at their place yet
    /// and what is not there reads as just that value.
    pub fn skip_fill(&mut self, skip: bool) {
        self.skip_fill = skip;
    }

    /// Counts the bytes of values of chunks that are encoded and placed, chunk by chunk: it grows while a write of many chunks is
    /// under way, so that whoever is asked [whether to stop](crate::raw::with_stop) can see how far it is.
    pub fn placed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.placed)
    }

    /// The engine that does the work.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The container that is being written. It does not show data that are still being gathered before [`Writer::flush`].
    pub fn container(&self) -> &dyn Container {
        self.container.as_container()
    }

    /// The current description.
    pub fn schema(&self) -> &Schema {
        self.container.schema()
    }

    /// Writes a selection of a variable of any type.
    pub fn write(&mut self, var: VarId, slab: &Hyperslab, values: &Values) -> Result<()> {
        match values {
            Values::Fixed(bytes) => self.write_bytes(var, slab, bytes),
            Values::Heap(values) => {
                if values.len() as u64 != slab.len() {
                    return Err(Error::Length(format!(
                        "`{}`: {} values for a selection of {}",
                        self.schema().var_path(self.known(var)?),
                        values.len(),
                        slab.len()
                    )));
                }
                if !self.writable(var)?.element.heap {
                    return Err(Error::wrong_kind(
                        self.schema().var_path(var),
                        "holds elements of fixed size, not strings or ragged rows",
                    ));
                }
                self.begin(var, slab)?;
                // Before dimensions grow: a value may not fit.
                let stored = match self.container.encode_heap(var, values) {
                    Err(e) if !matches!(e, Error::Io { .. }) => return Err(e),
                    other => other,
                };
                let done = stored.and_then(|stored| {
                    self.make_room(var, slab)?;
                    self.write_stored(var, slab, &stored)
                });
                self.lost.note(var, slab, done)
            }
        }
    }

    /// Writes a selection of a variable of a fixed-size type: row-major, no gaps, native byte order.
    pub fn write_bytes(&mut self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        if self.writable(var)?.element.heap {
            return Err(Error::wrong_kind(
                self.schema().var_path(var),
                "holds strings or ragged rows, which have no plain bytes",
            ));
        }
        self.begin(var, slab)?;
        self.make_room(var, slab)?;
        self.check_len(var, slab, bytes)?;
        let done = self.write_stored(var, slab, bytes);
        self.lost.note(var, slab, done)
    }

    /// Reads back a selection of any type, what was just written included.
    pub fn read(&mut self, var: VarId, slab: &Hyperslab) -> Result<Values> {
        self.before_read(var)?;
        self.reading().read(var, slab)
    }

    /// Reads back a selection of a fixed-size type, see [`Engine::read_bytes`].
    pub fn read_bytes(&mut self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.before_read(var)?;
        self.reading().read_bytes(var, slab, out)
    }

    /// Reads back picked positions, see [`Engine::read_picks`].
    pub fn read_picks(&mut self, var: VarId, picks: &Picks) -> Result<Values> {
        self.before_read(var)?;
        self.reading().read_picks(var, picks)
    }

    /// Changes the description, see [`ContainerMut::redefine`].
    pub fn redefine(&mut self, schema: Schema) -> Result<()> {
        self.flush()?;
        self.container.redefine(schema)?;
        self.revision += 1;
        self.forget();
        Ok(())
    }

    /// Takes over what is new or different in a description, see [`ContainerMut::redefine_parts`].
    pub fn redefine_parts(&mut self, schema: &Schema, changes: &Changes) -> Result<()> {
        self.flush_tail()?;
        if changes.touch_storage(schema, self.schema()) {
            // Whether a variable has values decides what may become of it.
            self.flush()?;
        }
        self.container.redefine_parts(schema, changes)
    }

    /// A number that changes with each [`Writer::redefine`].
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether no value of a variable is stored so far, see [`ContainerMut::is_untouched`]; what is still being
    /// gathered does not count.
    pub fn is_untouched(&self, var: VarId) -> bool {
        self.container.is_untouched(var)
    }

    /// Sets the length of an unlimited dimension; it never shrinks. A chunk at the edge is whole from then on
    /// when all up to this length is written.
    pub fn grow(&mut self, dim: DimId, len: u64) -> Result<()> {
        self.container.grow(dim, len)
    }

    /// Encodes and places everything that is being gathered, whole or not.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_tail()?;
        self.enqueue_all()?;
        self.flush_pending()
    }

    /// Brings everything written so far into the file, see [`ContainerMut::sync`].
    ///
    /// # Errors
    /// [`Error::Lost`] if an earlier write failed, and was not made again: all else is in the file then.
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.container.sync()?;
        self.forget();
        self.lost.check(self.container.store().name(), self.schema())
    }

    /// The last [`Writer::sync`], see [`ContainerMut::complete`].
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn complete(&mut self) -> Result<()> {
        self.flush()?;
        self.container.complete()?;
        self.forget();
        self.lost.check(self.container.store().name(), self.schema())
    }

    /// Completes the file and closes it.
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn finish(mut self) -> Result<()> {
        self.complete()
    }

    /// Brings into the store what is not read from memory: everything but chunks.
    fn before_read(&mut self, var: VarId) -> Result<()> {
        let var = self.known(var)?;
        self.flush_tail()?;
        self.container.settle(var)
    }

    /// The container with the chunks that are not in it yet: encoding them for each read would encode them as often as they are
    /// read between two writes.
    fn reading(&self) -> Reading<'_> {
        Reading { engine: &self.engine, container: self.container.as_container(), newer: Some(&self.gather) }
    }

    fn known(&self, var: VarId) -> Result<VarId> {
        if var.0 < self.schema().vars.len() {
            return Ok(var);
        }
        Err(Error::NoSuchId { kind: "variable", id: var.0 })
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.container.layout(var)
    }

    /// The layout of a variable that values can be written to. Asked before anything changes: a filter that cannot be
    /// applied would be met when chunks are encoded, among values of other calls and other variables.
    fn writable(&mut self, var: VarId) -> Result<Arc<VarLayout>> {
        self.container.write_store().check()?;
        let layout = self.layout(self.known(var)?)?;
        let unsupported = |what: String| Error::Unsupported {
            path: format!("{}: {}", self.container.store().name(), layout.name),
            what,
        };
        if let Some(what) = layout.place.unsupported() {
            return Err(unsupported(what.to_owned()));
        }
        match layout.place.codecs().and_then(CodecChain::not_written) {
            Some(filter) => Err(unsupported(format!("writing with filter {filter}"))),
            None => Ok(layout),
        }
    }

    fn flush_tail(&mut self) -> Result<()> {
        self.tail.flush(&**self.container.write_store())
    }

    /// Decoded chunks of this store may be out of date.
    fn forget(&self) {
        self.engine.forget_store(self.container.store());
    }

    /// An error where a selection fits into no length that the variable's unlimited dimensions could have.
    fn check_room(&self, var: VarId, slab: &Hyperslab) -> Result<VarId> {
        let var = self.known(var)?;
        let schema = self.schema();
        let dims = &schema.var(var).dims;
        let most = |d: &DimId| if schema.dim(*d).unlimited { u64::MAX } else { schema.dim(*d).len };
        // Small writes come here one by one: neither the shape nor the name is put together for what is right.
        let is_plain = slab.start.len() == dims.len()
            && slab.count.len() == dims.len()
            && slab.stride.iter().filter(|&&s| s == 1).count() == dims.len()
            && slab.stride.len() == dims.len();
        let fits = |(d, dim): (usize, &DimId)| {
            slab.count[d] > 0 && slab.start[d].checked_add(slab.count[d]).is_some_and(|end| end <= most(dim))
        };
        if !is_plain || !dims.iter().enumerate().all(fits) {
            let shape: Vec<u64> = dims.iter().map(most).collect();
            slab.check(&shape, &schema.var_path(var))?;
        }
        Ok(var)
    }

    /// Checks a selection, and grows unlimited dimensions that it runs past.
    fn make_room(&mut self, var: VarId, slab: &Hyperslab) -> Result<()> {
        let var = self.check_room(var, slab)?;
        if slab.is_empty() {
            return Ok(());
        }
        for d in 0..self.schema().var(var).dims.len() {
            let dim = self.schema().var(var).dims[d];
            let end = slab.end(d);
            if end > self.schema().dim(dim).len {
                self.container.grow(dim, end)?;
                self.growing.insert(dim);
            }
        }
        Ok(())
    }

    /// Before values of a selection are taken.
    ///
    /// # Errors
    /// A selection that does not fit; and what waits in memory still cannot be written: then these values are lost, too.
    fn begin(&mut self, var: VarId, slab: &Hyperslab) -> Result<()> {
        self.check_room(var, slab)?;
        match self.unstick() {
            Ok(()) => Ok(()),
            stuck => self.lost.note(var, slab, stuck),
        }
    }

    /// Writes what waits in memory since it could not be written.
    fn unstick(&mut self) -> Result<()> {
        if self.gather.is_stuck { self.flush_pending() } else { Ok(()) }
    }

    /// Stores an encoded chunk, after those that became whole before.
    fn place_encoded(
        &mut self,
        var: VarId,
        region: &Hyperslab,
        at: &[u64],
        encoded: &[u8],
        mask: u32,
    ) -> Result<()> {
        self.container.will_write(var, region)?;
        self.flush_tail()?;
        self.flush_pending()?;
        self.gather.drop_chunk(&self.engine, var, at);
        self.container.place_chunk(var, at, encoded, mask)
    }

    /// An error unless there are as many bytes as the selection needs.
    fn check_len(&self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let layout = self.layout(var)?;
        let size = layout.element.size;
        let want = shape::checked(&slab.count, size as u64);
        if want != Some(bytes.len() as u64) {
            return Err(Error::Length(format!(
                "`{}`: {} bytes for a selection of {} elements of {size} bytes",
                layout.name,
                bytes.len(),
                slab.len()
            )));
        }
        Ok(())
    }

    /// Writes elements: fixed-size ones in native order, heap ones as they are stored.
    fn write_stored(&mut self, var: VarId, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let layout = self.layout(var)?;
        let size = layout.element.size;
        if let Place::Chunked { .. } = &layout.place {
            let steps = boxes::steps(&slab.count, size)?;
            if self.shared {
                return shared::write_chunks(
                    &self.engine,
                    &mut *self.container,
                    var,
                    &layout,
                    slab,
                    &steps,
                    bytes,
                );
            }
            self.container.will_write(var, slab)?;
            return self.write_chunks(var, slab, &steps, bytes);
        }
        self.container.will_write(var, slab)?;
        drop(layout);
        let layout = self.layout(var)?;
        let store = &**self.container.write_store();
        self.engine.forget_ahead(self.container.store());
        // Others who write to the file at the same time see at once what is written.
        if !self.shared
            && Tail::takes(store, bytes.len())
            && let Some((offset, len)) = axes::run(&layout, slab)
            && len == bytes.len()
        {
            return self.tail.push(store, offset, bytes, &layout.element);
        }
        let steps = boxes::steps(&slab.count, size)?;
        self.tail.flush(store)?;
        let gap = if self.shared { 0 } else { WRITE_GAP };
        linear::write(&self.engine, &mut *self.container, var, &layout, slab, &steps, bytes, gap)
    }
}
