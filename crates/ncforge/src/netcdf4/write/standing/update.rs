//! Bringing the metadata of the place that is not committed up to date with the writer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::image::{Builder, Ids};
use super::super::pieces::Pieces;
use super::super::scales::Scales;
use super::super::space::Extent;
use super::super::state::VarState;
use super::super::writer::Netcdf4Writer;
use super::{Part, Place, Standing, Tree};
use crate::error::Result;
use crate::hdf5::emit::{Assembly, ObjectId};
use crate::hdf5::fill::FillKind;
use crate::model::{DimId, Schema};

impl Standing {
    /// After the metadata were committed in `current`; `other` is a place that was committed before.
    pub(in super::super) fn new(
        w: &Netcdf4Writer,
        assembly: Assembly,
        ids: Ids,
        current: Extent,
        other: Extent,
    ) -> Self {
        let place = |extent: Extent, stale| {
            let at = assembly.addresses(extent.offset);
            Place { extent, at, trees: BTreeMap::new(), stale }
        };
        let (current, other) = (place(current, Some(BTreeSet::new())), place(other, None));
        let followers = followers(&w.schema, &Scales::of(&w.schema, w.facts.phony(&w.schema)), &w.vars);
        Standing { assembly, ids, followers, current, other }
    }

    /// Describes anew what changed; `None` if a header is not as long as before.
    fn refresh(&mut self, w: &Netcdf4Writer) -> Result<Option<BTreeSet<ObjectId>>> {
        let grown = w.grown.iter().filter_map(|d| self.followers.get(d)).flatten().copied();
        let parts: BTreeSet<Part> = w.touched.iter().map(|v| Part::Var(*v)).chain(grown).collect();
        let builder = Builder { schema: &w.schema, vars: &w.vars, facts: &w.facts, planned: None };
        for &part in &parts {
            let object = self.object(part);
            match part {
                Part::Var(v) => self.assembly.set_dataset(object, builder.dataset(v)),
                Part::Dim(d) => {
                    let (dataset, name) = builder.length(d)?;
                    self.assembly.set_dataset(object, dataset);
                    self.assembly.set_attribute(object, name);
                }
            }
            if self.assembly.pieces(object, &self.other.at)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(parts.into_iter().map(|part| self.object(part)).collect()))
    }

    /// Brings the other place up to date; returns where its root group is. `None` if it has to be made anew.
    pub(in super::super) fn write(&mut self, w: &mut Netcdf4Writer) -> Result<Option<u64>> {
        let Some(changed) = self.refresh(w)? else { return Ok(None) };
        let place = &mut self.other;
        if place.stale.is_none() && place.extent.len < self.assembly.size() {
            let extent = w.metadata_space(self.assembly.size())?;
            w.space.give_back(std::mem::replace(&mut place.extent, extent));
            place.at = self.assembly.addresses(extent.offset);
        }
        // Until all of it is written, it is not what it was either.
        let (whole, objects) = match &mut place.stale {
            None => (true, self.assembly.objects().collect()),
            Some(stale) => {
                stale.extend(&changed);
                (false, stale.clone())
            }
        };
        if let Some(stale) = &mut self.current.stale {
            stale.extend(changed);
        }
        for &id in &objects {
            write_tree(&self.assembly, place, id, w)?;
        }
        if whole {
            let mut out = Pieces::new(&*w.store, place.extent.offset);
            self.assembly.write_headers(&place.at, &mut |bytes| out.put(bytes))?;
            out.finish()?;
        } else {
            for &id in &objects {
                for (at, bytes) in self.assembly.pieces(id, &place.at)?.unwrap_or_default() {
                    w.store.write_at(&bytes, at)?;
                }
            }
        }
        Ok(Some(place.at.object(ObjectId(0))))
    }
}

/// Writes those nodes of a chunk index that are not in a place yet.
fn write_tree(assembly: &Assembly, place: &mut Place, id: ObjectId, w: &mut Netcdf4Writer) -> Result<()> {
    let Some((size, planned)) = assembly.tree_sizes(id) else { return Ok(()) };
    let tree = place.trees.entry(id).or_default();
    if tree.moved.map_or(planned, |e| e.len) < size {
        let len = size + size / 4;
        let moved = Extent { offset: w.take(len, 8)?, len };
        place.at.move_tree(id, moved.offset);
        if let Some(old) = std::mem::replace(tree, Tree { moved: Some(moved), nodes: Vec::new() }).moved {
            w.space.give_back(old);
        }
    }
    let (mut at, mut node) = (place.at.tree(id), 0);
    assembly.write_tree(id, at, &mut |bytes| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        if tree.nodes.get(node) != Some(&hash) {
            w.store.write_at(bytes, at)?;
            match tree.nodes.get_mut(node) {
                Some(old) => *old = hash,
                None => tree.nodes.push(hash),
            }
        }
        (at, node) = (at + bytes.len() as u64, node + 1);
        Ok(())
    })?;
    tree.nodes.truncate(node);
    Ok(())
}

/// The objects whose headers say how long an unlimited dimension is, and those that must not be shorter.
fn followers(schema: &Schema, scales: &Scales, vars: &[VarState]) -> HashMap<DimId, Vec<Part>> {
    let mut all: HashMap<DimId, Vec<Part>> = HashMap::new();
    for (i, _) in schema.dims.iter().enumerate().filter(|(_, d)| d.unlimited) {
        let d = DimId(i);
        let own = scales.coordinate[i].map_or(Part::Dim(d), Part::Var);
        all.insert(d, if scales.phony.contains(&d) { Vec::new() } else { vec![own] });
    }
    for (v, state) in schema.var_ids().zip(vars) {
        let is_alike = matches!(state.fill.value, FillKind::User(_)) && !state.element.heap;
        if is_alike && state.found.is_none() {
            continue;
        }
        for d in &schema.var(v).dims {
            if let Some(parts) = all.get_mut(d) {
                parts.push(Part::Var(v));
            }
        }
    }
    all
}

impl Netcdf4Writer {
    /// The metadata will be of another shape: they are written in one place again.
    pub(in super::super) fn reshape(&mut self) {
        self.dirty = true;
        self.is_steady = false;
        let Some(standing) = self.standing.take() else { return };
        for extent in standing.other.extents() {
            self.space.give_back(extent);
        }
        for tree in standing.current.trees.values().filter_map(|t| t.moved) {
            self.space.release(tree);
        }
    }
}
