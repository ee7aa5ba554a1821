//! A file into which tiles are put: what stands in it stays where no tile is.
//!
//! The file must be a whole that such tiles make: every variable of it in the tiles too, of the same type, along the
//! same dimensions, of the same lengths. Only records may be more in one than in the other. The new file replaces it, so
//! what would not be in that one is an error: what cannot be read, and groups, dimensions and types that the tiles lack.

use std::path::Path;

use super::super::scheme::{Scheme, may_differ};
use super::attrs::compare_attributes;
use super::facts::DimKind;
use super::types::{attributes_in, same_type, type_in};
use crate::copy::Names;
use crate::intact::{check_undamaged, check_whole};
use crate::unlike::{Unlike, compare_global_attributes};
use ncforge::model::{DType, DimId, Format, GroupId, Schema, TypeId, VarId};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Error, Result};

/// The file, and which of its variables each of the whole's is.
#[derive(Debug)]
pub(crate) struct Existing {
    dataset: Dataset,
    vars: Vec<Option<VarId>>,
}

impl Existing {
    /// Opens it, checks that it goes with the tiles, and makes the whole as long as the longer of both. Also gives the attributes
    /// of the tiles that it has not, or otherwise.
    pub(super) fn open(
        path: &Path,
        whole: &mut Schema,
        kinds: &[DimKind],
        scheme: &dyn Scheme,
        only: Option<&Names>,
        engine: &Engine,
    ) -> Result<(Existing, Vec<Unlike>)> {
        let dataset = Dataset::open_with(path, engine)?;
        let own = dataset.schema();
        let wrong =
            |what: String| Error::Tiles(format!("the tiles do not fit into `{}`: {what}", shown_path(path)));
        check_whole(&dataset)?;
        check_undamaged(&dataset)?;
        if let Some(what) = only_there(own, whole) {
            return Err(wrong(format!(
                "they have no {what}: the new file would lack it; combine them into another file"
            )));
        }
        if let Some(foreign) = own.skipped.first() {
            return Err(wrong(format!(
                "the new file would lack `{}` of it ({}); combine them into another file",
                foreign.path, foreign.why
            )));
        }
        let mut vars = vec![None; whole.vars.len()];
        for v in own.var_ids() {
            let name = own.var_path(v);
            if !is_chosen(only, own, v) {
                return Err(wrong(format!(
                    "the new file would lack `{name}`, which was not chosen; choose it, or combine them into another \
                     file"
                )));
            }
            let to = whole.find_var(&name).ok_or_else(|| wrong(format!("they have no variable `{name}`")))?;
            let (a, b) = (own.var(v), whole.var(to));
            if !same_type((own, a.dtype), (whole, b.dtype)) || a.dims.len() != b.dims.len() {
                return Err(wrong(format!("`{name}` is of another type or rank there")));
            }
            for (x, y) in a.dims.clone().iter().zip(b.dims.clone()) {
                let (theirs, ours) = (own.dim(*x), &mut whole.dims[y.0]);
                let grows = ours.unlimited && kinds[y.0] == DimKind::Whole;
                if theirs.name != ours.name || (theirs.len != ours.len && !grows) {
                    return Err(wrong(format!(
                        "`{name}` has {} points along `{}` there, the tiles make {} along `{}`",
                        theirs.len, theirs.name, ours.len, ours.name
                    )));
                }
                ours.len = ours.len.max(theirs.len);
            }
            vars[to.0] = Some(v);
        }
        let conflicts = compare_attributes(own, whole, false, |v| is_chosen(only, own, v));
        if let Some(unlike) = conflicts.refused(false) {
            return Err(wrong(unlike.values("the output", "the tiles")));
        }
        let mut unlike = compare_global_attributes(own, whole, |name| may_differ(scheme, whole, name));
        unlike.extend(conflicts.others);
        for (v, range) in &conflicts.ranges {
            unlike.push(Unlike::of_var((own, *v), &range.name, (whole, Some(range))));
        }
        // Additional attributes of the existing file are not lost.
        unlike.retain(|one| one.other.is_some());
        take_attributes(own, whole, &vars)
            .map_err(|attr| wrong(format!("the attribute `{attr}` is of a type that they lack")))?;
        Ok((Existing { dataset, vars }, unlike))
    }

    pub(crate) fn path(&self) -> &Path {
        self.dataset.path()
    }

    pub(crate) fn format(&self) -> Format {
        self.dataset.schema().format
    }

    /// The file and its variable.
    pub(super) fn var(&self, v: VarId) -> Option<(&Dataset, VarId)> {
        self.vars[v.0].map(|own| (&self.dataset, own))
    }
}

/// Whether a choice of variables has one of the file; none has all.
pub(super) fn is_chosen(only: Option<&Names>, own: &Schema, v: VarId) -> bool {
    only.is_none_or(|only| only.has(own, v))
}

/// The first group, type or dimension of the file that the tiles lack.
fn only_there(own: &Schema, whole: &Schema) -> Option<String> {
    let group_of = |g: GroupId| whole.find_group(&own.group_path(g));
    if let Some(g) = (0..own.groups.len()).map(GroupId).find(|&g| group_of(g).is_none()) {
        return Some(format!("group `{}`", own.group_path(g)));
    }
    if let Some(t) = (0..own.types.len()).map(TypeId).find(|&t| type_in(whole, (own, t)).is_none()) {
        return Some(format!("type `{}` with these members or fields", own.type_name(DType::User(t))));
    }
    let has = |d: DimId| {
        let own = own.dim(d);
        group_of(own.group).is_some_and(|g| whole.dims_in(g).any(|w| whole.dim(w).name == own.name))
    };
    let other = (0..own.dims.len()).map(DimId).find(|&d| !has(d))?;
    Some(format!("dimension `{}`", own.dim(other).name))
}

/// Keeps the file's own attributes. The error is the name of an attribute whose type the tiles lack.
fn take_attributes(
    own: &Schema,
    whole: &mut Schema,
    vars: &[Option<VarId>],
) -> std::result::Result<(), String> {
    for g in (0..own.groups.len()).map(GroupId) {
        let attrs = attributes_in(whole, (own, &own.group(g).attrs))?;
        if let Some(to) = whole.find_group(&own.group_path(g)) {
            whole.groups[to.0].attrs = attrs;
        }
    }
    for (v, theirs) in vars.iter().enumerate() {
        if let Some(theirs) = theirs {
            whole.vars[v].attrs = attributes_in(whole, (own, &own.var(*theirs).attrs))?;
        }
    }
    Ok(())
}
