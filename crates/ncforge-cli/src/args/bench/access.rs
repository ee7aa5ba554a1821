//! `ncforge bench access`

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputArgs;
use crate::args::GlobalArgs;

/// Time the reads that people do: a map, a series, everything.
///
/// Several files are read in turn, at the same positions, and their values compared: so a file can be measured
/// before and after a copy.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct AccessArgs {
    /// Files to read
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The variable [default: the largest of the first file]
    #[arg(long, value_name = "NAME")]
    pub(crate) var: Option<String>,
    /// The reads
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B", default_value = "map,series,full")]
    pub(crate) patterns: Vec<PatternArg>,
    /// How often each is repeated, every time at another place
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) repetitions: NonZeroUsize,
    /// Evict the files from the system's cache before every read
    #[arg(long)]
    pub(crate) cold: bool,
    /// Where the sequence of places starts
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Example:
  ncforge copy in.nc out.nc --chunks auto && ncforge bench access in.nc out.nc --cold";

/// The reads that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternArg {
    /// All of the last two dimensions at one place of the others
    Map,
    /// All of the first dimension at one place of the others
    Series,
    /// Everything
    Full,
    /// All of the dimension before the last two at one place of the others
    Profile,
    /// A box somewhere, half as long as the variable along every dimension
    Box,
    /// Every fourth element along every dimension
    Stride,
}
