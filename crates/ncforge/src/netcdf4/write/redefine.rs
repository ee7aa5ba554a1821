//! Changes of the schema: which changes are possible, and their consequences.

use super::define::check_schema;
use super::scales::check_links;
use super::state::{PlaceState, VarState};
use super::values::Encoder;
use super::writer::Netcdf4Writer;
use crate::error::{Error, Result};
use crate::hdf5::fill::FillKind;
use crate::layout::Absent;
use crate::model::{Changes, DType, Fill, Schema, Value, Values, VarId};

/// Completes the state of a new variable: the fill value of strings and ragged rows is stored in the heap. Strings without a fill
/// value read as empty ones where none was written, as in files of netCDF-C: without an object they would be null pointers, on which programs crash.
pub(super) fn complete(
    w: &mut Netcdf4Writer,
    schema: &Schema,
    id: VarId,
    mut state: VarState,
) -> Result<VarState> {
    let var = schema.var(id);
    if !state.element.heap || var.fill == Fill::None {
        return Ok(state);
    }
    let empty = Values::Heap(vec![Value::String(Some(Vec::new()))]);
    let fill = match var.attr("_FillValue").filter(|a| a.dtype == var.dtype && a.len(schema) == 1) {
        Some(a) => &a.values,
        None if var.dtype == DType::String => &empty,
        None => return Ok(state),
    };
    let encoder = Encoder { schema, endian: var.endian };
    let blob = encoder.values(var.dtype, &state.stored, fill)?;
    let pattern = w.heap.store(blob, &mut w.space, &*w.store)?;
    state.fill.value = FillKind::User(pattern.clone());
    if let PlaceState::Compact(bytes) = &mut state.place {
        *bytes = pattern.repeat(bytes.len() / pattern.len().max(1));
    }
    state.absent = Absent::As(pattern);
    Ok(state)
}

/// Adopts a new schema.
pub(super) fn redefine(w: &mut Netcdf4Writer, mut new: Schema) -> Result<()> {
    let old = &w.schema;
    let refuse = |what: String| Err(Error::CannotRedefine(what));
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
    new.check_names(&old.names())?;
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
    for ((a, b), state) in old.vars.iter().zip(&mut new.vars).zip(&w.vars) {
        // HDF5 programs do not turn filling off: their datasets without a fill value are filled with zeros.
        let has_more = a.attr("_FillValue").is_none() && b.attr("_FillValue").is_some();
        // h5py ends with a segmentation fault when it reads the fill value of ragged rows.
        let is_plain = !matches!(b.dtype, DType::User(_));
        if has_more && is_plain && state.found.is_some() && state.is_untouched() && state.is_filled() {
            b.fill = Fill::Default;
        }
    }
    new.provenance.clone_from(&old.provenance);
    new.skipped.clone_from(&old.skipped);
    check_links(&new, &w.facts)?;
    let fresh = fresh(w, &new)?;
    w.schema = new;
    adopt(w, fresh);
    Ok(())
}

/// Takes over what is new or different in a schema: each part was checked when it was defined.
pub(super) fn redefine_parts(w: &mut Netcdf4Writer, new: &Schema, changes: &Changes) -> Result<()> {
    // Names that were invented for dimensions are one question about all of the file.
    if !w.facts.phony.is_empty() || changes.touch_storage(new, &w.schema) {
        return redefine(w, new.clone());
    }
    let ids = (w.schema.vars.len()..new.vars.len()).map(VarId);
    let fresh =
        ids.map(|id| Ok((id, complete(w, new, id, VarState::new(new, id)?)?))).collect::<Result<Vec<_>>>()?;
    changes.apply(new, &mut w.schema);
    adopt(w, fresh);
    Ok(())
}

/// The states of variables that are new in a schema, or without values and stored in another way.
fn fresh(w: &mut Netcdf4Writer, new: &Schema) -> Result<Vec<(VarId, VarState)>> {
    let mut fresh = Vec::new();
    for id in new.var_ids() {
        let var = new.var(id);
        let state = match w.schema.vars.get(id.0) {
            None => VarState::new(new, id)?,
            Some(before) => {
                let same = before.storage == var.storage
                    && before.endian == var.endian
                    && before.fill == var.fill
                    && before.attr("_FillValue") == var.attr("_FillValue");
                if same || !w.vars[id.0].is_untouched() {
                    continue;
                }
                w.vars[id.0].again(new, id, before)?
            }
        };
        fresh.push((id, complete(w, new, id, state)?));
    }
    Ok(fresh)
}

fn adopt(w: &mut Netcdf4Writer, fresh: Vec<(VarId, VarState)>) {
    for (id, state) in fresh {
        if id.0 < w.vars.len() {
            w.vars[id.0] = state;
        } else {
            w.vars.push(state);
        }
    }
    w.reshape();
}
