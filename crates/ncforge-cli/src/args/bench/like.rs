//! `ncforge bench like`

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use crate::args::{GlobalArgs, Size};

/// Take the layout of a file, and measure writing it and the reads that you do.
///
/// The variable's values are stored as they are in the file, and in the chunks that ncforge would choose for these
/// reads; each is written, and read at random places, by every library. The file itself is only read.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct LikeArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The variable [default: the largest]
    #[arg(long, value_name = "NAME")]
    pub(crate) var: Option<String>,
    /// The reads, with weights: map, series, profile, box, full, or lengths of each axis
    #[arg(long = "for", value_name = "READS", default_value = "series,map")]
    pub(crate) reads: String,
    /// A netCDF-C library to measure as well (repeatable); `find` takes the system's
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,
    /// Take this much of a larger variable
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pub(crate) array_bytes: Size,
    /// Measured repetitions, each at other places
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) repetitions: NonZeroUsize,
    /// Repetitions before that which do not count
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) warmup: usize,
    /// Bring files out of the system's cache before every read
    #[arg(long)]
    pub(crate) cold: bool,
    /// Do not measure again what something else on the machine disturbed
    #[arg(long)]
    pub(crate) no_guard: bool,
    /// Where the sequence of places starts
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Folder for the files [default: the system's temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage, 4 the file cannot be read, or two ways gave different values.

Example:
  ncforge bench like sst.nc --for series=3,map --library find";
