//! `ncforge combine`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::{CodecArgs, FormatArg, GlobalArgs, OnlyArgs, RunArgs, WrittenArgs};

/// Schemes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemeArg {
    /// The one that recognises the tiles
    Auto,
    /// NEMO, XIOS, IOIPSL: attributes DOMAIN_*
    #[value(alias = "xios", alias = "ioipsl")]
    Nemo,
    /// FMS (MOM, AM4, FV3, SHiELD): domain_decomposition
    #[value(alias = "mom")]
    Fms,
    /// ROMS, CROCO: partition
    #[value(alias = "croco")]
    Roms,
    /// WRF, one file a process: *_PATCH_*
    Wrf,
    /// MITgcm, package MNC: tile_number
    Mitgcm,
    /// As --place says
    Generic,
}

/// What stands where no tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HolesArg {
    /// _FillValue, else missing_value, else the type's fill value
    Fill,
    /// Zeros
    Zero,
    /// A hole is an error
    Error,
}

/// When a variable that is not distributed differs between tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DifferingArg {
    /// That is an error
    Error,
    /// Take the first tile's
    First,
}

/// Chunk shapes to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TileChunksArg {
    /// The tiles' where they serve readers, else chosen.
    Auto,
    /// The largest that no edge between tiles cuts.
    Tiles,
    /// The tiles'.
    Keep,
    /// A specification as of `nccopy -c`.
    Spec(String),
}

impl FromStr for TileChunksArg {
    type Err = std::convert::Infallible;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Ok(match s {
            "auto" => TileChunksArg::Auto,
            "tiles" => TileChunksArg::Tiles,
            "keep" => TileChunksArg::Keep,
            spec => TileChunksArg::Spec(spec.to_owned()),
        })
    }
}

/// Records `A:B`: from A up to, but not including, B; counting from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimesArg(pub(crate) u64, pub(crate) u64);

impl FromStr for TimesArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let bad = || format!("`{s}` is not A:B: the first record, and the one after the last, from 0");
        let (a, b) = s.split_once(':').ok_or_else(bad)?;
        let number = |t: &str, empty: u64| match t.trim() {
            "" => Ok(empty),
            t => t.parse().map_err(|_| bad()),
        };
        match (number(a, 0)?, number(b, u64::MAX)?) {
            (a, b) if a < b => Ok(TimesArg(a, b)),
            _ => Err(bad()),
        }
    }
}

/// Put the tiles of a model's processes together into one file.
///
/// TILES are files, one pattern in quotes, any one tile of the set, or a base name. How tiles tell their place is
/// found from their attributes. The output appears under its name only when it is whole.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct CombineArgs {
    /// The tiles: files, one pattern, any one tile, or a base name
    #[arg(value_name = "TILES", required = true)]
    pub(crate) tiles: Vec<PathBuf>,
    /// The file to write
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// How tiles tell their place
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) scheme: SchemeArg,
    /// For --scheme generic, once for every split dimension: DIM=attr:NAME[I], DIM=attr:VAR@NAME[I], DIM=name:K or
    /// DIM=tile:K, then perhaps ,base:B ,halo:LOW:HIGH ,whole:LENGTH
    #[arg(long, value_name = "DIM=HOW")]
    pub(crate) place: Vec<String>,
    /// For --scheme generic: file names, with {K} where the numbers of `name:K` and `tile:K` stand
    #[arg(long, value_name = "PATTERN")]
    pub(crate) names: Option<String>,
    /// What stands where no tile is
    #[arg(long, value_enum, default_value = "fill")]
    pub(crate) holes: HolesArg,
    /// Fill the places of tiles that should exist and do not
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Fill the records that some tiles lack
    #[arg(long)]
    pub(crate) allow_ragged: bool,
    /// When a variable that is not distributed differs between tiles
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) differing: DifferingArg,
    /// Put the tiles into OUT, which exists: what stands there stays where they have nothing
    #[arg(long, conflicts_with_all = ["times", "coords"])]
    pub(crate) append: bool,
    /// A file with coordinates, for the holes in those
    #[arg(long, value_name = "FILE")]
    pub(crate) coords: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    /// Only records A up to, but not including, B, from 0
    #[arg(long, value_name = "A:B")]
    pub(crate) times: Option<TimesArg>,
    /// Format of the output
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) format: FormatArg,
    /// Chunk shapes: auto (the tiles' where they serve readers, else chosen), tiles (cut by no edge between tiles),
    /// keep (the tiles'), or a specification such as `time/365,lat/40,lon/40` or `sst:365,40,40`
    #[arg(long, value_name = "auto|tiles|keep|SPEC", default_value = "auto")]
    pub(crate) chunks: TileChunksArg,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    /// Remove the tiles when the output is whole, verified and on disk; a tile of which it does not have all stays
    #[arg(long)]
    pub(crate) delete_tiles: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) told: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge combine ORCA_grid_T_0000.nc -o ORCA_grid_T.nc
  ncforge combine 'ocean.nc.*' -o ocean.nc --codec deflate --verify
  ncforge combine restart_0000.nc -o restart.nc --dry-run
  ncforge combine part_*.nc -o all.nc --scheme generic --place x=attr:ibegin --place y=attr:jbegin,halo:1";
