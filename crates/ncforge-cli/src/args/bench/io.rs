//! `ncforge bench io`: NetCDF-Bench's options, letter by letter, and ours.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ncforge_bench::driver::{Codec, Rounding, Shuffle};
use ncforge_bench::workload::io::{
    AccessKind, CacheAsk, ChunkChoice, Content, DriverAsk, Halo, Lengths, Preset, Shares, StoredAs, Variables,
};

use super::CacheArg;
use super::OutputArgs;
use super::common::seconds;
use super::compare::Share;
use crate::args::{GlobalArgs, Size};

/// Write and read an array in blocks, by one process or many, with any library.
///
/// NetCDF-Bench's options (-n -p -d -b -c -r -w -t -u -z -f -x -F --verify) mean what they mean there. Several ranks
/// are started by --ranks, or by mpiexec.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
// Without operands that could be meant, a path may stand behind a blank.
#[command(mut_arg("csv", |a| a.require_equals(false)), mut_arg("json", |a| a.require_equals(false)))]
pub(crate) struct IoArgs {
    /// Nodes of the job [default: what the job has]
    #[arg(short = 'n', long = "nn", value_name = "N", help_heading = BENCH)]
    pub(crate) nodes: Option<NonZeroUsize>,
    /// Ranks on each node
    #[arg(short = 'p', long, value_name = "N", help_heading = BENCH)]
    pub(crate) ppn: Option<NonZeroUsize>,
    /// The array, as t:x:y:z, or time=20:lat=200:lon=100; any number of dimensions [default: 100 : 100·nn : 100·ppn : 10]
    #[arg(short = 'd', long = "data-geometry", value_name = "LENGTHS", help_heading = BENCH, allow_hyphen_values = true)]
    pub(crate) data: Option<Lengths>,
    /// What a rank moves in one call [default: 1 : x/nn : y/ppn : z]
    #[arg(short = 'b', long = "block-geometry", value_name = "LENGTHS", help_heading = BENCH, allow_hyphen_values = true)]
    pub(crate) block: Option<Lengths>,
    /// Chunks: lengths, or auto for one chunk a block [default: as the library does unasked]
    #[arg(short = 'c', long = "chunk-geometry", value_name = "LENGTHS|auto", help_heading = BENCH, allow_hyphen_values = true)]
    pub(crate) chunk: Option<ChunkChoice>,
    /// Read
    #[arg(short = 'r', long, help_heading = BENCH)]
    pub(crate) read: bool,
    /// Write [default, unless --read or --verify is given]
    #[arg(short = 'w', long, help_heading = BENCH)]
    pub(crate) write: bool,
    /// How ranks share: ind (one file, each for itself), coll (one file, together), file (one each) [default: ind; coll with -u or compression]
    #[arg(short = 't', long = "io-type", value_name = "ind|coll|file", help_heading = BENCH)]
    pub(crate) access: Option<AccessKind>,
    /// The first dimension is unlimited
    #[arg(short = 'u', long, help_heading = BENCH)]
    pub(crate) unlimited: bool,
    /// Level of deflate; 0 is none
    #[arg(short = 'z', long = "compression_level", alias = "compression-level", value_name = "0-9", help_heading = BENCH,
        allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// The file; `-RANK` is appended with --io-type file
    #[arg(short = 'f', long = "testfile", value_name = "PATH", default_value = "./testfn.nc", help_heading = BENCH)]
    pub(crate) file: PathBuf,
    /// human: our table; parser: NetCDF-Bench's, which programs read
    #[arg(short = 'x', long = "output-format", value_enum, value_name = "FORM", default_value = "human", help_heading = BENCH)]
    pub(crate) output: OutputForm,
    /// The library fills what is not written yet
    #[arg(short = 'F', long = "use-fill-value", help_heading = BENCH)]
    pub(crate) fill: bool,
    /// Read, and compare every value with what it should be
    #[arg(long, help_heading = BENCH)]
    pub(crate) verify: bool,

