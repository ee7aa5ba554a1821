//! Which file a path meant when netCDF-C opened it, and whether it is still the same with the same contents.

use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Everything that the system says about a regular file's contents without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Device and inode.
    pub(crate) file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Times of files advance in steps of the system's clock, 10 milliseconds at most: of what was written this recently, a
/// later write may bear the same time.
const SETTLED: Duration = Duration::from_millis(20);

impl Identity {
    /// Of a path; `None` if it is no regular file.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Self::of(&std::fs::metadata(path).ok()?)
    }

    /// Of an open file.
    pub(crate) fn of_file(file: &File) -> Option<Self> {
        Self::of(&file.metadata().ok()?)
    }

    fn of(meta: &Metadata) -> Option<Self> {
        meta.is_file().then(|| Self {
            file: (meta.dev(), meta.ino()),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }

    /// Waits until a write would show in the times.
    pub(crate) fn settle(&self) {
        if !self.is_settled() {
            std::thread::sleep(SETTLED + Duration::from_millis(1));
        }
    }

    /// Whether a write from now on would show in the times.
    pub(crate) fn is_settled(&self) -> bool {
        let written = u64::try_from(self.changed.0).ok().and_then(|s| {
            let nanos = u32::try_from(self.changed.1).ok()?;
            SystemTime::UNIX_EPOCH.checked_add(Duration::new(s, nanos))
        });
        written.is_some_and(|w| SystemTime::now().duration_since(w).is_ok_and(|age| age > SETTLED))
    }
}

/// A C string as a path.
pub(crate) fn path_of(text: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_contents_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"one").unwrap();
        let first = Identity::of_path(&path).unwrap();
        assert!(!first.is_settled(), "written just now");
        first.settle();
        assert!(first.is_settled());
        assert_eq!(Identity::of_file(&File::open(&path).unwrap()), Some(first));
        std::fs::write(&path, b"two").unwrap();
        assert_ne!(Identity::of_path(&path), Some(first));
        assert_eq!(Identity::of_path(dir.path()), None, "a folder");
    }
}
