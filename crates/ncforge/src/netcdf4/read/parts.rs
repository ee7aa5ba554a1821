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

use super::attrs::FoundAttrs;
use super::builder::build;
use super::container::{Elsewhere, Facts, Netcdf4File};
use super::hints::Hints;
use super::narrow;
use super::scan::{Found, FoundDataset, FoundGroup, cause_elsewhere};
use super::types::atomic;
use super::watch::Open as Again;
use crate::codec::numbers::{self, OutOfRange};
use crate::error::{Error, Result};
use crate::hdf5::dataset::Dataset;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::hdf5::layout::Layout;
use crate::hdf5::selection::Selection;
use crate::layout::{Convert, NotFollowed, OpenPart, PartSource, Parts, Place, SourceName, VarLayout};
use crate::model::{Atomic, Cause, Group, Schema, Skipped, Value, VarId};
use crate::store::ReadStore;

use files::{Named, Opened, Pool, Sources};
use lengths::{Chosen, Lengths, Mapped, Shared};
use pairing::{Trouble, pair};

/// The virtual datasets of a file, by the addresses of their headers.
#[derive(Debug, Default)]
pub(super) struct Virtuals {
    all: HashMap<u64, Virtual>,
    /// What is open of their sources.
    _pool: Option<Arc<Pool>>,
}

/// A virtual dataset whose lengths are known.
#[derive(Debug)]
struct Virtual {
    shared: Arc<Shared>,
    /// Its lengths.
    shape: Vec<u64>,
    mapped: Vec<Mapped>,
    /// Sources that are not there, and would make it longer if they were.
    absent: Vec<Named>,
    /// Its sources, where they must not be opened.
    refused: Option<NotFollowed>,
}

/// What a dataset is found to be.
enum Asked {
    /// Not virtual.
    Plain,
    Virtual(Virtual),
    /// Its lengths are in files that must not be opened.
    NotFollowed(NotFollowed),
}

impl Virtuals {
    /// Finds out the lengths of the virtual datasets of a file. One whose lengths cannot be known is left out.
    pub(super) fn find(file: &Arc<File>, found: &mut Found, follow: bool, again: Again) -> Self {
        let is_virtual = |d: &FoundDataset| matches!(d.dataset.layout, Layout::Virtual { .. });
        if !found.datasets.iter().any(is_virtual) {
            return Self::default();
        }
        let pool = Arc::default();
        let sources = Sources::new(file, &pool, follow, again, open_dataset);
        let mut all = HashMap::new();
        let Found { datasets, skipped, tree, .. } = found;
        datasets.retain_mut(|d| {
            match Virtual::of(&sources, &d.name, &mut d.dataset, 0) {
                Ok(Asked::Plain) => return true,
                Ok(Asked::Virtual(known)) => {
                    all.insert(d.address, known);
                    return true;
                }
                Ok(Asked::NotFollowed(NotFollowed { why, .. })) => {
                    skipped.push(Skipped { path: path(tree, d), why, cause: Cause::NotFollowed });
                }
                Err(e) => skipped.push(left_out(path(tree, d), e, file.source.name())),
            }
            false
        });
        Self { all, _pool: Some(pool) }
    }
}

impl Elsewhere for Virtuals {
    fn place(&self, address: u64) -> Result<Option<Place>> {
        self.all.get(&address).map(Virtual::place).transpose()
    }
}

/// The path of a dataset.
fn path(tree: &[Group], d: &FoundDataset) -> String {
    let mut path = format!("/{}", d.name);
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
            cause: cause_elsewhere(&e),
        },
    }
}

impl Virtual {
    /// What a dataset says, if it is virtual, whose lengths are set. `depth`: virtual datasets that led here.
    fn of(sources: &Arc<Sources>, name: &str, dataset: &mut Dataset, depth: usize) -> Result<Asked> {
        let Layout::Virtual { heap } = dataset.layout else { return Ok(Asked::Plain) };
        let mappings = sources.file.mappings(heap)?;
        let shared =
            Shared { sources: sources.clone(), datatype: dataset.datatype.clone(), name: name.to_owned() };
        let shape = dataset.space.dims().to_vec();
        let others = mappings.iter().filter(|m| !m.file.is_same_file());
        let others: Vec<SourceName> =
            others.map(|m| Named { file: m.file.name(0), dataset: m.dataset.name(0) }.name()).collect();
        if !others.is_empty() && !sources.leads() {
            let refused = sources.not_followed(others);
            // Its lengths are in other files, too.
            if mappings.iter().any(|m| m.to.unlimited().is_some()) {
                return Ok(Asked::NotFollowed(refused));
            }
            let (shared, refused) = (Arc::new(shared), Some(refused));
            return Ok(Asked::Virtual(Self {
                shared,
                shape,
                mapped: Vec::new(),
                absent: Vec::new(),
                refused,
            }));
        }
        let mut lengths = Lengths::new(&shared, shape.len(), depth);
        let mut mapped = Vec::with_capacity(mappings.len());
        for mapping in mappings {
            lengths.add(mapping, &shape, &mut mapped)?;
        }
        let absent = std::mem::take(&mut lengths.absent);
        let shape = lengths.finish(shape, dataset.space.max())?;
        if let Dataspace::Simple { dims, .. } = &mut dataset.space {
            dims.clone_from(&shape);
        }
        Ok(Asked::Virtual(Self { shared: Arc::new(shared), shape, mapped, absent, refused: None }))
    }

