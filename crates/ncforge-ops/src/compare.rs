//! Whether two files say the same, and where they first differ.
//!
//! Compared: groups, dimensions (names, lengths, which are unlimited, order), user-defined types (by structure),
//! variables (types, dimensions, order), attributes (types, values, order) and every value. Values are compared
//! bit by bit, except that any NaN equals any NaN; a tolerance can be given.
//!
//! Not compared, because a copy changes it and no program reads other values for it: the format, the storage
//! (chunks, filters, byte order, fill mode), who wrote the file. And unless [`CompareOptions::strict`] asks for
//! it, the global attribute `history` may differ in lines that were put in front: when one file's text ends with
//! the other's, or both end with the same oldest line, that is reported as a note, not as a difference. (A file
//! without `history` counts as one with an empty text; lines that a copy of this library made do not count.)
//!
//! Memory stays within the engine's budget whatever the size of the files.

mod attrs;
mod request;
mod schema;
mod types;
mod values;

use serde::Serialize;

use crate::progress::{Progress, check_stop};
use ncforge::model::{Schema, Skipped, VarId};
use ncforge::{Dataset, Error, Result};

pub use request::CompareRequest;
pub(crate) use schema::compare_schemas;
pub(crate) use values::{How, compare_values, work_bytes};

/// What to compare, and how strictly.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Numbers are the same when they are no further apart than this.
    pub tolerance: Option<f64>,
    /// Whether a `history` that has grown is a difference, too.
    pub strict: bool,
    /// Only these variables (paths, as in both files) and the dimensions that they use; global attributes and
    /// other variables are then not compared. `None`: everything.
    pub vars: Option<Vec<String>>,
}

impl CompareOptions {
    /// An error where an option makes no sense, whatever is compared.
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
    /// [`Error::Invalid`].
    pub fn check(&self) -> Result<()> {
        match self.tolerance {
            Some(t) if t.is_nan() || t < 0.0 => {
                Err(Error::Invalid("a tolerance is a number of at least 0, such as 1e-6".into()))
            }
            _ => Ok(()),
        }
    }
}

/// The kinds of differences, roughly in the order in which they matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A group, dimension, type, variable or attribute that one file does not have.
    Missing,
    /// Objects of the same names in another order.
    Order,
    /// A dimension's length, or whether it is unlimited; the dimensions of a variable.
    Dimension,
    /// A variable's, an attribute's or a user-defined type.
    Type,
    /// An attribute's values.
    Attribute,
    /// A variable's values.
    Values,
    /// A variable's values that one of the files does not give.
    Unreadable,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What kind it is.
    pub kind: Kind,
    /// The object: `name`, `/group/name`, `name:attribute`, `:attribute`.
    pub path: String,
    /// What differs, in words.
    pub what: String,
    /// What the first file has, as text; `None` if it has nothing there.
    pub left: Option<String>,
    /// What the second file has.
    pub right: Option<String>,
    /// Index of the first differing element of a variable's values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<Vec<u64>>,
    /// How many elements of a variable differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differing: Option<u64>,
    /// Of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Of the numbers of a variable that differ, those that are farthest apart; where both are finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_absolute: Option<Largest>,
    /// Those that are farthest apart as a share of the larger one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_relative: Option<Largest>,
}

/// How far apart two numbers are, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Largest {
    /// How far.
    pub by: f64,
    /// Index of the element; of several, the first.
    pub index: Vec<u64>,
}

impl Largest {
    /// Puts `other` in the place of this where it is larger, or as large and before it.
    fn take(own: &mut Option<Largest>, other: Option<Largest>) {
        let Some(other) = other else { return };
        let wins = |own: &Largest| other.by > own.by || (other.by == own.by && other.index < own.index);
        if own.as_ref().is_none_or(wins) {
            *own = Some(other);
        }
    }
}

impl std::fmt::Display for Largest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = if self.by == 0.0 || (1e-3..1e6).contains(&self.by) {
            format!("{:.4}", self.by).trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            format!("{:.3e}", self.by)
        };
        f.write_str(&digits)?;
        if !self.index.is_empty() {
            write!(f, " at {:?}", self.index)?;
        }
        Ok(())
    }
}

