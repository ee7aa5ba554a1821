//! The steps from files to references.

use std::path::Path;
use std::time::Instant;

use super::build;
use super::model::References;
use super::options::RefsOptions;
use super::source::Source;
use crate::progress::{Progress, Silent};
use ncforge::store::remote::{file_name, public_name, shown_path, url_of};
use ncforge::{Dataset, Engine, Error, Op, Result};

/// Makes the references of files, joined along a dimension if there are several.
///
/// # Errors
/// As opening, and as [`join`](crate::combine::join); [`Error::Unsupported`] for a zipped file; [`Error::CannotJoin`] where the chunks of the
/// files make no chunks of the whole.
pub fn references<P: AsRef<Path>>(
    paths: &[P],
    options: &RefsOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<References> {
    let begun = Instant::now();
    let bytes = begin(paths, progress);
    let source = Source::open(paths, options, engine)?;
    let base = options.base.as_deref();
    let files = source.files.iter().map(|file| location(file, base)).collect::<Result<_>>()?;
    let made = build::all(&source, options, engine.threads(), (progress, bytes))?;
    Ok(References { files, seconds: begun.elapsed().as_secs_f64(), ..made })
}

/// Makes the references of one open dataset, which readers find at `location`.
///
/// # Errors
/// As [`references`].
pub fn references_of(dataset: &Dataset, location: &str, options: &RefsOptions) -> Result<References> {
    let begun = Instant::now();
    let made = build::all(&Source::of(dataset, options)?, options, 1, (&Silent, 0))?;
    Ok(References { files: vec![location.to_owned()], seconds: begun.elapsed().as_secs_f64(), ..made })
}

/// Begins with as many bytes as the files have, as far as the system knows them.
pub(super) fn begin<P: AsRef<Path>>(paths: &[P], progress: &dyn Progress) -> u64 {
    let bytes = paths.iter().map(|path| std::fs::metadata(path.as_ref()).map_or(0, |m| m.len())).sum();
    progress.begin("references", bytes);
    bytes
}

/// The location of a file for readers: an absolute path, or a URL, without user and password.
pub(super) fn location(path: &Path, base: Option<&str>) -> Result<String> {
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            Error::bad_option("files", format!("`{}` is not text that JSON can hold", shown_path(path)))
        })
    };
    if let Some(base) = base {
        let name = match url_of(path) {
            Some(url) => file_name(url).to_owned(),
            None => text(path.file_name().map_or(path, Path::new))?,
        };
        return Ok(format!("{}/{name}", base.trim_end_matches('/')));
    }
    let given = text(path)?;
    if given.contains("://") {
        return Ok(public_name(&given));
    }
    text(&std::path::absolute(path).map_err(|e| Error::io(Op::Other("find"), given, e))?)
}
