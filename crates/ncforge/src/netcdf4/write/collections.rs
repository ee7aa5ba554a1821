//! Finds the heap collections to which the data of variables refer: without this, used space cannot be distinguished from
//! free space.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::space::Extent;
use super::writer::Netcdf4Writer;
use crate::container::Container;
use crate::error::Result;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::hdf5::fill::FillKind;
use crate::hdf5::global_heap::HeapId;
use crate::layout::{Place, VarLayout};
use crate::model::shape;
use crate::netcdf4::read::Netcdf4File;
use crate::netcdf4::read::types::holds_heap;
use crate::store::ReadStore;

/// The largest number of stored bytes that are searched.
const MOST: u64 = 64 << 20;

/// The extents of all collections of a file; `None` if finding them would take too long, or is not possible.
pub(super) fn of_file(file: &File, container: &Netcdf4File) -> Result<Option<Vec<Extent>>> {
    let mut search = Search::new(file, &**container.store());
    for id in container.schema().var_ids() {
        let d = &container.dataset(id).datatype;
        if holds_heap(d) && !search.variable(d, &*container.layout(id)?)? {
            return Ok(None);
        }
    }
    Ok(Some(search.found()))
}

impl Netcdf4Writer {
    /// Releases collections to which nothing refers any more, when it may be half of them: whoever overwrites strings in a loop
    /// leaves the former ones. All variables must be settled.
    pub(super) fn release_collections(&mut self) -> Result<()> {
        if self.heap.has_doubled() {
            let used = self.collections_in_use()?;
            let gone = self.heap.keep(used.as_deref());
            gone.into_iter().for_each(|e| self.space.release(e));
        }
        Ok(())
    }

    /// The collections to which variables refer; `None` if finding them would take too long.
    pub(super) fn collections_in_use(&self) -> Result<Option<Vec<Extent>>> {
        let file = File::detached(Arc::clone(&self.read_store));
        let mut search = Search::new(&file, &*self.read_store);
        for (id, state) in self.schema.var_ids().zip(&self.vars).filter(|(_, s)| s.element.heap) {
            if let FillKind::User(value) = &state.fill.value {
                search.elements(&state.stored, value)?;
            }
            if !search.variable(&state.stored, &*self.layout(id)?)? {
                return Ok(None);
            }
        }
        Ok(Some(search.found()))
    }
}

struct Search<'a> {
    file: &'a File,
    store: &'a dyn ReadStore,
    /// Stored bytes that may still be searched.
    left: u64,
    /// Address and size of each collection.
    sizes: BTreeMap<u64, u64>,
    /// Objects that were searched: each once.
    seen: HashSet<(u64, u32)>,
}

impl<'a> Search<'a> {
    fn new(file: &'a File, store: &'a dyn ReadStore) -> Self {
        Search { file, store, left: MOST, sizes: BTreeMap::new(), seen: HashSet::new() }
    }

    fn found(self) -> Vec<Extent> {
        self.sizes.into_iter().map(|(offset, len)| Extent { offset, len }).collect()
    }

    /// Whether so many bytes more are searched.
    fn affords(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.left;
        self.left = self.left.saturating_sub(bytes);
        fits
    }

    /// Searches all stored bytes of a variable; `false` if there are too many.
    fn variable(&mut self, d: &Datatype, layout: &VarLayout) -> Result<bool> {
        let size = u64::from(d.size);
        self.elements(d, layout.absent.inside().unwrap_or_default())?;
        match &layout.place {
            Place::Nowhere => Ok(true),
            Place::Inline(bytes) => self.elements(d, bytes).map(|()| true),
            Place::Contiguous { offset } => {
                let n = shape::bytes(&layout.shape, size);
                if !self.affords(n) {
                    return Ok(false);
                }
                let bytes = self.store.read_vec(*offset, n)?;
                self.elements(d, &bytes).map(|()| true)
            }
            Place::Chunked { chunk, codecs, index } => {
                let n = shape::bytes(chunk, size);
                for (_, record) in index.list()? {
                    if !self.affords(n) {
                        return Ok(false);
                    }
                    let encoded = self.store.read_vec(record.offset, record.len)?;
                    let mut bytes = vec![0; n as usize];
                    if codecs.decode(&encoded, record.mask, &mut bytes).is_err() {
                        return Ok(false);
                    }
                    self.elements(d, &bytes)?;
                }
                Ok(true)
            }
            Place::Records { .. } | Place::Parts(_) | Place::NotFollowed(_) | Place::Unsupported(_) => {
                Ok(false)
            }
        }
    }

    fn elements(&mut self, d: &Datatype, bytes: &[u8]) -> Result<()> {
        bytes.chunks_exact((d.size as usize).max(1)).try_for_each(|one| self.element(d, one))
    }

    fn element(&mut self, d: &Datatype, bytes: &[u8]) -> Result<()> {
        match &d.class {
            Class::VlenString { .. } => self.row(None, bytes),
            Class::Vlen { base } => self.row(Some(&**base).filter(|b| holds_heap(b)), bytes),
            Class::Compound { members } => {
                members.iter().filter(|m| holds_heap(&m.datatype)).try_for_each(|m| {
                    let from = m.offset as usize;
                    self.element(&m.datatype, &bytes[from..from + m.datatype.size as usize])
                })
            }
            Class::Array { base, .. } if holds_heap(base) => self.elements(base, bytes),
            _ => Ok(()),
        }
    }

    fn row(&mut self, base: Option<&Datatype>, bytes: &[u8]) -> Result<()> {
        let source = &self.file.source;
        let id = HeapId::parse(&mut source.cursor(bytes, 0))?;
        let Some(address) = id.address else { return Ok(()) };
        if !self.sizes.contains_key(&address) {
            let collection = self.file.heap.collection(source, address)?;
            self.sizes.insert(address, collection.size());
        }
        let Some(base) = base else { return Ok(()) };
        if self.seen.insert((address, id.index)) {
            let collection = self.file.heap.collection(source, address)?;
            if let Some(row) = collection.get(id.index) {
                self.elements(base, row)?;
            }
        }
        Ok(())
    }
}
