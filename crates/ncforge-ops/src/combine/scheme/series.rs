//! Files of a series, one behind the other along a dimension: what `ncrcat` joins.
//!
//! The place of a file is behind those before it; their order is that of the coordinate, which [`crate::series`] decides from values.

use super::convention::{AxisPlace, Header, Scheme, SeriesScheme, Span, TilePosition};
use ncforge::Result;
use ncforge::model::agreement::{Class, Origin};
use ncforge::model::{DimId, Schema};

impl Scheme for SeriesScheme {
    fn name(&self) -> &'static str {
        "series"
    }

    fn detect(&self, _tile: &Header<'_>) -> bool {
        true
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let schema = tile.schema;
        let axes = (0..schema.dims.len()).map(DimId).filter(|d| schema.dim(*d).name == self.dim).map(|dim| {
            let span = Span { first: tile.number as u64, skip: 0, count: schema.dim(dim).len };
            AxisPlace { dim, span, whole: None, counts_tiles: true }
        });
        let place = TilePosition { axes: axes.collect(), ..TilePosition::default() };
        match place.axes.is_empty() {
            true => Err(tile.wrong(format!("has no dimension `{}`, along which files are joined", self.dim))),
            false => Ok(place),
        }
    }

    fn is_of_tile(&self, _global_attribute: &str) -> bool {
        false
    }

    fn is_of_file(&self, _first: &Schema, global_attribute: &str) -> bool {
        Class::of_file(global_attribute).may_differ(Origin::Series)
    }

    fn series(&self) -> Option<&SeriesScheme> {
        Some(self)
    }
}
