//! Files of a series as one file: one behind the other along a dimension, which most often is time.
//!
//! The files are tiles whose place follows from the lengths of those before: a [mosaic](super::mosaic) of the scheme
//! [`SeriesScheme`]. So what holds for combinations and copies holds here: chunks are moved as they are stored where they can be, memory
//! and descriptors are bounded, and the output appears when it is whole.
//!
//! Further guarantees:
//! * the order is that of the coordinate; files that overlap are an error that names them, and gaps in one that is evenly spaced a note;
//! * times that count from other dates are converted, or an error where that would change them;
//! * what gives values their meaning (`scale_factor`, `_FillValue`, `units`, …) is the same in all files, or an error; variables that are
//!   packed differently are unpacked on request; other attributes are the first file's, with a note;
//! * variables without the dimension are compared.
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use ncforge::Engine;
//! use ncforge_ops::combine::{ConcatOptions, concat};
//! use ncforge_ops::progress::Silent;
//!
//! let days = [PathBuf::from("day_*.nc")];
//! let report = concat(&days, Path::new("year.nc"), &ConcatOptions::default(), &Engine::global(), &Silent)?;
//! println!("{} files along {}", report.files, report.along);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod options;
mod request;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::files::{self, Found};
use super::mosaic::Mosaic;
use super::options::CombineOptions;
use super::scheme::{SchemeChoice, SeriesScheme};
use super::storage;
use crate::copy::{CopyOptions, CopyReport, Lasting, Plan, copy_of, engine_below, part_of, plan};
use crate::intact::check_kept;
use crate::packed::Decoded;
use crate::progress::{Progress, Silent};
use crate::series;
use ncforge::model::Dimension;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Result};

pub use options::ConcatOptions;
pub use request::ConcatRequest;

