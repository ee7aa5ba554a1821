//! Whether two files say the same, and where they first differ.
//!
//! Compared: groups, dimensions (names, lengths, which are unlimited, order), user-defined types (by structure),
//! variables (types, dimensions, order), attributes (types, values, order) and every value. Values are compared
//! bit by bit, except that any NaN equals any NaN; a tolerance can be given.
//!
//! Not compared, because a copy changes it and no program reads other values for it: the format, the storage
//! (chunks, filters, byte order, fill mode), who wrote the file. And unless [`CompareOptions::strict`] asks for
//! it, two things that a copy changes are notes, not differences:
//!
//! * The global attribute `history` may differ in lines that were put in front: when one file's text ends with
//!   the other's, or both end with the same oldest line. (A file without `history` counts as one with an empty
//!   text; lines that a copy of this library made do not count.)
//! * A type that the other file's format lacks may be the one that a copy into that format makes of it, if that
//!   holds all values; so may that of a `_FillValue`, if it was not its variable's.
//!
//! Memory stays within the engine's budget whatever the size of the files.

mod attrs;
mod difference;
mod request;
mod schema;
mod types;
mod values;

use std::collections::{BTreeSet, HashSet};

use crate::boxes::work_bytes;
use crate::intact::check_undamaged;
use crate::progress::{Progress, Silent, check_stop};
use crate::select::Selection;
use ncforge::model::agreement::{Offsets, same_type};
use ncforge::model::{DimId, Schema, Skipped, VarId};
use ncforge::raw::{Remark, remarks};
use ncforge::{Dataset, Error, Result};

pub use difference::{Comparison, Difference, Kind, Largest};
pub use request::CompareRequest;
pub(crate) use schema::compare_schemas;
pub(crate) use values::{How, compare_values};

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Numbers are the same when they are no further apart than this.
    pub tolerance: Option<f64>,
    /// Whether what a copy changes is a difference, too: a `history` that has grown, a type that the other file's format lacks, that of
    /// a `_FillValue`.
    pub strict: bool,
    /// Only these variables (paths, as in both files) and the dimensions that they use; global attributes and
    /// other variables are then not compared. `None`: everything.
    pub vars: Option<Vec<String>>,
    /// Only these indices along dimensions, of each file by its own coordinates; of the second one all along dimensions along which it
    /// holds what is selected of the first: a part that a copy made.
    pub select: Selection,
}

impl CompareOptions {
    /// An error where an option is wrong, whatever is compared.
    ///
    /// ```
    /// use ncforge_ops::compare::CompareOptions;
    ///
    /// let within = |t| CompareOptions { tolerance: Some(t), ..CompareOptions::default() };
    /// assert!(within(1e-6).check().is_ok());
    /// assert!(within(-1.0).check().is_err() && within(f64::NAN).check().is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn check(&self) -> Result<()> {
        match self.tolerance {
            Some(t) if t.is_nan() || t < 0.0 => {
                Err(Error::bad_option("tolerance", "a tolerance is a number of at least 0, such as 1e-6"))
            }
            _ => Ok(()),
        }
    }
}

