//! Opening an existing file for changes.
//!
//! All metadata of the file are read; the next commit rewrites them (see [`super`]), and data stay in place. So a file can
//! be opened only if all of it can be written again: an object that the netCDF data model cannot describe, or this writer
//! cannot write, is an error that names it.

mod forms;
mod lists;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::collections;
use super::coverage::Coverage;
use super::facts::{FileFacts, Owner};
use super::heap::HeapWriter;
use super::space::{Extent, FileSpace};
use super::state::{FoundSpace, LiveIndex, PlaceState, VarState};
use super::writer::Netcdf4Writer;
use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::hdf5::attribute::Attribute;
use crate::hdf5::chunk_index::DatasetChunks;
use crate::hdf5::emit::ChunkTable;
use crate::hdf5::file::File;
use crate::hdf5::layout::Layout;
use crate::hdf5::message::kind;
use crate::layout::{ChunkIndex, Place};
use crate::model::{Cause, DimId, GroupId, Schema, TypeId, VarId, shape};
use crate::netcdf4::read;
use crate::netcdf4::read::attrs::is_hidden;
use crate::netcdf4::read::narrow;
use crate::netcdf4::read::scan::{self, Found, FoundDataset};
use crate::select::ChunkGrid;
use crate::store::{ReadStore, WriteStore};

use lists::Lists;

/// Most bytes of metadata that are compared to find out whether this writer wrote them.
const MOST_COMPARED: u64 = 256 << 20;
/// The superblock's flags for a file that is open for writing, or for writing while others read.
const BEING_WRITTEN: u32 = 1 | 4;
/// Hidden attributes of datasets that every commit creates again.
const REMADE: [&[u8]; 4] = [b"DIMENSION_LIST", b"REFERENCE_LIST", b"_Netcdf4Coordinates", b"_Netcdf4Dimid"];
/// Attributes of a dataset that name its dimensions.
const NAME_DIMENSIONS: [&[u8]; 2] = [b"DIMENSION_LIST", b"_Netcdf4Coordinates"];

