//! Metadata that stand in the file twice, so that a commit writes what was changed, however much there is.
//!
//! The superblock names one of the two places. A commit brings the other one up to date: it writes the headers and the nodes of
//! chunk indexes that changed since that place was the committed one, in the last two commits; then it names this place in the
//! superblock. Nothing to which the committed state refers is ever overwritten.
//!
//! Headers stay where they are, and as long as they are. A chunk index that outgrows its room gets another one. A changed
//! schema ends this (`Netcdf4Writer::reshape`), and so does the last commit before the file is closed.
//!
//! Variables that were not written keep the lengths that they have while their dimensions grow, as in netCDF-C: what lies beyond
//! reads as the fill value. Those for which that is another value than inside follow at once.

mod update;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::image::Ids;
use super::space::Extent;
use crate::hdf5::emit::{Addresses, Assembly, ObjectId};
use crate::model::{DimId, VarId};

/// The metadata in two places.
#[derive(Debug)]
pub(super) struct Standing {
    assembly: Assembly,
    ids: Ids,
    /// Objects that change when an unlimited dimension grows.
    followers: HashMap<DimId, Vec<Part>>,
    /// The committed one.
    current: Place,
    other: Place,
}

/// An object whose header changes with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Var(VarId),
    Dim(DimId),
}

/// One of the two places.
#[derive(Debug)]
struct Place {
    extent: Extent,
    at: Addresses,
    /// The indexes that were written there.
    trees: BTreeMap<ObjectId, Tree>,
    /// The objects of which it has a former state; `None`: all.
    stale: Option<BTreeSet<ObjectId>>,
}

/// A chunk index.
#[derive(Debug, Default)]
struct Tree {
    /// The present place, if not the planned one.
    moved: Option<Extent>,
    /// A hash of each node.
    nodes: Vec<u64>,
}

impl Place {
    fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.trees.values().filter_map(|t| t.moved).chain([self.extent])
    }
}

impl Standing {
    /// All space that the two places take.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.current.extents().chain(self.other.extents())
    }

    fn object(&self, part: Part) -> ObjectId {
        match part {
            Part::Var(v) => self.ids.vars[v.0],
            Part::Dim(d) => self.ids.dims[d.0],
        }
    }

    /// The other place is the committed one now.
    pub(super) fn switch(&mut self) -> Extent {
        self.other.stale = Some(BTreeSet::new());
        std::mem::swap(&mut self.current, &mut self.other);
        self.current.extent
    }
}
