//! `ncforge bench`

mod combine;
mod compare;
mod convert;
mod doctor;
mod io;
mod like;
mod output;
mod records;
mod rerun;
mod seeds;
mod selftest;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{GlobalArgs, Size};

pub(crate) use combine::{BenchCombineArgs, CombinePreset, ToolArg};
pub(crate) use compare::BenchCompareArgs;
pub(crate) use convert::ConvertArgs;
pub(crate) use doctor::BenchDoctorArgs;
pub(crate) use io::{Compat, IoArgs, OutputForm};
pub(crate) use like::LikeArgs;
pub(crate) use output::OutputArgs;
pub(crate) use records::{RecordsArgs, RecordsPart};
pub(crate) use rerun::RerunArgs;
pub(crate) use seeds::SeedsArgs;
pub(crate) use selftest::SelftestArgs;

/// Measure how fast files are read and written.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) workload: Workload,
}

/// The workloads.
#[derive(Debug, Subcommand)]
pub(crate) enum Workload {
    /// Time the reads that people do: a map, a series, everything
    Access(AccessArgs),
    /// Store a variable in many chunk shapes and time reads from each
    Chunks(Box<ChunksBenchArgs>),
    /// Write floats in portable formats, and tell what portability costs
    Convert(Box<ConvertArgs>),
    /// Write and read an array in blocks, by one process or many, with any library
    Io(Box<IoArgs>),
    /// Store records of stations in many ways, packed above all, and read and update them
    Records(Box<RecordsArgs>),
    /// Put the tiles of a model together, by ncforge, by libraries and by other tools
    Combine(Box<BenchCombineArgs>),
    /// Take the layout of a file, and measure what is done with it
    Like(Box<LikeArgs>),
    /// Make measurements again that others have published, beside their figures
    Seeds(Box<SeedsArgs>),
    /// Set two saved results against one another
    Compare(BenchCompareArgs),
    /// Run a saved benchmark again, and compare
    Rerun(Box<RerunArgs>),
    /// Look whether this machine is fit to measure on
    Doctor(BenchDoctorArgs),
    /// Look whether the benchmark finds known delays and damage
    Selftest(SelftestArgs),
}

impl Workload {
    /// Where its result goes, if it has one.
    pub(crate) fn output(&self) -> Option<&OutputArgs> {
        match self {
            Workload::Access(a) => Some(&a.output),
            Workload::Chunks(a) => Some(&a.output),
            Workload::Convert(a) => Some(&a.output),
            Workload::Io(a) => Some(&a.reports),
            Workload::Records(a) => Some(&a.output),
            Workload::Combine(a) => Some(&a.output),
            Workload::Like(a) => Some(&a.output),
            Workload::Seeds(a) => Some(&a.output),
            Workload::Rerun(a) => Some(&a.output),
            Workload::Compare(_) | Workload::Doctor(_) | Workload::Selftest(_) => None,
        }
    }
}

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

/// Store a variable in many chunk shapes, and time reads from each.
///
/// Without `--regret`: all slabs along the slowest dimension are read one after the other, then some series at
/// random points, in one session, as in Unidata's AR-5 studies; times are microseconds for one slab and one series. The
/// first row is a classic file. With `--regret`: single reads at random places, and for every mix of reads
/// (`--for`) how far the shape that ncforge chooses is from the best of all.
#[derive(Args, Debug)]
#[command(after_long_help = CHUNKS_AFTER, group = clap::ArgGroup::new("judged").multiple(true))]
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
    /// Levels of deflate; 0 is none
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
    /// A netCDF-C library to measure as well (repeatable); `find` takes the system's
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,
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
    /// Folder for the files [default: the system's temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Leave the files in the folder, and take those that an earlier run left
    #[arg(long, requires = "folder")]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const CHUNKS_AFTER: &str = "\
Examples:
  ncforge bench chunks pr.nc --deflate 0,1 --caches 4M,32M,128M --library find
  ncforge bench chunks pr.nc --regret --deflate 1 --for series,map --for map=9,series=1
  ncforge bench chunks --proof --deflate 1 --library find";

/// A time that is one.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s.is_finite() && s > 0.0 => Ok(s),
        _ => Err(format!("`{text}` is no number of seconds")),
    }
}

/// A cache size, or the library's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheArg(pub(crate) Option<u64>);

impl std::str::FromStr for CacheArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(CacheArg(None)),
            _ => text.parse::<Size>().map(|s| CacheArg(Some(s.0))),
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    /// Without
    Off,
    /// With
    On,
}
