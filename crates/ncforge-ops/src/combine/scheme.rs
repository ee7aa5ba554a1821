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
mod wrf;

use ncforge::Result;

pub(crate) use convention::{AxisPlace, Header, Place, Scheme, Span, may_differ};
pub use generic::{GenericScheme, Placement, Position};
pub(crate) use names::RENAMED;

/// Which scheme the tiles follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SchemeChoice {
    /// The one that recognises the first tile.
    #[default]
    Auto,
    /// NEMO, XIOS, IOIPSL: global attributes `DOMAIN_*`.
    Nemo,
    /// FMS (MOM, AM4, FV3, SHiELD): `domain_decomposition` of coordinate variables.
    Fms,
    /// ROMS, CROCO: global attribute `partition`.
    Roms,
    /// WRF with one file a process: global attributes `*_PATCH_*`.
    Wrf,
    /// MITgcm's MNC package: global attribute `tile_number`.
    Mitgcm,
    /// As the user says.
    Generic(GenericScheme),
}

/// The scheme that was asked for, or that recognises the tile.
pub(crate) fn find(choice: &SchemeChoice, tile: &Header<'_>) -> Result<Box<dyn Scheme>> {
    let all: [fn() -> Box<dyn Scheme>; 5] = [
        || Box::new(nemo::Nemo),
        || Box::new(fms::Fms),
        || Box::new(roms::Roms),
        || Box::new(wrf::Wrf),
        || Box::new(mitgcm::Mitgcm),
    ];
    let asked: Box<dyn Scheme> = match choice {
        SchemeChoice::Auto => {
            let found = all.iter().map(|make| make()).find(|s| s.detect(tile));
            return found.ok_or_else(|| tile.has_no_scheme());
        }
        SchemeChoice::Nemo => Box::new(nemo::Nemo),
        SchemeChoice::Fms => Box::new(fms::Fms),
        SchemeChoice::Roms => Box::new(roms::Roms),
        SchemeChoice::Wrf => Box::new(wrf::Wrf),
        SchemeChoice::Mitgcm => Box::new(mitgcm::Mitgcm),
        SchemeChoice::Generic(spec) => return Ok(Box::new(spec.clone())),
    };
    match asked.detect(tile) {
        true => Ok(asked),
        false => Err(tile.wrong(format!("is no tile of the scheme {}", asked.name()))),
    }
}
