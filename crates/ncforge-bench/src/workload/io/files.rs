//! The files of cases on disk; where a case is a Zarr store, those in its folder.

use std::path::{Path, PathBuf};

use crate::driver::{files, is_store};
use crate::error::{Error, Result};

/// All files that lie under these paths.
pub(super) fn all(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().flat_map(|p| files(p)).collect()
}

/// Bytes of the files.
pub(super) fn stored(paths: &[PathBuf]) -> u64 {
    all(paths).iter().filter_map(|p| std::fs::metadata(p).ok()).map(|m| m.len()).sum()
}

/// Waits until a file is on disk; of a folder, all that is in it, and it itself: names are its contents.
pub(super) fn sync(path: &Path) -> Result<()> {
    let file = std::fs::File::open(path).map_err(|e| Error::io("open", path, e))?;
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|e| Error::io("list", path, e))?;
        for entry in entries {
            sync(&entry.map_err(|e| Error::io("list", path, e))?.path())?;
        }
    }
    file.sync_data().map_err(|e| Error::io("sync", path, e))
}

/// Removes a file of the benchmark, and what ncforge has begun for it; of folders Zarr stores only.
pub(super) fn remove(path: &Path) {
    // A link to a folder is no folder: the link goes, what it leads to stays.
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
    if !is_folder {
        let _ = std::fs::remove_file(path);
    } else if is_store(path) || is_empty(path) || is_begun(path) {
        let _ = std::fs::remove_dir_all(path);
    }
    let _ = std::fs::remove_file(ncforge::store::partial_path(path));
}

fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a folder is a store that netCDF-C has not come to the end of: chunks and descriptions of variables, without that of the whole.
fn is_begun(path: &Path) -> bool {
    let plain = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(".z") || name.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    files(path).iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_no_stores_stay() {
        let dir = tempfile::tempdir().unwrap();
        let [foreign, store, begun] = ["foreign", "store", "begun"].map(|n| dir.path().join(n));
        for folder in [&foreign, &store, &begun] {
            std::fs::create_dir_all(folder.join("data")).unwrap();
            std::fs::write(folder.join("data/0.0"), [1u8; 10]).unwrap();
        }
        std::fs::write(foreign.join("letter.txt"), "dear").unwrap();
        std::fs::write(store.join(".zgroup"), "{}").unwrap();
        assert_eq!(stored(&[foreign.clone(), store.clone()]), 10 + 4 + 10 + 2);
        sync(&store).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&store, &link).unwrap();
        remove(&link);
        assert!(!link.exists() && store.exists());
        [&foreign, &store, &begun].into_iter().for_each(|p| remove(p));
        assert_eq!([foreign, store, begun].map(|p| p.exists()), [true, false, false]);
    }
}
