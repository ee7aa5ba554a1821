//! `ncforge bench chunks`

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::seconds;
use super::{CacheArg, FolderArgs, LibraryArgs, OutputArgs};
use crate::args::GlobalArgs;
use ncforge_ops::request::Size;

/// Store a variable in many chunk shapes, and time reads from each.
///
/// Without `--regret`: all slabs along the slowest dimension are read one after the other, then some series at
/// random points, in one session, as in Unidata's AR-5 studies; times are those of one slab and of one series. The
/// first row is a classic file. With `--regret`: single reads at random places, and for every mix of reads
/// (`--for`) how far the shape that ncforge chooses is from the best of all. Predicted times
/// are for this machine: without a calibration, `tune calibrate` runs first. Files that do not fit a quarter of the
/// memory are written and measured in groups.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, group = clap::ArgGroup::new("judged").multiple(true))]
pub(crate) struct ChunksBenchArgs {
    /// File with the variable
    #[arg(value_name = "FILE", required_unless_present_any = ["proof", "array"])]
    pub(crate) file: Option<PathBuf>,
    /// --regret on arrays made for it, or on those named: precip, ocean, ocean-series, maps, stations, swath,
    /// ensemble
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 0.., conflicts_with = "file", group = "judged")]
    pub(crate) proof: Option<Vec<String>>,
    /// Read an array made for it instead of a file: precip is that of the AR-5 studies; the others as for --proof
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "proof", "judged"])]
    pub(crate) array: Option<String>,
    /// Arrays for --proof and --array that are larger are made smaller in proportion
    #[arg(long, value_name = "SIZE", default_value = "128M", conflicts_with = "file")]
    pub(crate) array_bytes: Size,
    /// The variable [default: the largest]
    #[arg(long, value_name = "NAME")]
    pub(crate) var: Option<String>,
    /// Chunk shapes, as 1,128,256;256,16,32 [default: a grid over all shapes]
    #[arg(long, value_name = "SHAPES", value_delimiter = ';')]
    pub(crate) shapes: Vec<String>,
    /// How many shapes the grid has, at most
    #[arg(long, value_name = "N", default_value = "80")]
    pub(crate) most_shapes: NonZeroUsize,
    /// Cache sizes; `default` is what the library does by itself
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "default")]
    pub(crate) caches: Vec<CacheArg>,
    /// Levels of deflate; 0: no compression
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "0,1",
        value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Vec<u32>,
    /// Whether bytes are shuffled before compression: off, on, or both ways
    #[arg(long, value_enum, value_delimiter = ',', default_value = "on")]
    pub(crate) shuffle: Vec<SwitchArg>,
    /// How many series are read
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) series: u64,
    /// Read the series before the slabs
    #[arg(long)]
    pub(crate) series_first: bool,
    #[command(flatten)]
    pub(crate) peers: LibraryArgs,
    /// Leave ncforge out
    #[arg(long, requires = "library")]
    pub(crate) only_libraries: bool,
    /// Rounds over everything
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) repetitions: NonZeroUsize,
    /// Read no further slab of a row after so many seconds; then its mean is over fewer
    #[arg(long, value_name = "SECONDS", conflicts_with = "judged", value_parser = seconds)]
    pub(crate) cell_seconds: Option<f64>,
    /// Evict each file from the system's cache before it is read
    #[arg(long)]
    pub(crate) cold: bool,
    /// Compare the shapes that ncforge chooses with all others, for mixes of reads
    #[arg(long, group = "judged")]
    pub(crate) regret: bool,
    /// A mix of reads for --regret, as series=3,map=1 (repeatable) [default: seven mixes]
    #[arg(long = "for", value_name = "READS", requires = "judged")]
    pub(crate) mixes: Vec<String>,
    /// Memory of a program that appends to the file, one record at a time: shapes of which a record touches chunks of more
    /// bytes are neither chosen nor compared with, unless they are named
    #[arg(long, value_name = "SIZE", default_value = "1G", requires = "judged")]
    pub(crate) writer_memory: Size,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    /// Leave the files in the folder, and take those that an earlier run left
    #[arg(long, requires = "folder")]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge bench chunks pr.nc --deflate 0,1 --caches 4M,32M,128M --library netcdf-c
  ncforge bench chunks pr.nc --regret --deflate 1 --for series,map --for map=9,series=1
  ncforge bench chunks --proof --deflate 1 --library netcdf-c";

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    /// Without
    Off,
    /// With
    On,
}
