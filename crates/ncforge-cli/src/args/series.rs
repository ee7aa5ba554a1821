//! `ncforge series`

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use ncforge_ops::combine::SeriesRequest;
use ncforge_ops::request::{RequestError, value};

use super::{CopyArgs, JoinArgs};

/// The options of joining files, and those of the outputs.
#[derive(Args, Debug)]
pub(crate) struct SeriesArgs {
    /// The files, and all that a copy can do.
    #[command(flatten)]
    pub(crate) copy: CopyArgs,
    /// The folder of the outputs; it is made if it is not there
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Names of the outputs [default: {case}.{stream}.{var}.{start}-{end}.nc]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) name: Option<String>,
    /// Calendar years in one output: with 10, outputs end with years that end with 9 [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) years: Option<NonZeroU32>,
    /// Add the steps behind the last ones of the outputs of an earlier run: the last output of each variable grows, and gets the name
    /// of its new end
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) append: bool,
    /// Leave out files that cannot be read, and streams whose files do not go together, and name them; exit code 3
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) join: JoinArgs,
}

pub(super) const ABOUT: &str = "\
Make one file for each variable, over all times, from files that hold all variables of some time each.

Files whose names differ in dates and numbers alone are a stream, in one folder or in several. Each variable along time gets a file, \
with its coordinates, bounds and all variables without time. The order, the attributes that have to agree and the chunks that are moved \
as they are stored are those of `ncforge concat`. --vars names the variables that get files. FILE may be a pattern in quotes, or @LIST: \
a file with a name on each line. Outputs appear under their names only when they are whole; --resume makes no output again that is \
complete.";

pub(super) const AFTER: &str = "\
Examples:
  ncforge series archive/atm/hist/*.nc -o tseries
  ncforge series 'case.cam.h0.*.nc' -o tseries --years 10 -4 --codec deflate
  ncforge series case.cam.h0.2001-01.nc -o tseries --append
  ncforge series wrfout_d01_* -o wrf --vars T2,RAINNC --name '{stream}_{var}_{start}-{end}.nc'
  ncforge series @files.txt -o tseries --dry-run";

impl SeriesArgs {
    /// The files.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.copy.paths
    }

    /// The request that these arguments are; `history` is the command line.
    pub(crate) fn request(&self, history: String) -> Result<SeriesRequest, RequestError> {
        Ok(SeriesRequest {
            name: self.name.as_deref().map(|text| value("name", text)).transpose()?,
            years: self.years,
            append: self.append,
            keep_going: self.keep_going,
            join: self.join.request(&self.copy, history)?,
        })
    }
}
