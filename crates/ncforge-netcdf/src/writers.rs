//! Files that this process has open for writing through netCDF-C.
//!
//! Data that a program wrote and did not sync are visible to its own second open of an HDF5 file, since HDF5 shares the file
//! inside a process, but not in the file's bytes. So a file that is open for writing anywhere in the process, or was while a reader
//! had it open, is not served. Files are compared by device and inode.
//!
//! A netCDF-C that was in use before ncforge came has files open of which nobody told: whatever the process could write to at that
//! moment is being written by somebody, until its descriptor is closed.

use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Device and inode.
type FileNumber = (u64, u64);
/// Number of the library, and netCDF-C's id of the open file.
type Id = (usize, i32);

/// Whether a file has other openings in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Others {
    pub(crate) write: bool,
    pub(crate) read: bool,
}

/// Who has a file open for writing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    NetCdf(Id),
    /// Somebody, by a descriptor that is older than ncforge.
    Before(RawFd),
}

#[derive(Default)]
struct Registry {
    writers: Vec<(Writer, FileNumber)>,
    readers: Vec<(Id, FileNumber, Arc<AtomicBool>)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { writers: Vec::new(), readers: Vec::new() });
/// The number of registered files, so that closing a file costs nothing where none is.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

fn with<T>(what: impl FnOnce(&mut Registry) -> T) -> T {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let result = what(&mut registry);
    REGISTERED.store(registry.writers.len() + registry.readers.len(), Ordering::Relaxed);
    result
}

/// The ids by which a library's files that are open for writing are one file.
pub(crate) fn writers_of(library: usize, file: FileNumber) -> Vec<i32> {
    if REGISTERED.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    let own = |&(writer, f): &(Writer, FileNumber)| match writer {
        Writer::NetCdf((l, ncid)) if l == library && f == file => Some(ncid),
        _ => None,
    };
    with(|r| r.writers.iter().filter_map(own).collect())
}

/// The regular file that a descriptor is for.
fn file_of(descriptor: RawFd) -> Option<FileNumber> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call writes the result, and is asked whether it did.
    let found = unsafe { (libc::fstat(descriptor, found.as_mut_ptr()) == 0).then(|| found.assume_init()) }?;
    (found.st_mode & libc::S_IFMT == libc::S_IFREG).then_some((found.st_dev, found.st_ino))
}

/// NetCDF-C was in use before ncforge came: notes what the process has open for writing.
pub(crate) fn add_earlier() {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<RawFd>().ok();
    for descriptor in descriptors.flatten().filter_map(number) {
        // SAFETY: asks for flags.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
        let for_writing = flags >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY;
        if let Some(file) = file_of(descriptor).filter(|_| for_writing) {
            with(|r| r.writers.push((Writer::Before(descriptor), file)));
        }
    }
}

/// A file is about to be opened: what was open before ncforge came may be closed by now.
pub(crate) fn before_opening() {
    if REGISTERED.load(Ordering::Relaxed) > 0 {
        with(|r| {
            r.writers.retain(|&(writer, file)| match writer {
                Writer::NetCdf(_) => true,
                Writer::Before(descriptor) => file_of(descriptor) == Some(file),
            });
        });
    }
}

/// A file was opened for writing: nobody who has it open for reading is served any more. Returns the others who have it open.
pub(crate) fn add_writer(id: Id, file: FileNumber) -> Others {
    with(|r| {
        let others = Others {
            write: r.writers.iter().any(|(w, f)| *f == file && *w != Writer::NetCdf(id)),
            read: r.readers.iter().any(|(i, f, _)| *f == file && *i != id),
        };
        r.readers
            .iter()
            .filter(|(_, f, _)| *f == file)
            .for_each(|(_, _, off)| off.store(true, Ordering::Relaxed));
        r.writers.push((Writer::NetCdf(id), file));
        others
    })
}

/// A file was opened for reading: the flag that says that it is not served (any more); `None` if it must not be from the
/// beginning.
pub(crate) fn add_reader(id: Id, file: FileNumber) -> Option<Arc<AtomicBool>> {
    with(|r| {
        let written = r.writers.iter().any(|(_, f)| *f == file);
        let off = Arc::new(AtomicBool::new(written));
        r.readers.push((id, file, Arc::clone(&off)));
        (!written).then_some(off)
    })
}

/// A file was closed.
pub(crate) fn remove(id: Id) {
    if REGISTERED.load(Ordering::Relaxed) > 0 {
        with(|r| {
            r.writers.retain(|(w, _)| *w != Writer::NetCdf(id));
            r.readers.retain(|(i, _, _)| *i != id);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn readers_of_what_is_being_written_are_not_served() {
        let (file, other) = ((7, 1), (7, 2));
        let reader = add_reader((90, 1), file).expect("nobody writes");
        let stranger = add_reader((90, 2), other).expect("nobody writes");
        assert_eq!(add_writer((90, 3), file), Others { write: false, read: true });
        assert_eq!((writers_of(90, file), writers_of(90, other)), (vec![3], vec![]));
        assert!(reader.load(Ordering::Relaxed) && !stranger.load(Ordering::Relaxed));
        assert!(add_reader((90, 4), file).is_none());
        remove((90, 3));
        assert!(add_reader((90, 4), file).is_some());
        for id in [1, 2, 4] {
            remove((90, id));
        }
    }

    #[test]
    fn what_was_open_before_is_written_until_it_is_closed() {
        let path = std::env::temp_dir().join(format!("ncforge-writers-{}", std::process::id()));
        let open = std::fs::File::create(&path).expect("a file");
        let file = file_of(open.as_raw_fd()).expect("a regular file");
        add_earlier();
        before_opening();
        assert!(add_reader((91, 1), file).is_none());
        assert_eq!(add_writer((91, 2), file), Others { write: true, read: true });
        assert_eq!(writers_of(91, file), vec![2]);
        remove((91, 2));
        drop(open);
        before_opening();
        assert!(add_reader((91, 3), file).is_some());
        [1, 3].into_iter().for_each(|id| remove((91, id)));
        std::fs::remove_file(path).expect("it is there");
    }
}
