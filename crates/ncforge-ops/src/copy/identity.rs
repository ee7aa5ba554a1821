//! What tells one state of a source from another.

use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ncforge::store::remote;
use ncforge::{Error, FileId, Result};

/// What tells one state of a source file from another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    len: u64,
    modified_seconds: i64,
    modified_nanos: i64,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> Result<Identity> {
        if remote::url_of(path).is_some() {
            let id = FileId::at(path)?;
            let (seconds, nanos) =
                (id.modified_ns.div_euclid(1_000_000_000), id.modified_ns.rem_euclid(1_000_000_000));
            return Ok(Identity {
                device: 0,
                inode: id.inode,
                len: id.size,
                modified_seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
                modified_nanos: nanos as i64,
            });
        }
        let m = path.metadata().map_err(|e| Error::io("open", path.display().to_string(), e))?;
        Ok(Identity {
            device: m.dev(),
            inode: m.ino(),
            len: m.len(),
            modified_seconds: m.mtime(),
            modified_nanos: m.mtime_nsec(),
        })
    }

    /// Whether another machine may mean the same file: devices and inodes have other numbers there.
    pub(crate) fn is_alike(&self, other: &Identity) -> bool {
        let seen = |i: &Identity| (i.len, i.modified_seconds);
        seen(self) == seen(other)
    }

    /// Of several files: what tells one state of all of them from another.
    pub(crate) fn of_all(paths: &[PathBuf]) -> Result<Identity> {
        if let [one] = paths {
            return Identity::of(one);
        }
        let mut all = Identity { device: 0, inode: 0, len: 0, modified_seconds: 0, modified_nanos: 0 };
        let (mut here, mut anywhere) = (String::new(), String::new());
        for path in paths {
            let one = Identity::of(path)?;
            here.push_str(&format!("{one:?};"));
            anywhere.push_str(&format!("{} {};", one.len, one.modified_seconds));
            all.len = all.len.saturating_add(one.len);
        }
        // Hashes stand where a single file has its number and its time: of all that is known here, and of what is the
        // same on other machines.
        all.inode = hash_of(here.as_bytes());
        all.modified_seconds = hash_of(anywhere.as_bytes()).cast_signed();
        all.device = paths.len() as u64;
        Ok(all)
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

/// A number of 64 bits for bytes. It is the same in every process of one build of ncforge; another build may give another
/// one, and then an earlier run is not taken up again.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn of_several_files_each_counts_on_other_machines_too() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b"].iter().map(|n| dir.path().join(n)).collect();
        paths.iter().for_each(|p| std::fs::write(p, b"1234").unwrap());
        let old = Identity::of_all(&paths).unwrap();
        assert!(old.is_alike(&Identity::of_all(&paths).unwrap()));
        let other_day = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86400);
        File::options().write(true).open(&paths[1]).unwrap().set_modified(other_day).unwrap();
        let new = Identity::of_all(&paths).unwrap();
        assert!(new.len() == old.len() && !old.is_alike(&new), "changed, and as long as before");
    }
}
