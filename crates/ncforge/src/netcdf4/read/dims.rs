//! Dimensions: dimension scales, and what else says which dimension a dataset has.
//!
//! netCDF-4 stores a dimension as an HDF5 dimension scale (a dataset with `CLASS` = `DIMENSION_SCALE`). Which
//! ones a variable has is said, in this order of trust, by its `_Netcdf4Coordinates` (numbers of dimensions),
//! by its `DIMENSION_LIST` (references to scales), and else by nothing: then dimensions are made up from the
//! lengths (`phony_dim_0`, …), numbered as netCDF-C numbers them. As in netCDF-C, the list counts only if the first
//! dimension has a scale, and of two dimensions with one number the later one has it. Numbers that no dimension has
//! (netCDF-C does not read such a variable) leave the word to the list.
//!
//! A scale with a number (`_Netcdf4Dimid`) is one dimension, however many links lead to it; the last one names it. As
//! in netCDF-C, too, a scale without a number is one dimension per link.

use std::collections::{HashMap, HashSet};

use super::scan::{Found, FoundDataset};
use crate::hdf5::attribute::Attribute;
use crate::hdf5::dataspace::{Dataspace, UNLIMITED};
use crate::hdf5::datatype::{Class, ReferenceKind};
use crate::hdf5::file::File;
use crate::hdf5::global_heap::HeapId;
use crate::model::{DimId, Dimension, Group, GroupId};

/// A dimension in the making.
#[derive(Clone, Debug)]
struct Candidate {
    dim: Dimension,
    /// netCDF's number for it.
    number: i64,
    /// The scale's object header; `None` for made-up ones.
    scale: Option<u64>,
    /// True for a dimension without a variable.
    bare: bool,
}

/// The dimensions of a file.
#[derive(Debug, Default)]
pub(crate) struct Dims {
    all: Vec<Candidate>,
    /// The scale that a dataset (by position) is.
    own: HashMap<usize, usize>,
    next: i64,
    /// Irregularities that were found.
    pub(crate) notes: Vec<String>,
}

/// The result of [`Dims::finish`]: the schema's dimensions, the object header of each one's scale, its number, and for each
/// dataset that is a variable its dimensions.
pub(crate) struct Resolved {
    pub(crate) dims: Vec<Dimension>,
    pub(crate) scales: Vec<Option<u64>>,
    pub(crate) numbers: Vec<i64>,
    pub(crate) of_dataset: Vec<Option<Vec<DimId>>>,
    /// Parallel to it: of datasets for which the file names dimensions of other lengths, those that it numbers.
    pub(crate) misfits: Vec<Option<Vec<DimId>>>,
    pub(crate) notes: Vec<String>,
}

impl Dims {
    /// Takes in the scales, in the order in which they were found.
    pub(crate) fn new(found: &Found, tree: &[Group]) -> Self {
        let mut dims = Dims::default();
        let mut numbered: HashMap<(u64, GroupId), usize> = HashMap::new();
        let taken: HashSet<(GroupId, &str)> =
            found.datasets.iter().filter(|d| d.hints.scale).map(|d| (d.group, &d.name[..])).collect();
        let valid = |n: &i64| (0..i64::from(i32::MAX)).contains(n);
        let scales = found.datasets.iter().filter(|d| d.hints.scale);
        let stored: HashSet<i64> = scales.filter_map(|d| d.hints.number.filter(valid)).collect();
        for (i, d) in found.datasets.iter().enumerate() {
            let (Dataspace::Simple { dims: lens, max }, true) = (&d.dataset.space, d.hints.scale) else {
                continue;
            };
            let own_number = d.hints.number.filter(valid);
            let mut above = std::iter::successors(Some(d.group), |g| tree[g.0].parent);
            if let Some(&known) = above.find_map(|g| numbered.get(&(d.address, g))) {
                dims.own.insert(i, known);
                let dim = &mut dims.all[known].dim;
                if dim.group == d.group || !taken.contains(&(dim.group, &d.name[..])) {
                    dim.name.clone_from(&d.name);
                }
                continue;
            }
            // A scale without a number must not take one that another has: variables refer to it.
            let free = || (dims.next..).find(|n| !stored.contains(n)).unwrap_or(dims.next);
            let number = own_number.unwrap_or_else(free);
            dims.next = dims.next.max(number + 1);
            let bare = d.hints.bare;
            let unlimited = max[0] == UNLIMITED;
            let dim = Dimension { name: d.name.clone(), group: d.group, len: lens[0], unlimited };
            dims.own.insert(i, dims.all.len());
            if own_number.is_some() {
                numbered.insert((d.address, d.group), dims.all.len());
            }
            dims.all.push(Candidate { dim, number, scale: Some(d.address), bare });
        }
        dims
    }

