//! Programs that use MPI.
//!
//! Files that a process opens by itself are served as everywhere; those that processes open together are netCDF-C's. Nothing of ours
//! calls MPI. Before the program ends MPI, what is held is given to HDF5, and the threads that encode end: an HDF5 that was built
//! with MPI closes its files inside `MPI_Finalize`, and the launcher may end the process behind it. For that, the objects that
//! call `MPI_Finalize` call a function of ours, from the moment at which netCDF-C opens its first file.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::imports::{self, symbol};
use crate::libraries::{is_mpi, object_of, objects};
use crate::tables::guarded;
use crate::writing;

type Finalize = unsafe extern "C" fn() -> c_int;

/// The function and its second name, by which MPI's Fortran and tools that measure MPI call it.
const NAMES: [&CStr; 2] = [c"MPI_Finalize", c"PMPI_Finalize"];
static ORIGINALS: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

/// Whether an MPI library is loaded.
pub(crate) fn is_loaded() -> bool {
    objects().iter().any(|object| is_mpi(object))
}

/// Has the end of MPI noticed, in all objects that are loaded.
pub(crate) fn watch() {
    let objects = objects();
    let Some(mpi) = objects.iter().find(|object| is_mpi(object)) else { return };
    let ours: [*const c_void; 2] = [finalize::<0> as *const c_void, finalize::<1> as *const c_void];
    for (which, name) in NAMES.into_iter().enumerate() {
        let original = original(which, mpi);
        if original.is_null() {
            continue;
        }
        for object in &objects {
            let Some((found, read_only)) = imports::find(object, &[name]) else { continue };
            for import in found.iter().filter(|i| i.original.cast_const() != ours[which]) {
                // A second MPI, under another name, keeps its function.
                let other = object_of(import.original).and_then(|o| CString::new(o).ok());
                let other = other.is_some_and(|o| is_mpi(&o) && import.original != original);
                if !other {
                    // SAFETY: the signatures are the same, and this library is never unloaded.
                    unsafe { import.replace(ours[which], &read_only) };
                }
            }
        }
    }
}

/// The program's function: that of a tool which stands in front of MPI's, if there is one.
fn original(which: usize, mpi: &CStr) -> *mut c_void {
    let known = ORIGINALS[which].load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    // SAFETY: looks a name up.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAMES[which].as_ptr()) };
    let found = if first.is_null() { symbol(mpi, NAMES[which]) } else { first };
    ORIGINALS[which].store(found, Ordering::Release);
    found
}

unsafe extern "C" fn finalize<const N: usize>() -> c_int {
    guarded(|| {
        writing::before_mpi_ends();
        Some(())
    });
    let original = ORIGINALS[N].load(Ordering::Acquire);
    // SAFETY: MPI's function, which was found before this one took its place.
    unsafe { std::mem::transmute::<*mut c_void, Finalize>(original)() }
}
