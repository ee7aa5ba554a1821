//! A user's request for a splitting.

use serde::{Deserialize, Serialize};

use super::options::{SplitOptions, TileScheme};
use crate::copy::{CodingRequest, CopyOptions};
use crate::request::{EngineRequest, RequestError, Tiling, list};
use ncforge_tune::vocabulary::BadValue;
use ncforge_tune::words;

words!(TileScheme:
    (TileScheme::Nemo, "nemo", [], "NEMO, XIOS: attributes DOMAIN_*; OUT_0000.nc"),
    (TileScheme::Fms, "fms", [], "FMS (MOM, AM4, FV3): domain_decomposition; OUT.nc.0000"),
    (TileScheme::Roms, "roms", [], "ROMS: partition; OUT.00.nc"),
    (TileScheme::Wrf, "wrf", [], "WRF: *_PATCH_*; OUT_0000"),
);

/// A request for a splitting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SplitRequest {
    /// Columns and rows of tiles: `NXxNY`. Always needed.
    pub tiles: Option<Tiling>,
    /// How tiles record their place. Default: `nemo`.
    pub scheme: TileScheme,
    /// Points of their neighbours that tiles hold too, for `nemo`. Default: 0.
    pub halo: u64,
    /// A variable: no tile is written where all of it is zero or missing. Default: all tiles are.
    pub mask: Option<String>,
    /// The two dimensions to split, the fastest first. Default: by name, or the last two of the largest variable.
    #[serde(deserialize_with = "list")]
    pub dims: Vec<String>,
    /// Format and compression.
    #[serde(flatten)]
    pub coding: CodingRequest,
    /// Whether existing files may be replaced. Default: no.
    pub overwrite: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl SplitRequest {
    /// The options of the splitting.
    ///
    /// # Errors
    /// [`RequestError`] where options are wrong together, or by themselves.
    pub fn options(&self) -> Result<SplitOptions, RequestError> {
        let wrong = |option: &str, why: &str, write| RequestError::Value {
            option: option.to_owned(),
            bad: BadValue { text: None, why: why.to_owned(), write: Some(write) },
        };
        let dims = match &self.dims[..] {
            [] => None,
            [x, y] => Some((x.clone(), y.clone())),
            _ => return Err(wrong("dims", "two dimensions are split", "x,y: the fastest first")),
        };
        let Some(Tiling(nx, ny)) = self.tiles else {
            return Err(wrong("tiles", "how many tiles are wanted is not said", "NXxNY, such as 4x3"));
        };
        Ok(SplitOptions {
            tiles: (nx, ny),
            scheme: self.scheme,
            halo: self.halo,
            mask: self.mask.clone(),
            dims,
            copy: CopyOptions { overwrite: self.overwrite, ..self.coding.options()? },
        })
    }
}
