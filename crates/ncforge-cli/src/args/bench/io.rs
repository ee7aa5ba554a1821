//! `ncforge bench io`: NetCDF-Bench's options, letter by letter, and ours.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ncforge_bench::driver::{Codec, Rounding, Shuffle};
use ncforge_bench::workload::io::{AccessKind, CacheAsk, ChunkChoice, Content, DriverAsk, Lengths, StoredAs};

use super::OutputArgs;
use crate::args::GlobalArgs;

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
    /// Level of deflate; 0: no compression
    #[arg(short = 'z', long = "compression_level", alias = "compression-level", value_name = "0-9", help_heading = BENCH,
        allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// The file; `-RANK` is appended with --io-type file
    #[arg(short = 'f', long = "testfile", value_name = "PATH", default_value = "./testfn.nc", help_heading = BENCH)]
    pub(crate) file: PathBuf,
    /// human: our table; parser: NetCDF-Bench's, which programs read, of one repetition, with its values and its definition of rates
    #[arg(short = 'x', long = "output-format", value_enum, value_name = "FORM", default_value = "human", help_heading = BENCH)]
    pub(crate) output: OutputForm,
    /// The library fills what is not written yet
    #[arg(short = 'F', long = "use-fill-value", help_heading = BENCH)]
    pub(crate) fill: bool,
    /// Read, and compare every value with what it should be
    #[arg(long, help_heading = BENCH)]
    pub(crate) verify: bool,

    /// Start so many processes, without MPI [default: nn · ppn]
    #[arg(long, value_name = "N")]
    pub(crate) ranks: Option<NonZeroUsize>,
    /// Libraries: ncforge, raw (plain system calls), mpi-io (the same through MPI-IO), hdf5 and netcdf-c (the system's) [default: ncforge]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) driver: Vec<DriverAsk>,
    /// Compare the layers that data goes through: system calls, MPI-IO (in MPI jobs), HDF5, netCDF-C, ncforge; those that cannot do what is asked are left out
    #[arg(long, conflicts_with = "driver")]
    pub(crate) layers: bool,
    /// A netCDF-C library to measure as well, by its path (repeatable); `netcdf-c` is the system's
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,
    /// Compressor: none, deflate=1…9, zstd=-7…22, lz4, lzf, bzip2=1…9, blosc-lz4=1…9, blosc-zstd=1…9
    #[arg(long, value_name = "CODEC[=LEVEL]", conflicts_with = "deflate")]
    pub(crate) codec: Option<Codec>,
    /// Sort bytes, or bits, by their place in a value before they are compressed
    #[arg(long, value_name = "bytes|bits", num_args = 0..=1, require_equals = true, default_missing_value = "bytes")]
    pub(crate) shuffle: Option<Shuffle>,
    /// Round floats as netCDF-C's quantization does: bitgroom=DIGITS, granular=DIGITS or bitround=BITS; what is left is checked
    #[arg(long, value_name = "KIND=N")]
    pub(crate) quantize: Option<Rounding>,
    /// What the values are stored in: classic, cdf2, cdf5, netcdf4, netcdf4-classic, or zarr, a folder that netCDF-C writes (NCZarr)
    #[arg(long, value_name = "FORMAT", default_value = "netcdf4")]
    pub(crate) format: StoredAs,
    /// Type of the values: i1 … i8, u1 … u8, f4, f8 [default: i4; the variable's with --data-content sample=…]
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub(crate) dtype: Option<ncforge::Atomic>,
    /// The values: hash (cannot be compressed), field (as model output), constant, ramp, compressible=PERCENT, sample=FILE:VARIABLE (a real field, repeated), netcdf-bench (its cell values) [default: hash; field where it is compressed or rounded; netcdf-bench with -x parser]
    #[arg(long, value_name = "KIND")]
    pub(crate) data_content: Option<Content>,
    /// Compare values of an option: chunk=none,auto,1:50:50:10, access=ind,coll, codec=none,zstd=3, deflate=0,4, shuffle=off,bytes,bits, quantize=none,bitround=9, format=netcdf4,cdf5,zarr, driver=…, ranks=1,2,4 (repeatable)
    #[arg(short = 'L', long = "sweep", value_name = "OPTION=A,B")]
    pub(crate) sweep: Vec<String>,
    /// Measured repetitions, after one that does not count (except with 1, and with -x parser) [default: 5, and as many again in place of those that something else on the machine disturbed]
    #[arg(long, value_name = "N")]
    pub(crate) reps: Option<NonZeroUsize>,
    /// States of the page cache to read in: warm, cold, any
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "warm")]
    pub(crate) cache: Vec<CacheAsk>,
    /// A hint for MPI's input and output, given to MPI-IO and to parallel netCDF (repeatable): cb_nodes=2, striping_factor=8
    #[arg(long, value_name = "NAME=VALUE", value_parser = hint)]
    pub(crate) hint: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) reports: OutputArgs,
    /// Say what would be done (the matrix of cases, bytes, memory, space) and about how long it takes, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const BENCH: &str = "Options of NetCDF-Bench";

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage or a geometry that does not fit, 4 wrong values.

Examples:
  ncforge bench io -w -r                                   one process, 40 MB
  ncforge bench io --ranks 4 -w -r -d 20:200:200:10 -n 2 -p 2 -c auto
  ncforge bench io -w -r --driver raw,ncforge,netcdf-c --cache warm,cold --reps 9 --csv=out.csv
  ncforge bench io -w -r --layers --cache warm,cold         what each layer costs
  mpiexec -n 4 ncforge bench io -w -r -t coll --library libnetcdf_pnetcdf.so.19";

/// Whose table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputForm {
    /// Ours
    Human,
    /// NetCDF-Bench's
    Parser,
}

pub(super) fn dtype(text: &str) -> Result<ncforge::Atomic, String> {
    ncforge_bench::workload::io::type_named(text)
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
