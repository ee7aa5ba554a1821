//! Where HDF5 looks for the file of a name: as it is, if it is absolute; in the folders of an environment's variable; in the folder of the
//! file that names it; in the current folder; in the folder in which that file really is, if its name is a symbolic link. Of an
//! absolute name without a file, the last component is looked for in the other places.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders of the sources of virtual datasets.
pub(super) const OF_SOURCES: &str = "HDF5_VDS_PREFIX";
/// Folders of what external links lead to.
pub(super) const OF_LINKS: &str = "HDF5_EXT_PREFIX";
/// In both: the folder of the file that has the name.
const ORIGIN: &str = "${ORIGIN}";

/// What `open` gives for the first file that a name in the file at `own` means; `None` if there is none. `prefix` is the environment's
/// variable with folders.
pub(super) fn first_of<T>(
    name: &[u8],
    own: &Path,
    prefix: &str,
    open: impl Fn(&Path) -> Result<T>,
) -> Result<Option<T>> {
    let mut failed = None;
    for path in candidates(name, own, std::env::var_os(prefix).as_deref()) {
        match open(&path) {
            Ok(found) => return Ok(Some(found)),
            Err(e) if e.says_no_file() => {}
            Err(Error::NotNetcdf { path, .. }) => {
                failed.get_or_insert(Error::NotHdf5 { path, from: own.display().to_string() });
            }
            Err(e) => {
                failed.get_or_insert(e);
            }
        }
    }
    failed.map_or(Ok(None), Err)
}

/// The paths that a name may mean in a file at `own`, where `prefixes` are folders.
fn candidates(name: &[u8], own: &Path, prefixes: Option<&OsStr>) -> Vec<PathBuf> {
    let mut name = Path::new(OsStr::from_bytes(name)).to_owned();
    let mut paths = Vec::new();
    if name.is_absolute() {
        paths.push(name.clone());
        match name.file_name() {
            Some(last) => name = last.into(),
            None => return paths,
        }
    }
    let folder = own.parent().unwrap_or(Path::new("/"));
    let prefixes = prefixes.map(OsStr::as_bytes).unwrap_or_default();
    for prefix in prefixes.split(|&b| b == b':').filter(|p| !p.is_empty()) {
        let path = match prefix.strip_prefix(ORIGIN.as_bytes()) {
            Some(below) => [folder.as_os_str().as_bytes(), below].concat(),
            None => prefix.to_vec(),
        };
        paths.push(Path::new(&OsString::from_vec(path)).join(&name));
    }
    paths.push(folder.join(&name));
    paths.push(name.clone());
    if let Some(real) = own.canonicalize().ok().as_deref().and_then(Path::parent) {
        paths.push(real.join(&name));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(name: &str, prefixes: Option<&str>) -> Vec<String> {
        let found = candidates(name.as_bytes(), Path::new("/none/a.h5"), prefixes.map(OsStr::new));
        found.into_iter().map(|p| p.display().to_string()).collect()
    }

    #[test]
    fn names_are_looked_for_where_hdf5_does() {
        assert_eq!(places("b.h5", None), ["/none/b.h5", "b.h5"]);
        assert_eq!(
            places("c/b.h5", Some("/p:${ORIGIN}/q:")),
            ["/p/c/b.h5", "/none/q/c/b.h5", "/none/c/b.h5", "c/b.h5"]
        );
        assert_eq!(places("/x/b.h5", None), ["/x/b.h5", "/none/b.h5", "b.h5"]);
    }

    #[test]
    fn a_file_behind_a_symbolic_link_has_two_folders() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(real.join("a.h5"), b"").unwrap();
        let link = dir.path().join("a.h5");
        std::os::unix::fs::symlink(real.join("a.h5"), &link).unwrap();
        let found = candidates(b"b.h5", &link, None);
        assert_eq!(found, [dir.path().join("b.h5"), "b.h5".into(), real.join("b.h5")]);
    }
}