    /// Options from a file: `OPTION = VALUE` a line, with the long options; what stands on the command line wins
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Start so many processes, without MPI [default: nn · ppn]
    #[arg(long, value_name = "N")]
    pub(crate) ranks: Option<NonZeroUsize>,
    /// Ranks along each dimension, as 1:2:2:1, if blocks are to be smaller than a rank's share
    #[arg(long, value_name = "LENGTHS")]
    pub(crate) split: Option<Lengths>,
    /// Read in blocks of this shape, whatever was written: 20:1:1:10 reads series, 1:200:200:10 maps; ranks share what there is
    #[arg(long, value_name = "LENGTHS")]
    pub(crate) read_block: Option<Lengths>,
    /// Read so many boxes at random places, by every rank, instead of the whole array; --read-block says how large they are [default: a block]
    #[arg(long, value_name = "BOXES", value_parser = clap::value_parser!(u64).range(1..=MOST_BOXES))]
    pub(crate) random: Option<u64>,
    /// Read one value of so many along each dimension: 1:4:4:1 takes every fourth along the second and the third
    #[arg(long, value_name = "LENGTHS")]
    pub(crate) stride: Option<Lengths>,
    /// Read values into memory in this order of the dimensions, as dim_1:dim_2:dim_3:time: by nc_get_varm in netCDF-C, turned round by the other drivers
    #[arg(long, value_name = "NAMES", value_delimiter = ':')]
    pub(crate) read_order: Option<Vec<String>>,
    /// Replay a decomposition that PIO has saved (E3SM, CESM: text, `version 2001 npes …`): every rank writes and reads what the file says is its; -d 10 makes ten time steps of it
    #[arg(long, value_name = "FILE")]
    pub(crate) decomposition: Option<PathBuf>,
    /// Parts of the array that ranks have, where these differ: 3,1,1,1 gives the first rank a half of it, along the one dimension that they share (--split)
    #[arg(long, value_name = "A,B", conflicts_with = "block")]
    pub(crate) shares: Option<Shares>,
    /// Read blocks with so much of their neighbours around them: 1 along all dimensions that are divided but the first, or 0:2:2:0
    #[arg(long, value_name = "WIDTHS")]
    pub(crate) halo: Option<Halo>,
    /// Variables of the file, with some of the array's dimensions each: time:z:y:x=4,time:y:x=12,z (names as in -d time=20:z=30:y=100:x=100)
    #[arg(long, value_name = "DIMS=N,DIMS=N")]
    pub(crate) vars: Option<Variables>,
    /// Variables and array as a model has them in its files: nemo or wrf; -d gives other lengths
    #[arg(long, value_name = "MODEL", conflicts_with = "vars")]
    pub(crate) preset: Option<Preset>,
    /// Wait so long between two time steps that are written, as a model that computes between its dumps; this is not timed
    #[arg(long, value_name = "SECONDS")]
    pub(crate) compute: Option<f64>,
    /// Libraries: ncforge, raw (plain system calls), mpi-io (the same through MPI-IO), h5 and libnetcdf (the system's) [default: ncforge]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) driver: Vec<DriverAsk>,
    /// Compare the layers that data goes through: system calls, MPI-IO (in MPI jobs), HDF5, netCDF-C, ncforge; those that cannot do what is asked are left out
    #[arg(long, conflicts_with = "driver")]
    pub(crate) layers: bool,
    /// The same cell on every engine and format: system calls, HDF5, netCDF-C and ncforge, in netCDF-4, CDF-5 and Zarr; what is not possible is left out. The data of all is compared, bit for bit
    #[arg(long, conflicts_with_all = ["driver", "layers", "format"])]
    pub(crate) engines: bool,
    /// A netCDF-C library to measure as well, by its path (repeatable); `find` takes the system's
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,
    /// Write half of the time steps first, close the file, and append the others (with -u)
    #[arg(long)]
    pub(crate) append: bool,
    /// Write all values once more into the file that is there, in place
    #[arg(long)]
    pub(crate) rewrite: bool,
    /// Compressor: none, deflate=1…9, zstd=-7…22, lz4, lzf, bzip2=1…9, blosc-lz4=1…9, blosc-zstd=1…9
    #[arg(long, value_name = "CODEC[=LEVEL]", conflicts_with = "deflate")]
    pub(crate) codec: Option<Codec>,
    /// Sort bytes, or bits, by their place in a value before they are compressed
    #[arg(long, value_name = "bytes|bits", num_args = 0..=1, require_equals = true, default_missing_value = "bytes")]
    pub(crate) shuffle: Option<Shuffle>,
    /// Round floats as netCDF-C's quantization does: bitgroom=DIGITS, granular=DIGITS or bitround=BITS; what is left is checked
    #[arg(long, value_name = "KIND=N")]
    pub(crate) quantize: Option<Rounding>,
    /// Order of the bytes of a value in the file
    #[arg(long, value_enum, value_name = "ORDER", default_value = "native")]
    pub(crate) endian: EndianName,
    /// What the values are stored in: classic, cdf2, cdf5, netcdf4, netcdf4-classic, or zarr, a folder that netCDF-C writes (NCZarr)
    #[arg(long, value_name = "FORMAT", default_value = "netcdf4")]
    pub(crate) format: StoredAs,
    /// Type of the values: i1 … i8, u1 … u8, f4, f8 [default: i4; the variable's with --data-content sample=…]
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub(crate) dtype: Option<ncforge::Atomic>,
    /// The values: hash (cannot be compressed), field (as model output), constant, ramp, compressible=PERCENT, sample=FILE:VARIABLE (a real field, repeated), netcdf-bench (its cell values) [default: hash; field where it is compressed or rounded; netcdf-bench with --compat]
    #[arg(long, value_name = "KIND")]
    pub(crate) data_content: Option<Content>,
    /// Where the values' hash, and the order of cases, start
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Compare values of an option: chunk=none,auto,1:50:50:10, access=ind,coll, codec=none,zstd=3, deflate=0,4, shuffle=off,bytes,bits, quantize=none,bitround=9, endian=little,big, format=netcdf4,cdf5,zarr, chunk-cache=default,64M, driver=…, ranks=1,2,4 (repeatable)
    #[arg(short = 'L', long = "sweep", value_name = "OPTION=A,B")]
    pub(crate) sweep: Vec<String>,
    /// Measured repetitions [default: 5; 1 with --compat]
    #[arg(long, value_name = "N")]
    pub(crate) reps: Option<NonZeroUsize>,
    /// Repetitions before that which do not count [default: 1; 0 with --compat]
    #[arg(long, value_name = "N")]
    pub(crate) warmup: Option<usize>,
    /// Begin no new round after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) budget: Option<f64>,
    /// Keep what is done in FILE until everything is; the same command goes on there when it was interrupted, or when its budget was over
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Write the time of every single call to FILE, as CSV: case, repetition, phase, rank, number, begin, seconds, bytes. The clock is looked at around each then, which costs a little
    #[arg(long, value_name = "FILE")]
    pub(crate) ops_log: Option<PathBuf>,
    /// Go on until the 95 % interval of every median is within so many per cent to either side, or for --budget (60 s, if it is not given)
    #[arg(long, value_name = "PERCENT")]
    pub(crate) until: Option<Share>,
    /// End each phase when its calls have taken so long: all ranks make as many calls, rates are of what was moved. The array must be larger than that
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<f64>,
    /// States of the page cache to read in: warm, cold, any
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "warm")]
    pub(crate) cache: Vec<CacheAsk>,
    /// Do not wait, after each write, until the file is on disk
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Do not measure again what something else on the machine disturbed
    #[arg(long)]
    pub(crate) no_guard: bool,
    /// Exit code 3 when the numbers are unreliable
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not check values that this run has written
    #[arg(long, conflicts_with = "verify")]
    pub(crate) no_verify: bool,
    /// Leave the files of several cases where they are
    #[arg(long)]
    pub(crate) keep: bool,
    /// Measure memory, storage and codecs by themselves first, and say what bounds each row
    #[arg(long)]
    pub(crate) ceilings: bool,
    /// Memory for the values held at once, of all ranks [default: 256M]
    #[arg(long, value_name = "SIZE")]
    pub(crate) hold: Option<Size>,
    /// Memory for decoded chunks: of each variable in netCDF-C and HDF5, of all in ncforge (of each rank); `default` is the library's own
    #[arg(long, value_name = "SIZE|default", default_value = "default")]
    pub(crate) chunk_cache: CacheArg,
    /// A hint for MPI's input and output, given to MPI-IO and to parallel netCDF (repeatable): cb_nodes=2, striping_factor=8
    #[arg(long, value_name = "NAME=VALUE", value_parser = hint)]
    pub(crate) hint: Vec<(String, String)>,
    /// Print the table of another tool
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(crate) compat: Option<Compat>,
    #[command(flatten)]
    pub(crate) reports: OutputArgs,
    /// Say what would be done (the matrix of cases, bytes, memory, space) and about how long it takes, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Boxes of a rank, each of which is known from the beginning.
