//! `ncforge bench doctor`

use std::path::PathBuf;

use clap::Args;

use crate::args::{GlobalArgs, WrittenArgs};

/// Look whether this machine is fit to measure on.
///
/// MPI and its launchers, builds of netCDF-C, whether cold reads can be proven, what the file system is, and whether
/// something else uses the machine.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct BenchDoctorArgs {
    /// Where files would be
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Example:
  ncforge bench doctor --folder /data

Exit codes: 0 fit, or something is absent that only some benchmarks need; 3 numbers would be doubtful.";
