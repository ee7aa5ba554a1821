//! WRF with one file per process (`io_form_history=102`): global attributes `*_PATCH_*`.
//!
//! `WEST-EAST_PATCH_START_UNSTAG` and its kin count from 1, the ends included, without halo; `*_STAG` speak of the
//! staggered dimensions, which are one longer in the last tile of a row or column only. `*_GRID_DIMENSION` is the
//! staggered length of the whole. A file that is not split has the same attributes for all of it, whichever dimensions it has.

use super::convention::{Header, Scheme, TilePosition, ints};
use super::names::give_back_names;
use ncforge::Result;
use ncforge::model::{Atomic, Attribute, Schema, Values};

#[derive(Debug)]
pub(crate) struct Wrf;

/// Name in attributes, name of the dimension.
const AXES: [(&str, &str); 3] =
    [("WEST-EAST", "west_east"), ("SOUTH-NORTH", "south_north"), ("BOTTOM-TOP", "bottom_top")];

/// Whether an attribute says which part of the domain a tile is.
fn is_of_wrf(name: &str) -> bool {
    AXES.iter().any(|(axis, _)| {
        name.strip_prefix(axis).is_some_and(|rest| {
            rest == "_GRID_DIMENSION" || rest.starts_with("_PATCH_START_") || rest.starts_with("_PATCH_END_")
        })
    })
}

impl Scheme for Wrf {
    fn name(&self) -> &'static str {
        "wrf"
    }

    fn detect(&self, tile: &Header<'_>) -> bool {
        tile.global("WEST-EAST_PATCH_START_UNSTAG").is_some()
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let mut place = TilePosition { number: tile.suffix(), ..TilePosition::default() };
        for (attr, dim) in AXES {
            for (staggered, end) in [("UNSTAG", ""), ("STAG", "_stag")] {
                let Some(dim) = tile.dim(&format!("{dim}{end}")) else { continue };
                let first = tile.need(&format!("{attr}_PATCH_START_{staggered}"))?;
                let last = tile.need(&format!("{attr}_PATCH_END_{staggered}"))?;
                let d = tile.schema.dim(dim);
                let count = last.saturating_sub(first).saturating_add(1);
                if u64::try_from(count) != Ok(d.len) {
                    return Err(tile.wrong(format!(
                        "has a dimension `{}` of length {}, but {attr}_PATCH_*_{staggered} speak of points {first} \
                         to {last}",
                        d.name, d.len
                    )));
                }
                let mut axis = tile.axis(dim, first.saturating_sub(1), 0, count)?;
                if let Some(n) = tile.int(&format!("{attr}_GRID_DIMENSION")) {
                    axis.whole = u64::try_from(n - i64::from(staggered == "UNSTAG")).ok();
                }
                place.axes.push(axis);
            }
        }
        Ok(place)
    }

    fn leaves_out_tiles(&self) -> bool {
        false
    }

    fn is_of_tile(&self, _global_attribute: &str) -> bool {
        false
    }

    fn is_of_file(&self, _first: &Schema, name: &str) -> bool {
        is_of_wrf(name)
    }

    fn finish(&self, whole: &mut Schema, _output: &str) {
        if give_back_names(whole) {
            // No file of WRF: it had no such attributes before it was split.
            whole.groups[0].attrs.retain(|a| !is_of_wrf(&a.name));
            return;
        }
        for (attr, dim) in AXES {
            let Some(points) = points(whole, attr, dim) else { continue };
            for (kind, end) in [("UNSTAG", points), ("STAG", points.saturating_add(1))] {
                for (which, value) in [("START", 1), ("END", end)] {
                    let name = format!("{attr}_PATCH_{which}_{kind}");
                    let value = i32::try_from(value).unwrap_or(i32::MAX).to_ne_bytes();
                    if let Some(a) = whole.groups[0].attrs.iter_mut().find(|a| a.name == name) {
                        *a = Attribute { name, dtype: Atomic::Int.into(), values: Values::fixed(&value) };
                    }
                }
            }
        }
    }
}

/// Points of the whole along an axis, not staggered: a stream need not have both dimensions, nor any, and its attributes speak of the
/// whole domain all the same.
fn points(whole: &Schema, attr: &str, dim: &str) -> Option<u64> {
    let len = |name: &str| {
        whole.dims_in(Schema::ROOT).map(|d| whole.dim(d)).find(|d| d.name == name).map(|d| d.len)
    };
    let staggered = || {
        let name = format!("{attr}_GRID_DIMENSION");
        let said = whole.groups[0].attrs.iter().find(|a| a.name == name).and_then(ints);
        let said = said.and_then(|v| v.first().copied()).and_then(|n| u64::try_from(n).ok());
        len(&format!("{dim}_stag")).or(said)
    };
    len(dim).or_else(|| staggered()?.checked_sub(1))
}