/// Compares two files, using the first one's engine for the budget.
pub fn compare(
    left: &Dataset,
    right: &Dataset,
    options: &CompareOptions,
    progress: &dyn Progress,
) -> Result<Comparison> {
    options.check()?;
    if options.vars.is_none() {
        check_undamaged(left)?;
        check_undamaged(right)?;
    }
    let one = selected(left, options, |_| Ok(true))?;
    let pairs = match &options.vars {
        None => same_paths(left.schema(), right.schema()),
        Some(names) => named(left, right, names)?,
    };
    let held = |one: &Dataset, other: &Dataset| match options.strict {
        true => (one.clone(), other.clone(), Vec::new()),
        false => types::in_both_formats((one, other), &pairs, options.vars.is_none()),
    };
    // Along dimensions of a part that a copy made, nothing is left to select.
    let other = selected(right, options, |dim| {
        let (part, file, _) = held(&one, right);
        Ok(!is_part(left, &part, &file, dim)?)
    })?;
    let (one, other, of_types) = held(&one, &other);
    let (a, b) = (one.schema(), other.schema());
    let mut out = match &options.vars {
        None => compare_schemas(a, b, options.strict),
        Some(_) => schema::compare_variables(a, b, &pairs),
    };
    for (schema, which) in [(a, "first"), (b, "second")] {
        let note = |s: &Skipped| format!("`{}` of the {which} file cannot be compared: {}", s.path, s.why);
        out.not_compared.extend(schema.skipped.iter().map(note));
    }
    for (data, which) in [(left, "first"), (right, "second")] {
        let missing = data.container().missing_bytes();
        if missing > 0 {
            let what = "its last values are read as zeros";
            out.not_compared
                .push(format!("{missing} bytes are missing at the end of the {which} file: {what}"));
        }
    }
    out.notes.extend(of_types);
    out.notes.extend(absences(left, pairs.iter().map(|p| a.var_path(p.0)), "first"));
    out.notes.extend(absences(right, pairs.iter().map(|p| b.var_path(p.1)), "second"));
    // Each of several variables may be as large as numbers go.
    let work = pairs.iter().map(|&(v, _)| work_bytes(a, v)).fold(0, u64::saturating_add);
    progress.begin("compare", work);
    // The engine keeps to its budget; boxes come on top. A part of it is left for the other file's own.
    let how = How { tolerance: options.tolerance, box_bytes: left.engine().memory() / 6, progress };
    for (va, vb) in pairs {
        check_stop(progress, "comparison")?;
        progress.item(&a.var_path(va));
        out.absorb(compare_values(&one, va, &other, vb, how)?);
    }
    Ok(out)
}

/// Notes on the sources of variables that are not there.
fn absences(file: &Dataset, of: impl Iterator<Item = String>, which: &str) -> Vec<String> {
    let compared: HashSet<String> = of.collect();
    let is_compared = |r: &Remark| r.variable.as_ref().is_some_and(|path| compared.contains(path));
    let found = remarks(file.container()).into_iter().filter(|r| r.is_absence() && is_compared(r));
    found.map(|r| format!("of the {which} file, {r}")).collect()
}

/// Whether a file holds along a dimension what was selected of the first one: as many indices; where these are all, with the values of the
/// coordinate in the order in which they were selected.
fn is_part(whole: &Dataset, part: &Dataset, file: &Dataset, dim: DimId) -> Result<bool> {
    let (a, b) = (part.schema(), file.schema());
    let own = b.dim(dim);
    let Some(same) = a.find_group(&b.group_path(own.group)).and_then(|g| a.find_dim(g, &own.name)) else {
        return Ok(false);
    };
    if a.dim(same).len != own.len || whole.schema().dim(same).len != own.len {
        return Ok(a.dim(same).len == own.len);
    }
    let coordinate =
        |s: &Schema, d: DimId| s.vars_in(s.dim(d).group).find(|v| s.coordinate_dim(*v) == Some(d));
    let (Some(v), Some(w)) = (coordinate(a, same), coordinate(b, dim)) else { return Ok(false) };
    let how = How { tolerance: None, box_bytes: whole.engine().memory() / 6, progress: &Silent };
    Ok(same_type((a, a.var(v).dtype), (b, b.var(w).dtype), Offsets::MayDiffer)
        && compare_values(part, v, file, w, how)?.is_same())
}

/// The part of a file that is compared, with a selection along the dimensions that are `wanted`.
fn selected(
    file: &Dataset,
    options: &CompareOptions,
    wanted: impl Fn(DimId) -> Result<bool>,
) -> Result<Dataset> {
    let of = |names: &Vec<String>| -> Result<BTreeSet<DimId>> {
        let mut dims = BTreeSet::new();
        for name in names {
            dims.extend(&file.schema().var(file.var(name)?).dims);
        }
        Ok(dims)
    };
    let used = options.vars.as_ref().map(of).transpose()?;
    let part = options.select.of_where(file, used.as_ref(), wanted)?;
    Ok(part.map_or_else(|| file.clone(), |part| part.view(file)))
}

fn same_paths(a: &Schema, b: &Schema) -> Vec<(VarId, VarId)> {
    let theirs: std::collections::HashMap<String, VarId> = b.var_ids().map(|v| (b.var_path(v), v)).collect();
    a.var_ids().filter_map(|v| Some((v, *theirs.get(&a.var_path(v))?))).collect()
}

fn named(left: &Dataset, right: &Dataset, names: &[String]) -> Result<Vec<(VarId, VarId)>> {
    names.iter().map(|n| Ok((left.var(n)?, right.var(n)?))).collect()
}
