//! `ncforge ncrcat`: the common options of NCO's `ncrcat`.

use std::path::PathBuf;

use clap::Args;

use super::{Digits, GlobalArgs, List};

/// Join files along their record dimension, with the options of NCO's `ncrcat`.
///
/// Replace `ncrcat` by `ncforge ncrcat` in a script, or link `ncrcat` to `ncforge`. As with ncrcat, records come in the order of the
/// files, and variables without records are the first file's. Options that are not in this list are refused.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_long_help = AFTER)]
pub(crate) struct NcrcatArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// Overwrite an output that exists
    #[arg(short = 'O', long = "ovr", alias = "overwrite")]
    pub(crate) overwrite: bool,
    /// Do not write the command line into the `history` attribute
    #[arg(short = 'h', long = "hst", alias = "history")]
    pub(crate) no_history: bool,
    /// Only these variables, and their coordinates
    #[arg(short = 'v', long = "variable", value_name = "VAR,…")]
    pub(crate) vars: Vec<List>,
    /// All variables but those of -v
    #[arg(short = 'x', long = "exclude", alias = "xcl", requires = "vars")]
    pub(crate) exclude: bool,
    /// Not the coordinates of the variables of -v
    #[arg(short = 'C', long = "no-coords", alias = "no_crd", conflicts_with = "coordinates")]
    pub(crate) no_coordinates: bool,
    /// All coordinates, too
    #[arg(short = 'c', long = "crd", alias = "coords")]
    pub(crate) coordinates: bool,
    /// As many files as NUMBER, whose names follow from the first by the number of DIGITS at its end
    #[arg(short = 'n', long = "nintap", value_name = "NUMBER,DIGITS[,STEP]")]
    pub(crate) numbered: Option<String>,
    /// The folder of the files whose names have none
    #[arg(short = 'p', long = "path", alias = "pth", value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Where remote files are stored: not needed
    #[arg(short = 'l', long = "lcl", alias = "local", value_name = "FOLDER")]
    local: Option<PathBuf>,
    /// The file to write [default: the last one that is named]
    #[arg(short = 'o', long = "output", alias = "fl_out", value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) digits: Digits,
    /// Deflate level, 0 (none) to 9, with shuffle
    #[arg(short = 'L', long = "dfl_lvl", alias = "deflate", value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// Chunk length of a dimension; may be repeated
    #[arg(long = "cnk_dmn", alias = "chunk_dimension", value_name = "DIM,LENGTH")]
    pub(crate) chunks: Vec<String>,
    /// Chunks of variables of fewer bytes: those of ncforge
    #[arg(long = "cnk_min", alias = "chunk_min", value_name = "BYTES")]
    pub(crate) min_chunked: Option<u64>,
    /// The policy of chunks: uck (none), xst (as they are)
    #[arg(long = "cnk_plc", alias = "chunk_policy", value_name = "POLICY")]
    pub(crate) chunk_policy: Option<String>,
    /// How much to tell: as --verbose when above 1
    #[arg(short = 'D', long = "dbg_lvl", alias = "debug", value_name = "LEVEL")]
    debug: Option<u8>,
    /// No `cell_methods` of records: ncforge never writes them
    #[arg(long = "no_cll_mth", alias = "no_cell_methods", hide = true)]
    no_cell_methods: bool,
    /// Only these indices along DIM (MAX is the last one), or between these values of the coordinate, if they have a decimal point
    #[arg(
        short = 'd',
        long = "dmn",
        alias = "dimension",
        value_name = "DIM,MIN,MAX,STRIDE",
        allow_hyphen_values = true
    )]
    pub(crate) slabs: Vec<String>,
    /// Append to an output: not supported
    #[arg(short = 'A', long = "apn", alias = "append", hide = true)]
    pub(crate) append: bool,
    /// Read the output back, as ncforge reads, and compare every value
    #[arg(long, help_heading = NOT_NCRCAT)]
    pub(crate) verify: bool,
    /// Go on with an interrupted run
    #[arg(long, help_heading = NOT_NCRCAT)]
    pub(crate) resume: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help, help_heading = NOT_NCRCAT)]
    help: Option<bool>,
    /// The files; without -o the last one is the file to write
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

const NOT_NCRCAT: &str = "Options that ncrcat does not have";

const AFTER: &str = "\
Examples:
  ncforge ncrcat -O -h day_*.nc year.nc
  ncforge ncrcat -4 -L 1 --cnk_dmn time,365 day_*.nc -o year.nc
  ncforge ncrcat -n 12,2 month_01.nc year.nc";

/// The option of every command by the names that ncrcat has for it.
pub(super) fn threads(option: clap::Arg) -> clap::Arg {
    option.short('t').long("thr_nbr").alias("threads").help("Threads").help_heading(None::<&str>)
}

impl NcrcatArgs {
    /// What these options say about those of every command.
    pub(crate) fn global(&self) -> GlobalArgs {
        let debug = self.debug.unwrap_or(0).saturating_sub(1);
        GlobalArgs { verbose: self.global.verbose.saturating_add(debug), ..self.global.clone() }
    }
}
