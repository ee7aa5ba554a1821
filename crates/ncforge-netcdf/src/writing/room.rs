//! Room in a file for chunks that take the place of shorter ones.
//!
//! HDF5 gives the place of a chunk away before it writes a longer one elsewhere. If that write fails, as the disk is full, the index of the
//! file names a place that is free, and each further attempt gives the place away again: the file is damaged for good. So HDF5 gets such
//! a chunk only when the file system has promised the room that it may need behind the end of the file. What HDF5 did not take, as it
//! had other places, is given back when the file is closed.
//! File systems that make no promises (NFS) leave that as it is.

use std::cell::Cell;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ncforge::store::Process;

use crate::writers::{self, FileNumber};

/// What HDF5 may skip for alignment.
const SLACK: u64 = 4096;

/// The file, as the system knows it.
pub(super) struct Room {
    file: FileNumber,
    /// HDF5's descriptor of it, as far as is known.
    descriptor: Cell<RawFd>,
    /// The process to which room was promised.
    promised: Cell<Option<Process>>,
}

/// The disk, or the user's share of it, is full.
pub(super) struct Full;

impl Room {
    pub(super) fn of(file: FileNumber) -> Self {
        Self { file, descriptor: Cell::new(-1), promised: Cell::new(None) }
    }

    /// The file.
    pub(super) fn file(&self) -> FileNumber {
        self.file
    }

    /// Has the file system promise room for so many bytes behind `end`, the end of what HDF5 uses of the file, as far as it makes promises.
    pub(super) fn promise(&self, end: u64, bytes: u64) -> Result<(), Full> {
        if !writers::writes_to(self.descriptor.get(), self.file) {
            let Some(found) = writers::descriptor_of(self.file) else { return Ok(()) };
            self.descriptor.set(found);
        }
        let descriptor = self.descriptor.get();
        let Some(len) = len_of(descriptor) else { return Ok(()) };
        let end = end.max(len);
        if end + bytes > longest() {
            return Err(Full);
        }
        match behind(descriptor, 0, end, bytes + SLACK) {
            Ok(()) => {
                self.promised.set(Some(Process::this()));
                Ok(())
            }
            Err(Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)) => Err(Full),
            Err(_) => Ok(()),
        }
    }

    /// Nobody in this process writes to the file any more: gives back what was promised and lies behind its end.
    pub(super) fn give_back(&self, path: &Path) {
        let is_own = self.promised.get().is_some_and(Process::is_here);
        if !is_own || writers::descriptor_of(self.file).is_some() {
            return;
        }
        let Ok(file) = File::options().write(true).open(path) else { return };
        let Ok(meta) = file.metadata() else { return };
        if (meta.dev(), meta.ino()) == self.file && meta.blocks() * 512 > meta.len() + SLACK {
            // Of these, some file systems take the first, others the second.
            let _ = file.set_len(meta.len());
            let _ = behind(file.as_raw_fd(), libc::FALLOC_FL_PUNCH_HOLE, meta.len(), u64::from(u32::MAX));
        }
    }
}

/// Allocates a part of a file that lies behind its end, or gives it back; else the system's number of the error, if it has one.
fn behind(descriptor: RawFd, mode: libc::c_int, from: u64, count: u64) -> Result<(), Option<i32>> {
    let (from, count) = (from.try_into().map_err(|_| None)?, count.try_into().map_err(|_| None)?);
    // SAFETY: what lies behind the end of a file is nobody's, and its length stays.
    match unsafe { libc::fallocate(descriptor, mode | libc::FALLOC_FL_KEEP_SIZE, from, count) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().raw_os_error()),
    }
}

fn len_of(descriptor: RawFd) -> Option<u64> {
    u64::try_from(writers::stat_of(descriptor)?.st_size).ok()
}

/// The length that the process may give a file (`ulimit -f`).
fn longest() -> u64 {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the call writes the result, and is asked whether it did.
    unsafe {
        match libc::getrlimit(libc::RLIMIT_FSIZE, limit.as_mut_ptr()) {
            0 => limit.assume_init().rlim_cur,
            _ => libc::RLIM_INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn promises_change_nothing_of_a_file() {
        let path = std::env::temp_dir().join(format!("ncforge-room-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        file.write_all_at(&[7; 5000], 0).expect("room for it");
        let meta = file.metadata().expect("it is there");
        let room = Room::of((meta.dev(), meta.ino()));
        for (end, bytes) in [(0, 1 << 20), (5000, 10), (1 << 16, 1 << 16)] {
            assert!(room.promise(end, bytes).is_ok());
            assert_eq!(std::fs::read(&path).expect("it is there"), [7; 5000]);
        }
        assert!(room.promise(1 << 50, 1 << 50).is_err(), "no disk has that");
        assert!(Room::of((meta.dev(), u64::MAX)).promise(0, 1).is_ok(), "nobody has it open");
        drop(file);
        room.give_back(&path);
        assert_eq!(std::fs::read(&path).expect("it is there"), [7; 5000]);
        let left = path.metadata().expect("it is there").blocks() * 512;
        assert!(left <= meta.blocks() * 512 + (8 << 10), "{left} bytes on disk");
        std::fs::remove_file(path).expect("it is there");
    }
}
