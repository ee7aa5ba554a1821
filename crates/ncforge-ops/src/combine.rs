//! Combines the tiles of a model's processes into one whole file.
//!
//! Models on many processes write one file each. Every such tile says, by the convention of its model, which part of
//! the whole it holds. The way to the whole: a *scheme* reads that from the headers; the *mosaic* checks that the
//! tiles make one whole, finds holes, cuts halos off, and then answers like a file; a [copy](crate::copy) of it
//! is the output. So all that holds for copies holds here: encoded chunks are moved as they are where they can be,
//! memory is bounded, the output appears when it is whole, an interrupted run can be resumed, and the bytes do not
//! depend on the number of threads.
//!
//! Further guarantees:
//! * a place that two tiles claim, a tile that is missing, shorter than it says, or of another run is an
//!   [`Error::Tiles`] (exit code 4) that names the files;
//! * what is in several tiles is compared, not just taken from the first;
//! * holes hold `_FillValue`, else `missing_value`, else the type's own fill value, at full precision;
//! * values of any type and any number of dimensions are moved bit by bit.
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use ncforge::Engine;
//! use ncforge_ops::combine::{CombineOptions, combine};
//! use ncforge_ops::progress::Silent;
//!
//! let tiles = [PathBuf::from("ORCA_grid_T_0000.nc")];
//! let report = combine(&tiles, Path::new("ORCA_grid_T.nc"), &CombineOptions::default(), &Engine::global(), &Silent)?;
//! println!("{} tiles of {}", report.tiles, report.scheme);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod compact_layout;
mod concat;
mod descriptors;
mod files;
mod headers;
mod left_out;
mod mosaic;
mod options;
mod request;
mod scheme;
mod storage;
mod streams;
#[cfg(test)]
mod tests;
mod tiles;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::copy::{
    CopyOptions, CopyReport, Elsewhere, Encoder, Lasting, Plan, copy_of, engine_below, hidden,
};
use crate::intact::check_kept;
use crate::progress::{Progress, Silent};
use ncforge::model::Format;
use ncforge::{Engine, Result};

use self::files::Found;
use self::mosaic::{Mosaic, build, pictures};

pub use concat::{ConcatOptions, ConcatPlan, ConcatReport, ConcatRequest, concat, join, plan_concat};
pub(crate) use concat::{Joined, join_noted};
pub use files::{is_pattern, matching};
pub use left_out::KeptTile;
pub use mosaic::Picture;
pub use options::{CombineOptions, Differing, Holes, TileChunks};
pub use request::CombineRequest;
pub use scheme::{GenericScheme, Placement, Position, SchemeChoice, SchemeName, SeriesScheme};
pub(crate) use scheme::{RENAMED, is_of_tile, lists_of_nemo};
pub use streams::{
    BadFile, NamePattern, OutputReport, SeriesOptions, SeriesReport, SeriesRequest, StreamReport,
    plan_series, series,
};

/// Part of the budget for descriptions of tiles: one in this many.
const DESCRIPTIONS: u64 = 4;

/// Bytes of small variables that are read together, at most: fresh memory costs, too.
const TOGETHER: u64 = 128 << 20;

/// How tiles are going to be combined.
#[derive(Clone, Debug, Serialize)]
pub struct CombinePlan {
    /// The scheme.
    pub scheme: &'static str,
    /// Tiles given.
    pub tiles: usize,
    /// Bytes of all of them.
    pub tile_bytes: u64,
    /// Numbers of tiles that should exist and were not given.
    pub missing: Vec<u64>,
    /// The places of the tiles, for every set of split dimensions.
    pub mosaics: Vec<Picture>,
    /// The reason for the storage of every variable: `the tiles' chunks serve readers`, `chosen`, …
    pub reasons: Vec<Reason>,
    /// The copy that makes the output.
    pub copy: Plan,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The reason for the storage of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The variable.
    pub name: String,
    /// Why.
    pub why: &'static str,
}

