//! Splits a file into tiles as models write them: the inverse of [`combine`](crate::combine).
//!
//! Each tile is a [copy](crate::copy) of a window of the file, with the attributes by which its scheme tells its
//! place. Combining the tiles gives the file again, every value and attribute.
//!
//! ```no_run
//! use std::path::Path;
//! use ncforge::Engine;
//! use ncforge_ops::progress::Silent;
//! use ncforge_ops::split::{SplitOptions, TileScheme, split};
//!
//! let options = SplitOptions { tiles: (4, 4), scheme: TileScheme::Nemo, halo: 1, ..SplitOptions::default() };
//! let report = split(Path::new("whole.nc"), Some(Path::new("tile")), &options, &Engine::global(), &Silent)?;
//! assert_eq!(report.tiles, 16);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod describe;
mod families;
mod options;
mod request;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::combine::{is_of_tile, lists_of_nemo};
use crate::copy::{Lasting, copy_of, engine_below};
use crate::endings;
use crate::intact::{check_kept, check_whole};
use crate::progress::{Parts, Progress, check_stop};
use ncforge::model::{Atomic, DType, DimId, Number, Schema, VarId, shape};
use ncforge::raw::View;
use ncforge::store::OutputFile;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Error, Hyperslab, Op, Result};

use self::describe::{Described, One, describe};
use self::families::Families;

pub use options::{SplitOptions, TileScheme};
pub use request::SplitRequest;

