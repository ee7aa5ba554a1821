//! Room in a file for chunks that take the place of others.
//!
//! HDF5 gives the place of a chunk away before it writes a longer or shorter one elsewhere. If that write fails, as the disk is full, the
//! index of the file names a place that is free, and each further attempt gives the place away again: the file is damaged for good. So
//! HDF5 gets such a chunk only when the file system has promised the room that it may need behind the end of the file.
//! File systems that make no promises (NFS) leave that as it is.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use crate::writers::{self, FileNumber};

/// What HDF5 may skip for alignment.
const SLACK: u64 = 4096;

/// The file, as the system knows it.
pub(super) struct Room {
    file: FileNumber,
    /// HDF5's descriptor of it, as far as is known.
    descriptor: Cell<RawFd>,
}

/// Room that was promised. What is not needed of it is given back.
pub(super) struct Promised {
    descriptor: RawFd,
    end: u64,
}

/// The disk, or the user's share of it, is full.
pub(super) struct Full;

impl Room {
    pub(super) fn of(file: FileNumber) -> Self {
        Self { file, descriptor: Cell::new(-1) }
    }

    /// Has the file system promise room for so many bytes behind `end`, the end of what HDF5 uses of the file. `None`: nobody can tell.
    pub(super) fn promise(&self, end: u64, bytes: u64) -> Result<Option<Promised>, Full> {
        if !writers::writes_to(self.descriptor.get(), self.file) {
            let Some(found) = writers::descriptor_of(self.file) else { return Ok(None) };
            self.descriptor.set(found);
        }
        let descriptor = self.descriptor.get();
        let Some(len) = len_of(descriptor) else { return Ok(None) };
        let end = end.max(len) + bytes;
        if end > longest() {
            return Err(Full);
        }
        let end = end + SLACK;
        let (Ok(from), Ok(count)) = (len.try_into(), (end - len).try_into()) else { return Ok(None) };
        // SAFETY: gives the file room behind its end, and changes nothing of what is in it.
        match unsafe { libc::fallocate(descriptor, libc::FALLOC_FL_KEEP_SIZE, from, count) } {
            0 => Ok(Some(Promised { descriptor, end })),
            _ => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Err(Full),
                _ => Ok(None),
            },
        }
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        const GIVE_BACK: libc::c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let Some(len) = len_of(self.descriptor).filter(|len| len + SLACK < self.end) else { return };
        if let (Ok(from), Ok(count)) = (len.try_into(), (self.end - len).try_into()) {
            // SAFETY: what lies behind the end of the file is nobody's.
            unsafe { libc::fallocate(self.descriptor, GIVE_BACK, from, count) };
        }
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
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn promises_change_nothing_of_a_file() {
        let path = std::env::temp_dir().join(format!("ncforge-room-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        file.write_all_at(&[7; 5000], 0).expect("room for it");
        let meta = file.metadata().expect("it is there");
        let room = Room::of((meta.dev(), meta.ino()));
        for (end, bytes) in [(0, 1 << 20), (5000, 10), (1 << 16, 1 << 16)] {
            drop(room.promise(end, bytes));
            assert_eq!(std::fs::read(&path).expect("it is there"), [7; 5000]);
        }
        assert!(room.promise(1 << 50, 1 << 50).is_err() || !path.starts_with("/"), "no disk has that");
        assert!(matches!(Room::of((meta.dev(), u64::MAX)).promise(0, 1), Ok(None)));
        std::fs::remove_file(path).expect("it is there");
    }
}
