//! FMS (MOM, AM4, FV3, SHiELD): `domain_decomposition` of coordinate variables.
//!
//! A dimension is split when the variable of its name has the attribute `domain_decomposition`, four whole numbers
//! counting from 1: first and last point of the whole, first and last point here. The whole need not begin at 1
//! (regional output). Corner dimensions are decomposed on their own (symmetric memory: one point more). Dimensions
//! "compressed by gathering" (CF `compress`) hold lists. Processes that are masked out write no file.

use super::convention::{Header, Scheme, TilePosition, ints};
use super::names::coordinate;
use ncforge::Result;
use ncforge::model::{Attribute, DimId, Schema};

const DECOMPOSITION: &str = "domain_decomposition";
const TOTAL: &str = "NumFilesInSet";
const FILE_NAME: &str = "filename";

#[derive(Debug)]
pub(crate) struct Fms;

impl Scheme for Fms {
    fn name(&self) -> &'static str {
        "fms"
    }

    fn detect(&self, tile: &Header<'_>) -> bool {
        let compressed = || (0..tile.schema.dims.len()).any(|d| is_list(tile.schema, DimId(d)));
        tile.schema.vars.iter().any(|v| v.attr(DECOMPOSITION).is_some())
            || (tile.global(TOTAL).is_some() && compressed())
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let schema = tile.schema;
        let mut place = TilePosition {
            number: tile.suffix(),
            // Diagnostics of a region say 0 since FMS has them written by the processes that have a part of it.
            total: tile.int(TOTAL).and_then(|n| u64::try_from(n).ok()).filter(|&n| n > 0),
            ..TilePosition::default()
        };
        for dim in (0..schema.dims.len()).map(DimId) {
            if is_list(schema, dim) {
                place.lists.push(dim);
            }
            let Some(var) = coordinate(schema, dim) else { continue };
            let Some(attr) = schema.var(var).attr(DECOMPOSITION) else { continue };
            let Some(&[g0, g1, l0, l1]) = ints(attr).as_deref().and_then(|v| v.first_chunk::<4>()) else {
                let name = &schema.var(var).name;
                return Err(
                    tile.wrong(format!("has `{name}:{DECOMPOSITION}` that is not four whole numbers"))
                );
            };
            let d = schema.dim(dim);
            let count = l1.saturating_sub(l0).saturating_add(1);
            if u64::try_from(count) != Ok(d.len) {
                return Err(tile.wrong(format!(
                    "has a dimension `{}` of length {}, but its {DECOMPOSITION} speaks of points {l0} to {l1}",
                    d.name, d.len
                )));
            }
            let mut axis = tile.axis(dim, l0.saturating_sub(g0), 0, count)?;
            let whole = g1.saturating_sub(g0).saturating_add(1);
            axis.whole = Some(u64::try_from(whole).map_err(|_| tile.wrong("ends before it begins"))?);
            place.axes.push(axis);
        }
        Ok(place)
    }

    fn is_of_tile(&self, global_attribute: &str) -> bool {
        global_attribute == TOTAL
    }

    fn is_of_file(&self, _first: &Schema, name: &str) -> bool {
        name == FILE_NAME
    }

    fn is_of_tile_var(&self, attribute: &str) -> bool {
        attribute == DECOMPOSITION
    }

    fn finish(&self, whole: &mut Schema, output: &str) {
        if let Some(a) = whole.groups[0].attrs.iter_mut().find(|a| a.name == FILE_NAME) {
            *a = Attribute::text(FILE_NAME, output);
        }
    }
}

/// Whether a dimension is compressed by gathering.
fn is_list(schema: &Schema, dim: DimId) -> bool {
    coordinate(schema, dim).is_some_and(|v| schema.var(v).attr("compress").is_some())
}