    /// Whether a dataset is a dimension and no variable.
    pub(crate) fn is_bare(&self, dataset: usize) -> bool {
        self.own.get(&dataset).is_some_and(|&d| self.all[d].bare)
    }

    /// Finds the dimensions of every dataset for which `is_variable` holds.
    pub(crate) fn finish(mut self, file: &File, found: &Found, is_variable: &[bool]) -> Resolved {
        let mut of: Vec<Option<Vec<usize>>> = vec![None; found.datasets.len()];
        let mut misfits = of.clone();
        let by_number: HashMap<i64, usize> =
            self.all.iter().enumerate().map(|(i, c)| (c.number, i)).collect();
        let mut by_scale: HashMap<u64, Vec<usize>> = HashMap::new();
        for (i, c) in self.all.iter().enumerate() {
            by_scale.entry(c.scale.unwrap_or(u64::MAX)).or_default().push(i);
        }
        let mut of_group: Vec<Vec<usize>> = vec![Vec::new(); found.tree.len()];
        for (i, d) in found.datasets.iter().enumerate() {
            if is_variable[i] {
                of_group[d.group.0].push(i);
            }
        }
        // Groups below come first: so netCDF-C numbers the dimensions that it makes up.
        for g in depth_last(&found.tree) {
            for &i in &of_group[g] {
                let d = &found.datasets[i];
                let named = self.named(file, d, i, &by_number, &by_scale, &found.tree);
                let dims = self.complete(d, &named);
                if named.iter().zip(&dims).any(|(name, dim)| name.is_some_and(|n| n != *dim)) {
                    let numbered = named.into_iter().collect::<Option<_>>();
                    misfits[i] = Some(numbered.filter(|_| d.hints.coordinates.is_some()).unwrap_or_default());
                }
                of[i] = Some(dims);
            }
        }
        self.lengths(found, &of);
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_key(|&i| self.all[i].number);
        let mut place = vec![DimId(0); order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = DimId(new);
        }
        let placed = |of: Vec<Option<Vec<usize>>>| {
            of.into_iter().map(|v| v.map(|v| v.into_iter().map(|i| place[i]).collect())).collect()
        };
        Resolved {
            dims: order.iter().map(|&i| self.all[i].dim.clone()).collect(),
            scales: order.iter().map(|&i| self.all[i].scale).collect(),
            numbers: order.iter().map(|&i| self.all[i].number).collect(),
            of_dataset: placed(of),
            misfits: placed(misfits),
            notes: self.notes,
        }
    }

    /// The dimensions that the file names for a dataset; `None` where it does not.
    fn named(
        &self,
        file: &File,
        d: &FoundDataset,
        index: usize,
        by_number: &HashMap<i64, usize>,
        by_scale: &HashMap<u64, Vec<usize>>,
        tree: &[Group],
    ) -> Vec<Option<usize>> {
        let rank = d.dataset.space.dims().len();
        let mut named = vec![None; rank];
        let own = self.own.get(&index).copied();
        if let (Some(own), 1) = (own, rank) {
            return vec![Some(own)];
        }
        if let Some(numbers) = &d.hints.coordinates {
            named = numbers.iter().map(|n| by_number.get(n).copied()).collect();
        }
        if own.is_none() && named.contains(&None) {
            let rows = d.hints.list.as_ref().and_then(|list| attached(file, list, rank)).unwrap_or_default();
            let counts = rows.first().is_some_and(|first| !first.is_empty());
            for (slot, scales) in named.iter_mut().zip(rows).filter(|(slot, _)| counts && slot.is_none()) {
                // The scale that was attached last is the one that netCDF-C sees.
                *slot = scales.iter().rev().find_map(|s| self.visible(by_scale.get(s)?, d.group, tree));
            }
        }
        if let (Some(own), Some(first)) = (own, named.first_mut()) {
            first.get_or_insert(own);
        }
        named
    }

