//! Copies whose output is an object of a URL: made in a temporary file, verified there, then sent as a whole.

mod folder;

use std::path::Path;
use std::time::Instant;

use ncforge::store::{RemoteOptions, remote};
use ncforge::{Engine, Error, Result};

use self::folder::Folder;
use super::{CopyOptions, CopyReport, copy};
use crate::progress::Progress;

/// Copies `input` to the object of a URL. With `verify`, the object is read back and compared with the file that was sent,
/// too.
///
/// # Errors
/// Those of a copy; [`Error::BadOption`] for `resume`, since an upload begins anew.
pub(super) fn copy_to(
    input: &Path,
    url: &str,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<CopyReport> {
    let begun = Instant::now();
    if options.resume {
        let what = "a copy to a URL cannot be resumed: make a local file, and copy that";
        return Err(Error::bad_option("resume", what));
    }
    let name = remote::file_name(url);
    if name.is_empty() {
        return Err(Error::bad_option("output", format!("`{}` names no object", remote::shown(url))));
    }
    let folder = Folder::new()?;
    let local = folder.path().join(name);
    let stopped = || Error::NotUploaded { url: remote::shown(url) };
    let mut report = copy(input, &local, options, engine, progress).map_err(|e| match e {
        // The contents of the temporary file go with it.
        Error::Interrupted(_) => stopped(),
        e => e,
    })?;
    if progress.stop() {
        return Err(stopped());
    }
    let (remote_options, stop) = (RemoteOptions::of_process(), || progress.stop());
    remote::upload(&local, url, &remote_options, options.overwrite, options.verify, &stop)?;
    report.output = remote::shown(url);
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}
