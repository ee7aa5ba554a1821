//! Partitions of an unstructured mesh, put together: owner maps instead of boxes.
//!
//! A partition of D-Flow FM holds cells, nodes and edges that are scattered over the whole, and cells of its neighbours
//! (ghosts). What the files say of that is found by [`find`]; from it every thing gets its number of the whole:
//! [`cells`] by the numbers that the files give them, [`nodes`] and [`pairs`] (edges, links) by the cells. The variables
//! along such things are then [read](read) partition by partition and put into place; lists of numbers (which nodes a
//! cell has) are [numbered anew](rewrite). The result is a [`Source`](crate::ops::source::Source) like a file.
//!
//! In memory are two numbers of four bytes for every cell, node and edge, which may take a quarter of the budget.

mod build;
mod cells;
mod dims;
mod find;
mod nodes;
mod pairs;
mod parts;
mod picture;
mod read;
mod rewrite;
mod route;
mod set;
mod storage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::buffer::Buffer;
use crate::engine::Engine;
use crate::error::{Error, Result, TileOption};
use crate::layout::VarLayout;
use crate::model::{DimId, Schema, VarId};

use self::find::{Connection, SetId};
use self::pairs::Beside;
use self::parts::Parts;
use self::route::Route;
use self::set::Set;
use super::left_out::LeftOut;
use super::mosaic::agree::difference;
use super::options::Differing;
use super::tiles::Tiles;

pub(super) use build::{build, is_mesh};
pub(super) use picture::pictures;
pub(super) use storage::decide;

/// Names that a message lists.
const MOST_NAMES: usize = 8;

/// Where the values of a variable come from.
#[derive(Clone, Debug)]
enum From {
    /// From one partition; the others have the same.
    Part(usize),
    /// From all, along this dimension of the variable.
    Scattered { axis: usize, set: SetId },
    /// From nobody: it tells how the whole was made.
    Made(Buffer),
}

/// A route that was found, and for what: a set, a run of it, a gap.
type Found = (SetId, u64, u64, u64, Arc<Route>);

/// The whole, made of the partitions of a mesh.
#[derive(Debug)]
pub(crate) struct Mesh {
    /// Its description; storage as it shall be in the output.
    pub(super) schema: Schema,
    parts: Parts,
    sets: Vec<Set>,
    /// Ghosts that are dropped, by set.
    ghosts: Vec<u64>,
    connections: Vec<Connection>,
    /// By set of edges: what is beside some of them.
    beside: BTreeMap<SetId, Beside>,
    /// By variable.
    from: Vec<From>,
    layouts: Vec<Arc<VarLayout>>,
    /// By variable: one element, in native order, for what nobody has; `None` for heap types.
    fills: Vec<Option<Vec<u8>>>,
    /// The dimension of which only a part is taken, and its first.
    window: Option<(DimId, u64)>,
    /// Numbers of partitions that should exist and were not given.
    pub(super) missing: Vec<u64>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
    engine: Engine,
    /// The last one: variable after variable goes the same way.
    route: Mutex<Option<Found>>,
}

impl Mesh {
    /// The files.
    pub(super) fn tiles(&self) -> &Tiles {
        &self.parts.tiles
    }

    /// What of the files is not in the whole.
    pub(super) fn left_out(&self) -> &LeftOut {
        &self.parts.left_out
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.bytes
    }

    /// The length of a variable's dimension in a partition; nothing where the partition has none.
    fn len_in(&self, part: usize, d: DimId) -> u64 {
        let len = self.parts.lens[part][d.0].unwrap_or(0);
        match self.window {
            Some((window, from)) if window == d => len.saturating_sub(from).min(self.schema.dim(d).len),
            _ => len,
        }
    }

    /// The first of a dimension that is taken.
    fn first_of(&self, d: DimId) -> u64 {
        self.window.filter(|w| w.0 == d).map_or(0, |w| w.1)
    }

    /// An error if what is not along the mesh differs between partitions.
    pub(super) fn check_values(&mut self, differing: Differing) -> Result<()> {
        let differences = Mutex::new(Vec::new());
        let this = &*self;
        this.engine.for_each(this.parts.len(), |p| {
            for v in this.schema.var_ids() {
                let From::Part(with) = this.from[v.0] else { continue };
                if with == p {
                    continue;
                }
                let (Some(ours), Some(theirs)) = (this.parts.vars[p][v.0], this.parts.vars[with][v.0]) else {
                    continue;
                };
                let dims = &this.schema.var(v).dims;
                let count: Vec<u64> =
                    dims.iter().map(|&d| this.len_in(p, d).min(this.len_in(with, d))).collect();
                let start: Vec<u64> = dims.iter().map(|&d| this.first_of(d)).collect();
                let (a, b) = (this.parts.tiles.open(p)?, this.parts.tiles.open(with)?);
                if let Some(what) = difference((&a, ours, &start), (&b, theirs, &start), &count)? {
                    differences.lock().expect("nothing panics with the lock").push((v, p, with, what));
                }
            }
            Ok(())
        })?;
        let mut differences = differences.into_inner().expect("nothing panics with the lock");
        differences.sort();
        let Some((v, p, with, what)) = differences.first() else { return Ok(()) };
        let name = |v: VarId| self.schema.var_path(v).trim_start_matches('/').to_owned();
        if differing == Differing::Error {
            let what = format!(
                "`{}` and `{}` do not go together: `{}`, which is not along the mesh, differs ({what})",
                self.parts.tiles.name(*with),
                self.parts.tiles.name(*p),
                name(*v)
            );
            return Err(Error::TilesUnless { what, unless: TileOption::DifferingFirst });
        }
        let left_out: Vec<(usize, String)> =
            differences.iter().map(|(v, p, ..)| (*p, format!("`{}`", name(*v)))).collect();
        let notes: Vec<String> = differences
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                format!(
                    "`{}` differs in {} partitions: the first one's is taken",
                    name(same[0].0),
                    same.len()
                )
            })
            .collect();
        self.notes.extend(notes);
        left_out.into_iter().for_each(|(p, what)| self.parts.left_out.add(p, what));
        Ok(())
    }
}