const MOST_BOXES: u64 = 1_000_000;
const BENCH: &str = "Options of NetCDF-Bench";

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage or a geometry that does not fit, 3 unreliable (--strict), 4 wrong values.

Examples:
  ncforge bench io -w -r                                   one process, 40 MB
  ncforge bench io --ranks 4 -w -r -d 20:200:200:10 -n 2 -p 2 -c auto
  ncforge bench io -w -r --driver raw,ncforge,libnetcdf --cache warm,cold --reps 9 --csv=out.csv
  ncforge bench io -w -r --layers --cache warm,cold         what each layer costs
  ncforge bench io -w -r --read-block 1:10:10:10 --random 1000
  ncforge bench io -w -r --ranks 4 -d 10 --decomposition piodecomp16tasks.dat
  ncforge bench io -w -r --engines -c auto                 every library, every format, the same data
  mpiexec -n 4 ncforge bench io -w -r -t coll --library libnetcdf_pnetcdf.so.19";

/// Whose table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputForm {
    /// Ours
    Human,
    /// NetCDF-Bench's
    Parser,
}

/// Tools whose table we print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// NetCDF-Bench
    NetcdfBench,
}

/// Byte orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndianName {
    /// This machine's
    Native,
    /// Least significant byte first
    Little,
    /// Most significant byte first
    Big,
}

impl From<EndianName> for ncforge::model::Endian {
    fn from(e: EndianName) -> ncforge::model::Endian {
        match e {
            EndianName::Native => ncforge::model::Endian::Native,
            EndianName::Little => ncforge::model::Endian::Little,
            EndianName::Big => ncforge::model::Endian::Big,
        }
    }
}

pub(super) fn dtype(text: &str) -> Result<ncforge::Atomic, String> {
    ncforge_bench::workload::io::type_name::parse(text)
        .ok_or_else(|| format!("no type `{text}`: i1 i2 i4 i8, u1 u2 u4 u8, f4 f8"))
}

fn hint(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{text}` is no hint, such as cb_nodes=2")),
    }
}
