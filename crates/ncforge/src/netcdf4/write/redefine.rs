//! Changes of the description: what may change, and what follows from it.

use std::collections::{HashMap, HashSet};

use super::container::Netcdf4Writer;
use super::scales::check_links;
use super::state::VarState;
use super::values::Encoder;
use crate::error::{Error, Result};
use crate::hdf5::fill::FillKind;
use crate::model::{Atomic, DType, Fill, Format, GroupId, Schema, VarId};

/// Whether a schema is consistent, and what the format can hold.
pub(super) fn check_schema(s: &Schema) -> Result<()> {
    let broken = |what: String| Err(Error::Invalid(what));
    let groups = s.groups.len();
    if groups == 0 || s.groups[0].parent.is_some() {
        return broken("a schema without a root group".into());
    }
    for (i, g) in s.groups.iter().enumerate().skip(1) {
        if g.parent.is_none_or(|p| p.0 >= i) {
            return broken(format!("group `{}` stands before its parent", g.name));
        }
    }
    let mut names = HashSet::new();
    for d in &s.dims {
        if d.group.0 >= groups {
            return broken(format!("dimension `{}` is in no group", d.name));
        }
        if !names.insert((d.group, d.name.as_str())) {
            return broken(format!("two dimensions `{}` in one group", d.name));
        }
    }
    for (i, t) in s.types.iter().enumerate() {
        if t.group.0 >= groups || types_used(s, i).any(|u| u >= i) {
            return broken(format!("type `{}` stands before a type that it uses", t.name));
        }
    }
    for v in &s.vars {
        if v.group.0 >= groups || v.dims.iter().any(|d| d.0 >= s.dims.len()) {
            return broken(format!("variable `{}` names a group or dimension that is not there", v.name));
        }
        let attrs = v.attrs.iter().map(|a| a.dtype);
        if attrs.chain([v.dtype]).any(|t| matches!(t, DType::User(t) if t.0 >= s.types.len())) {
            return broken(format!("variable `{}` has a type that is not there", v.name));
        }
    }
    if s.groups
        .iter()
        .flat_map(|g| &g.attrs)
        .any(|a| matches!(a.dtype, DType::User(t) if t.0 >= s.types.len()))
    {
        return broken("a group's attribute has a type that is not there".into());
    }
    if s.format == Format::Netcdf4Classic { check_classic(s) } else { Ok(()) }
}

/// The types that a type is made of.
fn types_used(s: &Schema, t: usize) -> impl Iterator<Item = usize> + '_ {
    use crate::model::UserKind;
    let used: Vec<DType> = match &s.types[t].kind {
        UserKind::Compound { fields, .. } => fields.iter().map(|f| f.dtype).collect(),
        UserKind::Vlen { base } => vec![*base],
        UserKind::Enum { .. } | UserKind::Opaque { .. } => Vec::new(),
    };
    used.into_iter().filter_map(|d| match d {
        DType::User(u) => Some(u.0),
        _ => None,
    })
}

/// The classic model: one group, six types, one unlimited dimension.
fn check_classic(s: &Schema) -> Result<()> {
    let refuse = |what: String| Err(Error::NotRepresentable { format: "the netCDF-4 classic model", what });
    if s.groups.len() > 1 {
        return refuse(format!("group `{}`", s.groups[1].name));
    }
    if let Some(t) = s.types.first() {
        return refuse(format!("user-defined type `{}`", t.name));
    }
    let classic = |t: DType| matches!(t, DType::Atomic(a) if Atomic::in_classic(a));
    for (owner, attrs) in s
        .groups
        .iter()
        .map(|g| ("the file", &g.attrs))
        .chain(s.vars.iter().map(|v| (v.name.as_str(), &v.attrs)))
    {
        if let Some(a) = attrs.iter().find(|a| !classic(a.dtype)) {
            return refuse(format!("attribute `{}` of {owner} (type {})", a.name, s.type_name(a.dtype)));
        }
    }
    if let Some(v) = s.vars.iter().find(|v| !classic(v.dtype)) {
        return refuse(format!("variable `{}` (type {})", v.name, s.type_name(v.dtype)));
    }
    if let Some(d) = s.dims.iter().filter(|d| d.unlimited).nth(1) {
        return refuse(format!("a second unlimited dimension, `{}`", d.name));
    }
    Ok(())
}

