//! `ncforge bench rerun`

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::compare::Share;
use crate::args::GlobalArgs;

/// Run a saved benchmark again, and set the new result against the old one.
///
/// The same command line, so the same data, order and options; files are named as they were, so run it in the same folder.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct RerunArgs {
    /// The result, saved by --json=PATH
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// Exit code 3 when a row takes more time by this, beyond chance
    #[arg(long, value_name = "PERCENT")]
    pub(crate) fail_if_slower: Option<Share>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: those of the benchmark; 3 also when a row is slower than allowed.

Example:
  ncforge bench rerun io.json --json=again.json --fail-if-slower 10%";