impl Difference {
    pub(crate) fn new(kind: Kind, path: impl Into<String>, what: impl Into<String>) -> Self {
        Difference {
            kind,
            path: path.into(),
            what: what.into(),
            left: None,
            right: None,
            index: None,
            differing: None,
            of: None,
            largest_absolute: None,
            largest_relative: None,
        }
    }

    pub(crate) fn sides(mut self, left: impl Into<Option<String>>, right: impl Into<Option<String>>) -> Self {
        self.left = left.into();
        self.right = right.into();
        self
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)?;
        if let Some(index) = &self.index {
            let at: Vec<String> = index.iter().map(u64::to_string).collect();
            write!(f, ", first at [{}]", at.join(", "))?;
        }
        match (&self.left, &self.right) {
            (Some(a), Some(b)) => write!(f, ": {a} | {b}")?,
            (Some(a), None) => write!(f, ": {a} | nothing")?,
            (None, Some(b)) => write!(f, ": nothing | {b}")?,
            (None, None) => {}
        }
        if let Some(largest) = &self.largest_absolute {
            write!(f, "; largest difference {largest}")?;
        }
        if let Some(largest) = &self.largest_relative {
            write!(f, ", relative {largest}")?;
        }
        Ok(())
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// All differences, metadata first, then values in the order of the variables.
    pub differences: Vec<Difference>,
    /// What was seen and is not a difference.
    pub notes: Vec<String>,
    /// Variables whose values were compared.
    pub variables: u64,
    /// Values compared.
    pub values: u64,
    /// Values that differ.
    pub differing_values: u64,
    /// Bytes of values compared (of one file).
    pub bytes: u64,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Everything of `other` added to this.
    pub(crate) fn absorb(&mut self, other: Comparison) {
        self.differences.extend(other.differences);
        self.notes.extend(other.notes);
        self.variables += other.variables;
        self.values = self.values.saturating_add(other.values);
        self.differing_values = self.differing_values.saturating_add(other.differing_values);
        self.bytes = self.bytes.saturating_add(other.bytes);
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
    let (a, b) = (left.schema(), right.schema());
    let damaged = |d: &Dataset| match d.schema().skipped.iter().find(|s| s.is_damaged()) {
        Some(s) => Err(s.error(&d.path().display().to_string())),
        None => Ok(()),
    };
    let pairs = match &options.vars {
        None => {
            damaged(left)?;
            damaged(right)?;
            same_paths(a, b)
        }
        Some(names) => named(left, right, names)?,
    };
    let mut out = match &options.vars {
        None => compare_schemas(a, b, options.strict),
        Some(_) => schema::compare_variables(a, b, &pairs),
    };
    for (schema, which) in [(a, "first"), (b, "second")] {
        let note = |s: &Skipped| format!("`{}` of the {which} file cannot be compared: {}", s.path, s.why);
        out.notes.extend(schema.skipped.iter().map(note));
    }
    // Each of several variables may be as large as numbers go.
    let work = pairs.iter().map(|&(v, _)| work_bytes(a, v)).fold(0, u64::saturating_add);
    progress.begin("compare", work);
    // The engine keeps to its budget; boxes come on top. A part of it is left for the other file's own.
    let how = How { tolerance: options.tolerance, box_bytes: left.engine().memory() / 6, progress };
    for (va, vb) in pairs {
        check_stop(progress, "comparison")?;
        progress.item(&a.var_path(va));
        out.absorb(compare_values(left, va, right, vb, how)?);
    }
    Ok(out)
}

fn same_paths(a: &Schema, b: &Schema) -> Vec<(VarId, VarId)> {
    let theirs: std::collections::HashMap<String, VarId> = b.var_ids().map(|v| (b.var_path(v), v)).collect();
    a.var_ids().filter_map(|v| Some((v, *theirs.get(&a.var_path(v))?))).collect()
}

fn named(left: &Dataset, right: &Dataset, names: &[String]) -> Result<Vec<(VarId, VarId)>> {
    names.iter().map(|n| Ok((left.var(n)?, right.var(n)?))).collect()
}
