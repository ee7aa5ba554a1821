//! Files that this process has open for writing.
//!
//! Data that a program wrote and did not sync are visible to its own second open of an HDF5 file, since HDF5 shares the file
//! inside a process, but not in the file's bytes. So a file that is open for writing anywhere in the process, or was while a reader
//! had it open, is not served. Files are compared by device and inode.
//!
//! What netCDF-C opens is registered. Others open files by HDF5 itself, or did before ncforge came: their descriptors show that, as
//! long as HDF5 has the file open for anybody.

use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Device and inode.
pub(crate) type FileNumber = (u64, u64);
/// Number of the library, and netCDF-C's id of the open file.
type Id = (usize, i32);

#[derive(Default)]
struct Registry {
    writers: Vec<(Id, FileNumber)>,
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

/// The ids by which a file is open for writing.
pub(crate) fn writers_of(file: FileNumber) -> Vec<Id> {
    if REGISTERED.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    with(|r| r.writers.iter().filter(|(_, f)| *f == file).map(|(id, _)| *id).collect())
}

/// What the system says of a descriptor's file.
pub(crate) fn stat_of(descriptor: RawFd) -> Option<libc::stat> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call writes the result, and is asked whether it did.
    unsafe { (libc::fstat(descriptor, found.as_mut_ptr()) == 0).then(|| found.assume_init()) }
}

/// The regular file that a descriptor is for.
fn file_of(descriptor: RawFd) -> Option<FileNumber> {
    let found = stat_of(descriptor)?;
    (found.st_mode & libc::S_IFMT == libc::S_IFREG).then_some((found.st_dev, found.st_ino))
}

/// Whether a descriptor can write to a file.
pub(crate) fn writes_to(descriptor: RawFd, file: FileNumber) -> bool {
    // SAFETY: asks for flags.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY && file_of(descriptor) == Some(file)
}

/// The descriptors of this process.
fn descriptors() -> std::io::Result<impl Iterator<Item = RawFd>> {
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(std::fs::read_dir("/proc/self/fd")?.flatten().filter_map(number))
}

/// A descriptor of this process that can write to a file.
pub(crate) fn descriptor_of(file: FileNumber) -> Option<RawFd> {
    descriptors().ok()?.find(|&descriptor| writes_to(descriptor, file))
}

/// Whether a descriptor of this process can write to a file; true as well where that cannot be seen at this moment.
pub(crate) fn is_writable_here(file: FileNumber) -> bool {
    match descriptors() {
        Ok(mut all) => all.any(|descriptor| writes_to(descriptor, file)),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
}

/// A file was opened for writing: nobody who has it open for reading is served any more. Whether there is such a one.
pub(crate) fn add_writer(id: Id, file: FileNumber) -> bool {
    with(|r| {
        r.writers.push((id, file));
        let readers = r.readers.iter().filter(|(i, f, _)| *f == file && *i != id);
        readers.map(|(_, _, off)| off.store(true, Ordering::Relaxed)).count() > 0
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
            r.writers.retain(|(w, _)| *w != id);
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
        assert!(add_writer((90, 3), file) && !add_writer((90, 5), (7, 3)));
        assert_eq!((writers_of(file), writers_of(other)), (vec![(90, 3)], vec![]));
        assert!(reader.load(Ordering::Relaxed) && !stranger.load(Ordering::Relaxed));
        assert!(add_reader((90, 4), file).is_none());
        remove((90, 3));
        assert!(add_reader((90, 4), file).is_some());
        for id in [1, 2, 4, 5] {
            remove((90, id));
        }
    }

    #[test]
    fn descriptors_show_who_writes() {
        let path = std::env::temp_dir().join(format!("ncforge-writers-{}", std::process::id()));
        let writer = std::fs::File::create(&path).expect("a file");
        let reader = std::fs::File::open(&path).expect("it is there");
        let file = file_of(reader.as_raw_fd()).expect("a regular file");
        assert!(is_writable_here(file));
        drop(writer);
        assert!(!is_writable_here(file));
        std::fs::remove_file(path).expect("it is there");
    }
}
