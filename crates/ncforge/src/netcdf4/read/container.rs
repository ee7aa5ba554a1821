//! The open file, as the engine sees it.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use super::builder::Built;
use super::narrow;
use super::objects::Objects;
use super::types::element;
use super::values::{Decoder, is_heap};
use super::watch::{Open, Watch, WatchedChunks};
use crate::codec::kernels::order_in_place;
use crate::codec::widen::Widen;
use crate::codec::{self, CodecChain};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::chunk_index::DatasetChunks;
use crate::hdf5::dataset::Dataset;
use crate::hdf5::file::File;
use crate::hdf5::fill::FillKind;
use crate::hdf5::layout::{IndexKind, Layout};
use crate::layout::{Absent, ChunkIndex, Element, Place, VarLayout};
use crate::model::{Atomic, Endian, Schema, Value, VarId, shape};
use crate::store::ReadStore;

/// An open netCDF-4 file.
#[derive(Debug)]
pub(crate) struct Netcdf4File {
    file: Arc<File>,
    schema: Schema,
    objects: Objects,
    datasets: Vec<Dataset>,
    layouts: Vec<OnceLock<Arc<VarLayout>>>,
    notes: Vec<String>,
    metadata: u64,
    elsewhere: Arc<dyn Elsewhere>,
    /// The watch on a file that others may write to.
    watch: Option<Arc<Watch>>,
}

/// What is known of a file.
pub(super) struct Facts {
    pub(super) file: Arc<File>,
    pub(super) built: Built,
    pub(super) elsewhere: Arc<dyn Elsewhere>,
}

/// What knows the places of datasets whose elements are those of others.
pub(super) trait Elsewhere: Send + Sync + Debug {
    /// The place of the dataset whose header is at an address; `None` if it is none of these.
    fn place(&self, address: u64) -> Result<Option<Place>>;
}

impl Netcdf4File {
    pub(super) fn new(facts: Facts, open: Open) -> Self {
        let Facts { file, built: (schema, objects, datasets, notes), elsewhere } = facts;
        let layouts = datasets.iter().map(|_| OnceLock::new()).collect();
        let metadata = file.source.metadata_bytes();
        let watch = Watch::new(file.source.store(), open).map(Arc::new);
        Netcdf4File { file, schema, objects, datasets, layouts, notes, metadata, elsewhere, watch }
    }

    /// The HDF5 dataset of a variable.
    pub(crate) fn dataset(&self, var: VarId) -> &Dataset {
        &self.datasets[var.0]
    }

    /// The HDF5 file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The addresses of the schema's objects in the file.
    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    fn make_layout(&self, var: VarId) -> Result<VarLayout> {
        let d = &self.datasets[var.0];
        let name = self.schema.var_path(var);
        let size = d.datatype.size as usize;
        if size as u64 > self.file.source.len() {
            let what = format!("`{name}`: values of {size} bytes, more than the file has");
            return Err(Error::corrupt(self.file.source.name(), None, what));
        }
        if let Some((widen, atomic)) = narrow::widen(&d.datatype).zip(narrow::read_as(&d.datatype)) {
            return self.make_narrow(var, widen, atomic);
        }
        let heap = is_heap(&d.datatype);
        let Some(element) = element(&d.datatype, heap) else {
            return Err(self
                .file
                .source
                .unsupported(format!("the type of `{name}` (more than 65536 numbers)")));
        };
        let absent = self.absent(var, &element)?.within(d.space.dims(), &self.schema.shape(var));
        let place = self.place(&name, var)?;
        Ok(VarLayout { name, shape: d.space.dims().to_vec(), element, absent, place })
    }

    /// How elements read that were never written, whether or not some lie beyond the end.
    pub(crate) fn absent(&self, var: VarId, element: &Element) -> Result<Absent> {
        let d = &self.datasets[var.0];
        if let FillKind::User(bytes) = &d.fill.value {
            let fill = match narrow::widen(&d.datatype).filter(|w| w.stored_size() == bytes.len()) {
                Some(widen) => widen.widened(bytes)?,
                None => bytes.clone(),
            };
            if fill.len() == element.size {
                return Ok(Absent::As(fill));
            }
        }
        let inside = vec![0; element.size];
        let default = self.schema.default_fill(self.schema.var(var).dtype);
        let mut beyond = default.filter(|one| one.len() == element.size).unwrap_or_else(|| inside.clone());
        order_in_place(&mut beyond, element);
        Ok(Absent::Split { inside, beyond })
    }

