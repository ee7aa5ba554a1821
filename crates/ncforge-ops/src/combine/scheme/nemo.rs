//! NEMO, XIOS and IOIPSL: global attributes `DOMAIN_*`.
//!
//! `DOMAIN_dimensions_ids` are netCDF dimension ids plus one, in any order and of any number (XIOS puts
//! `axis_nbounds` first, so they need not be 1 and 2); the other vectors follow it. Positions count from 1, halo
//! included; `DOMAIN_halo_size_start` and `_end` are points to drop at either end. `DOMAIN_number_total` is the
//! number of files: tiles of land alone have none. Iceberg restarts hold a list along an unlimited dimension, of
//! another length in every tile.

use super::convention::{Header, Scheme, TilePosition};
use super::names::{XIOS_FILE, coordinate, drop_xios, xios_attributes};
use ncforge::model::{DimId, Schema};
use ncforge::{Error, Result, TileFault};

#[derive(Debug)]
pub(crate) struct Nemo;

impl Scheme for Nemo {
    fn name(&self) -> &'static str {
        "nemo"
    }

    fn detect(&self, tile: &Header<'_>) -> bool {
        tile.global("DOMAIN_dimensions_ids").is_some() || tile.global("DOMAIN_position_first").is_some()
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let vector = |name: &str| {
            tile.ints(name)
                .ok_or_else(|| tile.wrong(format!("lacks the global attribute {name} (whole numbers)")))
        };
        let ids = vector("DOMAIN_dimensions_ids")?;
        let first = vector("DOMAIN_position_first")?;
        let last = vector("DOMAIN_position_last")?;
        let whole = vector("DOMAIN_size_global")?;
        let local = tile.ints("DOMAIN_size_local");
        let halo = |name: &str| tile.ints(name).unwrap_or_else(|| vec![0; ids.len()]);
        let (low, high) = (halo("DOMAIN_halo_size_start"), halo("DOMAIN_halo_size_end"));
        let lens = [first.len(), last.len(), whole.len(), low.len(), high.len()];
        if lens.iter().any(|&n| n != ids.len()) {
            return Err(tile.wrong("has DOMAIN_* attributes of different lengths"));
        }
        let span = |i: usize| last[i].saturating_sub(first[i]).saturating_add(1);
        let points = |i: usize| local.as_ref().and_then(|l| l.get(i).copied()).unwrap_or(span(i));
        let spans: Vec<i64> = (0..ids.len()).map(span).collect();
        let dims = dims(tile.schema, &ids, &spans);
        let mut axes = Vec::with_capacity(ids.len());
        for i in 0..ids.len() {
            let length = |dim: DimId| i64::try_from(tile.schema.dim(dim).len).unwrap_or(i64::MAX);
            let fits = |dim: &DimId| span(i) == length(*dim) && points(i) == length(*dim);
            let Some(dim) = dims[i].filter(|dim| may_be_split(tile.schema, *dim) && fits(dim)) else {
                return Err(changed(tile, &ids, &spans, local.as_deref()));
            };
            let n = length(dim);
            let start = first[i].saturating_sub(1).saturating_add(low[i]);
            let mut axis = tile.axis(dim, start, low[i], n.saturating_sub(low[i]).saturating_sub(high[i]))?;
            axis.whole =
                Some(u64::try_from(whole[i]).map_err(|_| tile.wrong("has a negative DOMAIN_size_global"))?);
            axes.push(axis);
        }
        let natural = |name: &str| tile.int(name).and_then(|n| u64::try_from(n).ok());
        Ok(TilePosition {
            lists: lists(tile.schema, &axes.iter().map(|a| a.dim).collect::<Vec<_>>()),
            axes,
            number: natural("DOMAIN_number").or_else(|| tile.suffix()),
            total: natural("DOMAIN_number_total"),
        })
    }

    fn is_of_tile(&self, global_attribute: &str) -> bool {
        global_attribute.starts_with("DOMAIN_") || ["file_name", "associate_file"].contains(&global_attribute)
    }

    fn is_of_file(&self, first: &Schema, name: &str) -> bool {
        XIOS_FILE.contains(&name) || xios_attributes(first).iter().any(|own| own == name)
    }

    fn finish(&self, whole: &mut Schema, _output: &str) {
        drop_xios(whole);
    }
}

/// Models split no records.
fn may_be_split(tile: &Schema, dim: DimId) -> bool {
    !tile.dim(dim).unlimited
}

/// The error for a tile whose attributes speak of other dimensions than it has.
fn changed(tile: &Header<'_>, ids: &[i64], spans: &[i64], local: Option<&[i64]>) -> Error {
    let parts: Vec<String> =
        ids.iter().zip(spans).map(|(id, n)| format!("{n} points along dimension number {id}")).collect();
    let local = match local {
        Some(local) if local != spans => format!(", or {local:?} by DOMAIN_size_local"),
        _ => String::new(),
    };
    let dims: Vec<String> = (tile.schema.dims.iter())
        .map(|d| format!("{} = {}{}", d.name, d.len, if d.unlimited { " (unlimited)" } else { "" }))
        .collect();
    let by = match ["NCO", "CDO"].iter().find(|name| tile.global(name).is_some()) {
        Some(name) => format!("{name} has written it after its model"),
        None => "another program has cut the file, or changed the order of its dimensions".to_owned(),
    };
    let what = format!(
        "is not what its attributes DOMAIN_* say: they are of {}{local}, and its dimensions are {}; {by}",
        parts.join(" and "),
        dims.join(", ")
    );
    tile.bad(TileFault::Changed, what)
}

/// The split dimensions: by their ids. Programs that change the order of dimensions (NCO) leave the ids as they were; so where
/// an id names a dimension of another length, by the lengths, if those leave no choice.
fn dims(tile: &Schema, ids: &[i64], spans: &[i64]) -> Vec<Option<DimId>> {
    let has = |d: DimId, span: i64| may_be_split(tile, d) && i64::try_from(tile.dim(d).len) == Ok(span);
    let by_id: Vec<Option<DimId>> = ids
        .iter()
        .map(|id| usize::try_from(id - 1).ok().filter(|&d| d < tile.dims.len()).map(DimId))
        .collect();
    if by_id.iter().zip(spans).all(|(d, span)| d.is_some_and(|d| has(d, *span))) {
        return by_id;
    }
    let by_length: Option<Vec<Option<DimId>>> = spans
        .iter()
        .map(|span| {
            let mut fitting = (0..tile.dims.len()).map(DimId).filter(|d| has(*d, *span));
            let only = fitting.next()?;
            fitting.next().is_none().then_some(Some(only))
        })
        .collect();
    // Two parts of one length would have the same dimension, or two.
    by_length.filter(|dims| (1..dims.len()).all(|i| !dims[..i].contains(&dims[i]))).unwrap_or(by_id)
}

/// Unlimited dimensions that hold a list: no variable along them is split, and none of them is an axis with
/// coordinates (as time is).
pub(crate) fn lists(schema: &Schema, split: &[DimId]) -> Vec<DimId> {
    (0..schema.dims.len())
        .map(DimId)
        .filter(|&d| schema.dim(d).unlimited && !split.contains(&d) && coordinate(schema, d).is_none())
        .filter(|&d| {
            let mut along = schema.vars.iter().filter(|v| v.dims.contains(&d)).peekable();
            along.peek().is_some()
                && along.all(|v| v.dims[0] == d && !v.dims.iter().any(|x| split.contains(x)))
        })
        .collect()
}