    /// The one of several dimensions that is nearest above a group.
    fn visible(&self, candidates: &[usize], group: GroupId, tree: &[Group]) -> Option<usize> {
        let mut at = Some(group);
        while let Some(g) = at {
            if let Some(&found) = candidates.iter().find(|&&c| self.all[c].dim.group == g) {
                return Some(found);
            }
            at = tree[g.0].parent;
        }
        None
    }

    /// Makes up what is missing, and replaces what cannot be: a fixed dimension of another length than the
    /// dataset has.
    fn complete(&mut self, d: &FoundDataset, named: &[Option<usize>]) -> Vec<usize> {
        let (lens, max) = (d.dataset.space.dims(), d.dataset.space.max());
        let mut out: Vec<usize> = Vec::with_capacity(named.len());
        for (i, name) in named.iter().enumerate() {
            let fits = |c: &Candidate| c.dim.unlimited || c.dim.len == lens[i];
            if let Some(c) = name.filter(|&c| fits(&self.all[c])) {
                out.push(c);
                continue;
            }
            if let Some(c) = name {
                let dim = &self.all[*c].dim;
                self.notes.push(format!(
                    "`{}` is {} long where its dimension `{}` is {}; another dimension is made up for it",
                    d.name, lens[i], dim.name, dim.len
                ));
            }
            let unlimited = max[i] == UNLIMITED;
            let same = |c: &Candidate| {
                c.dim.group == d.group && c.dim.len == lens[i] && c.dim.unlimited == unlimited
            };
            let found = (0..self.all.len()).find(|k| same(&self.all[*k]) && !out.contains(k));
            let made = found.unwrap_or_else(|| self.make_up(d.group, lens[i], unlimited));
            out.push(made);
        }
        out
    }

    fn make_up(&mut self, group: GroupId, len: u64, unlimited: bool) -> usize {
        let number = self.next;
        let mut name = format!("phony_dim_{number}");
        while self.all.iter().any(|c| c.dim.group == group && c.dim.name == name) {
            name.push('_');
        }
        self.next += 1;
        let dim = Dimension { name, group, len, unlimited };
        self.all.push(Candidate { dim, number, scale: None, bare: true });
        self.all.len() - 1
    }

    /// An unlimited dimension is as long as the longest of the variables that use it.
    fn lengths(&mut self, found: &Found, of: &[Option<Vec<usize>>]) {
        for c in &mut self.all {
            if c.dim.unlimited {
                c.dim.len = 0;
            }
        }
        for (d, dims) in found.datasets.iter().zip(of) {
            for (&i, &len) in dims.iter().flatten().zip(d.dataset.space.dims()) {
                let dim = &mut self.all[i].dim;
                if dim.unlimited {
                    dim.len = dim.len.max(len);
                }
            }
        }
    }
}

/// Groups so that each stands after all below it, siblings in order.
fn depth_last(tree: &[Group]) -> Vec<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.len()];
    for (i, g) in tree.iter().enumerate() {
        if let Some(p) = g.parent {
            children[p.0].push(i);
        }
    }
    let (mut out, mut todo) = (Vec::new(), vec![(0, false)]);
    while let Some((g, opened)) = todo.pop() {
        if opened {
            out.push(g);
        } else {
            todo.push((g, true));
            todo.extend(children[g].iter().rev().map(|&c| (c, false)));
        }
    }
    out
}

/// The scales attached to each dimension of a dataset of this rank (`DIMENSION_LIST`: rows of object references);
/// `None` if the list is damaged, or not such a list.
pub(crate) fn attached(file: &File, list: &Attribute, rank: usize) -> Option<Vec<Vec<u64>>> {
    let Class::Vlen { base } = &list.datatype.class else { return None };
    if base.class != Class::Reference(ReferenceKind::Object) || base.size == 0 {
        return None;
    }
    let unit = base.size as usize;
    let mut out = vec![Vec::new(); rank];
    for (slot, stored) in out.iter_mut().zip(list.data.chunks_exact(list.datatype.size as usize)) {
        let id = HeapId::parse(&mut file.source.cursor(stored, 0)).ok()?;
        let Some(address) = id.address.filter(|_| id.count > 0) else { continue };
        let collection = file.heap.collection(&file.source, address).ok()?;
        let row = collection.get(id.index)?;
        for one in row.chunks_exact(unit).take(id.count as usize) {
            slot.push(file.source.cursor(one, 0).address().ok()??);
        }
    }
    Some(out)
}
