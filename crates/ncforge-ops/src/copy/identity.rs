//! The identity of a state of a source.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use ncforge::{FileId, Result};

/// The identity of a state of the files of a source.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    /// A hash of all that is known of the files here, …
    here: u64,
    /// … and of what is the same on other machines: inodes have other numbers there.
    anywhere: u64,
    len: u64,
}

impl Identity {
    pub(crate) fn of(path: &Path) -> Result<Identity> {
        Ok(Self::of_all(&[FileId::at(path)?]))
    }

    /// The identity of a state of several files.
    pub(crate) fn of_all(files: &[FileId]) -> Identity {
        let (mut here, mut anywhere, mut len) = (String::new(), String::new(), 0u64);
        for one in files {
            here.push_str(&format!("{} {} {};", one.inode, one.size, one.modified_ns));
            anywhere.push_str(&format!("{} {};", one.size, one.modified_ns.div_euclid(1_000_000_000)));
            len = len.saturating_add(one.size);
        }
        Identity { here: hash_of(here.as_bytes()), anywhere: hash_of(anywhere.as_bytes()), len }
    }

    /// Whether another machine may mean the same files.
    pub(crate) fn is_alike(&self, other: &Identity) -> bool {
        self.anywhere == other.anywhere
    }

    /// Bytes of the files.
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
    use std::path::PathBuf;

    #[test]
    fn of_several_files_each_counts_on_other_machines_too() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b"].iter().map(|n| dir.path().join(n)).collect();
        paths.iter().for_each(|p| std::fs::write(p, b"1234").unwrap());
        let now = || Identity::of_all(&paths.iter().map(|p| FileId::at(p).unwrap()).collect::<Vec<_>>());
        let old = now();
        assert!(old.is_alike(&now()));
        let other_day = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86400);
        File::options().write(true).open(&paths[1]).unwrap().set_modified(other_day).unwrap();
        let new = now();
        assert!(new.len() == old.len() && !old.is_alike(&new), "changed, and as long as before");
    }
}
