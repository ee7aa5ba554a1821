//! The header of a tile.

use std::path::Path;

use crate::combine::RENAMED;
use ncforge::model::{Atomic, Attribute, DimId, Schema, Values};
use ncforge::raw::{Ranges, Span, put_attribute};
use ncforge::{Dataset, Error, Result};

use super::families::{Families, Family};
use super::options::TileScheme;

/// One tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    /// Column and row.
    pub(super) at: (u64, u64),
    /// Columns and rows.
    pub(super) tiles: (u64, u64),
    /// Its number among those that are written.
    pub(super) rank: u64,
    /// The number of tiles that are written.
    pub(super) total: u64,
    pub(super) halo: u64,
}

/// A tile's description, and the indices that it has along each dimension.
pub(super) struct Described {
    pub(super) schema: Schema,
    pub(super) ranges: Vec<Option<Ranges>>,
}

/// A tile's range of one dimension, and how much of it at either end is halo.
struct Range {
    dim: DimId,
    from: u64,
    to: u64,
    low: u64,
    high: u64,
    whole: u64,
}

/// Describes a tile that is written to `path`.
pub(super) fn describe(
    source: &Dataset,
    families: &Families,
    scheme: TileScheme,
    one: One,
    path: &Path,
) -> Result<Described> {
    let mut schema = source.schema().clone();
    let mut ranges = ranges(&schema, &families.x, one.at.0, one.tiles.0, one.halo);
    ranges.extend(self::ranges(&schema, &families.y, one.at.1, one.tiles.1, one.halo));
    let mut own = vec![None; schema.dims.len()];
    for r in &ranges {
        own[r.dim.0] = Some(Ranges::new([Span::run(r.from..r.to)]));
        schema.dims[r.dim.0].len = r.to - r.from;
    }
    let foreign = take_names(&mut schema, families, scheme)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match scheme {
        TileScheme::Nemo => nemo(&mut schema, &ranges, one, &file),
        TileScheme::Fms => fms(&mut schema, &ranges, one, &file)?,
        TileScheme::Roms => {
            let start = |f: &Family| ranges.iter().find(|r| r.dim == f.main()).map_or(1, |r| r.from + 1);
            let values = [one.rank, one.total, start(&families.x), start(&families.y)];
            put(&mut schema, "partition", &values);
        }
        TileScheme::Wrf => wrf(&mut schema, &ranges),
    }
    for (name, own) in foreign {
        let attr = Attribute::text(format!("{RENAMED}{name}"), &own);
        put_attribute(&mut schema.groups[0].attrs, attr);
    }
    Ok(Described { schema, ranges: own })
}

/// Gives the split dimensions the names by which tiles of the scheme are known. Gives new and own names, for `combine` to
/// give those back.
fn take_names(
    schema: &mut Schema,
    families: &Families,
    scheme: TileScheme,
) -> Result<Vec<(&'static str, String)>> {
    let mut renamed = Vec::new();
    for (family, name) in [&families.x, &families.y].into_iter().zip(scheme.dims().into_iter().flatten()) {
        let dim = family.main();
        if schema.dim(dim).name == name {
            continue;
        }
        if schema.dims_in(Schema::ROOT).any(|d| schema.dim(d).name == name) {
            return Err(Error::bad_option(
                "scheme",
                format!(
                    "in tiles of this scheme the dimension `{}` must be called `{name}`, which another one of the file is: \
                 split that, or choose another scheme",
                    schema.dim(dim).name
                ),
            ));
        }
        renamed.push((name, std::mem::replace(&mut schema.dims[dim.0].name, name.to_owned())));
    }
    Ok(renamed)
}

fn ranges(schema: &Schema, family: &Family, at: u64, tiles: u64, halo: u64) -> Vec<Range> {
    let n = schema.dim(family.main()).len;
    let main = family.cut(n, at, tiles);
    family
        .members
        .iter()
        .map(|m| {
            let whole = schema.dim(m.dim).len;
            let (from, to) = Family::cut_of(m.edge, main, at + 1 == tiles);
            let (low, high) = (halo.min(from), halo.min(whole - to));
            Range { dim: m.dim, from: from - low, to: to + high, low, high, whole }
        })
        .collect()
}