    /// Numbers that netCDF has not, read as `atomic`.
    fn make_narrow(&self, var: VarId, widen: Widen, atomic: Atomic) -> Result<VarLayout> {
        let d = &self.datasets[var.0];
        let (name, shape) = (self.schema.var_path(var), d.space.dims().to_vec());
        let element = Element::atomic(atomic, Endian::Native);
        let absent = self.absent(var, &element)?.within(&shape, &self.schema.shape(var));
        let place = narrow::place(&**self.store(), self.place(&name, var)?, &shape, widen)?;
        Ok(VarLayout { name, shape, element, absent, place })
    }

    fn place(&self, name: &str, var: VarId) -> Result<Place> {
        let (source, d) = (&self.file.source, &self.datasets[var.0]);
        let corrupt = |what: String| Error::corrupt(source.name(), None, format!("`{name}`: {what}"));
        let size = u64::from(d.datatype.size);
        if d.external {
            return Ok(Place::Unsupported("a dataset whose bytes are in external files".into()));
        }
        let needed = d.space.count().and_then(|n| n.checked_mul(size));
        match &d.layout {
            Layout::Virtual { .. } => {
                let place = self.elsewhere.place(self.objects.vars[var.0])?;
                Ok(place.unwrap_or_else(|| Place::Unsupported("a virtual dataset".into())))
            }
            Layout::Compact(bytes) => {
                let part = needed.and_then(|n| bytes.get(..usize::try_from(n).ok()?));
                let part = part.ok_or_else(|| {
                    corrupt(format!("{} bytes of compact data for shape {:?}", bytes.len(), d.space.dims()))
                })?;
                Ok(Place::Inline(part.into()))
            }
            Layout::Contiguous { address: None, .. } => Ok(Place::Nowhere),
            Layout::Contiguous { address: Some(address), size: stored } => {
                let place =
                    needed.filter(|n| stored.is_none_or(|s| *n <= s)).and_then(|n| source.place(*address, n));
                let offset = place.ok_or_else(|| {
                    corrupt(format!(
                        "shape {:?} of {size}-byte values does not fit between byte {address} and the end of the file",
                        d.space.dims()
                    ))
                })?;
                Ok(Place::Contiguous { offset })
            }
            Layout::Chunked(c) => {
                if c.element_size != size {
                    return Err(corrupt(format!(
                        "chunks of {}-byte values, the type has {size}",
                        c.element_size
                    )));
                }
                let bytes = shape::checked(&c.chunk, size);
                if c.index == IndexKind::BtreeV1 && bytes.is_none_or(|b| b > u64::from(u32::MAX)) {
                    return Err(corrupt(format!("chunks of shape {:?}, more than 4 GiB", c.chunk)));
                }
                let codecs = match CodecChain::new(&d.filters, size as usize) {
                    Ok(codecs) => codecs,
                    Err(codec::Error::Unsupported(what)) => return Ok(Place::Unsupported(what)),
                    Err(e) => return Err(e.into()),
                };
                let chunks = DatasetChunks::new(&self.file, d, c)?;
                let index: Arc<dyn ChunkIndex> = match &self.watch {
                    Some(watch) => Arc::new(WatchedChunks::new(chunks, watch, name, &c.chunk)),
                    None => Arc::new(chunks),
                };
                Ok(Place::Chunked { chunk: c.chunk.clone(), codecs, index })
            }
        }
    }
}

impl Container for Netcdf4File {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.file.source.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let slot = &self.layouts[var.0];
        if let Some(layout) = slot.get() {
            return Ok(layout.clone());
        }
        let layout = Arc::new(self.make_layout(var)?);
        Ok(slot.get_or_init(|| layout).clone())
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        let values = Decoder::new(&self.file, stored).heap(&self.datasets[var.0].datatype, stored);
        match &self.watch {
            // The objects may be elsewhere now, and others where they were.
            Some(watch) if !watch.has_opened_contents() => {
                Err(Error::Changed { path: self.file.source.name().to_owned() })
            }
            _ => values,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.file.superblock.flags & 5 != 0 {
            notes.push("it is open for writing elsewhere, or its writer did not close it".into());
        }
        notes
    }

    fn note_of(&self, var: VarId) -> Option<String> {
        let datatype = &self.datasets[var.0].datatype;
        let (stored, read) = (narrow::name(datatype)?, narrow::read_as(datatype)?.cdl_name());
        let path = self.schema.var_path(var);
        let path = path.trim_start_matches('/');
        Some(format!("`/{path}` holds {stored}, which netCDF has not; they are read as {read}"))
    }

    fn metadata_bytes(&self) -> Option<u64> {
        Some(self.metadata)
    }

    fn metadata_and_indexes(&self) -> Option<u64> {
        Some(self.file.source.metadata_bytes())
    }
}
