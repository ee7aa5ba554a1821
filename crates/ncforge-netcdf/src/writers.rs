//! Files that this process has open for writing through netCDF-C.
//!
//! Data that a program wrote and did not sync are visible to its own second open of an HDF5 file, since HDF5 shares the file
//! inside a process, but not in the file's bytes. So a file that is open for writing anywhere in the process, or was while a reader
//! had it open, is not served. Files are compared by device and inode.

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

/// The ids by which a library's files that are open for writing are one file.
pub(crate) fn writers_of(library: usize, file: FileNumber) -> Vec<i32> {
    if REGISTERED.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    let own = |(id, f): &(Id, FileNumber)| (id.0 == library && *f == file).then_some(id.1);
    with(|r| r.writers.iter().filter_map(own).collect())
}

/// A file was opened for writing: nobody who has it open for reading is served any more. Returns the others who have it open.
pub(crate) fn add_writer(id: Id, file: FileNumber) -> Others {
    with(|r| {
        let others = Others {
            write: r.writers.iter().any(|(i, f)| *f == file && *i != id),
            read: r.readers.iter().any(|(i, f, _)| *f == file && *i != id),
        };
        r.readers
            .iter()
            .filter(|(_, f, _)| *f == file)
            .for_each(|(_, _, off)| off.store(true, Ordering::Relaxed));
        r.writers.push((id, file));
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
            r.writers.retain(|(i, _)| *i != id);
            r.readers.retain(|(i, _, _)| *i != id);
        });
    }
}

#[cfg(test)]
mod tests {
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
}
