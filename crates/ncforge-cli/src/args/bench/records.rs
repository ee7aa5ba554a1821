//! `ncforge bench records`

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use ncforge_bench::driver::Codec;
use ncforge_bench::workload::records::codec;

use super::{FolderArgs, LibraryArgs, OutputArgs};
use crate::args::GlobalArgs;
use ncforge_ops::request::Size;

/// Store records of stations in many ways, and read and update them.
///
/// Two parts: one file of hourly records, of which some variables are read at random places, again, and in sequence;
/// and a network of daily climate stations, one file each, that are created, filled, corrected and read. Weather is made
/// from a seed.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct RecordsArgs {
    /// One part alone
    #[arg(long, value_enum, value_name = "PART")]
    pub(crate) only: Option<RecordsPart>,
    /// Block sizes of zipped files
    #[arg(long, value_name = "SIZES", value_delimiter = ',', num_args = 0.., default_value = "4K,16K,64K,256K,1M")]
    pub(crate) blocks: Vec<Size>,
    /// Codecs of zipped files, as zstd=9 with a level
    #[arg(long, value_name = "CODECS", value_delimiter = ',', default_value = "zstd,lz4,deflate", value_parser = codec)]
    pub(crate) codecs: Vec<Codec>,
    /// Records in a chunk of netCDF-4 files [default: 1,64,1024 for the one file; 1024,8192 and one chunk per variable for
    /// stations]
    #[arg(long, value_name = "N,N", value_delimiter = ',', num_args = 0..)]
    pub(crate) chunks: Option<Vec<u64>>,
    /// Codecs of netCDF-4 files
    #[arg(long, value_name = "CODECS", value_delimiter = ',', default_value = "deflate,zstd", value_parser = codec)]
    pub(crate) nc4_codecs: Vec<Codec>,
    #[command(flatten)]
    pub(crate) peers: LibraryArgs,
    /// Records of the one file
    #[arg(long, value_name = "N", default_value = "25000")]
    pub(crate) records: NonZeroUsize,
    /// Its variables
    #[arg(long, value_name = "N", default_value = "31")]
    pub(crate) variables: NonZeroUsize,
    /// Records that are read of it, at random or in sequence
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) reads: NonZeroUsize,
    /// Variables that are read of each
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) picked: NonZeroUsize,
    /// Stations of the network
    #[arg(long, value_name = "N", default_value = "622")]
    pub(crate) stations: NonZeroUsize,
    /// Years that they observed
    #[arg(long, value_name = "N", default_value = "50")]
    pub(crate) years: NonZeroUsize,
    /// How often all is read
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) repetitions: NonZeroUsize,
    /// Where random numbers start
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// The parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordsPart {
    /// One file of hourly records
    Station,
    /// A network of daily stations
    Network,
}

const AFTER: &str = "\
Examples:
  ncforge bench records --only station --library netcdf-c
  ncforge bench records --only network --stations 60 --blocks 64K,256K --codecs zstd --csv";
