//! `ncforge bench combine`

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ncforge_bench::workload::combine::Tool;

use super::{FolderArgs, LibraryArgs, OutputArgs};
use crate::args::GlobalArgs;
use ncforge_ops::request::Tiling;

/// Put the tiles of a model together, by ncforge, by libraries and by other tools.
///
/// An ocean-like field with land is cut into tiles, classic and deflated ones. They are combined to a classic file and
/// to deflated netCDF-4; `cat` of the same tiles is the measure. Every output's values are compared with the field.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct BenchCombineArgs {
    /// What the other options begin with: usual (1.06 GB, 25 % land, values in steps) or orca025 (730 MB of the ORCA025 grid in 16x14
    /// tiles, at full precision, over a sea floor)
    #[arg(long, value_enum, default_value = "usual")]
    pub(crate) preset: CombinePreset,
    /// Lengths of time, depth, y and x [default: 4,32,1440,1440]
    #[arg(long, value_name = "T,Z,Y,X", value_delimiter = ',', num_args = 1)]
    pub(crate) shape: Option<Vec<u64>>,
    /// Columns and rows of tiles [default: 4x4]
    #[arg(long, value_name = "NXxNY")]
    pub(crate) tiles: Option<Tiling>,
    /// Part of the points that is land, at the surface and, if it is given, at the deepest level [default: 0.25]
    #[arg(long, value_name = "PART[,PART]", value_delimiter = ',', num_args = 1)]
    pub(crate) land: Option<Vec<f64>>,
    /// Chunk lengths of re-encoded output along y and x [default: 480,480]
    #[arg(long, value_name = "Y,X", value_delimiter = ',', num_args = 1)]
    pub(crate) chunks: Option<Vec<u64>>,
    #[command(flatten)]
    pub(crate) peers: LibraryArgs,
    /// Another program: PHASE:NAME=COMMAND (repeatable), where PHASE is plain, deflate, inflate, move or recode, and {tiles},
    /// {first}, {base}, {count}, {out}, {y} and {x} stand for files and chunk lengths in the command; `find` takes mppnccombine,
    /// rebuild_nemo and nocscombine where they are installed
    #[arg(long, value_name = "PHASE:NAME=COMMAND|find")]
    pub(crate) tool: Vec<ToolArg>,
    /// How often each is done
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) repetitions: NonZeroUsize,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Sets of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CombinePreset {
    /// 1.06 GB in 4x4 tiles
    Usual,
    /// 730 MB in 16x14 tiles
    Orca025,
}

/// One program, or those that are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolArg {
    Find,
    One(Tool),
}

impl FromStr for ToolArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s == "find" { Ok(ToolArg::Find) } else { s.parse().map(ToolArg::One) }
    }
}

const AFTER: &str = "\
Examples:
  ncforge bench combine --library netcdf-c --tool find
  ncforge bench combine --preset orca025 --library netcdf-c --json=combine.json
  ncforge bench combine --tool 'plain:mppnccombine=mppnccombine -64 {out} {tiles}'";
