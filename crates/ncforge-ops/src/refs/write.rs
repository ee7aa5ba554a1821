//! References as a file.

use std::path::Path;

use super::archive::archive;
use super::make::references;
use super::model::RefsReport;
use super::options::{RefsFormat, RefsOptions};
use crate::endings;
use crate::intact::check_kept;
use crate::progress::Progress;
use ncforge::store::OutputFile;
use ncforge::{Engine, Result};

/// Writes the references of files, joined along a dimension if there are several, in the format of the options.
///
/// # Errors
/// As [`references`], and those of writing; of an aggregation file as [`ncforge::DatasetMut::create`], too, and where a part of the files
/// is selected.
pub fn write_references<P: AsRef<Path>>(
    paths: &[P],
    output: &Path,
    overwrite: bool,
    options: &RefsOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<RefsReport> {
    check_kept(output, paths, "file")?;
    match options.format {
        RefsFormat::Cf => archive(paths, output, overwrite, options, engine, progress),
        RefsFormat::Kerchunk => {
            endings::check(output, &[endings::JSON.1])?;
            let made = references(paths, options, engine, progress)?;
            OutputFile::write_whole(output, made.json().as_bytes(), overwrite)?;
            Ok(made.report())
        }
    }
}
