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

use crate::request::{Words, words};
use ncforge::Result;

pub use convention::SeriesScheme;
pub(crate) use convention::{AxisPlace, Header, Scheme, Span, TilePosition, may_differ};
pub use generic::{GenericScheme, Placement, Position};
pub(crate) use names::RENAMED;
pub(crate) use nemo::lists as lists_of_nemo;

/// Schemes of tiles, by name. A new one is a variant, a line in each of the two lists below, and a module.
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

type Make = fn() -> Box<dyn Scheme>;

/// The schemes that can be recognised, in the order in which that is tried.
const KNOWN: [(SchemeName, Make); 5] = [
    (SchemeName::Nemo, || Box::new(nemo::Nemo)),
    (SchemeName::Fms, || Box::new(fms::Fms)),
    (SchemeName::Roms, || Box::new(roms::Roms)),
    (SchemeName::Wrf, || Box::new(wrf::Wrf)),
    (SchemeName::Mitgcm, || Box::new(mitgcm::Mitgcm)),
];

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
    KNOWN.iter().any(|(name, make)| *name == scheme && make().is_of_tile(attribute))
}

/// The scheme that was asked for, or that recognises the tile.
pub(crate) fn find(choice: &SchemeChoice, tile: &Header<'_>) -> Result<Box<dyn Scheme>> {
    let name = match choice {
        SchemeChoice::Generic(spec) => return Ok(Box::new(spec.clone())),
        SchemeChoice::Series(series) => return Ok(Box::new(series.clone())),
        SchemeChoice::Named(name) => name,
    };
    let Some((_, make)) = KNOWN.iter().find(|(known, _)| known == name) else {
        let found = KNOWN.iter().map(|(_, make)| make()).find(|s| s.detect(tile));
        return found.ok_or_else(|| {
            let about = |name| SchemeName::WORDS.iter().find(|w| w.value == name).map_or("", |w| w.about);
            let marks: Vec<&str> = KNOWN.iter().map(|&(name, _)| about(name)).collect();
            tile.has_no_scheme(&marks.join("; "))
        });
    };
    let asked = make();
    match asked.detect(tile) {
        true => Ok(asked),
        false => Err(tile.wrong(format!("is no tile of the scheme {}", asked.name()))),
    }
}
