//! `ncforge concat`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::combine::{ConcatRequest, Differing, Holes};
use ncforge_ops::request::RequestError;

use super::{CopyArgs, word};

/// The options of a copy, and those that files of a series have besides.
#[derive(Args, Debug)]
pub(crate) struct ConcatArgs {
    /// The files, and all that a copy can do.
    #[command(flatten)]
    pub(crate) copy: CopyArgs,
    /// The file to write
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) join: JoinArgs,
}

/// How files follow each other.
#[derive(Args, Clone, Debug)]
pub(crate) struct JoinArgs {
    /// The dimension along which the files are joined [default: the unlimited one, else the first whose length differs]
    #[arg(long, value_name = "DIM")]
    pub(crate) along: Option<String>,
    /// Join the files as they are given, even if their coordinates along DIM do not follow each other
    #[arg(long)]
    pub(crate) unsorted: bool,
    /// Values of a variable along DIM where a file lacks it
    #[arg(long, value_parser = word::<Holes>(), default_value = "error")]
    pub(crate) holes: Holes,
    /// When a variable without DIM differs between files
    #[arg(long, value_parser = word::<Differing>(), default_value = "error")]
    pub(crate) differing: Differing,
    /// Unpack variables that the files pack differently (scale_factor, add_offset, missing values)
    #[arg(long)]
    pub(crate) decode: bool,
}

pub(super) const ABOUT: &str = "\
Join files one behind the other along a dimension, which most often is time.

The order is that of the coordinate of the dimension; files that overlap are an error. Files agree in the attributes that give values \
their meaning; times that count from another date are converted. Chunks are moved as they are stored, where they begin and end with the \
files. FILE may be a pattern in quotes, or @LIST: a file with a name on each line. The output appears under its name only when it is \
whole.";

pub(super) const FILES: &str = "The files, and patterns in quotes";

pub(super) const AFTER: &str = "\
Examples:
  ncforge concat day_*.nc -o year.nc
  ncforge concat 'day_*.nc' -o year.nc --codec deflate --chunks time/365,lat/40,lon/40
  ncforge concat west.nc east.nc -o both.nc --along lon
  ncforge concat @days.txt -o year.nc --dry-run";

impl ConcatArgs {
    /// The files to join.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.copy.paths
    }

    /// The request that these arguments are; `history` is the command line.
    pub(crate) fn request(&self, history: String) -> Result<ConcatRequest, RequestError> {
        self.join.request(&self.copy, history)
    }
}

impl JoinArgs {
    /// The request that these arguments and those of a copy are.
    pub(crate) fn request(&self, copy: &CopyArgs, history: String) -> Result<ConcatRequest, RequestError> {
        Ok(ConcatRequest {
            along: self.along.clone(),
            unsorted: self.unsorted,
            holes: Some(self.holes),
            differing: self.differing,
            decode: self.decode,
            copy: copy.request(history)?,
        })
    }
}
