//! How a file is split, and how the tiles record their place.

use crate::combine::SchemeName;
use crate::copy::CopyOptions;

/// How tiles shall tell their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TileScheme {
    /// `DOMAIN_*`; files `BASE_0000.nc`.
    #[default]
    Nemo,
    /// `domain_decomposition`; files `BASE.nc.0000`.
    Fms,
    /// `partition`; files `BASE.0.nc`, as many digits as are needed.
    Roms,
    /// `*_PATCH_*`; files `BASE_0000`.
    Wrf,
}

impl TileScheme {
    /// The names by which its tiles' split dimensions are known, the fastest first; `None`: any.
    pub(super) fn dims(self) -> Option<[&'static str; 2]> {
        match self {
            TileScheme::Roms => Some(["xi_rho", "eta_rho"]),
            TileScheme::Wrf => Some(["west_east", "south_north"]),
            TileScheme::Nemo | TileScheme::Fms => None,
        }
    }

    /// The scheme by which the tiles are combined.
    pub(super) fn combined_as(self) -> SchemeName {
        match self {
            TileScheme::Nemo => SchemeName::Nemo,
            TileScheme::Fms => SchemeName::Fms,
            TileScheme::Roms => SchemeName::Roms,
            TileScheme::Wrf => SchemeName::Wrf,
        }
    }
}

/// Options of a splitting.
#[derive(Clone, Debug, Default)]
pub struct SplitOptions {
    /// Tiles along the fastest of the split dimensions, and along the other.
    pub tiles: (u64, u64),
    /// The scheme by which they tell their place.
    pub scheme: TileScheme,
    /// Points of their neighbours that tiles hold too, at inner edges ([`TileScheme::Nemo`] only).
    pub halo: u64,
    /// A variable over the split dimensions: no tile is written where all of it is zero or missing.
    pub mask: Option<String>,
    /// The split dimensions, the fastest first; `None`: by name, or the last two of the largest variable.
    pub dims: Option<(String, String)>,
    /// Format, chunks, compression of the tiles; whether existing files may be replaced.
    pub copy: CopyOptions,
}
