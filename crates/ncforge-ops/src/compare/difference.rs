//! The results of a comparison: differences, by kind, and how far apart numbers are.

use serde::Serialize;

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
    /// The kind of difference.
    pub kind: Kind,
    /// The object: `name`, `/group/name`, `name:attribute`, `:attribute`.
    pub path: String,
    /// The difference in words.
    pub what: String,
    /// The first file's text; `None` if it has nothing there.
    pub left: Option<String>,
    /// The second file's text.
    pub right: Option<String>,
    /// Index of the first differing element of a variable's values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<Vec<u64>>,
    /// The number of elements of a variable that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differing: Option<u64>,
    /// The number of values that were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The numbers of a variable that are farthest apart; where both are finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_absolute: Option<Largest>,
    /// The values that are farthest apart as a share of the larger one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_relative: Option<Largest>,
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

/// The difference of two numbers, and its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Largest {
    /// The difference.
    pub by: f64,
    /// Index of the element; of several, the first.
    pub index: Vec<u64>,
}

impl Largest {
    /// Puts `other` in the place of this where it is larger, or as large and before it.
    pub(super) fn take(own: &mut Option<Largest>, other: Option<Largest>) {
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

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// All differences, metadata first, then values in the order of the variables.
    pub differences: Vec<Difference>,
    /// Observations that are no differences.
    pub notes: Vec<String>,
    /// Objects that could not be compared, and why.
    pub not_compared: Vec<String>,
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
    /// Whether all was compared, and nothing differs.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && self.not_compared.is_empty()
    }

    /// Everything of `other` added to this.
    pub(crate) fn absorb(&mut self, other: Comparison) {
        self.differences.extend(other.differences);
        self.notes.extend(other.notes);
        self.not_compared.extend(other.not_compared);
        self.variables += other.variables;
        self.values = self.values.saturating_add(other.values);
        self.differing_values = self.differing_values.saturating_add(other.differing_values);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