    /// The place of its elements.
    fn place(&self) -> Result<Place> {
        if let Some(refused) = &self.refused {
            return Ok(Place::NotFollowed(refused.clone()));
        }
        let source = |named: &Named| -> Arc<dyn PartSource> {
            Arc::new(Source { shared: self.shared.clone(), named: named.clone() })
        };
        let mut list = Vec::new();
        let mut absent: Vec<_> = self.absent.iter().map(source).collect();
        for mapped in &self.mapped {
            let source = source(&mapped.named);
            let rank = match &mapped.from {
                Chosen::Selection(Selection::All) => match self.shared.sources.open(&mapped.named, 1)? {
                    Some(opened) => opened.shape().to_vec(),
                    None => {
                        absent.push(source);
                        continue;
                    }
                },
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
        Ok(Place::Parts(Arc::new(Parts { list, absent })))
    }
}

/// A source, to be opened.
#[derive(Debug)]
struct Source {
    shared: Arc<Shared>,
    named: Named,
}

impl PartSource for Source {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        let Some(opened) = self.shared.sources.open(&self.named, 1)? else { return Ok(None) };
        let (here, there) = (&self.shared.datatype, &opened.container.dataset(opened.var()).datatype);
        // Numbers that netCDF does not have are read as wider ones, to whose precision they would be converted.
        let is_exact = narrow::widen(here).is_none();
        let numbers = number(here).zip(number(there)).filter(|(to, from)| is_exact && to != from);
        if let Some((to, from)) = numbers {
            return Ok(Some(Arc::new(Numbers { opened, from, to })));
        }
        if !are_alike(here, there) {
            return Err(Error::Unsupported {
                path: format!("{}: {}", self.shared.sources.file.source.name(), self.shared.name),
                what: format!(
                    "a virtual dataset of {} whose source ({}) has {}",
                    here.describe(),
                    self.named.name(),
                    there.describe()
                ),
            });
        }
        Ok(Some(opened))
    }

    fn name(&self) -> Option<SourceName> {
        Some(self.named.name())
    }
}

/// The type of numbers in memory.
fn number(d: &Datatype) -> Option<Atomic> {
    narrow::read_as(d).or_else(|| atomic(d)).filter(|kind| *kind != Atomic::Char)
}

/// A source whose numbers are of another type.
#[derive(Debug)]
struct Numbers {
    opened: Arc<Opened>,
    from: Atomic,
    to: Atomic,
}

impl Convert for Numbers {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        numbers::convert(self.from, from, self.to, to, OutOfRange::Nearest);
        Ok(())
    }
}

impl OpenPart for Numbers {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.opened.store()
    }

    fn var(&self) -> VarId {
        self.opened.var()
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        self.opened.layout()
    }

    fn convert(&self) -> Option<&dyn Convert> {
        Some(self)
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.opened.decode_heap(stored)
    }
}

/// Whether values of a source are in memory what they would be in a dataset of type `here`.
fn are_alike(here: &Datatype, there: &Datatype) -> bool {
    // Bytes of a text; `None` for what is none, or a character.
    let text = |d: &Datatype| match d.class {
        Class::VlenString { .. } => Some(u32::MAX),
        Class::String { .. } if d.size > 1 => Some(d.size),
        _ => None,
    };
    match (narrow::read_as(here).or_else(|| atomic(here)), narrow::read_as(there).or_else(|| atomic(there))) {
        (Some(_), Some(_)) if narrow::widen(here).is_some() => here.normal() == there.normal(),
        (Some(here), Some(there)) => here == there,
        _ => match text(here).zip(text(there)) {
            // HDF5 would cut them.
            Some((here, there)) => here >= there,
            None => here.normal() == there.normal(),
        },
    }
}

/// A dataset without anything around it.
fn open_dataset(
    sources: &Arc<Sources>,
    (address, name, mut dataset): (u64, String, Dataset),
    depth: usize,
) -> Result<Opened> {
    let file = &sources.file;
    let parts = match Virtual::of(sources, &name, &mut dataset, depth)? {
        Asked::Plain => None,
        Asked::Virtual(parts) => Some(parts),
        Asked::NotFollowed(refused) => return Err(file.source.unsupported(refused.why)),
    };
    let root = FoundGroup { address: file.superblock.root, attrs: FoundAttrs::default(), tracked: false };
    let (group, attrs, hints) = (Schema::ROOT, FoundAttrs::default(), Hints::default());
    let found = Found {
        tree: vec![Group { name: String::new(), parent: None, attrs: Vec::new() }],
        groups: vec![root],
        datasets: vec![FoundDataset { group, name, address, dataset, attrs, hints }],
        ..Found::default()
    };
    let built = build(file, found)?;
    if let (true, Some(skipped)) = (built.0.vars.is_empty(), built.0.skipped.first()) {
        return Err(skipped.error(file.source.name()));
    }
    let all = parts.map(|p| (address, p)).into_iter().collect();
    let elsewhere = Arc::new(Virtuals { all, _pool: None });
    let facts = Facts { file: file.clone(), built, elsewhere };
    Ok(Opened { container: Netcdf4File::new(facts, sources.again) })
}
