//! Files that hold all variables of some time each, as models write them, into files that hold one variable at all times.
//!
//! Names of files that differ in dates and numbers alone are a [stream](names). Its files are put together as
//! [`concat`](super::concat) does it: one [mosaic](super::mosaic) a stream, whose headers are read once. Each output is a copy of some of
//! its variables, and a [window](crate::window) of it where outputs are cut by years. So what holds for joined files and for copies holds
//! here.
//!
//! The order of the work is output by output. The bytes of two variables are disjoint in every file, as chunks and as pieces of records, so
//! that each is read once.
//!
//! ```no_run
//! use std::path::{Path, PathBuf};
//! use ncforge::Engine;
//! use ncforge_ops::combine::{SeriesOptions, series};
//! use ncforge_ops::progress::Silent;
//!
//! let files = [PathBuf::from("case.cam.h0.*.nc")];
//! let report = series(&files, Path::new("tseries"), &SeriesOptions::default(), &Engine::global(), &Silent)?;
//! println!("{} files of {} streams", report.outputs, report.streams.len());
//! # Ok::<(), ncforge::Error>(())
//! ```

mod append;
mod axis;
mod making;
mod names;
mod options;
mod outputs;
mod pattern;
mod report;
mod request;
mod stamp;
mod stream;
mod variables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::making::Making;
use self::names::Named;
use super::files;
use crate::copy::engine_below;
use crate::endings;
use crate::progress::{Parts, Progress, check_stop};
use ncforge::store::remote::shown_path;
use ncforge::store::remote::url_of;
use ncforge::{Engine, Error, Result};

pub use options::SeriesOptions;
pub use pattern::NamePattern;
pub use report::{BadFile, OutputReport, SeriesReport, StreamReport};
pub use request::SeriesRequest;

/// Makes a file for each variable of `files` in `folder`, which is made if it is not there. `files` are names and patterns; threads and
/// memory are those of `engine`.
///
/// # Errors
/// As [`super::concat()`]; with [`SeriesOptions::keep_going`] what is wrong with files is in the report.
pub fn series(
    files: &[PathBuf],
    folder: &Path,
    options: &SeriesOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<SeriesReport> {
    if url_of(folder).is_some() {
        return Err(Error::Invalid("series are made in a folder of this machine, not at a URL".into()));
    }
    endings::check_file(folder)?;
    run(files, folder, options, engine, progress, true)
}

/// Finds out which files would be made, and writes nothing.
///
/// # Errors
/// As [`series`], but for those of writing.
pub fn plan_series(
    files: &[PathBuf],
    folder: &Path,
    options: &SeriesOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<SeriesReport> {
    endings::check_file(folder)?;
    run(files, folder, options, engine, progress, false)
}

fn run(
    words: &[PathBuf],
    folder: &Path,
    options: &SeriesOptions,
    engine: &Engine,
    progress: &dyn Progress,
    is_made: bool,
) -> Result<SeriesReport> {
    let begun = Instant::now();
    let files = files::named(words)?;
    let small = engine_below(engine)?;
    let streams = names::streams(&files);
    // Of a URL nothing is known before it is opened: it counts as one byte.
    let size = |file: &PathBuf| file.metadata().map_or(1, |m| m.len().max(1));
    let sizes: Vec<u64> =
        streams.iter().map(|s| s.files.iter().map(size).fold(0, u64::saturating_add)).collect();
    let parts = Parts::of(progress, "series", &sizes, 1);
    let mut report = SeriesReport { files: files.len(), ..SeriesReport::default() };
    let mut making = Making {
        folder,
        options,
        engine,
        small: &small,
        parts: &parts,
        progress,
        is_made,
        seen: BTreeSet::new(),
    };
    check_wanted(&streams, options, &making)?;
    for (i, stream) in streams.iter().enumerate() {
        check_stop(progress, "making series")?;
        parts.part(i, &stream.stem);
        report.add(making.stream(stream)?);
    }
    parts.finish();
    report.input_bytes = sizes.iter().copied().fold(0, u64::saturating_add);
    report.seconds = match is_made {
        true => begun.elapsed().as_secs_f64(),
        false => report.streams.iter().flat_map(|s| &s.outputs).map(|o| o.seconds).sum(),
    };
    Ok(report)
}

/// An error where a variable that is wanted is in no file of any stream.
fn check_wanted(streams: &[Named], options: &SeriesOptions, making: &Making<'_>) -> Result<()> {
    let Some(wanted) = &options.join.copy.only else { return Ok(()) };
    let mut missing: Vec<&str> = wanted.vars.iter().map(String::as_str).collect();
    let mut error = None;
    for stream in streams {
        let having = making.having(&stream.files, &mut missing)?;
        match (missing.first(), having.first()) {
            (None, _) => return Ok(()),
            (Some(name), Some(first)) => {
                error = Some(first.schema().no_variable(name, &shown_path(first.path())));
            }
            _ => {}
        }
    }
    error.map_or(Ok(()), Err)
}
