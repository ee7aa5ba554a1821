//! Virtual datasets: arrays whose elements are those of other datasets.
//!
//! When a file is opened, mappings are read, and lengths that are unlimited become known: as HDF5 gives them by default, up to the last
//! element that a source has (`H5D_VDS_LAST_AVAILABLE`), with names that have a number up to the first that is not there. Other sources
//! are opened when they are read. What is not there reads as the fill value; what is there and cannot be read is an error.

mod files;
mod lengths;
mod pairing;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use files::{Pool, Sources};

use super::container::Netcdf4File;
use super::scan::{Found, FoundDataset, FoundGroup};
use super::types::atomic;
use super::{Builder, narrow};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::dataset::Dataset;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::hdf5::layout::Layout;
use crate::hdf5::selection::Selection;
use crate::layout::{OpenPart, PartSource, Parts, Place, VarLayout};
use crate::model::{Cause, Format, Group, Schema, Skipped, Value, VarId};
use crate::store::ReadStore;

use lengths::Lengths;
use pairing::{Cells, Trouble, pair};

/// The virtual datasets of a file, by the addresses of their headers.
#[derive(Debug, Default)]
pub(super) struct Virtuals {
    all: HashMap<u64, Virtual>,
    /// What is open of their sources.
    _pool: Option<Arc<Pool>>,
}

/// A virtual dataset whose lengths are known.
#[derive(Debug)]
pub(super) struct Virtual {
    shared: Arc<Shared>,
    /// Its lengths.
    shape: Vec<u64>,
    mapped: Vec<Mapped>,
    /// Why its sources are not opened.
    refused: Option<&'static str>,
}

/// What its sources need of it.
#[derive(Debug)]
struct Shared {
    sources: Arc<Sources>,
    datatype: Datatype,
    name: String,
}

/// Elements that are those of a source.
#[derive(Debug)]
struct Mapped {
    file: Vec<u8>,
    dataset: Vec<u8>,
    to: Chosen,
    from: Chosen,
}

/// Elements of a dataset: some do not depend on its lengths, and some are what they were when these became known.
#[derive(Debug)]
enum Chosen {
    Selection(Selection),
    Cells(Cells),
}

impl Chosen {
    fn cells(&self, shape: &[u64]) -> std::result::Result<Cells, Trouble> {
        match self {
            Chosen::Selection(selection) => Cells::of(selection, shape),
            Chosen::Cells(cells) => Ok(cells.clone()),
        }
    }
}

impl Virtuals {
    /// Finds out the lengths of the virtual datasets of a file. One whose lengths cannot be known is left out.
    pub(super) fn find(file: &Arc<File>, found: &mut Found, follow: bool) -> Self {
        let is_virtual = |d: &FoundDataset| matches!(d.dataset.layout, Layout::Virtual { .. });
        if !found.datasets.iter().any(is_virtual) {
            return Self::default();
        }
        let pool = Arc::default();
        let sources = Sources::new(file, &pool, follow);
        let mut all = HashMap::new();
        let Found { datasets, skipped, tree, .. } = found;
        datasets.retain_mut(|d| {
            match Virtual::of(&sources, &d.name, &mut d.dataset, 0) {
                Ok(None) => {}
                Ok(Some(known)) => {
                    all.insert(d.address, known);
                }
                Err(e) => {
                    let path = format!("{}/{}", group_path(tree, d), d.name);
                    skipped.push(left_out(path, e, file.source.name()));
                    return false;
                }
            }
            true
        });
        Self { all, _pool: Some(pool) }
    }

    pub(super) fn get(&self, address: u64) -> Option<&Virtual> {
        self.all.get(&address)
    }
}

/// The path of the group of a dataset; empty for the root.
fn group_path(tree: &[Group], d: &FoundDataset) -> String {
    let mut path = String::new();
    let mut at = Some(d.group);
    while let Some(g) = at {
        let group = &tree[g.0];
        if group.parent.is_some() {
            path = format!("/{}{path}", group.name);
        }
        at = group.parent;
    }
    path
}

fn left_out(path: String, e: Error, own: &str) -> Skipped {
    match e {
        Error::Corrupt { path: file, what, offset } if file == own => {
            Skipped { path, why: what, cause: Cause::Damaged { at: offset } }
        }
        Error::Unsupported { path: file, what } if file == own => {
            Skipped { path, why: what, cause: Cause::Foreign }
        }
        e => Skipped {
            path,
            why: format!("a virtual dataset whose lengths are not known ({e})"),
            cause: Cause::Foreign,
        },
    }
}

impl Virtual {
    /// What a dataset says, if it is virtual, whose lengths are set. `depth`: virtual datasets that led here.
    fn of(sources: &Arc<Sources>, name: &str, dataset: &mut Dataset, depth: usize) -> Result<Option<Self>> {
        let Layout::Virtual { heap } = dataset.layout else { return Ok(None) };
        let mappings = sources.file.mappings(heap)?;
        let shared =
            Shared { sources: sources.clone(), datatype: dataset.datatype.clone(), name: name.to_owned() };
        let shape = dataset.space.dims().to_vec();
        let refused = mappings.iter().any(|m| !m.file.is_same_file()).then(|| sources.refusal()).flatten();
        if let Some(what) = refused {
            // Its lengths are in other files, too.
            if mappings.iter().any(|m| m.to.unlimited().is_some()) {
                return Err(sources.file.source.unsupported(what));
            }
            let (shared, mapped) = (Arc::new(shared), Vec::new());
            return Ok(Some(Self { shared, shape, mapped, refused }));
        }
        let mut lengths = Lengths::new(&shared, shape.len(), depth);
        let mut mapped = Vec::with_capacity(mappings.len());
        for mapping in mappings {
            lengths.add(mapping, &shape, &mut mapped)?;
        }
        let shape = lengths.finish(shape, dataset.space.max())?;
        if let Dataspace::Simple { dims, .. } = &mut dataset.space {
            dims.clone_from(&shape);
        }
        Ok(Some(Self { shared: Arc::new(shared), shape, mapped, refused }))
    }

