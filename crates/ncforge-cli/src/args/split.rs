//! `ncforge split`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::{CodecArgs, FormatArg, GlobalArgs, WrittenArgs};

/// Schemes of tiles to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TileSchemeArg {
    /// NEMO, XIOS: attributes DOMAIN_*; OUT_0000.nc
    Nemo,
    /// FMS (MOM, AM4, FV3): domain_decomposition; OUT.nc.0000
    Fms,
    /// ROMS: partition; OUT.00.nc
    Roms,
    /// WRF: *_PATCH_*; OUT_0000
    Wrf,
}

/// Tiles `NXxNY`: columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TilingArg(pub(crate) u64, pub(crate) u64);

impl FromStr for TilingArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts: Vec<&str> = s.split(['x', 'X', '×']).collect();
        match parts[..] {
            [a, b] => match (a.trim().parse(), b.trim().parse()) {
                (Ok(a), Ok(b)) if a > 0 && b > 0 => Ok(TilingArg(a, b)),
                _ => Err(format!("`{s}` is not NXxNY, such as 4x3")),
            },
            _ => Err(format!("`{s}` is not NXxNY, such as 4x3")),
        }
    }
}

/// Split a file into tiles as models write them: the inverse of `combine`.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct SplitArgs {
    /// The file to split
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// What the names of the tiles begin with [default: FILE's name without its extension, here]
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Columns and rows of tiles
    #[arg(long, value_name = "NXxNY")]
    pub(crate) tiles: TilingArg,
    /// How tiles tell their place
    #[arg(long, value_enum, default_value = "nemo")]
    pub(crate) scheme: TileSchemeArg,
    /// Points of their neighbours that tiles hold too (nemo only)
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) halo: u64,
    /// A variable: no tile is written where all of it is zero or missing
    #[arg(long, value_name = "VAR")]
    pub(crate) mask: Option<String>,
    /// The dimensions to split, the fastest first [default: by name, or the last two of the largest variable]
    #[arg(long, value_name = "X,Y", value_delimiter = ',', num_args = 1)]
    pub(crate) dims: Vec<String>,
    /// Format of the tiles
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) format: FormatArg,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    #[command(flatten)]
    pub(crate) told: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge split ocean.nc --tiles 4x4
  ncforge split ocean.nc -o tiles/ocean --tiles 32x32 --scheme nemo --halo 1 --mask tmask";
