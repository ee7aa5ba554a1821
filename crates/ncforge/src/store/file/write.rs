//! Writing to a file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::FileStore;
use crate::error::{Error, Op, Result};
use crate::store::WriteStore;
use crate::store::replace::replace_file;

/// Empties a file. One that is empty already is left alone: the kernel takes a truncation for the sign that a
/// file is being replaced, and then brings all of its new contents to disk when it is closed (ext4 does).
fn empty(file: &File) -> std::io::Result<()> {
    if file.metadata()?.len() > 0 { file.set_len(0) } else { Ok(()) }
}

impl WriteStore for FileStore {
    fn check(&self) -> Result<()> {
        self.promise.check(&self.name)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.promise.will_change(&self.file, &self.name)?;
        let written = self.file.write_all_at(buf, offset);
        // Also after an error: a part of it may stand in the file.
        self.writes.note();
        written.map_err(|e| Error::io(Op::WriteAt { len: buf.len() as u64, offset }, &self.name, e))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.promise.will_change(&self.file, &self.name)?;
        let set = if len == 0 {
            empty(&self.file).map_err(|e| Error::io(Op::Other("empty"), &self.name, e))
        } else {
            self.file.set_len(len).map_err(|e| Error::io(Op::SetLength(len), &self.name, e))
        };
        self.writes.note();
        set
    }

    fn reserve(&self, offset: u64, len: u64) -> Result<()> {
        self.check()?;
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let number =
                |n: u64| libc::off_t::try_from(n).map_err(|_| Error::TooLarge(format!("file length {n}")));
            let (from, size) = (number(offset)?, number(len)?);
            if len > 0 {
                // SAFETY: a plain system call on our own descriptor.
                let rc =
                    unsafe { libc::fallocate(self.file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, from, size) };
                if rc != 0 {
                    let e = std::io::Error::last_os_error();
                    if e.raw_os_error() == Some(libc::ENOSPC) {
                        return Err(Error::io(Op::Reserve(len), &self.name, e));
                    }
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.promise.keep(&self.file, &self.name)
    }

    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        self.check()?;
        replace_file(self, build)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ReadStore;

    #[test]
    fn reserving_changes_neither_length_nor_bytes() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::create(&dir.path().join("f")).unwrap();
        store.write_at(b"abc", 10).unwrap();
        store.reserve(5, 2 << 20).unwrap();
        store.reserve(0, 0).unwrap();
        assert_eq!(store.len(), 13);
        assert_eq!(store.read_vec(8, 5).unwrap(), b"\0\0abc");
        // Not every file system reserves; giving back works on those that do.
        store.set_len(13).unwrap();
        assert!(store.file().metadata().unwrap().blocks() * 512 < 1 << 20);
        assert!(matches!(store.reserve(u64::MAX, 1), Err(Error::TooLarge(_))));
        store.set_len(0).unwrap();
        store.set_len(0).unwrap();
        assert!(store.is_empty());
    }
}