    /// The place of its elements.
    pub(super) fn place(&self) -> Result<Place> {
        if let Some(what) = self.refused {
            return Ok(Place::Unsupported(what.to_owned()));
        }
        let mut list = Vec::new();
        for mapped in &self.mapped {
            let source: Arc<dyn PartSource> = Arc::new(Source {
                shared: self.shared.clone(),
                file: mapped.file.clone(),
                dataset: mapped.dataset.clone(),
            });
            let rank = match &mapped.from {
                Chosen::Selection(Selection::All) => {
                    match self.shared.sources.open(&mapped.file, &mapped.dataset, 1)? {
                        Some(opened) => opened.shape().to_vec(),
                        None => continue,
                    }
                }
                Chosen::Selection(selection) => vec![0; selection.rank().unwrap_or(0)],
                Chosen::Cells(_) => Vec::new(),
            };
            let parts =
                mapped.to.cells(&self.shape).and_then(|to| pair(to, mapped.from.cells(&rank)?, &source));
            match parts {
                Ok(parts) => list.extend(parts),
                Err(Trouble::Unsupported(what)) => return Ok(Place::Unsupported(what)),
                Err(Trouble::Damaged(what)) => return Err(self.shared.damaged(&what)),
            }
        }
        Ok(Place::Parts(Arc::new(Parts { list })))
    }
}

impl Shared {
    fn damaged(&self, what: &str) -> Error {
        Error::corrupt(self.sources.file.source.name(), None, format!("`{}`: {what}", self.name))
    }

    fn explain(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Damaged(what) => self.damaged(&what),
            Trouble::Unsupported(what) => self.sources.file.source.unsupported(what),
        }
    }
}

/// A source, to be opened.
#[derive(Debug)]
struct Source {
    shared: Arc<Shared>,
    file: Vec<u8>,
    dataset: Vec<u8>,
}

impl PartSource for Source {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        let Some(opened) = self.shared.sources.open(&self.file, &self.dataset, 1)? else { return Ok(None) };
        let (here, there) = (&self.shared.datatype, &opened.container.dataset(opened.var()).datatype);
        if !are_alike(here, there) {
            return Err(Error::Unsupported {
                path: format!("{}: {}", self.shared.sources.file.source.name(), self.shared.name),
                what: format!(
                    "a virtual dataset of {} whose source ({}) has {}",
                    here.describe(),
                    self.describe(),
                    there.describe()
                ),
            });
        }
        Ok(Some(opened))
    }

    fn describe(&self) -> String {
        let text = String::from_utf8_lossy;
        format!("`{}` in `{}`", text(&self.dataset), text(&self.file))
    }
}

/// Whether values of two types are the same in memory.
fn are_alike(a: &Datatype, b: &Datatype) -> bool {
    let is_text = |d: &Datatype| {
        matches!(d.class, Class::VlenString { .. }) || matches!(d.class, Class::String { .. } if d.size > 1)
    };
    match (narrow::read_as(a).or_else(|| atomic(a)), narrow::read_as(b).or_else(|| atomic(b))) {
        (Some(a), Some(b)) => a == b,
        _ => (is_text(a) && is_text(b)) || a.normal() == b.normal(),
    }
}

/// A source that is open: a file with one variable.
#[derive(Debug)]
pub(super) struct Opened {
    container: Netcdf4File,
}

impl Opened {
    fn shape(&self) -> &[u64] {
        self.container.dataset(self.var()).space.dims()
    }
}

impl OpenPart for Opened {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.container.store()
    }

    fn var(&self) -> VarId {
        VarId(0)
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        self.container.layout(self.var())
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.container.decode_heap(self.var(), stored)
    }
}

/// A dataset without anything around it.
fn open_dataset(
    sources: &Sources,
    address: u64,
    name: String,
    dataset: Dataset,
    parts: Option<Virtual>,
) -> Result<Opened> {
    let file = &sources.file;
    let root = FoundGroup { address: file.superblock.root, attrs: Default::default(), tracked: false };
    let group = Schema::ROOT;
    let found = Found {
        tree: vec![Group { name: String::new(), parent: None, attrs: Vec::new() }],
        groups: vec![root],
        datasets: vec![FoundDataset {
            group,
            name,
            address,
            dataset,
            attrs: Default::default(),
            hints: Default::default(),
        }],
        ..Found::default()
    };
    let builder = Builder { file, schema: Schema::new(Format::Netcdf4), notes: Vec::new() };
    let (schema, objects, datasets, notes) = builder.build(found)?;
    if let (true, Some(skipped)) = (schema.vars.is_empty(), schema.skipped.first()) {
        return Err(skipped.error(file.source.name()));
    }
    let all = parts.map(|p| (address, p)).into_iter().collect();
    let virtuals = Virtuals { all, _pool: None };
    Ok(Opened { container: super::container_of(file.clone(), (schema, objects, datasets, notes), virtuals) })
}
