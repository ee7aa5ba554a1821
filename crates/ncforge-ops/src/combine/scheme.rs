//! Tile schemes: what the header of a tile says about its place in the whole.
//!
//! A scheme is found by what stands in the tiles (attributes), and tells for every dimension that is split which
//! part of the global dimension a tile holds. All else (checking that the tiles make one whole, holes, moving the
//! values) is the mosaic's, and the same for every scheme.

mod convention;
mod fms;
mod generic;
mod mitgcm;
mod names;
mod nemo;
mod roms;
mod series;
mod wrf;

use ncforge::{Result, TileFault};
use ncforge_tune::vocabulary::Words;
use ncforge_tune::words;

pub use convention::SeriesScheme;
pub(crate) use convention::{AxisPlace, Header, Scheme, Span, TilePosition, may_differ};
pub use generic::{GenericScheme, Placement, Position};
pub(crate) use names::RENAMED;
pub(crate) use nemo::lists as lists_of_nemo;

/// Schemes of tiles, by name. A new one is a module, a variant, its words, and what makes it; schemes are tried in the order of the words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemeName {
    /// The one that recognises the tiles.
    #[default]
    Auto,
    /// NEMO.
    Nemo,
    /// FMS.
    Fms,
    /// ROMS.
    Roms,
    /// WRF.
    Wrf,
    /// MITgcm.
    Mitgcm,
    /// As `place` says.
    Generic,
}

words!(SchemeName:
    (SchemeName::Auto, "auto", [], "The one that recognises the tiles"),
    (SchemeName::Nemo, "nemo", ["xios", "ioipsl"], "NEMO, XIOS, IOIPSL: attributes DOMAIN_*"),
    (SchemeName::Fms, "fms", ["mom"], "FMS (MOM, AM4, FV3, SHiELD): domain_decomposition"),
    (SchemeName::Roms, "roms", ["croco"], "ROMS, CROCO: partition"),
    (SchemeName::Wrf, "wrf", [], "WRF, one file per process: *_PATCH_*"),
    (SchemeName::Mitgcm, "mitgcm", [], "MITgcm, package MNC: tile_number"),
    (SchemeName::Generic, "generic", [], "As --place says"),
);

impl SchemeName {
    /// The scheme, if it recognises tiles without being described.
    fn make(self) -> Option<Box<dyn Scheme>> {
        match self {
            SchemeName::Auto | SchemeName::Generic => None,
            SchemeName::Nemo => Some(Box::new(nemo::Nemo)),
            SchemeName::Fms => Some(Box::new(fms::Fms)),
            SchemeName::Roms => Some(Box::new(roms::Roms)),
            SchemeName::Wrf => Some(Box::new(wrf::Wrf)),
            SchemeName::Mitgcm => Some(Box::new(mitgcm::Mitgcm)),
        }
    }
}

/// The scheme that the tiles follow.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemeChoice {
    /// A known one; the one that recognises the first tile, if the name is not of a known one.
    Named(SchemeName),
    /// As the user says.
    Generic(GenericScheme),
    /// One behind the other along a dimension.
    Series(SeriesScheme),
}

impl Default for SchemeChoice {
    fn default() -> Self {
        SchemeChoice::Named(SchemeName::Auto)
    }
}

/// Whether a global attribute is one of tiles of a scheme, which the output has not.
pub(crate) fn is_of_tile(scheme: SchemeName, attribute: &str) -> bool {
    scheme.make().is_some_and(|scheme| scheme.is_of_tile(attribute))
}

/// The scheme that was asked for, or that recognises the tile.
pub(crate) fn find(choice: &SchemeChoice, tile: &Header<'_>) -> Result<Box<dyn Scheme>> {
    let name = match choice {
        SchemeChoice::Generic(spec) => return Ok(Box::new(spec.clone())),
        SchemeChoice::Series(series) => return Ok(Box::new(series.clone())),
        SchemeChoice::Named(name) => name,
    };
    let Some(asked) = name.make() else {
        let known = || SchemeName::WORDS.iter().filter_map(|word| Some((word.about, word.value.make()?)));
        let found = known().map(|(_, scheme)| scheme).find(|s| s.detect(tile));
        return found.ok_or_else(|| {
            let marks: Vec<&str> = known().map(|(about, _)| about).collect();
            tile.has_no_scheme(&marks.join("; "))
        });
    };
    match asked.detect(tile) {
        true => Ok(asked),
        false => Err(tile.bad(TileFault::NoTile, format!("is no tile of the scheme {}", asked.name()))),
    }
}
