//! `ncforge combine`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::combine::{CombineRequest, Differing, Holes, SchemeName};
use ncforge_ops::request::{RequestError, Times, value};

use super::{CodecArgs, FormatArgs, GlobalArgs, OnlyArgs, RunArgs, WrittenArgs, word};

/// Put the tiles of a model's processes together into one file.
///
/// TILES are files, one pattern in quotes, any one tile of the set, or a base name. How tiles record their place is
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
    /// How tiles record their place
    #[arg(long, value_parser = word::<SchemeName>(), default_value = "auto")]
    pub(crate) scheme: SchemeName,
    /// For --scheme generic, once for every split dimension: DIM=attr:NAME[I], DIM=attr:VAR@NAME[I], DIM=name:K or
    /// DIM=tile:K, then perhaps ,base:B ,halo:LOW:HIGH ,whole:LENGTH
    #[arg(long, value_name = "DIM=HOW")]
    pub(crate) place: Vec<String>,
    /// For --scheme generic: file names, with {K} at the place of the numbers of `name:K` and `tile:K`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) names: Option<String>,
    /// Values of places that no tile covers
    #[arg(long, value_parser = word::<Holes>(), default_value = "fill")]
    pub(crate) holes: Holes,
    /// Fill the places of tiles that should exist and do not
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Fill the records that some tiles lack
    #[arg(long)]
    pub(crate) allow_ragged: bool,
    /// When a variable that is not distributed differs between tiles
    #[arg(long, value_parser = word::<Differing>(), default_value = "error")]
    pub(crate) differing: Differing,
    /// Put the tiles into an existing OUT, whose other values stay
    #[arg(long, conflicts_with_all = ["times", "coords"])]
    pub(crate) append: bool,
    /// A file with coordinates, for the holes in those; its other variables are not used
    #[arg(long, value_name = "FILE")]
    pub(crate) coords: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    /// Only records A up to, but not including, B, from 0
    #[arg(long, value_name = "A:B")]
    pub(crate) times: Option<Times>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Chunk shapes: auto (the tiles' where they serve readers, else chosen), tiles (cut by no edge between tiles),
    /// keep (the tiles'), or a specification such as `time/365,lat/40,lon/40` or `sst:365,40,40`
    #[arg(long, value_name = "auto|tiles|keep|SPEC", default_value = "auto")]
    pub(crate) chunks: String,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    /// Remove the tiles when the output is whole, verified and on disk; a tile of which it does not have all stays
    #[arg(long)]
    pub(crate) delete_tiles: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge combine ORCA_grid_T_0000.nc -o ORCA_grid_T.nc
  ncforge combine 'ocean.nc.*' -o ocean.nc --codec deflate --verify
  ncforge combine restart_0000.nc -o restart.nc --dry-run
  ncforge combine part_*.nc -o all.nc --scheme generic --place x=attr:ibegin --place y=attr:jbegin,halo:1";

impl CombineArgs {
    /// The request that these arguments are; `history` is the command line.
    pub(crate) fn request(&self, history: String) -> Result<CombineRequest, RequestError> {
        Ok(CombineRequest {
            scheme: self.scheme,
            place: self.place.clone(),
            names: self.names.clone(),
            holes: self.holes,
            allow_missing: self.allow_missing,
            allow_ragged: self.allow_ragged,
            differing: self.differing,
            append: self.append,
            coords: self.coords.clone(),
            times: self.times,
            chunks: value("chunks", &self.chunks)?,
            coding: self.coding.request(self.format.choice()),
            delete_tiles: self.delete_tiles,
            run: self.run.request(&self.only, &self.written, history),
            ..CombineRequest::default()
        })
    }
}
