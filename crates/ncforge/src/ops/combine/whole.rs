//! The whole, of boxes or of a mesh: what a combination asks of either.

use super::left_out::LeftOut;
use super::mesh::{self, Mesh};
use super::mosaic::{self, Mosaic, Picture};
use super::options::Differing;
use super::tiles::Tiles;
use crate::error::Result;
use crate::model::Schema;
use crate::ops::source::Source;

/// What tiles make.
#[derive(Debug)]
pub(super) enum Whole {
    /// Every tile has a box of it.
    Boxes(Box<Mosaic>),
    /// Every tile has cells scattered over it.
    Mesh(Box<Mesh>),
}

impl Whole {
    /// The name of the scheme.
    pub(super) fn scheme(&self) -> &'static str {
        match self {
            Whole::Boxes(mosaic) => mosaic.scheme.name(),
            Whole::Mesh(_) => "dflowfm",
        }
    }

    pub(super) fn tiles(&self) -> &Tiles {
        match self {
            Whole::Boxes(mosaic) => &mosaic.tiles,
            Whole::Mesh(mesh) => mesh.tiles(),
        }
    }

    /// Bytes of all tiles.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Whole::Boxes(mosaic) => mosaic.bytes,
            Whole::Mesh(mesh) => mesh.bytes(),
        }
    }

    pub(super) fn schema(&self) -> &Schema {
        match self {
            Whole::Boxes(mosaic) => &mosaic.schema,
            Whole::Mesh(mesh) => &mesh.schema,
        }
    }

    /// Numbers of tiles that should exist and were not given.
    pub(super) fn missing(&self) -> &[u64] {
        match self {
            Whole::Boxes(mosaic) => &mosaic.missing,
            Whole::Mesh(mesh) => &mesh.missing,
        }
    }

    /// What a person should know.
    pub(super) fn notes(&self) -> &[String] {
        match self {
            Whole::Boxes(mosaic) => &mosaic.notes,
            Whole::Mesh(mesh) => &mesh.notes,
        }
    }

    /// What of the tiles is not in the whole.
    pub(super) fn left_out(&self) -> &LeftOut {
        match self {
            Whole::Boxes(mosaic) => &mosaic.left_out,
            Whole::Mesh(mesh) => mesh.left_out(),
        }
    }

    pub(super) fn pictures(&self) -> Vec<Picture> {
        match self {
            Whole::Boxes(mosaic) => mosaic::pictures(mosaic),
            Whole::Mesh(mesh) => mesh::pictures(mesh),
        }
    }

    /// An error if the values of what is not distributed differ between tiles.
    pub(super) fn check_values(&mut self, differing: Differing) -> Result<()> {
        match self {
            Whole::Boxes(mosaic) => mosaic.check_values(differing),
            Whole::Mesh(mesh) => mesh.check_values(differing),
        }
    }

    /// Like a file.
    pub(super) fn source(&self) -> &dyn Source {
        match self {
            Whole::Boxes(mosaic) => &**mosaic,
            Whole::Mesh(mesh) => &**mesh,
        }
    }

    /// The same, to keep.
    pub(super) fn into_source(self) -> Box<dyn Source + Send> {
        match self {
            Whole::Boxes(mosaic) => mosaic,
            Whole::Mesh(mesh) => mesh,
        }
    }
}
