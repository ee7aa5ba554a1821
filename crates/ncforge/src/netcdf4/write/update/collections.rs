//! Finds the heap collections to which the data of variables refer: without this, used space cannot be distinguished from
//! free space.

use std::collections::{BTreeMap, HashSet};

use super::super::space::Extent;
use crate::container::Container;
use crate::error::Result;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::hdf5::global_heap::HeapId;
use crate::layout::{Place, VarLayout};
use crate::model::shape;
use crate::netcdf4::read::Netcdf4File;
use crate::netcdf4::read::types::holds_heap;

/// The largest number of stored bytes that are searched.
const MOST: u64 = 64 << 20;

/// The extents of all collections; `None` if finding them would take too long, or is not possible.
pub(super) fn collections(file: &File, container: &Netcdf4File) -> Result<Option<Vec<Extent>>> {
    let mut search = Search { file, sizes: BTreeMap::new(), seen: HashSet::new() };
    let mut left = MOST;
    for id in container.schema().var_ids() {
        let d = container.dataset(id);
        if !holds_heap(&d.datatype) {
            continue;
        }
        let layout = container.layout(id)?;
        search.elements(&d.datatype, layout.absent.inside().unwrap_or_default())?;
        if !search.variable(&d.datatype, container, &layout, &mut left)? {
            return Ok(None);
        }
    }
    Ok(Some(search.sizes.into_iter().map(|(offset, len)| Extent { offset, len }).collect()))
}

struct Search<'a> {
    file: &'a File,
    /// Address and size of each collection.
    sizes: BTreeMap<u64, u64>,
    /// Objects that were searched: each once.
    seen: HashSet<(u64, u32)>,
}

impl Search<'_> {
    /// Searches all stored bytes of a variable; `false` if there are too many.
    fn variable(
        &mut self,
        d: &Datatype,
        container: &Netcdf4File,
        layout: &VarLayout,
        left: &mut u64,
    ) -> Result<bool> {
        let size = u64::from(d.size);
        let mut afford = |n: u64| {
            let fits = n <= *left;
            *left = left.saturating_sub(n);
            fits
        };
        match &layout.place {
            Place::Nowhere => Ok(true),
            Place::Inline(bytes) => self.elements(d, bytes).map(|()| true),
            Place::Contiguous { offset } => {
                let n = shape::bytes(&layout.shape, size);
                if !afford(n) {
                    return Ok(false);
                }
                let bytes = container.store().read_vec(*offset, n)?;
                self.elements(d, &bytes).map(|()| true)
            }
            Place::Chunked { chunk, codecs, index } => {
                let n = shape::bytes(chunk, size);
                for (_, record) in index.list()? {
                    if !afford(n) {
                        return Ok(false);
                    }
                    let encoded = container.store().read_vec(record.offset, record.len)?;
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