/// Opens a netCDF-4 file for changes: written by ncforge, netCDF-C, h5netcdf or h5py.
///
/// The first [`ContainerMut::sync`] after a change replaces the superblock by one of version 2, and chunk indexes
/// of any kind by version 1 B-trees, which every library reads. Objects that cannot be written again (virtual datasets,
/// external files, references, objects with two names, …) are an error that names them.
///
/// ```no_run
/// use std::{path::Path, sync::Arc};
/// use ncforge::model::Attribute;
/// use ncforge::store::FileStore;
/// use ncforge::raw::{Container, ContainerMut, netcdf4, put_attribute};
///
/// let store = Arc::new(FileStore::open_rw(Path::new("sst.nc"))?);
/// let mut file = netcdf4::open_mut(store)?;
/// let mut schema = file.schema().clone();
/// put_attribute(&mut schema.groups[0].attrs, Attribute::text("title", "SST"));
/// file.redefine(schema)?;
/// file.sync()?;
/// # Ok::<(), ncforge::Error>(())
/// ```
#[allow(clippy::needless_pass_by_value, reason = "every format is opened in the same way")]
pub fn open_mut(store: Arc<dyn WriteStore>) -> Result<Box<dyn ContainerMut>> {
    let read_store: Arc<dyn ReadStore> = store.clone();
    let file = Arc::new(File::open(Arc::clone(&read_store))?);
    let refuse = |what: String| Error::Unsupported {
        path: store.name().to_owned(),
        what: format!("changing a file with {what}"),
    };
    let sb = &file.superblock;
    if sb.version >= 3 && sb.flags & BEING_WRITTEN != 0 {
        let what = "its superblock says that a program writes to it (HDF5's SWMR mode holds no lock); if none does, \
                    `h5clear -s` on the file removes this mark";
        return Err(Error::Locked { path: store.name().to_owned(), what: what.to_owned() });
    }
    if sb.base != 0 {
        return Err(refuse(format!("a user block of {} bytes before its HDF5 data", sb.base)));
    }
    if (sb.sizes.offset, sb.sizes.length) != (8, 8) {
        return Err(refuse(format!("{}-byte addresses", sb.sizes.offset)));
    }
    let found = scan::scan(&file)?;
    let container = read::open(Arc::clone(&read_store), true)?;
    let schema = container.schema().clone();
    if let Some(s) = schema.skipped.first() {
        return Err(match s.cause {
            Cause::Damaged { .. } | Cause::Unreadable => s.error(store.name()),
            Cause::Foreign | Cause::NotFollowed | Cause::Absent => refuse(format!("`{}`: {}", s.path, s.why)),
        });
    }
    let named = |id: VarId| Some((id, narrow::name(&container.dataset(id).datatype)?));
    if let Some((id, what)) = schema.var_ids().find_map(named) {
        return Err(refuse(format!("{what} (`{}`), which netCDF has not", schema.var_path(id))));
    }
    if let Some(why) = obstacle(&file, &found, &container)? {
        return Err(refuse(why));
    }
    let facts = file_facts(&file, &found, &container)?.map_err(refuse)?;
    let mut vars = Vec::with_capacity(schema.vars.len());
    for id in schema.var_ids() {
        vars.push(state(&file, &container, &schema, id)?.map_err(refuse)?);
    }
    let heap = collections::of_file(&file, &container)?;
    let end = store.len().max(sb.end);
    let root = sb.root;
    let mut writer = Netcdf4Writer {
        store: Arc::clone(&store),
        read_store,
        schema,
        vars,
        facts,
        space: FileSpace::new(end),
        alignment: None,
        reserved: 0,
        reclaim: heap.is_some(),
        heap: HeapWriter::new(heap.unwrap_or_default()),
        front: None,
        current: None,
        dirty: false,
        touched: BTreeSet::new(),
        grown: BTreeSet::new(),
        unsettled: BTreeSet::new(),
        standing: None,
        is_steady: true,
    };
    writer.current = own_block(&writer, root)?;
    if writer.reclaim && writer.current.is_some() {
        writer.reclaim()?;
    }
    Ok(Box::new(writer))
}

/// The reason why the file cannot be written again from its schema: every object must be in it, under one name.
fn obstacle(file: &Arc<File>, found: &Found, container: &read::Netcdf4File) -> Result<Option<String>> {
    let schema = container.schema();
    let objects = container.objects();
    let mut seen: HashMap<u64, String> = HashMap::new();
    let groups = (0..found.groups.len()).map(|g| (found.groups[g].address, schema.group_path(GroupId(g))));
    let path = |g: GroupId, name: &str| format!("{}/{name}", schema.group_path(g).trim_end_matches('/'));
    let datasets = found.datasets.iter().map(|d| (d.address, path(d.group, &d.name)));
    let types = found.types.iter().map(|t| (t.address, path(t.group, &t.name)));
    for (address, name) in groups.chain(datasets).chain(types) {
        let header = file.object(address)?;
        if header.has(kind::COMMENT) {
            return Ok(Some(format!("a comment on `{name}`")));
        }
        if let Some(other) = seen.insert(address, name.clone()) {
            return Ok(Some(format!("one object under two names, `{other}` and `{name}`")));
        }
    }
    for t in &found.types {
        let name = path(t.group, &t.name);
        if !objects.types.contains(&Some(t.address)) {
            return Ok(Some(format!("the named type `{name}`, which netCDF does not need")));
        }
        if !file.attributes(&file.object(t.address)?)?.is_empty() {
            return Ok(Some(format!("attributes on the type `{name}`")));
        }
    }
    let variables: HashSet<u64> = objects.vars.iter().copied().collect();
    for d in &found.datasets {
        if variables.contains(&d.address) {
            continue;
        }
        let attrs = file.attributes(&file.object(d.address)?)?;
        if let Some(a) = attrs.iter().find(|a| !is_hidden(&a.name)) {
            let (attr, name) = (String::from_utf8_lossy(&a.name).into_owned(), path(d.group, &d.name));
            return Ok(Some(format!("attribute `{attr}` on `{name}`, a dimension without a variable")));
        }
        if let Some(what) = bare_contents(file, d, &attrs)? {
            let name = path(d.group, &d.name);
            return Ok(Some(format!("{what} in `{name}`, a dimension without a variable")));
        }
    }
    Ok(None)
}

