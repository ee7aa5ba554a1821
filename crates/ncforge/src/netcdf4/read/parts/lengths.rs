//! The lengths of a virtual dataset, and the elements of its unlimited mappings.

use std::sync::Arc;

use super::files::{Named, Sources};
use super::pairing::{Cells, Lattice, Trouble};
use crate::error::{Error, Result};
use crate::hdf5::dataspace::UNLIMITED;
use crate::hdf5::datatype::Datatype;
use crate::hdf5::mappings::Mapping;
use crate::hdf5::selection::Selection;
use crate::model::shape;

/// Sources of one mapping whose names have a number.
const MOST_NUMBERED: u64 = 1 << 20;

/// What its sources need of it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) sources: Arc<Sources>,
    pub(super) datatype: Datatype,
    pub(super) name: String,
}

/// Elements that are those of a source.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) named: Named,
    pub(super) to: Chosen,
    pub(super) from: Chosen,
}

/// Elements of a dataset: some do not depend on its lengths, and some are what they were when these became known.
#[derive(Debug)]
pub(super) enum Chosen {
    Selection(Selection),
    Cells(Cells),
}

impl Chosen {
    pub(super) fn cells(&self, shape: &[u64]) -> std::result::Result<Cells, Trouble> {
        match self {
            Chosen::Selection(selection) => Cells::of(selection, shape),
            Chosen::Cells(cells) => Ok(cells.clone()),
        }
    }
}

impl Shared {
    pub(super) fn damaged(&self, what: &str) -> Error {
        Error::corrupt(self.sources.file.source.name(), None, format!("`{}`: {what}", self.name))
    }

    pub(super) fn explain(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Damaged(what) => self.damaged(&what),
            Trouble::Unsupported(what) => self.sources.file.source.unsupported(what),
        }
    }
}

/// The lengths of a virtual dataset while its mappings are read.
pub(super) struct Lengths<'a> {
    shared: &'a Shared,
    depth: usize,
    /// Where limited selections end.
    least: Vec<u64>,
    /// Where unlimited ones end.
    new: Vec<Option<u64>>,
    /// Sources of unlimited ones that are not there.
    pub(super) absent: Vec<Named>,
}

impl<'a> Lengths<'a> {
    /// Those of a dataset of this many dimensions. `depth`: virtual datasets that led to it.
    pub(super) fn new(shared: &'a Shared, rank: usize, depth: usize) -> Self {
        Self { shared, depth, least: vec![0; rank], new: vec![None; rank], absent: Vec::new() }
    }

    /// Takes in a mapping.
    pub(super) fn add(&mut self, m: Mapping, shape: &[u64], mapped: &mut Vec<Mapped>) -> Result<()> {
        if m.to.rank().is_some_and(|rank| rank != shape.len()) {
            return Err(self.shared.damaged("a mapping of another number of dimensions"));
        }
        match (m.to.unlimited(), m.from.unlimited(), m.is_numbered()) {
            (None, None, false) => {
                if m.to != Selection::All {
                    let to = Cells::of(&m.to, shape).map_err(|t| self.shared.explain(t))?;
                    self.note(&to.end(shape.len()), None);
                }
                let named = Named { file: m.file.name(0), dataset: m.dataset.name(0) };
                let (to, from) = (Chosen::Selection(m.to), Chosen::Selection(m.from));
                mapped.push(Mapped { named, to, from });
                Ok(())
            }
            (Some(along), Some(source_along), false) => self.growing(&m, along, source_along, mapped),
            (Some(along), None, true) => self.numbered(&m, along, shape, mapped),
            _ => Err(self.shared.damaged("a mapping of which one side goes on and the other does not")),
        }
    }