/// Sets a global attribute of 32-bit whole numbers.
fn put(schema: &mut Schema, name: &str, values: &[u64]) {
    put_attribute(&mut schema.groups[0].attrs, ints(name, values));
}

fn ints(name: &str, values: &[u64]) -> Attribute {
    let bytes: Vec<u8> =
        values.iter().flat_map(|&n| i32::try_from(n).unwrap_or(i32::MAX).to_ne_bytes()).collect();
    Attribute { name: name.into(), dtype: Atomic::Int.into(), values: Values::fixed(&bytes) }
}

fn nemo(schema: &mut Schema, ranges: &[Range], one: One, file: &str) {
    put(schema, "DOMAIN_number_total", &[one.total]);
    put(schema, "DOMAIN_number", &[one.rank]);
    let mut vector = |name: &str, of: &dyn Fn(&Range) -> u64| {
        put(schema, name, &ranges.iter().map(of).collect::<Vec<_>>());
    };
    vector("DOMAIN_dimensions_ids", &|r| r.dim.0 as u64 + 1);
    vector("DOMAIN_size_global", &|r| r.whole);
    vector("DOMAIN_size_local", &|r| r.to - r.from);
    vector("DOMAIN_position_first", &|r| r.from + 1);
    vector("DOMAIN_position_last", &|r| r.to);
    vector("DOMAIN_halo_size_start", &|r| r.low);
    vector("DOMAIN_halo_size_end", &|r| r.high);
    put_attribute(&mut schema.groups[0].attrs, Attribute::text("DOMAIN_type", "BOX"));
    put_attribute(&mut schema.groups[0].attrs, Attribute::text("file_name", file));
}

fn fms(schema: &mut Schema, ranges: &[Range], one: One, file: &str) -> Result<()> {
    for r in ranges {
        let name = schema.dim(r.dim).name.clone();
        let var = schema.vars.iter_mut().find(|v| v.name == name && v.dims == [r.dim]).ok_or_else(|| {
            Error::bad_option(
                "scheme",
                format!(
                    "tiles of FMS tell their place by coordinate variables, and dimension `{name}` has none"
                ),
            )
        })?;
        put_attribute(&mut var.attrs, ints("domain_decomposition", &[1, r.whole, r.from + 1, r.to]));
    }
    put(schema, "NumFilesInSet", &[one.total]);
    // The whole keeps its own name; only tiles have a file name that the whole did not have.
    if let Some(a) = schema.groups[0].attrs.iter_mut().find(|a| a.name == "filename") {
        *a = Attribute::text("filename", file.rsplit_once('.').map_or(file, |x| x.0));
    }
    Ok(())
}

fn wrf(schema: &mut Schema, ranges: &[Range]) {
    for (attr, dim) in
        [("WEST-EAST", "west_east"), ("SOUTH-NORTH", "south_north"), ("BOTTOM-TOP", "bottom_top")]
    {
        let range = |schema: &Schema, name: &str| -> Option<(u64, u64, u64)> {
            let id = schema.dims_in(Schema::ROOT).find(|d| schema.dim(*d).name == name)?;
            Some(match ranges.iter().find(|r| r.dim == id) {
                Some(r) => (r.from + 1, r.to, r.whole),
                None => (1, schema.dim(id).len, schema.dim(id).len),
            })
        };
        let (centre, stag) = (range(schema, dim), range(schema, &format!("{dim}_stag")));
        let Some(whole) = stag.map(|s| s.2).or(centre.map(|c| c.2 + 1)) else { continue };
        put(schema, &format!("{attr}_GRID_DIMENSION"), &[whole]);
        // Where one of the two dimensions is not there, its range is the other's: one longer in the last tile only.
        let last = |r: &(u64, u64, u64)| u64::from(r.1 == r.2);
        let unstag = centre.or(stag.map(|r| (r.0, r.1.saturating_sub(last(&r)), r.2.saturating_sub(1))));
        let stag = stag.or(centre.map(|r| (r.0, r.1 + last(&r), r.2 + 1)));
        for (kind, r) in [("UNSTAG", unstag), ("STAG", stag)] {
            if let Some((from, to, _)) = r {
                put(schema, &format!("{attr}_PATCH_START_{kind}"), &[from]);
                put(schema, &format!("{attr}_PATCH_END_{kind}"), &[to]);
            }
        }
    }
}