/// Contents beyond a length in the dataset of a dimension without a variable.
fn bare_contents(file: &Arc<File>, d: &FoundDataset, attrs: &[Attribute]) -> Result<Option<&'static str>> {
    if d.dataset.space.dims().len() != 1 {
        return Ok(Some("several dimensions"));
    }
    if attrs.iter().any(|a| a.name[..] == *b"DIMENSION_LIST") {
        return Ok(Some("dimension scales"));
    }
    let is_empty = match &d.dataset.layout {
        Layout::Contiguous { address: None, .. } => true,
        _ if d.dataset.external => false,
        Layout::Compact(bytes) => bytes.iter().all(|&b| b == 0),
        Layout::Contiguous { address: Some(at), .. } => {
            let bytes =
                d.dataset.space.count().map_or(0, |n| n.saturating_mul(d.dataset.datatype.size.into()));
            let mut at = *at..at.saturating_add(bytes);
            loop {
                let n = (at.end - at.start).min(1 << 20);
                if n == 0 {
                    break true;
                }
                if file.source.read(at.start, n)?.iter().any(|&b| b != 0) {
                    break false;
                }
                at.start += n;
            }
        }
        Layout::Chunked(c) => DatasetChunks::new(file, &d.dataset, c)?.list()?.is_empty(),
        Layout::Virtual { .. } => false,
    };
    Ok((!is_empty).then_some("values"))
}

/// The properties of the file that netcdf-c would store differently; or why they cannot be written again.
fn file_facts(
    file: &File,
    found: &Found,
    container: &read::Netcdf4File,
) -> Result<std::result::Result<FileFacts, String>> {
    let schema = container.schema();
    let objects = container.objects();
    let mut facts = FileFacts::new(schema);
    for (i, address) in objects.types.iter().enumerate() {
        if address.is_none() {
            facts.nameless.insert(TypeId(i));
        }
        if let Some(t) = found.types.iter().find(|t| Some(t.address) == *address) {
            facts.committed.insert(TypeId(i), t.datatype.clone());
        }
    }
    for (i, scale) in objects.scales.iter().enumerate() {
        if scale.is_none() {
            facts.phony.insert(DimId(i), schema.dims[i].name.clone());
        }
    }
    for (g, f) in found.groups.iter().enumerate() {
        let owner = Owner::Group(GroupId(g));
        let stored = file.attributes(&file.object(f.address)?)?;
        let remade: &[&[u8]] = match (g, &schema.provenance) {
            (0, Some(_)) => &[b"_nc3_strict", b"_NCProperties"],
            (0, None) => &[b"_nc3_strict"],
            _ => &[],
        };
        forms::keep(file, owner, &schema.groups[g].attrs, &stored, remade, &mut facts)?;
    }
    facts.insert_numbers(&objects.numbers);
    let lists = Lists::new(file, container, &facts);
    let scales: HashSet<u64> = objects.scales.iter().copied().flatten().collect();
    for id in schema.var_ids() {
        let address = objects.vars[id.0];
        let scale = scales.contains(&address);
        // `CLASS` and `NAME` of scales are created again; other conventions use the same names.
        let mut remade = REMADE.to_vec();
        if scale {
            remade.extend([&b"CLASS"[..], b"NAME"]);
        }
        let stored = file.attributes(&file.object(address)?)?;
        if !scale && !stored.iter().any(|a| NAME_DIMENSIONS.contains(&&*a.name)) {
            facts.unattached.insert(id);
        }
        if let Err(why) = lists.keep(id, &stored, &mut facts)? {
            return Ok(Err(why));
        }
        forms::keep(file, Owner::Var(id), &schema.var(id).attrs, &stored, &remade, &mut facts)?;
    }
    Ok(Ok(facts))
}

