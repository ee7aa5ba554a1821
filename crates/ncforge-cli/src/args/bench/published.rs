//! `ncforge bench published`

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use crate::args::GlobalArgs;

/// Make measurements again that others have published, next to their figures.
///
/// Chunk shapes and caches (Unidata's AR-5 studies), floats in portable formats (a Cray in 1993), tiles put together
/// (NOCSCOMBINE on HECToR), blocks by ranks (NetCDF-Bench), records in compressed files. Each is a run of this program; the
/// report has its command line.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct PublishedArgs {
    /// Few shapes and repetitions, and parts of the data: less than five minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these, by their names, as unidata-2013,cray-1993
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// A netCDF-C library to measure as well, by its path (repeatable); `netcdf-c` is the system's [default: the system's, if there is one]
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<String>,
    /// Folder for the files, up to 2 GB [default: the system's temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Say which runs these are, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
The page is written to ncforge-published.html, unless --html names another file.

Exit codes: 0 done; else that of the first run that was not.

Examples:
  ncforge bench published --quick
  ncforge bench published --only unidata-2013,netcdf-bench --json=published.json";