/// The report of a combination.
#[derive(Clone, Debug, Serialize)]
pub struct CombineReport {
    /// The scheme.
    pub scheme: &'static str,
    /// Tiles.
    pub tiles: usize,
    /// Numbers of tiles that should exist and were not given.
    pub missing: Vec<u64>,
    /// The places of the tiles.
    pub mosaics: Vec<Picture>,
    /// Tiles that were removed.
    pub tiles_removed: usize,
    /// Tiles that were to be removed, and stay: not all that they have is in the output.
    pub tiles_kept: Vec<KeptTile>,
    /// The copy.
    pub copy: CopyReport,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A combination that is ready: the whole, and how it is copied.
struct Ready {
    whole: Mosaic,
    copy: CopyOptions,
    reasons: Vec<Reason>,
}

fn prepare(tiles: &[PathBuf], output: &Path, options: &CombineOptions, engine: &Engine) -> Result<Ready> {
    let small = engine_below(engine)?;
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let mut whole = mosaic(files::find(tiles, options.exact)?, &name, options, engine, &small)?;
    check_kept(output, whole.tiles.paths(), whole.scheme.noun())?;
    let (copy, why) = storage::decide(&mut whole, &options.chunks, &options.copy)?;
    let schema = &whole.schema;
    let reasons = schema
        .var_ids()
        .zip(why)
        .map(|(v, why)| Reason { name: schema.var_path(v).trim_start_matches('/').to_owned(), why })
        .collect();
    Ok(Ready { whole, copy, reasons })
}

/// The tiles, put together. `small` reads them; `engine` has the memory of the whole combination; `name` is that of the output.
fn mosaic(
    found: Found,
    name: &str,
    options: &CombineOptions,
    engine: &Engine,
    small: &Engine,
) -> Result<Mosaic> {
    let mut mosaic = build(found, options, small, engine.memory() / DESCRIPTIONS, name)?;
    if options.copy.only.is_none() {
        mosaic.prepare_copy((engine.memory() / 2).min(TOGETHER));
    }
    Ok(mosaic)
}

/// The part of a combination that another process does: it encodes groups of chunks of the output. The writing process
/// has compared the values that are not distributed.
///
/// # Errors
/// As [`Encoder::for_copy`].
pub fn encoder(
    tiles: &[PathBuf],
    output: &Path,
    options: &CombineOptions,
    ticket: &str,
    engine: &Engine,
) -> Result<Encoder> {
    let Ready { whole, mut copy, .. } = prepare(tiles, output, options, engine)?;
    copy.verify |= options.delete_tiles;
    Encoder::of(&Arc::new(whole).dataset(), &copy, ticket, engine)
}

/// Finds out how the tiles lie and how they would be combined, and writes nothing. `tiles` are files, one pattern,
/// any one tile, or a base name.
///
/// # Errors
/// As [`combine`], but for those of writing.
pub fn plan(
    tiles: &[PathBuf],
    output: &Path,
    options: &CombineOptions,
    engine: &Engine,
) -> Result<CombinePlan> {
    let Ready { mut whole, copy, reasons } = prepare(tiles, output, options, engine)?;
    whole.check_values(options.differing, u64::MAX, &Silent)?;
    let whole = Arc::new(whole);
    let plan = crate::copy::plan(&whole.dataset(), &copy.for_output(output)?, engine)?;
    Ok(CombinePlan {
        scheme: whole.scheme.name(),
        tiles: whole.tiles.len(),
        tile_bytes: whole.bytes,
        missing: whole.missing.clone(),
        mosaics: pictures(&whole),
        reasons,
        notes: whole.said().chain(plan.notes.iter().cloned()).collect(),
        copy: plan,
    })
}

/// Combines tiles into `output`. `tiles` are files, one pattern (`ocean_*.nc`), any one tile, or a base name.
/// Threads and memory are those of `engine`.
///
/// # Errors
/// [`Error::Tiles`] when the tiles do not make one whole; else as [`crate::copy::copy`].
pub fn combine(
    tiles: &[PathBuf],
    output: &Path,
    options: &CombineOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<CombineReport> {
    combine_with(tiles, output, options, engine, progress, None)
}

/// As [`combine`], with chunks that are [encoded elsewhere](Elsewhere) if an encoder is given. The output is equal to the byte.
///
/// # Errors
/// As [`combine`].
pub fn combine_with(
    tiles: &[PathBuf],
    output: &Path,
    options: &CombineOptions,
    engine: &Engine,
    progress: &dyn Progress,
    elsewhere: Option<&dyn Elsewhere>,
) -> Result<CombineReport> {
    let Ready { mut whole, mut copy, .. } = prepare(tiles, output, options, engine)?;
    whole.check_values(options.differing, u64::MAX, progress)?;
    // Tiles are removed for an output that is known to hold all of them, on disk.
    copy.verify |= options.delete_tiles;
    let lasting = if options.delete_tiles { Lasting::Durable } else { Lasting::Relaxed };
    let whole = Arc::new(whole);
    let report = copy_of(&whole.dataset(), output, &copy, engine, progress, lasting, elsewhere)?;
    let made = [Format::Netcdf4, Format::Netcdf4Classic].into_iter().find(|f| f.kind() == report.format);
    let mut left_out = whole.left_out.clone();
    for what in made.iter().flat_map(|f| hidden(&whole.schema, *f)) {
        (0..whole.tiles.len()).for_each(|tile| left_out.add(tile, what.clone()));
    }
    let (tiles_removed, tiles_kept) = match options.delete_tiles && report.verified && !report.was_complete {
        true => left_out.remove_others(whole.tiles.paths(), options)?,
        false => (0, Vec::new()),
    };
    let kept = tiles_kept.iter().map(|tile| {
        format!("`{}` is kept: the output does not have {} of it", tile.path.display(), tile.left_out)
    });
    Ok(CombineReport {
        scheme: whole.scheme.name(),
        tiles: whole.tiles.len(),
        missing: whole.missing.clone(),
        mosaics: pictures(&whole),
        notes: whole.said().chain(report.notes.iter().cloned()).chain(kept).collect(),
        tiles_removed,
        tiles_kept,
        copy: report,
    })
}