/// What is left to do for a new variable: a string's fill value goes into the heap.
pub(super) fn new_state(w: &mut Netcdf4Writer, id: VarId) -> Result<()> {
    let var = w.schema.var(id);
    let state = &w.vars[id.0];
    if !state.element.heap || var.fill == Fill::None {
        return Ok(());
    }
    let Some(a) = var.attr("_FillValue").filter(|a| a.dtype == var.dtype && a.len(&w.schema) == 1) else {
        return Ok(());
    };
    let encoder = Encoder { schema: &w.schema, endian: var.endian };
    let blob = encoder.values(var.dtype, &state.stored, &a.values)?;
    let pattern = w.heap.store(blob, &mut w.space, &*w.store)?;
    let state = &mut w.vars[id.0];
    state.fill.value = FillKind::User(pattern.clone());
    if let super::state::PlaceState::Compact(bytes) = &mut state.place {
        *bytes = pattern.repeat(bytes.len() / pattern.len().max(1));
    }
    state.pattern = pattern;
    Ok(())
}

/// Takes over a new description.
pub(super) fn redefine(w: &mut Netcdf4Writer, mut new: Schema) -> Result<()> {
    let old = &w.schema;
    let refuse = |what: String| Err(Error::Invalid(format!("redefinition cannot {what}")));
    if new.format != old.format {
        return refuse(format!("turn {} into {}", old.format.kind(), new.format.kind()));
    }
    let shrinks = [
        (new.groups.len() < old.groups.len(), "groups"),
        (new.dims.len() < old.dims.len(), "dimensions"),
        (new.vars.len() < old.vars.len(), "variables"),
        (new.types.len() < old.types.len(), "types"),
    ];
    if let Some((_, what)) = shrinks.iter().find(|s| s.0) {
        return refuse(format!("remove {what}"));
    }
    check_schema(&new)?;
    for (a, b) in old.groups.iter().zip(&new.groups) {
        if a.parent != b.parent {
            return refuse(format!("move group `{}`", a.name));
        }
    }
    for (a, b) in old.dims.iter().zip(&new.dims) {
        if a.group != b.group
            || a.unlimited != b.unlimited
            || b.len < a.len
            || (b.len > a.len && !a.unlimited)
        {
            return refuse(format!("change dimension `{}` other than its name", a.name));
        }
    }
    for (a, b) in old.types.iter().zip(&new.types) {
        if a.group != b.group || a.kind != b.kind {
            return refuse(format!("change type `{}` other than its name", a.name));
        }
    }
    for (i, (a, b)) in old.vars.iter().zip(&new.vars).enumerate() {
        let same = a.group == b.group && a.dims == b.dims && a.dtype == b.dtype;
        if !same {
            return refuse(format!("change dimensions or type of `{}`", a.name));
        }
        let stored_same = a.storage == b.storage && a.endian == b.endian;
        if !stored_same && !w.vars[i].is_untouched() {
            return refuse(format!("change how `{}` is stored: it holds data", a.name));
        }
    }
    new.provenance.clone_from(&old.provenance);
    new.skipped.clone_from(&old.skipped);
    let old = std::mem::replace(&mut w.schema, new);
    match take_over(w, &old) {
        Ok(()) => {
            w.dirty = true;
            Ok(())
        }
        Err(e) => {
            w.schema = old;
            w.vars.truncate(w.schema.vars.len());
            Err(e)
        }
    }
}

fn take_over(w: &mut Netcdf4Writer, old: &Schema) -> Result<()> {
    check_links(&w.schema, &w.kept)?;
    let mut fresh = Vec::new();
    for id in w.schema.var_ids() {
        let var = w.schema.var(id);
        let known = old.vars.get(id.0);
        let rebuild = known.is_none_or(|o| {
            (o.storage != var.storage
                || o.endian != var.endian
                || o.fill != var.fill
                || o.attr("_FillValue") != var.attr("_FillValue"))
                && w.vars[id.0].is_untouched()
        });
        if rebuild {
            fresh.push((id, VarState::new(&w.schema, id)?));
        }
    }
    let groups = (0..old.groups.len()).map(GroupId);
    let renames: HashMap<String, String> = (0..old.vars.len())
        .map(VarId)
        .map(|v| (old.var_path(v), w.schema.var_path(v)))
        .chain(groups.map(|g| (old.group_path(g), w.schema.group_path(g))))
        .filter(|(a, b)| a != b)
        .collect();
    w.kept.rename(&renames);
    for (id, state) in fresh {
        if id.0 < w.vars.len() {
            w.vars[id.0] = state;
        } else {
            w.vars.push(state);
        }
        new_state(w, id)?;
    }
    Ok(())
}
