//! `ncforge bench compare`

use std::path::PathBuf;

use clap::Args;

use crate::args::{GlobalArgs, WrittenArgs};

/// Set two saved results against one another, row by row.
///
/// Times are compared by their medians. A row has changed if the 95 % interval of its factor (bootstrap) excludes 1, and p (rank-sum test:
/// the probability that chance alone makes such a difference) is at most 0.05, which takes four repetitions. The reasons that a run gave to
/// doubt its own numbers are repeated.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct BenchCompareArgs {
    /// The result to compare with, saved by --json=PATH
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The result that is judged
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Exit code 3 when a row takes more time by this, beyond chance
    #[arg(long, value_name = "PERCENT")]
    pub(crate) fail_if_slower: Option<Share>,
    /// The table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 done, 3 a row is slower than allowed, 4 a result cannot be read.

Example:
  ncforge bench compare main.json branch.json --fail-if-slower 10%";

/// A share of the whole, written as a percentage: `10%` or `10`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim();
        match number.parse::<f64>() {
            Ok(p) if p.is_finite() && p >= 0.0 => Ok(Share(p / 100.0)),
            _ => Err(format!("`{text}` is no percentage, such as 10%")),
        }
    }
}
