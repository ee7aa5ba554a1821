//! `ncforge bench like`

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::{FolderArgs, LibraryArgs, OutputArgs, RoundsArgs};
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
    #[command(flatten)]
    pub(crate) beside: LibraryArgs,
    /// Take this much of a larger variable
    #[arg(long, value_name = "SIZE", default_value = "256M")]
    pub(crate) array_bytes: Size,
    /// Bring files out of the system's cache before every read
    #[arg(long)]
    pub(crate) cold: bool,
    /// Measured repetitions, each at other places
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) repetitions: NonZeroUsize,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Where the sequence of places starts
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
Exit codes: 0 done, 1 failed, 2 usage, 4 the file cannot be read, or two ways gave different values.

Example:
  ncforge bench like sst.nc --for series=3,map --library find";
