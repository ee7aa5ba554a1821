//! Options of making series.

use super::super::concat::ConcatOptions;
use super::pattern::NamePattern;

/// Options of making series.
#[derive(Clone, Debug, Default)]
pub struct SeriesOptions {
    /// How files are joined and copied. Its `only` names the variables that get files of their own.
    pub join: ConcatOptions,
    /// The names of outputs.
    pub name: NamePattern,
    /// The calendar years in one output. `None`: all.
    pub years: Option<u32>,
    /// Whether outputs of an earlier run grow by the steps behind their last one.
    pub append: bool,
    /// Whether the others go on where a file cannot be read, or the files of a stream do not go together.
    pub keep_going: bool,
}
