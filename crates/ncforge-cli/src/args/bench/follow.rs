//! `ncforge bench follow`

use std::num::{NonZeroU64, NonZeroUsize};

use clap::Args;
use ncforge_bench::workload::follow::Container;
use ncforge_bench::workload::io::{DriverAsk, Lengths};

use super::{FolderArgs, OutputArgs};
use crate::args::GlobalArgs;

/// Append records to a file while other processes read them, and tell how soon they have them.
///
/// One process appends and commits, each consumer looks again and again and reads what is new; before that, the same is appended while nobody
/// looks. Every value that was read is compared.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct FollowArgs {
    /// Libraries: ncforge, libnetcdf (the system's), the path of one, raw (plain system calls) [default: ncforge]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) driver: Vec<DriverAsk>,
    /// Containers: classic, cdf2, cdf5, packed
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "cdf5,packed")]
    pub(crate) container: Vec<Container>,
    /// Records
    #[arg(long, value_name = "N", default_value = "200")]
    pub(crate) records: NonZeroU64,
    /// Type of the values: i1 … i8, u1 … u8, f4, f8 (classic and cdf2 have i1, i2, i4, f4 and f8)
    #[arg(long, value_name = "TYPE", default_value = "f4", value_parser = super::io::dtype)]
    pub(crate) dtype: ncforge::Atomic,
    /// Shape of a record
    #[arg(long, value_name = "LENGTHS", default_value = "128:128")]
    pub(crate) record: Lengths,
    /// Records for each commit
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) batch: NonZeroU64,
    /// Seconds between two commits, as of an instrument or a model
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) interval: f64,
    /// Seconds between two looks of a consumer
    #[arg(long, value_name = "SECONDS", default_value = "0.001")]
    pub(crate) poll: f64,
    /// Processes that read
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) consumers: NonZeroUsize,
    /// Measured repetitions
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) repetitions: NonZeroUsize,
    /// Repetitions before that which do not count
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) warmup: usize,
    /// Where values, and the order of cases, start
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Say what would be done, after all checks, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage, 4 a consumer read wrong values, or not all of them.

Examples:
  ncforge bench follow --driver ncforge,libnetcdf,raw --container cdf5,packed
  ncforge bench follow --record 31 --records 1000 --interval 0.01 --consumers 2";
