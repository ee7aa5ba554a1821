//! `ncforge split`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::request::Tiling;
use ncforge_ops::split::{SplitRequest, TileScheme};

use super::{CodecArgs, FormatArgs, GlobalArgs, WrittenArgs, word};

/// Split a file into tiles as models write them: the inverse of `combine`.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct SplitArgs {
    /// The file to split
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// What the names of the tiles begin with, or a folder: tile.nc for tile_0000.nc, …; tiles/ for FILE's name in a new folder [default:
    /// FILE's name, here]
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Columns and rows of tiles
    #[arg(long, value_name = "NXxNY")]
    pub(crate) tiles: Tiling,
    /// How tiles record their place
    #[arg(long, value_parser = word::<TileScheme>(), default_value = "nemo")]
    pub(crate) scheme: TileScheme,
    /// Points of their neighbours that tiles hold too (nemo only)
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) halo: u64,
    /// A variable: no tile is written where all of it is zero or missing
    #[arg(long, value_name = "VAR")]
    pub(crate) mask: Option<String>,
    /// The dimensions to split, the fastest first [default: by name, or the last two of the largest map]
    #[arg(long, value_name = "X,Y", value_delimiter = ',', num_args = 1)]
    pub(crate) dims: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge split ocean.nc --tiles 4x4
  ncforge split ocean.nc -o tiles/ocean --tiles 32x32 --scheme nemo --halo 1 --mask tmask";

impl SplitArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> SplitRequest {
        SplitRequest {
            tiles: Some(self.tiles),
            scheme: self.scheme,
            halo: self.halo,
            mask: self.mask.clone(),
            dims: self.dims.clone(),
            coding: self.coding.request(self.format.choice()),
            overwrite: self.written.overwrite,
            ..SplitRequest::default()
        }
    }
}
