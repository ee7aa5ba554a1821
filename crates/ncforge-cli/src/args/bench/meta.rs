//! `ncforge bench meta`

use std::num::NonZeroUsize;

use clap::Args;
use ncforge_bench::workload::io::{DriverAsk, format_name};

use super::{FolderArgs, LibraryArgs, OutputArgs, RoundsArgs};
use crate::args::GlobalArgs;

/// Make files of many variables, attributes, groups and dimensions, without values, and look through them.
///
/// What creating, defining, ending the definitions, opening, inquiring and closing take, by ncforge and by libraries. What all of them find
/// in their files, and in those of the others, must be the same.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct MetaArgs {
    /// Libraries: ncforge, libnetcdf (the system's), the path of one [default: ncforge]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) driver: Vec<DriverAsk>,
    #[command(flatten)]
    pub(crate) beside: LibraryArgs,
    /// Variables of each file, of two dimensions each
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) vars: u64,
    /// Attributes of each variable, and of the file
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) attrs: u64,
    /// Groups, among which the variables are dealt out (netCDF-4); 0: all in the root
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) groups: u64,
    /// Dimensions of each file
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) dims: u64,
    /// Files
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) files: u64,
    /// Format of the files: classic, cdf2, cdf5, netcdf4, netcdf4-classic
    #[arg(long, value_name = "FORMAT", default_value = "netcdf4", value_parser = format)]
    pub(crate) format: ncforge::Format,
    /// Measured repetitions
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) repetitions: NonZeroUsize,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Where the order of libraries starts
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage, 4 a library does not find in a file what was defined.

Examples:
  ncforge bench meta --library find
  ncforge bench meta --library find --vars 100 --attrs 5 --groups 10 --files 20";

fn format(text: &str) -> Result<ncforge::Format, String> {
    format_name::parse(text)
        .ok_or_else(|| format!("no format `{text}`: classic, cdf2, cdf5, netcdf4 or netcdf4-classic"))
}
