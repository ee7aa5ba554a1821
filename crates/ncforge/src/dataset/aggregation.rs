//! Aggregation variables (CF conventions 1.13, section 2.8): variables whose elements are those of fragments, most of them in other files.
//!
//! A file that has some is seen as the equivalent file without: an aggregation variable, which the file stores as a scalar, has the
//! aggregated dimensions; the variables that say where its fragments are, and their dimensions, are not seen. A fragment that is not
//! there reads as missing values; what is there and cannot be read, or converted without changing its meaning, is an error.
//!
//! Nothing but attributes is read when a file is opened. The sizes of fragments are read with the first question for a layout, their
//! names with the first read, and each fragment is opened when elements of it are read.

mod canonical;
mod fragments;
mod grid;
mod instructions;
mod location;
mod stored;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::options::Leads;
use crate::container::Container;
use crate::engine::Engine;
use crate::error::Result;
use crate::layout::{PartIndex as _, Place, VarLayout};
use crate::model::{DimId, Schema, Value, VarId};
use crate::store::ReadStore;

use fragments::Fragments;
use instructions::{Instructions, find};
use stored::Stored;

pub(super) use location::Base;

/// A file that has aggregation variables, as it is seen.
#[derive(Debug)]
struct Aggregated {
    file: Arc<Stored>,
    /// What is seen.
    schema: Schema,
    /// Aggregation variables, by their numbers here; or why one cannot be read.
    known: HashMap<usize, Result<Instructions, String>>,
    fragments: Arc<Fragments>,
    layouts: Vec<OnceLock<Arc<VarLayout>>>,
}

/// The view of a container, which is the container itself where it has no aggregation variable.
pub(super) fn view(
    inner: Box<dyn Container>,
    base: Option<Base>,
    engine: &Engine,
    leads: &Leads,
) -> Box<dyn Container> {
    let found = find(inner.schema());
    if found.is_empty() {
        return inner;
    }
    let all = inner.schema();
    let is_hidden = |v: &VarId| found.values().flatten().any(|i| i.others().contains(v));
    let (hidden, seen): (Vec<VarId>, Vec<VarId>) = all.var_ids().partition(is_hidden);
    let order: Vec<VarId> = seen.iter().chain(&hidden).copied().collect();
    let place = |v: VarId| VarId(order.iter().position(|o| *o == v).unwrap_or(v.0));
    let known: HashMap<usize, _> =
        found.into_iter().map(|(v, i)| (place(v).0, i.map(|i| i.renumbered(&place)))).collect();
    let mut schema = all.clone();
    schema.vars = order.iter().map(|v| all.var(*v).clone()).collect();
    let stored = Stored::new(inner, order, schema.clone(), engine.clone());
    let seen = seen_schema(schema, seen.len(), &known);
    let file = Arc::new(stored);
    let fragments = Arc::new(Fragments::new(&file, base, leads));
    let layouts = seen.vars.iter().map(|_| OnceLock::new()).collect();
    Box::new(Aggregated { file, schema: seen, known, fragments, layouts })
}

/// What is seen of a file: its first variables, aggregation variables with their dimensions.
fn seen_schema(
    mut schema: Schema,
    vars: usize,
    known: &HashMap<usize, Result<Instructions, String>>,
) -> Schema {
    let hidden: Vec<DimId> = schema.vars.drain(vars..).flat_map(|v| v.dims).collect();
    for (v, instructions) in known.iter().filter_map(|(v, i)| Some((*v, i.as_ref().ok()?))) {
        let var = &mut schema.vars[v];
        var.dims.clone_from(&instructions.dims);
        var.attrs.retain(|a| !instructions::ATTRIBUTES.contains(&a.name.as_str()));
    }
    let is_used = |d: &DimId| schema.vars.iter().any(|v| v.dims.contains(d) || is_coordinate(&schema, v, *d));
    let gone: Vec<DimId> = hidden.into_iter().filter(|d| !is_used(d)).collect();
    let kept: Vec<DimId> = (0..schema.dims.len()).map(DimId).filter(|d| !gone.contains(d)).collect();
    let new: HashMap<DimId, DimId> = kept.iter().enumerate().map(|(i, d)| (*d, DimId(i))).collect();
    schema.vars.iter_mut().flat_map(|v| &mut v.dims).for_each(|d| *d = new[&*d]);
    schema.dims = kept.iter().map(|d| schema.dim(*d).clone()).collect();
    schema
}

/// Whether a variable has the name of a dimension of its group.
fn is_coordinate(schema: &Schema, var: &crate::model::Variable, dim: DimId) -> bool {
    let dim = schema.dim(dim);
    (&dim.name, dim.group) == (&var.name, var.group)
}

impl Aggregated {
    fn make_layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let stored = self.file.layout(var)?;
        let Some(known) = self.known.get(&var.0) else { return Ok(stored) };
        let shape = self.schema.shape(var);
        let place = |place| Arc::new(VarLayout { place, shape: shape.clone(), ..(*stored).clone() });
        let instructions = match known {
            Ok(instructions) => instructions,
            Err(why) => return Ok(place(Place::Unsupported(why.clone()))),
        };
        let target = canonical::Target::of(&self.file.schema, var, &stored).in_file(&*self.file);
        let (element, absent) = (target.element.clone(), target.absent.clone());
        let parts = grid::Grid::new(&self.fragments, instructions, Arc::new(target), &shape)?;
        if instructions.leads_away() && !self.fragments.leads() {
            let names = parts.sources()?.iter().filter_map(|source| source.name()).collect();
            return Ok(place(Place::NotFollowed(self.fragments.not_followed(names))));
        }
        let place = Place::Parts(Arc::new(parts));
        Ok(Arc::new(VarLayout { name: stored.name.clone(), shape, element, absent, place }))
    }
}

impl Container for Aggregated {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.file.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let slot = &self.layouts[var.0];
        if let Some(layout) = slot.get() {
            return Ok(layout.clone());
        }
        // Reading needs the engine's threads, which may ask for the same layout: nobody waits for another one here.
        let layout = self.make_layout(var)?;
        Ok(slot.get_or_init(|| layout).clone())
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.file.decode_heap(var, stored)
    }

    fn notes(&self) -> Vec<String> {
        self.file.inner().notes()
    }

    fn note_of(&self, var: VarId) -> Option<String> {
        self.file.note_of(var)
    }

    fn missing_bytes(&self) -> u64 {
        self.file.inner().missing_bytes()
    }

    fn metadata_bytes(&self) -> Option<u64> {
        self.file.inner().metadata_bytes()
    }

    fn metadata_and_indexes(&self) -> Option<u64> {
        self.file.inner().metadata_and_indexes()
    }
}