/// The report of a splitting.
#[derive(Clone, Debug, Serialize)]
pub struct SplitReport {
    /// Tiles written.
    pub tiles: usize,
    /// Tiles left out by the mask.
    pub left_out: usize,
    /// The first file.
    pub first: String,
    /// Notes for the user: parts of the file that are in no tile.
    pub notes: Vec<String>,
    /// Bytes of all tiles.
    pub output_bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What is left by splitting that is stopped.
const STOPPED: &str = "not all tiles are written; the tiles that are finished stay";

/// Splits `input` into tiles whose names begin with `base`, without an ending that tells netCDF, which stands at its place in the names;
/// in a folder, and without `base`, with the name of the file. A folder whose name ends with a slash is made.
///
/// # Errors
/// [`Error::Invalid`] where the file cannot be split so: dimensions that the scheme needs are missing, or shorter than
/// there are tiles; else as [`crate::copy::copy`].
pub fn split(
    input: &Path,
    base: Option<&Path>,
    options: &SplitOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<SplitReport> {
    let begun = Instant::now();
    base.map_or(Ok(()), endings::check_file)?;
    let small = engine_below(engine)?;
    let source = Dataset::open_with(input, &small)?;
    check_whole(&source)?;
    let families = Families::of(&source, options)?;
    has_no_list(&source, &families, options)?;
    if options.halo > 0 && options.scheme != TileScheme::Nemo {
        return Err(Error::bad_option("halo", "only tiles of NEMO can have a halo"));
    }
    let kept = kept_tiles(&source, &families, options)?;
    let total = kept.iter().filter(|k| **k).count();
    if total == 0 {
        return Err(Error::bad_option("mask", "the mask leaves no tile"));
    }
    let base = &base_of(input, base)?;
    let (nx, ny) = options.tiles;
    let mut report = SplitReport {
        tiles: total,
        left_out: kept.len() - total,
        first: String::new(),
        notes: lost(&source, options),
        output_bytes: 0,
        seconds: 0.0,
    };
    let of_tile = |rank: usize, i: usize| -> Result<(PathBuf, Described)> {
        let at = (i as u64 % nx, i as u64 / nx);
        let one = One { at, tiles: (nx, ny), rank: rank as u64, total: total as u64, halo: options.halo };
        let path = name(base, options.scheme, one.rank, one.total);
        Ok((path.clone(), describe(&source, &families, options.scheme, one, &path)?))
    };
    let kept: Vec<usize> = (0..kept.len()).filter(|&i| kept[i]).collect();
    let sizes: Vec<u64> = (kept.iter().enumerate())
        .map(|(rank, &i)| {
            let (path, tile) = of_tile(rank, i)?;
            check_kept(&path, &[input.to_owned()], "input")?;
            Ok(bytes_of(&tile.schema))
        })
        .collect::<Result<_>>()?;
    let parts = Parts::of(progress, "copy", &sizes, 1 + u64::from(options.copy.verify));
    let mut made = Vec::new();
    for (rank, &i) in kept.iter().enumerate() {
        check_stop(progress, STOPPED)?;
        let (path, tile) = of_tile(rank, i)?;
        let part = source.view(View::described(source.schema(), tile.ranges, tile.schema));
        parts.part(rank, &shown_path(&path));
        let is_new = !path.exists();
        let done = copy_of(&part, &path, &options.copy, engine, &parts, Lasting::Relaxed, None);
        let done = done.map_err(|e| {
            // A partial copy is of no use: splitting begins anew.
            if matches!(e, Error::Interrupted(_) | Error::Io { .. }) {
                OutputFile::clear(&path);
            }
            // Nor are the tiles before it after a failure: they hold the room of a full disk, and the names of the next attempt.
            if !matches!(e, Error::Interrupted(_)) {
                made.iter().for_each(|tile: &PathBuf| drop(std::fs::remove_file(tile)));
            }
            if let Error::Interrupted(_) = e { Error::Interrupted(STOPPED.to_owned()) } else { e }
        })?;
        made.extend(is_new.then_some(path));
        report.output_bytes += done.output_bytes;
        if rank == 0 {
            report.notes.extend(done.notes);
            report.first = done.output;
        }
    }
    parts.finish();
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// Bytes of the values of a tile.
fn bytes_of(schema: &Schema) -> u64 {
    let bytes = |v: VarId| {
        let element = schema.fixed_size(schema.var(v).dtype).unwrap_or(16) as u64;
        shape::bytes(&schema.shape(v), element)
    };
    schema.var_ids().map(bytes).fold(0, u64::saturating_add)
}

/// An error if tiles of NEMO would have a dimension that `combine` takes for a list, and concatenates.
fn has_no_list(source: &Dataset, families: &Families, options: &SplitOptions) -> Result<()> {
    if options.scheme != TileScheme::Nemo {
        return Ok(());
    }
    let schema = source.schema();
    let split: Vec<DimId> = families.x.members.iter().chain(&families.y.members).map(|m| m.dim).collect();
    match lists_of_nemo(schema, &split).first() {
        None => Ok(()),
        Some(d) => Err(Error::bad_option(
            "scheme",
            format!(
                "`{0}`: in tiles of NEMO the unlimited dimension `{1}`, which no split variable uses, is a list, of which \
             `combine` would put one copy of each tile together; make it fixed (`ncforge nccopy -u`), or choose another \
             scheme",
                shown_path(source.path()),
                schema.dim(*d).name
            ),
        )),
    }
}

/// Notes which global attributes of the file give way to those of tiles, and are not in what `combine` makes of them.
fn lost(source: &Dataset, options: &SplitOptions) -> Vec<String> {
    let attrs = source.schema().groups[0].attrs.iter();
    let lost = attrs.filter(|a| is_of_tile(options.scheme.combined_as(), &a.name));
    lost.map(|a| {
        format!("the global attribute `{}` is one of tiles in this scheme: `combine` leaves it out", a.name)
    })
    .collect()
}

/// The path that those of the tiles begin with.
fn base_of(input: &Path, given: Option<&Path>) -> Result<PathBuf> {
    let own = input.file_name().unwrap_or(input.as_os_str());
    let Some(given) = given else { return Ok(own.into()) };
    let is_folder = given.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder {
        std::fs::create_dir_all(given).map_err(|e| Error::io(Op::Create, shown_path(given), e))?;
    }
    Ok(if is_folder || given.is_dir() { given.join(own) } else { given.to_owned() })
}

/// The file of a tile.
fn name(base: &Path, scheme: TileScheme, rank: u64, total: u64) -> PathBuf {
    let own = base.file_name().unwrap_or_default();
    let (body, ending) = own.to_str().map_or((own, ""), |name| {
        let (body, ending) = endings::without(name);
        (OsStr::new(body), ending)
    });
    let nc = if ending.is_empty() { "nc" } else { ending };
    let digits = (total - 1).max(1).to_string().len();
    let four = digits.max(4);
    let end = match scheme {
        TileScheme::Nemo => format!("_{rank:0four$}.{nc}"),
        TileScheme::Fms => format!(".{nc}.{rank:0width$}", width = if digits > 4 { 6 } else { 4 }),
        TileScheme::Roms => format!(".{rank:0digits$}.{nc}"),
        TileScheme::Wrf => format!("_{rank:0four$}"),
    };
    let mut name = body.to_os_string();
    name.push(end);
    base.with_file_name(name)
}

/// Whether each tile is written, row after row.
fn kept_tiles(source: &Dataset, families: &Families, options: &SplitOptions) -> Result<Vec<bool>> {
    let (nx, ny) = options.tiles;
    let all = nx.saturating_mul(ny) as usize;
    let Some(mask) = &options.mask else { return Ok(vec![true; all]) };
    if options.scheme == TileScheme::Wrf {
        return Err(Error::bad_option("mask", "WRF writes every tile: no tile can be left out by a mask"));
    }
    let v = source.var(mask)?;
    let schema = source.schema();
    let var = schema.var(v);
    let (x, y) = (families.x.main(), families.y.main());
    let place = |d| var.dims.iter().position(|&o| o == d);
    let (Some(px), Some(py), DType::Atomic(kind)) = (place(x), place(y), var.dtype) else {
        return Err(Error::bad_option(
            "mask",
            format!("the mask `{mask}` is not a number over the split dimensions"),
        ));
    };
    let missing = schema.missing_elements(var);
    // Every record and level: ice that comes later, or water below the surface, is something.
    let shape = schema.shape(v);
    let others: Vec<usize> = (0..shape.len()).filter(|d| ![px, py].contains(d)).collect();
    let records = others.first().map_or(1, |&d| shape[d]);
    let mut kept = Vec::with_capacity(all);
    for j in 0..ny {
        for i in 0..nx {
            let mut slab = Hyperslab::all(&shape);
            for (at, family, tiles, axis) in [(i, &families.x, nx, px), (j, &families.y, ny, py)] {
                let (from, to) = family.cut(schema.dim(family.main()).len, at, tiles);
                slab.start[axis] = from;
                slab.count[axis] = to - from;
            }
            kept.push(false);
            for record in 0..records {
                if let Some(&d) = others.first() {
                    (slab.start[d], slab.count[d]) = (record, 1);
                }
                let values = source.read(v, &slab)?;
                let mut each = values.bytes().unwrap_or(&[]).chunks_exact(kind.size());
                if each.any(|b| is_set(kind, b) && !missing.iter().any(|m| m == b)) {
                    kept[(j * nx + i) as usize] = true;
                    break;
                }
            }
        }
    }
    Ok(kept)
}

/// Whether a mask's value says that there is something.
fn is_set(kind: Atomic, b: &[u8]) -> bool {
    let value = Number::read_f64(kind, b);
    value != 0.0 && !value.is_nan()
}