/// The state of an existing variable; or why it cannot be written again.
fn state(
    file: &Arc<File>,
    container: &read::Netcdf4File,
    schema: &Schema,
    id: VarId,
) -> Result<std::result::Result<VarState, String>> {
    let dataset = container.dataset(id);
    let path = schema.var_path(id);
    let layout = container.layout(id)?;
    let shape = &layout.shape;
    // With the dimension, it would grow over what follows it in the file.
    let fixed = matches!(dataset.layout, Layout::Compact(_) | Layout::Contiguous { .. });
    if let Some(dim) = schema.var(id).dims.iter().map(|d| schema.dim(*d)).find(|d| fixed && d.unlimited) {
        let name = &dim.name;
        return Ok(Err(format!(
            "`{path}`, which is not stored in chunks although its dimension `{name}` is unlimited \
             (`ncforge copy` makes a file in which it is)"
        )));
    }
    let place = match &layout.place {
        Place::Inline(bytes) => PlaceState::Compact(bytes.to_vec()),
        Place::Nowhere => {
            PlaceState::Contiguous { offset: None, written: Coverage::default(), committed: false }
        }
        Place::Contiguous { offset } => {
            let bytes = shape::bytes(shape, u64::from(dataset.datatype.size));
            PlaceState::Contiguous { offset: Some(*offset), written: Coverage::whole(bytes), committed: true }
        }
        Place::Chunked { chunk, codecs, index, .. } => PlaceState::Chunked {
            chunk: chunk.clone(),
            filters: dataset.filters.clone(),
            codecs: Ok(codecs.clone()),
            table: LiveIndex::new(table(&**index, shape, chunk)?),
        },
        Place::Unsupported(why) => match &dataset.layout {
            // An unknown filter: its chunks need not be changed.
            Layout::Chunked(c) if !dataset.external => PlaceState::Chunked {
                chunk: c.chunk.clone(),
                filters: dataset.filters.clone(),
                codecs: Err(why.clone()),
                table: LiveIndex::new(table(&DatasetChunks::new(file, dataset, c)?, shape, &c.chunk)?),
            },
            _ => return Ok(Err(format!("`{path}`: {why}"))),
        },
        Place::Parts(_) | Place::NotFollowed(_) => {
            return Ok(Err(format!("`{path}`: a virtual dataset")));
        }
        Place::Records { .. } => return Ok(Err(format!("`{path}`: records"))),
    };
    let is_unfilled = !dataset.fill.is_read(layout.element.heap)
        && matches!(place, PlaceState::Chunked { .. } | PlaceState::Contiguous { offset: None, .. });
    let is_alone = schema.var(id).dims.iter().any(|d| container.objects().scales[d.0].is_none());
    let found = FoundSpace { dims: shape.clone(), max: dataset.space.max().to_vec(), is_unfilled, is_alone };
    Ok(Ok(VarState {
        stored: dataset.datatype.clone(),
        element: layout.element.clone(),
        fill: dataset.fill.clone(),
        absent: container.absent(id, &layout.element)?,
        place,
        found: Some(found),
    }))
}

fn table(index: &dyn ChunkIndex, shape: &[u64], chunk: &[u64]) -> Result<ChunkTable> {
    let mut table = ChunkTable::new(&ChunkGrid::new(shape, chunk).counts())?;
    for (at, record) in index.list()? {
        table.insert(&at, record)?;
    }
    Ok(table)
}

/// The committed metadata, if they are exactly those that this writer would write: then it did, and their
/// extent is known.
fn own_block(writer: &Netcdf4Writer, root: u64) -> Result<Option<Extent>> {
    let (image, _) = writer.assemble()?;
    let size = image.size();
    let store = &writer.store;
    if size > MOST_COMPARED || root.checked_add(size).is_none_or(|end| end > store.len()) {
        return Ok(None);
    }
    let (mut same, mut at) = (true, root);
    image.write(root, &mut |bytes| {
        if same {
            same = store.read_vec(at, bytes.len() as u64)? == bytes;
            at += bytes.len() as u64;
        }
        Ok(())
    })?;
    Ok(same.then_some(Extent { offset: root, len: size }))
}