    /// A mapping that goes on as far as its source does.
    fn growing(
        &mut self,
        m: &Mapping,
        along: usize,
        source_along: usize,
        mapped: &mut Vec<Mapped>,
    ) -> Result<()> {
        let explain = |t| self.shared.explain(t);
        let named = Named { file: m.file.name(0), dataset: m.dataset.name(0) };
        let Some(source) = self.shared.sources.open(&named, self.depth + 1)? else {
            self.grow(along, 0);
            self.absent.push(named);
            return Ok(());
        };
        let Cells::Product(from) = Cells::of(&m.from, source.shape()).map_err(explain)? else {
            return Ok(());
        };
        let n = from[source_along].len();
        let to = Self::limited(m, along, |l| l.first(n));
        self.grow(along, if n == 0 { 0 } else { to[along].end() });
        let ends: Vec<u64> = to.iter().map(Lattice::end).collect();
        self.note(&ends, Some(along));
        let (to, from) = (Chosen::Cells(Cells::Product(to)), Chosen::Cells(Cells::Product(from)));
        mapped.push(Mapped { named, to, from });
        Ok(())
    }

    /// A mapping of which each block has a source of its own.
    fn numbered(&mut self, m: &Mapping, along: usize, shape: &[u64], mapped: &mut Vec<Mapped>) -> Result<()> {
        let Selection::Regular(dims) = &m.to else { return Ok(()) };
        let blocks = dims[along];
        if blocks.block == UNLIMITED {
            return Err(self.shared.damaged("a mapping of one block to many sources"));
        }
        self.grow(along, 0);
        for number in 0u64.. {
            let start = number.checked_mul(blocks.stride).and_then(|n| n.checked_add(blocks.start));
            let Some(start) =
                start.filter(|s| s.checked_add(blocks.block).is_some_and(|end| end < UNLIMITED))
            else {
                break;
            };
            let named = Named { file: m.file.name(number), dataset: m.dataset.name(number) };
            let is_behind = match self.are_stored() {
                true => start >= shape[along],
                false => self.shared.sources.open(&named, self.depth + 1)?.is_none(),
            };
            if is_behind {
                break;
            }
            if number >= MOST_NUMBERED {
                let what = format!("a virtual dataset of more than {MOST_NUMBERED} numbered sources");
                return Err(self.shared.sources.file.source.unsupported(what));
            }
            let to = Self::limited(m, along, |_| Lattice::run(start, blocks.block));
            let ends: Vec<u64> = to.iter().map(Lattice::end).collect();
            self.grow(along, ends[along]);
            self.note(&ends, Some(along));
            let (to, from) = (Chosen::Cells(Cells::Product(to)), Chosen::Selection(m.from.clone()));
            mapped.push(Mapped { named, to, from });
        }
        Ok(())
    }

    /// The elements of an unlimited mapping, of which those along one dimension are limited.
    fn limited(m: &Mapping, along: usize, limit: impl FnOnce(Lattice) -> Lattice) -> Vec<Lattice> {
        let Selection::Regular(dims) = &m.to else { return Vec::new() };
        let mut all: Vec<Lattice> = dims.iter().map(|b| Lattice::of(b, UNLIMITED)).collect();
        all[along] = limit(all[along]);
        all
    }

    /// Whether the lengths are those that the file stores: HDF5 does not ask the sources of a source.
    fn are_stored(&self) -> bool {
        self.depth > 0
    }

    fn grow(&mut self, along: usize, end: u64) {
        let slot = self.new[along].get_or_insert(0);
        *slot = end.max(*slot);
    }

    /// Takes in where a mapping ends, along all dimensions or all others.
    fn note(&mut self, ends: &[u64], but: Option<usize>) {
        for (d, (slot, &end)) in self.least.iter_mut().zip(ends).enumerate() {
            if Some(d) != but {
                *slot = end.max(*slot);
            }
        }
    }

    /// The lengths, where `shape` is what the file stores.
    pub(super) fn finish(self, mut shape: Vec<u64>, max: &[u64]) -> Result<Vec<u64>> {
        for (d, len) in shape.iter_mut().enumerate() {
            if let Some(new) = self.new[d].filter(|_| !self.are_stored()) {
                *len = new.max(self.least[d]);
            }
            if *len < self.least[d] || *len > max[d] {
                let end = self.least[d].max(*len);
                return Err(self.shared.damaged(&format!(
                    "mappings reach {end}, dimension {d} is {len} of at most {}",
                    max[d]
                )));
            }
        }
        if shape::checked(&shape, u64::from(self.shared.datatype.size)).is_none() {
            return Err(self.shared.damaged(&format!("mappings to an array of shape {shape:?}")));
        }
        Ok(shape)
    }
}
