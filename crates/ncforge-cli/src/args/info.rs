//! `ncforge info`

use std::path::PathBuf;

use clap::Args;

use super::GlobalArgs;

/// Show what is in a file and how it is stored.
///
/// Prints the header as CDL, as `ncdump -h` does, followed by a table of how each variable is stored: sizes
/// in memory and on disk, ratio, chunks, filters.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct InfoArgs {
    /// Files to look at
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Exactly what `ncdump -hs` prints: the header with storage as special attributes (_Storage, _ChunkSizes, …)
    #[arg(short = 's', long = "special")]
    pub(crate) special: bool,
    /// Exactly what `ncdump -h` prints: the header without storage
    #[arg(long, conflicts_with = "special")]
    pub(crate) header: bool,
    /// Only the table of storage, no header
    #[arg(long, conflicts_with_all = ["special", "header"])]
    pub(crate) storage: bool,
    /// Only the kind of file, as `ncdump -k` prints it
    #[arg(long, conflicts_with_all = ["special", "header", "storage"])]
    pub(crate) kind: bool,
    /// The name of the dataset in CDL [default: the file's name without its last extension]
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) name: Option<String>,
    /// Everything, as JSON
    #[arg(long, conflicts_with_all = ["special", "header", "storage", "kind"])]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge info sst.nc                 header and storage
  ncforge info -s sst.nc              as ncdump -hs
  ncforge info --json sst.nc | jq '.variables[].storage.ratio'";
