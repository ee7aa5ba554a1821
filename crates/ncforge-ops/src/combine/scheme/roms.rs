//! ROMS (UCLA, CROCO, Agrif): global attribute `partition`.
//!
//! Four whole numbers: node from 0, number of nodes, first xi and first eta of the tile, counting from 1 among the
//! points of density (RHO). The split dimensions are known by name. Points of velocity lie between those of density:
//! the first of them belongs to the tile on the western (southern) edge, so all others begin one earlier.

use super::convention::{Header, Scheme, TilePosition};
use super::names::give_back_names;
use ncforge::Result;
use ncforge::model::Schema;

#[derive(Debug)]
pub(crate) struct Roms;

/// The dimensions: name, whether along xi, whether between the points of density.
const DIMS: [(&str, bool, bool); 8] = [
    ("xi_rho", true, false),
    ("xi_v", true, false),
    ("xi_u", true, true),
    ("xi_psi", true, true),
    ("eta_rho", false, false),
    ("eta_u", false, false),
    ("eta_v", false, true),
    ("eta_psi", false, true),
];

impl Scheme for Roms {
    fn name(&self) -> &'static str {
        "roms"
    }

    fn detect(&self, tile: &Header<'_>) -> bool {
        tile.ints("partition").is_some_and(|p| p.len() == 4)
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let Some(&[node, nodes, xi, eta]) =
            tile.ints("partition").as_deref().and_then(|v| v.first_chunk::<4>())
        else {
            return Err(tile.wrong("has no global attribute `partition` of four whole numbers"));
        };
        let mut place = TilePosition {
            number: u64::try_from(node).ok(),
            total: u64::try_from(nodes).ok(),
            ..TilePosition::default()
        };
        for (name, along_xi, between) in DIMS {
            let Some(dim) = tile.dim(name) else { continue };
            let start = if along_xi { xi } else { eta };
            let first = if between && start > 1 { start.saturating_sub(2) } else { start.saturating_sub(1) };
            let len = i64::try_from(tile.schema.dim(dim).len).unwrap_or(i64::MAX);
            place.axes.push(tile.axis(dim, first, 0, len)?);
        }
        Ok(place)
    }

    fn is_of_tile(&self, global_attribute: &str) -> bool {
        ["partition", "ij_nodes", "subdompos", "globaldims", "neighbors"].contains(&global_attribute)
    }

    fn finish(&self, whole: &mut Schema, _output: &str) {
        give_back_names(whole);
    }
}
