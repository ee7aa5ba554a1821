//! The steps from files to references.

use ncforge::store::remote::{public_name, shown_path};
use std::path::Path;
use std::time::Instant;

use super::build;
use super::gather::{self, FileArrays, Inputs, Opened, Wanted};
use super::model::References;
use super::options::RefsOptions;
use super::part::Parts;
use crate::alike::side_by_side;
use crate::progress::{Progress, Silent, check_stop};
use crate::series;
use ncforge::{Dataset, Engine, Error, Op, Result};

/// Makes the references of files, joined along a dimension if there are several.
///
/// # Errors
/// As opening; [`Error::Unsupported`] for a zipped file; [`Error::Invalid`] where files do not agree, or where they have no
/// dimension along which they can be joined.
pub fn references<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &RefsOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<References> {
    let files: Vec<String> =
        paths.iter().map(|p| location(p.as_ref(), options.base.as_deref())).collect::<Result<_>>()?;
    let open = |i: usize| Dataset::open_with(paths[i].as_ref(), engine);
    let names = paths.iter().map(shown_path).collect();
    joined(&Inputs { names, open: &open }, options, engine.threads(), progress, &files)
}

/// Makes the references of one open dataset, which readers find at `location`.
///
/// # Errors
/// As [`references`].
pub fn references_of(dataset: &Dataset, location: &str, options: &RefsOptions) -> Result<References> {
    let open = |_: usize| Ok(dataset.clone());
    let names = vec![shown_path(dataset.path())];
    joined(&Inputs { names, open: &open }, options, 1, &Silent, &[location.to_owned()])
}

/// The references of files, which readers find at `locations`.
fn joined(
    inputs: &Inputs<'_>,
    options: &RefsOptions,
    threads: usize,
    progress: &dyn Progress,
    locations: &[String],
) -> Result<References> {
    let begun = Instant::now();
    let made = gathered(inputs, options, threads, progress, |found| {
        let mut made = build::all(&found.opened, &found.all, found.along, options)?;
        made.notes.splice(0..0, found.parts.notes.iter().cloned());
        let files = found.parts.files.iter().map(|&file| locations[file].clone()).collect();
        Ok(References { files, ..made })
    })?;
    Ok(References { seconds: begun.elapsed().as_secs_f64(), ..made })
}

/// Files whose variables are known.
pub(super) struct Gathered<'a> {
    pub(super) opened: Opened<'a>,
    /// The variables of each file.
    pub(super) all: Vec<FileArrays>,
    /// The dimension along which files are joined.
    pub(super) along: Option<&'a str>,
    /// The part of each file.
    pub(super) parts: &'a Parts,
    /// The first of them.
    pub(super) first: &'a Dataset,
}

/// Gathers the variables of files, of which `make` makes something.
pub(super) fn gathered<T>(
    inputs: &Inputs<'_>,
    options: &RefsOptions,
    threads: usize,
    progress: &dyn Progress,
    make: impl FnOnce(&Gathered<'_>) -> Result<T>,
) -> Result<T> {
    let count = inputs.names.len();
    if count == 0 {
        return Err(Error::NoInput("files"));
    }
    // Bytes of files, as far as the system knows them.
    let bytes = |name: &String| std::fs::metadata(name).map_or(0, |m| m.len());
    let sizes: Vec<u64> = inputs.names.iter().map(bytes).collect();
    progress.begin("references", sizes.iter().sum());
    let first = (inputs.open)(0)?;
    let along = match (count, &options.along) {
        (1, None) => None,
        (_, given) => {
            let name = &inputs.names[0];
            Some(series::dimension(first.schema(), name, given.as_deref(), count, inputs.open)?)
        }
    };
    let parts = Parts::of(inputs, &first, along.as_deref(), options)?;
    let open = |i: usize| {
        let file = parts.files[i];
        if file == 0 { Ok(first.clone()) } else { (inputs.open)(file) }
    };
    let names: Vec<String> = parts.files.iter().map(|&file| inputs.names[file].clone()).collect();
    let first = open(0)?;
    let wanted = Wanted { along: along.as_deref(), files: names.len() as u64, first: &first, options };
    let found = side_by_side(threads, names.len(), |i| {
        check_stop(progress, "making references")?;
        let dataset = open(i)?;
        let found = gather::file(&dataset, &parts.of_file(i, dataset.clone()), &wanted);
        progress.advance(sizes[parts.files[i]]);
        found
    });
    let all = found.into_iter().collect::<Result<Vec<FileArrays>>>()?;
    let source = |i: usize| Ok(parts.of_file(i, open(i)?));
    let opened = Opened { names, open: &open, source: &source };
    make(&Gathered { opened, all, along: along.as_deref(), parts: &parts, first: &first })
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
        let name = path.file_name().map_or(path, Path::new);
        return Ok(format!("{}/{}", base.trim_end_matches('/'), text(name)?));
    }
    let given = text(path)?;
    if given.contains("://") {
        return Ok(public_name(&given));
    }
    text(&std::path::absolute(path).map_err(|e| Error::io(Op::Other("find"), given, e))?)
}