/// How files are going to be joined.
#[derive(Clone, Debug, Serialize)]
pub struct ConcatPlan {
    /// Files.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// The dimension along which they are joined.
    pub along: String,
    /// Its length in the output.
    pub length: u64,
    /// The copy that makes the output.
    pub copy: Plan,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The report of files that were joined.
#[derive(Clone, Debug, Serialize)]
pub struct ConcatReport {
    /// Files.
    pub files: usize,
    /// The dimension along which they were joined.
    pub along: String,
    /// Its length in the output.
    pub length: u64,
    /// The copy.
    pub copy: CopyReport,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Joins files into `output`. `files` are names and patterns (`day_*.nc`); threads and memory are those of `engine`.
///
/// # Errors
/// [`ncforge::Error::Tiles`] when the files do not go together; [`ncforge::Error::BadOption`] of the option `order` when they overlap; else as
/// [`crate::copy::copy`].
pub fn concat(
    files: &[PathBuf],
    output: &Path,
    options: &ConcatOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<ConcatReport> {
    let (whole, along) = joined(files::named(files)?, options, engine, &engine_below(engine)?, progress)?;
    check_kept(output, whole.tiles.paths(), whole.scheme.noun())?;
    let report = copy_of(&whole.dataset(), output, &options.copy, engine, progress, Lasting::Relaxed, None)?;
    Ok(ConcatReport {
        files: whole.tiles.len(),
        length: length(&report.dims, &along),
        along,
        notes: whole.said().chain(report.notes.iter().cloned()).collect(),
        copy: report,
    })
}

/// Finds out how files would be joined, and writes nothing.
///
/// # Errors
/// As [`concat`], but for those of writing.
pub fn plan_concat(
    files: &[PathBuf],
    output: &Path,
    options: &ConcatOptions,
    engine: &Engine,
) -> Result<ConcatPlan> {
    let (whole, along) = joined(files::named(files)?, options, engine, &engine_below(engine)?, &Silent)?;
    check_kept(output, whole.tiles.paths(), whole.scheme.noun())?;
    let plan = plan(&whole.dataset(), &options.copy.clone().for_output(output)?, engine)?;
    Ok(ConcatPlan {
        files: whole.tiles.len(),
        bytes: whole.bytes,
        length: length(&plan.schema.dims, &along),
        along,
        notes: whole.said().chain(plan.notes.iter().cloned()).collect(),
        copy: plan,
    })
}

/// The dataset that the output of [`concat`] would be, without a file: it is read from the files.
///
/// ```no_run
/// # use std::path::PathBuf;
/// # use ncforge::Engine;
/// # use ncforge_ops::combine::{ConcatOptions, join};
/// let days = [PathBuf::from("day_*.nc")];
/// let year = join(&days, &ConcatOptions::default(), &Engine::global())?;
/// println!("{} variables of {} files", year.schema().vars.len(), year.files().len());
/// # Ok::<(), ncforge::Error>(())
/// ```
///
/// # Errors
/// As [`concat`], but for those of writing. Of the options of the copy, only its selection has an effect.
pub fn join(files: &[PathBuf], options: &ConcatOptions, engine: &Engine) -> Result<Dataset> {
    join_noted(files::named(files)?, options, engine).map(|joined| joined.dataset)
}

/// Files as one dataset.
pub(crate) struct Joined {
    pub(crate) dataset: Dataset,
    /// The dimension along which they are joined.
    pub(crate) along: String,
    /// Notes for the user, on the files.
    pub(crate) notes: Vec<String>,
}

/// As [`join`], of files of these very names, with what there is to say of it.
pub(crate) fn join_noted(files: Vec<PathBuf>, options: &ConcatOptions, engine: &Engine) -> Result<Joined> {
    let (whole, along) = joined(files, options, engine, engine, &Silent)?;
    let dataset = part_of(&whole.dataset(), &options.copy)?;
    Ok(Joined { dataset, along, notes: whole.said().collect() })
}

/// The whole that files make, checked, and the dimension along which they are joined.
fn joined(
    files: Vec<PathBuf>,
    options: &ConcatOptions,
    engine: &Engine,
    small: &Engine,
    progress: &dyn Progress,
) -> Result<(Arc<Mosaic>, String)> {
    let dim = dimension(&files, options.along.as_deref(), small)?.1;
    Ok((whole(files, &dim, options, (engine, small), progress)?, dim))
}

/// The first of the files, and the dimension along which they follow each other.
pub(super) fn dimension(files: &[PathBuf], along: Option<&str>, small: &Engine) -> Result<(Dataset, String)> {
    let open = |i: usize| Dataset::open_with(&files[i], small);
    let first = open(0)?;
    let name = shown_path(&files[0]);
    let dim = series::dimension(first.schema(), &name, along, files.len(), open)?;
    Ok((first, dim))
}

/// The whole that files make along a dimension, checked. It reads with the engine `small`.
pub(super) fn whole(
    files: Vec<PathBuf>,
    dim: &str,
    options: &ConcatOptions,
    (engine, small): (&Engine, &Engine),
    progress: &dyn Progress,
) -> Result<Arc<Mosaic>> {
    let decoded = match options.decode {
        true => Decoded::of(&files, options.copy.only.as_ref(), dim, small)?,
        false => Decoded::default(),
    };
    let notes: Vec<String> = decoded.notes().collect();
    let of_tiles = CombineOptions {
        scheme: SchemeChoice::Series(SeriesScheme { dim: dim.to_owned(), unsorted: options.unsorted }),
        exact: true,
        holes: options.holes,
        differing: options.differing,
        copy: CopyOptions { only: options.copy.only.clone(), ..CopyOptions::default() },
        ..CombineOptions::default()
    };
    let found = Found { files, decoded, ..Found::default() };
    let mut whole = super::mosaic(found, "", &of_tiles, engine, small)?;
    whole.check_values(options.differing, options.compared, progress)?;
    notes.into_iter().for_each(|note| whole.note(note));
    whole.schema.format = storage::fitting(&whole.schema);
    Ok(Arc::new(whole))
}

/// The length of the dimension, in the first group that has it.
pub(super) fn length(dims: &[Dimension], along: &str) -> u64 {
    dims.iter().find(|d| d.name == along).map_or(0, |d| d.len)
}
