//! `ncforge bench selftest`

use std::path::PathBuf;

use clap::Args;

use crate::args::GlobalArgs;

/// Put known delays, known damage and a known neighbour in the benchmark's way, and see whether it finds them.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct SelftestArgs {
    /// Only these checks; the table names them
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Leave out what this check should find, so that it must fail
    #[arg(long, value_name = "CHECK")]
    pub(crate) leave_out: Option<String>,
    /// Folder for files of a few megabytes [default: the system's temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Every check, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 everything was found that can be tried here, 1 something was missed, 2 usage.

Examples:
  ncforge bench selftest
  ncforge bench selftest --only one-bit --leave-out one-bit     (fails: there is nothing to find)";
