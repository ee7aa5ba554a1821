//! MITgcm's MNC package: global attribute `tile_number`.
//!
//! Tiles are numbered from 1, row by row; a row has `nSx * nPx` of them, each `sNx` by `sNy` points. Every dimension
//! whose name begins with X or Y is split. Those one point longer than a tile (`Xp1`, `Yp1`: corners) share that
//! point with the next tile; only the last tile of a row or column gives it. Those longer by two halos (`OLx`,
//! `OLy`) carry them. With the package exch2, `exch2_txGlobalo` and `exch2_tyGlobalo` are the tile's first point,
//! counting from 1, and tiles may be left out.

use super::convention::{Header, Scheme, TilePosition};
use ncforge::Result;
use ncforge::model::Schema;

#[derive(Debug)]
pub(crate) struct Mitgcm;

/// One direction of a tile.
struct Way {
    /// First point of the whole.
    first: i64,
    /// Points.
    size: i64,
    halo: i64,
    /// Points of the whole, and whether the tile is the last.
    whole: i64,
    last: bool,
}

impl Scheme for Mitgcm {
    fn name(&self) -> &'static str {
        "mitgcm"
    }

    fn detect(&self, tile: &Header<'_>) -> bool {
        tile.global("tile_number").is_some() && tile.global("sNx").is_some()
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let number = tile.need("tile_number")?;
        let (nx, ny) = (tile.need("sNx")?, tile.need("sNy")?);
        let (across, down) = (
            tile.need("nSx")?.saturating_mul(tile.need("nPx")?),
            tile.need("nSy")?.saturating_mul(tile.need("nPy")?),
        );
        if number < 1 || across < 1 || down < 1 || nx < 1 || ny < 1 {
            return Err(tile.wrong("has a tile_number or a tiling below 1"));
        }
        let corner = (tile.int("exch2_txGlobalo"), tile.int("exch2_tyGlobalo"));
        let whole = |name: &str, regular: i64| tile.int(name).unwrap_or(regular);
        let (wx, wy) = (whole("Nx", across.saturating_mul(nx)), whole("Ny", down.saturating_mul(ny)));
        let (fx, fy) = match corner {
            (Some(x), Some(y)) => (x - 1, y - 1),
            _ => ((number - 1) % across * nx, (number - 1) / across * ny),
        };
        let way = |first: i64, size: i64, halo: &str, whole: i64| Way {
            first,
            size,
            halo: tile.int(halo).unwrap_or(0),
            whole,
            last: first.saturating_add(size) >= whole,
        };
        let ways = [('X', way(fx, nx, "OLx", wx)), ('Y', way(fy, ny, "OLy", wy))];
        let mut place = TilePosition { number: u64::try_from(number).ok(), ..TilePosition::default() };
        if corner.0.is_none() {
            place.total = u64::try_from(across.saturating_mul(down)).ok();
        }
        for dim in tile.schema.dims_in(Schema::ROOT) {
            let d = tile.schema.dim(dim);
            let Some((_, w)) = ways.iter().find(|(c, _)| d.name.starts_with(*c)) else { continue };
            let len = i64::try_from(d.len).unwrap_or(i64::MAX);
            let (skip, count, whole) = match len - w.size {
                0 => (0, w.size, w.whole),
                1 => (0, w.size + i64::from(w.last), w.whole.saturating_add(1)),
                more if w.halo > 0 && more == 2 * w.halo => (w.halo, w.size, w.whole),
                _ => {
                    let (name, size) = (&d.name, w.size);
                    return Err(tile.wrong(format!(
                        "has a dimension `{name}` of length {len}, which is neither a tile of {size} points, nor its \
                         corners, nor it with its halo"
                    )));
                }
            };
            let mut axis = tile.axis(dim, w.first, skip, count)?;
            axis.whole = u64::try_from(whole).ok();
            place.axes.push(axis);
        }
        Ok(place)
    }

    fn first_number(&self) -> u64 {
        1
    }

    fn is_of_tile(&self, name: &str) -> bool {
        const TILE: [&str; 12] = [
            "tile_number",
            "bi",
            "bj",
            "sNx",
            "sNy",
            "OLx",
            "OLy",
            "nSx",
            "nSy",
            "nPx",
            "nPy",
            "MITgcm_tile_number",
        ];
        TILE.contains(&name) || name.starts_with("exch2_")
    }
}
