//! Several files into a folder: their names there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ncforge::store::remote::shown_path;
use ncforge::store::remote::url_of;
use ncforge::{Error, Result};

/// The files that copies of these into a folder make, checked before any of them is made.
///
/// ```
/// use std::path::PathBuf;
/// use ncforge_ops::copy::targets_in;
/// let files: Vec<PathBuf> = ["2001/a.nc", "2001/b.nc"].map(Into::into).to_vec();
/// assert_eq!(targets_in("fixed/".as_ref(), &files, false)?, ["fixed/a.nc", "fixed/b.nc"].map(PathBuf::from));
/// assert!(targets_in("fixed/".as_ref(), &["2001/a.nc".into(), "2002/a.nc".into()], false).is_err());
/// # Ok::<(), ncforge::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] where two have the same name, or one has none; [`Error::Exists`] unless they may exist.
pub fn targets_in(folder: &Path, files: &[PathBuf], may_exist: bool) -> Result<Vec<PathBuf>> {
    let mut names = BTreeSet::new();
    let mut targets = Vec::with_capacity(files.len());
    for file in files {
        let name = match url_of(file) {
            // Without what may follow the path of an object.
            Some(url) => {
                url.split(['?', '#']).next().and_then(|url| url.rsplit('/').next()).map(PathBuf::from)
            }
            None => file.file_name().map(PathBuf::from),
        };
        let Some(name) = name.filter(|n| !n.as_os_str().is_empty()) else {
            return Err(Error::bad_option(
                "output",
                format!("`{}` has no name that a copy could have", shown_path(file)),
            ));
        };
        if !names.insert(name.clone()) {
            return Err(Error::bad_option(
                "output",
                format!(
                    "two files have the same name `{}`: they cannot both be copied into `{}`",
                    shown_path(name),
                    shown_path(folder)
                ),
            ));
        }
        let target = folder.join(name);
        if !may_exist && target.exists() {
            return Err(Error::Exists(target));
        }
        targets.push(target);
    }
    Ok(targets)
}
